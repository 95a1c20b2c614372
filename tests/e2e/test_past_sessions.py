"""`ua-tui open`: a session that really ran, looked at again in a real pseudo-terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.running import run
from tests.e2e.terminal import terminal


def state(folder: Path) -> list[tuple[str, int, int]]:
    """Every file below a folder, with its size and when it was changed."""
    found = [(path, path.lstat()) for path in sorted([folder, *folder.rglob("*")])]
    return [(str(path), each.st_size, each.st_mtime_ns) for path, each in found]


def test_what_cannot_be_opened_is_reported_in_one_line(tmp_path: Path) -> None:
    sessions = tmp_path / "AGENT_RUN_WORKSPACES"
    for name in ("session_20261121_000001", "session_20261121_000002", "session_20261121_000003"):
        (sessions / name).mkdir(parents=True)
    os.mkfifo(sessions / "session_20261121_000002" / "journal.jsonl")
    (sessions / "session_20261121_000003" / "journal.jsonl").symlink_to("/etc/passwd")
    for wanted, reported in (
        ("latest", "there is no session in"),
        ("session_20261121_000001", "it holds no journal"),
        ("session_20261121_000002", "not a regular file"),
        ("session_20261121_000003", "its journal is a link"),
        ("nowhere", "there is no session 'nowhere'"),
    ):
        done = run(tmp_path, "open", wanted)
        assert (done.code, done.stdout) == (2, "")
        assert done.stderr.startswith("ua-tui open: ")
        assert reported in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("args", "reported"), [((), "SESSION"), (("a", "b"), "unrecognized arguments")])
def test_a_wrong_command_line_is_reported_in_one_line(
    tmp_path: Path, args: tuple[str, ...], reported: str
) -> None:
    done = run(tmp_path, "open", *args)
    assert done.code == 2
    assert reported in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_terminal_it_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "a session"
    folder.mkdir()
    (folder / "journal.jsonl").touch()
    done = run(tmp_path, "open", "a session")
    assert done.code == 1
    assert "needs a terminal" in done.stderr


def test_an_empty_journal_is_a_session_without_events(tmp_path: Path) -> None:
    folder = tmp_path / "a session"
    folder.mkdir()
    (folder / "journal.jsonl").touch()
    with terminal(tmp_path, "open", "a session", columns=80, rows=24) as screen:
        screen.wait_for("has no events", "past session · crashed")
        screen.type("\x11")
        assert screen.end() == 0
        assert screen.restored
