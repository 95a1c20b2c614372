"""The versions of a text: those of the journal, the saved copies, and the file as it is."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import Event, PermissionAnswered, ToolCallFinished, ToolCallStarted
from ua_tui.core.history.kept_versions import KeptVersions
from ua_tui.core.history.versions import find_versions, other_texts
from ua_tui.core.storage.files import Root

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SESSION = "session_20261121_090000"


class Written:
    """A session's folder with a journal, and the saved reports beside it."""

    def __init__(self, base: Path, session: str = SESSION) -> None:
        self.folder = base / "AGENT_RUN_WORKSPACES" / session
        self.reports = base / "SAVED_REPORTS"
        self.session = session
        (self.folder / "work_products").mkdir(parents=True)
        self.reports.mkdir(exist_ok=True)
        self.journal = self.folder / "journal.jsonl"
        self.journal.touch()
        self._count = 0

    def call(
        self, name: str, arguments: dict[str, Any], *, status: Any = "success", changed: Any = None
    ) -> None:
        """Add a call, the arguments to which the person changed it, and its end, a minute after the one before."""
        self._count += 1
        at, key = START + timedelta(minutes=self._count), f"toolu_{self._count}"
        events: tuple[Event, ...] = (
            ToolCallStarted(at=at, query_id="q", tool_use_id=key, name=name, input=arguments),
            PermissionAnswered(
                at=at, request_id=key, tool_name=name, tool_use_id=key, decision="allow", input=changed
            ),
            ToolCallFinished(at=at, tool_use_id=key, status=status),
        )
        with self.journal.open("ab") as journal:
            journal.writelines(encode_event(event) + b"\n" for event in events)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the session, as a call of the toolkit does."""
        self.call("mcp__local_toolkit__write_local_file", {"path": name, "content": text})
        path = self.folder / name
        path.write_text(text)
        return path

    def save(self, source: str, text: str, name: str) -> Path:
        """Save a copy of a file among the reports."""
        path = self.reports / name
        path.write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        at = (START + timedelta(minutes=self._count)).isoformat()
        line = {"saved_as": name, "source": source, "session": self.session, "sha256": digest, "at": at}
        with (self.reports / "index.jsonl").open("a") as index:
            index.write(json.dumps(line) + "\n")
        return path


def _texts(path: Path) -> list[str]:
    return [
        version.text if version.text is not None else (version.path or path).read_text()
        for version in find_versions(path)
    ]


def test_what_was_written_and_edited_is_found_the_newest_first(tmp_path: Path) -> None:
    session = Written(tmp_path)
    session.write("work_products/a.md", "one two two")
    file = f"{session.folder}/work_products/a.md"
    session.call("Write", {"file_path": file, "content": "lost"}, status="error")
    edit = {"file_path": file, "old_string": "two", "new_string": "2"}
    session.call("Edit", {**edit, "replace_all": True})
    session.call("Edit", {**edit, "old_string": "not in it"})
    session.write("work_products/b.md", "another file")
    changed = {**edit, "old_string": "one", "new_string": "1"}
    session.call("Edit", {**edit, "file_path": "c.md"}, changed=changed)
    path = session.write("work_products/a.md", "three")
    assert _texts(path) == ["three", "1 2 2", "one 2 2", "one two two"]
    assert [version.what for version in find_versions(path)] == ["the file", *["written by the agent"] * 3]
    assert [version.name for version in other_texts(path)] == ["b.md"]


def test_a_saved_copy_leads_to_the_others_and_to_the_file(tmp_path: Path) -> None:
    session = Written(tmp_path)
    source = "work_products/report.html"
    first = session.write(source, "first") and session.save(source, "first", "report_1.html")
    session.write(source, "second")
    second = session.save(source, "second", "report_2.html")
    other = Written(tmp_path, "session_20261122_090000")
    other.write(source, "unsaved") and other.save(source, "of another day", "report_3.html")
    assert sorted(_texts(second)) == ["first", "of another day", "second"]
    versions = find_versions(first)
    assert first in {version.path for version in versions}
    assert {version.session for version in versions} == {"", "session_20261122_090000"}
    assert {version.what for version in versions} == {"the file", "saved copy"}


def test_an_index_leads_nowhere_else(tmp_path: Path) -> None:
    session = Written(tmp_path)
    (tmp_path / "secret.html").write_text("secret")
    path = session.reports / "a.html"
    path.write_text("a")
    good = {"saved_as": "a.html", "source": "work_products/a.html", "session": SESSION}
    wrong = (
        {"saved_as": "../secret.html"},
        {"source": "../../secret.html"},
        {"session": "../.."},
        {"source": 3},
    )
    for line in (["saved_as"], *(good | each for each in wrong)):
        (session.reports / "index.jsonl").write_text(f"{json.dumps(line)}\nnot JSON\n")
        assert _texts(path) == ["a"]


def test_links_and_missing_files_are_no_versions(tmp_path: Path) -> None:
    session = Written(tmp_path)
    path = session.write("work_products/a.md", "now")
    (tmp_path / "secret.md").write_text("secret")
    (session.folder / "work_products" / "link.md").symlink_to(tmp_path / "secret.md")
    assert other_texts(path) == []
    path.unlink()
    assert _texts(path) == ["now"], "the journal still has it"
    assert find_versions(tmp_path / "nothing.md") == []


def test_a_file_that_cannot_be_read_is_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(name)
    opens = Path.open

    def refuse(path: Path, *given: Any, **named: Any) -> Any:
        if path.name == "b.md":
            raise PermissionError(13, "Permission denied")
        return opens(path, *given, **named)

    monkeypatch.setattr(Path, "open", refuse)
    assert [each.name for each in other_texts(tmp_path / "a.md")] == ["c.md"]
    assert find_versions(tmp_path / "b.md") == []


def test_what_a_shell_command_made_of_a_file_is_a_version(tmp_path: Path) -> None:
    session = Written(tmp_path)
    path = session.write("work_products/report.md", "by the toolkit")
    kept = KeptVersions(Root(session.folder))
    kept.keep("q1", "end")
    path.write_text("by a shell command")
    kept.keep("q2", "end")
    path.write_text("by hand")

    versions = find_versions(path)

    assert [version.what for version in versions] == ["the file", "kept", "written by the agent"]
    assert versions[1].path is not None
    assert versions[1].path.read_text() == "by a shell command"
    # A link in its place leads elsewhere.
    (tmp_path / "outside").write_text("by a shell command")
    versions[1].path.unlink()
    versions[1].path.symlink_to(tmp_path / "outside")
    assert "kept" not in [version.what for version in find_versions(path)]
