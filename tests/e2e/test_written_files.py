"""Files that an obedient agent leaves behind: none through links, none that other programs obey or start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from ua_tui.core.events import types as ev

pytestmark = pytest.mark.e2e

FILES = {
    "work_products/x.sh": False,
    "work_products/evil.desktop": False,
    "conftest.py": False,
    "--output=/x": False,
    ".bashrc.d/x": False,
    "package.json": False,
    "work_products/market_data.json": True,
    "work_products/report.html": True,
}


@pytest.mark.parametrize("name", ["SAVED_REPORTS", "AGENT_RUN_WORKSPACES"])
def test_no_session_starts_where_the_folder_has_a_link(tmp_path: Path, name: str) -> None:
    base, target = tmp_path / "project", tmp_path / "home" / ".bashrc.d"
    base.mkdir()
    target.mkdir(parents=True)
    (base / name).symlink_to(target)
    done = run(base, "run", "Go", env=model_environment(tmp_path, "http://127.0.0.1:1"))
    assert (done.code, done.stdout) == (2, "")
    assert [f"{name} in {base} is a link" in line for line in done.stderr.splitlines()] == [True]
    assert list(target.iterdir()) == []
    assert [each.name for each in base.iterdir()] == [name]


def test_nothing_is_written_that_other_programs_obey_and_only_documents_are_copied(tmp_path: Path) -> None:
    base = tmp_path / "project"
    names = list(FILES)

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if results >= len(names):
            return [Text("Done.")]
        return [Use("mcp__local_toolkit__write_local_file", {"path": names[results], "content": "<p>x</p>"})]

    with scripted_model(reply) as url:
        done = run(base, "run", "Go", env=model_environment(tmp_path, url))
    assert done.code == 0, done.stderr
    assert [each.status == "success" for each in done.of(ev.ToolCallFinished)] == list(FILES.values())
    written = {str(path.relative_to(done.session)) for path in done.session.rglob("*") if path.is_file()}
    assert {name for name in FILES if name in written} == {name for name, allowed in FILES.items() if allowed}
    copied = [path.suffix for path in (base / "SAVED_REPORTS").iterdir() if path.name != "index.jsonl"]
    assert copied == [".html"]


def test_a_link_that_is_made_while_a_session_runs_is_not_followed(tmp_path: Path) -> None:
    base, target = tmp_path / "project", tmp_path / "elsewhere"
    target.mkdir()
    report = Use(
        "mcp__local_toolkit__write_local_file", {"path": "work_products/a.html", "content": "<p>x</p>"}
    )

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if not results:
            (base / "SAVED_REPORTS").symlink_to(target)
        return [Text("Done.") if results else report]

    with scripted_model(reply) as url:
        done = run(base, "run", "Go", env=model_environment(tmp_path, url))
    assert done.code == 0, done.stderr
    assert (done.session / "work_products" / "a.html").exists()
    assert list(target.iterdir()) == []
    assert "is a link" in str(
        [each for each in done.events if getattr(each, "observer", "") == "work_products"]
    )
