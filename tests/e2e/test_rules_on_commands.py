"""Rules that allow commands, with the real agent: hostile commands and repositories start nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from ua_tui.core.events import types as ev

pytestmark = pytest.mark.e2e

RULES = ("git:*", "find:*", "cp:*", "cd:*")
COMMANDS = {
    "git log --oneline": True,
    "find . -maxdepth 1 -name '*.txt'": True,
    "git grep -nO{base}/x.sh hello": False,
    "find . -maxdepth 0 [-]exec {base}/x.sh ';'": False,
    "git diff --no-index --outpu?={base}/outside a p": False,
    "git clone -u {base}/x.sh ../.. copy": False,
    # Another repository within the session's folder: the next command runs in the session's folder again.
    "cp -r ../../evil inner": True,
    "cd inner": True,
    "git status": True,
    "cp ../../evil/.git/config ../../.git/config": True,
    "git diff": False,
}


def test_rules_on_git_and_find_start_nothing_and_write_nothing_outside(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = tmp_path / "x.sh"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    base = tmp_path / "project"
    for folder in (base, base / "evil"):
        folder.mkdir()
        for words in (("init", "-q"), ("-c", "user.name=n", "-c", "user.email=n@x.example", "commit", "-q",
                                       "--allow-empty", "-m", "one")):  # fmt: skip
            subprocess.run(["git", *words], cwd=folder, check=True)
    (base / "a.txt").write_text("hello")
    with (base / "evil" / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {program}\n")
    commands = [each.replace("{base}", str(tmp_path)) for each in COMMANDS]

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        return [Use("Bash", {"command": commands[results]}) if results < len(commands) else Text("Done.")]

    with scripted_model(reply) as url:
        rules = [part for rule in RULES for part in ("--allow", f"Bash({rule})")]
        done = run(base, "run", "--tool", "Bash", *rules, "Go", env=model_environment(tmp_path, url))
    assert done.code == 0, done.stderr
    statuses = [each.status for each in done.of(ev.ToolCallFinished)]
    assert dict(zip(COMMANDS, statuses, strict=True)) == {
        each: "success" if runs else "denied" for each, runs in COMMANDS.items()
    }
    assert not started.exists()
    assert not (tmp_path / "outside").exists()
