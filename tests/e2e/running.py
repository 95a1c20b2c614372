"""Runs the real program as a person would, and reads what it left behind."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.journals import read_journal
from ua_tui.core.events.types import Event
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.trust import Answer
from ua_tui.tui.cli import main

DEADLINE = 240
"""Seconds after which a program counts as one that never ends: below the limit of a test, above any busy machine."""
MCP_TIMEOUT = "120000"
"""Milliseconds within which a server has to start: on a busy machine it takes more than the usual 30 seconds."""
MODEL_KEY = "sk-ant-test-0123456789"
NOWHERE = "http://127.0.0.1:9"
"""The address of a model that nobody asks anything."""


@dataclass(frozen=True)
class Finished:
    """One run of the program that came to its end."""

    code: int
    stdout: str
    stderr: str
    base: Path

    @property
    def session(self) -> Path:
        """The one session folder the run made."""
        (found,) = self.sessions
        return found

    @property
    def sessions(self) -> list[Path]:
        """The folders of all sessions in the base, the oldest first."""
        return sorted((self.base / "AGENT_RUN_WORKSPACES").glob("session_*"))

    @property
    def events(self) -> list[Event]:
        """What the journal holds; every line of it must be an event."""
        reading = read_journal(self.session / "journal.jsonl")
        assert reading.skipped == 0
        return reading.events

    def of(self, *kinds: type[Event]) -> list[Any]:
        """The events of these kinds, in order."""
        return [event for event in self.events if isinstance(event, kinds)]

    def json(self, relative: str) -> Any:
        """A JSON file of the session."""
        return json.loads((self.session / relative).read_text(encoding="utf-8"))


def environment(home: Path, **extra: str) -> dict[str, str]:
    """An environment without anybody's keys, with a home of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    own = {"HOME": str(home), "TERM": "xterm-256color", "TZ": "UTC", "MCP_TIMEOUT": MCP_TIMEOUT}
    return {**kept, **own, **extra}


def model_environment(home: Path, url: str, **extra: str) -> dict[str, str]:
    """An environment whose model is the one at `url`, which is asked for answers only: cheaper than the demo."""
    given = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": MODEL_KEY, "UA_CLASSIFIER": "off"}
    return environment(home, **given | extra)


def model_settings(
    base: Path, url: str, *, trust: Answer | None = None, by_name: bool = False, **more: Any
) -> Settings:
    """The settings of a session below `base` whose model is the one at `url`, which is asked for answers only."""
    given = {"workspace_base": base, "base_url": url, "api_key": MODEL_KEY, "classifier": "off"}
    return load_settings(given | more, Places(trust=trust), by_name=by_name)


def program() -> str:
    """The installed `ua-tui` of the environment the tests run in."""
    return str(Path(sys.executable).parent / "ua-tui")


def run(
    base: Path,
    *args: str,
    env: dict[str, str] | None = None,
    stdin: str | None = None,
    python: Path | None = None,
) -> Finished:
    """Run `ua-tui` with these arguments in `base`, with another Python if that is given, and wait for its end."""
    base.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*([str(python)] if python else []), program(), *args],
        cwd=base,
        env=env or environment(base),
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr, base)


def command(base: Path, *args: str, **extra: str) -> Finished:
    """Run a command of `ua-tui` that starts no agent in this process, which saves the start of a program."""
    written = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(written[0]), redirect_stderr(written[1]):
        for name in set(os.environ):
            patch.delenv(name)
        for name, value in environment(base, **extra).items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO())
        patch.chdir(base)
        try:
            code = main(list(args))
        except SystemExit as ended:
            code = int(ended.code or 0)
    for stream in written:
        stream.flush()
    stdout, stderr = (stream.buffer.getvalue().decode("utf-8") for stream in written)
    return Finished(code, stdout, stderr, base)
