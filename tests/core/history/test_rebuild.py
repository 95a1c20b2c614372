from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ua_tui.core.errors import JournalError, WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history.rebuild import DERIVED, clean_up_after_kills, rebuild
from ua_tui.core.records.formats import TraceInfo, write_derived
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.workspace import OWNER, Workspace
from ua_tui.core.view.session import SessionView

START = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
BEGUN: tuple[ev.Event, ...] = (
    ev.SessionStarted(session_id="s", workspace="/w", cwd="/", version="1", model="opus"),
    ev.QueryReceived(query_id="q1", text="why?"),
    ev.MessageFinished(query_id="q1", message_id="m1", text="Because."),
    ev.QueryFinished(query_id="q1", status="success", duration_ms=1_000.0, text="Because."),
)
CUT_OFF: tuple[ev.Event, ...] = (
    ev.QueryReceived(query_id="q2", text="how?"),
    ev.ToolCallStarted(query_id="q2", tool_use_id="t1", name="Read", input={}),
    ev.TextDelta(query_id="q2", message_id="m2", text="By the"),
)
END = ev.SessionFinished(reason="quit", duration_ms=9_000.0)


def session(base: Path, events: Sequence[ev.Event], number: int = 0, more: bytes = b"") -> Path:
    """A session as a program left it whose files were written at the end of its last query."""
    folder = base / WORKSPACES / f"session_20261121_1402{number:02}"
    workspace = Workspace.open(folder)
    (folder / ".lock").touch()
    stamped = [
        msgspec.structs.replace(event, seq=seq, at=START + timedelta(seconds=seq))
        for seq, event in enumerate(events, 1)
    ]
    (folder / "journal.jsonl").write_bytes(b"".join(encode_event(event) + b"\n" for event in stamped) + more)
    seal_session(workspace.root)
    view = SessionView(Redactor())
    for event in stamped:
        view.add(event)
        if isinstance(event, ev.QueryFinished | ev.SessionFinished):
            info = TraceInfo(url="https://x.example", user_id="me", trace_id="ab" * 16)
            write_derived(workspace, view, info)
    workspace.close()
    return folder


def written(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in DERIVED if (folder / name).exists()}


def age(*paths: Path, hours: float = 1.0) -> None:
    for path in paths:
        at = path.stat().st_mtime - hours * 3_600
        os.utime(path, (at, at))


def dead() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    folder = session(tmp_path, [*BEGUN, *CUT_OFF], 59)
    with (folder / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def test_what_came_after_the_last_query_that_ended_is_in_the_rebuilt_files(tmp_path: Path) -> None:
    folder = session(tmp_path, [*BEGUN, *CUT_OFF], more=b'not an event\n{"event":"mess')
    journal = (folder / "journal.jsonl").read_bytes()
    events, unread = rebuild(folder, Redactor())
    assert (events, unread.skipped, unread.torn) == (7, 1, True)
    trace = json.loads((folder / "trace.json").read_text())
    assert [each["query"] for each in trace["iterations"]] == ["why?", "how?"]
    assert [each["name"] for each in trace["tool_calls"]] == ["Read"]
    assert trace["session_info"]["url"] == "https://x.example"
    assert (trace["session_info"]["user_id"], trace["trace_id"]) == ("me", "ab" * 16)
    transcript = (folder / "transcript.md").read_text()
    assert "By the\n\n*[unfinished]*" in transcript
    assert "*This query did not finish.*" in transcript
    assert "how?" in (folder / "summary.txt").read_text()
    assert (folder / "journal.jsonl").read_bytes() == journal


def test_a_session_that_ended_in_order_is_rebuilt_to_the_same_files(tmp_path: Path) -> None:
    # Nothing is made where no session was.
    clean_up_after_kills(tmp_path, Redactor())
    assert list(tmp_path.iterdir()) == []
    folder = session(tmp_path, [*BEGUN, END])
    before = written(folder)
    (folder / "summary.txt").unlink()
    (folder / "transcript.md").write_text("damaged")
    rebuild(folder, Redactor())
    assert written(folder) == before


def test_a_running_session_and_one_without_events_are_left_alone(tmp_path: Path, running: Path) -> None:
    before = written(running)
    with pytest.raises(WorkspaceError, match="is running in another program"):
        rebuild(running, Redactor())
    clean_up_after_kills(tmp_path, Redactor())
    assert written(running) == before
    empty = session(tmp_path, [], 1, more=b"not an event\n")
    with pytest.raises(JournalError, match="no events"):
        rebuild(empty, Redactor())
    assert written(empty) == {}


def test_a_session_that_is_resumed_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = session(tmp_path, [*BEGUN, *CUT_OFF])
    before, claim = written(folder), Workspace.claim

    def resumed_meanwhile(*given: Any) -> Workspace:
        with (folder / "journal.jsonl").open("ab") as journal:
            journal.write(encode_event(END) + b"\n")
        return claim(*given)

    monkeypatch.setattr(Workspace, "claim", resumed_meanwhile)
    with pytest.raises(WorkspaceError, match="was resumed in the meantime"):
        rebuild(folder, Redactor())
    assert written(folder) == before


def test_a_start_rebuilds_the_sessions_that_were_killed_and_no_other(tmp_path: Path) -> None:
    killed = session(tmp_path, [*BEGUN, *CUT_OFF], 1)
    # It was killed while it wrote its last files.
    in_between = session(tmp_path, [*BEGUN, END], 2)
    age(in_between / "summary.txt")
    # Its files were complete, and long after its last event.
    complete = session(tmp_path, [*BEGUN, *CUT_OFF], 3)
    rebuild(complete, Redactor())
    age(complete / "journal.jsonl")
    ended = session(tmp_path, [*BEGUN, END], 4)
    unreadable = session(tmp_path, [], 5, more=b"damaged\n")
    for folder in (complete, ended):
        age(folder / "transcript.md", hours=5)
    untouched = {folder: (folder / "transcript.md").stat().st_mtime for folder in (complete, ended)}
    of_others = session(tmp_path, [*BEGUN, *CUT_OFF], 6)
    (of_others / OWNER).unlink()
    before = written(of_others)
    (killed / "search_results").mkdir()
    torn = killed / "search_results" / f".{dead()}-{'ab' * 8}.ua-tmp"
    torn.write_text("half")
    clean_up_after_kills(tmp_path, Redactor())
    assert "how?" in written(killed)["summary.txt"]
    assert not torn.exists()
    assert (in_between / "summary.txt").stat().st_mtime > (in_between / "journal.jsonl").stat().st_mtime
    assert {folder: (folder / "transcript.md").stat().st_mtime for folder in untouched} == untouched
    assert written(unreadable) == {}
    assert written(of_others) == before


def test_a_start_removes_no_session(tmp_path: Path) -> None:
    # What a kill, a full disk or a person leaves may look as if nothing was asked.
    folders = [
        session(tmp_path, [], 1),
        session(tmp_path, BEGUN[:1], 2),
        session(tmp_path, [BEGUN[0], END], 3),
    ]
    without, linked = session(tmp_path, BEGUN, 4), session(tmp_path, BEGUN, 5)
    (without / "journal.jsonl").unlink()
    elsewhere = (linked / "journal.jsonl").rename(tmp_path / "journal.jsonl")
    (linked / "journal.jsonl").symlink_to(elsewhere)
    folders += [without, linked]
    before = {path for folder in folders for path in folder.rglob("*")}
    age(*folders)
    clean_up_after_kills(tmp_path, Redactor())
    assert before <= {path for folder in folders for path in folder.rglob("*")}


def test_a_start_removes_only_our_own_stale_temporary_files_of_the_saved_reports(tmp_path: Path) -> None:
    reports = tmp_path / SAVED_REPORTS
    (reports / "mine").mkdir(parents=True)
    gone = dead()
    stale = reports / f".{gone}-{'ab' * 8}.ua-tmp"
    # As of a program in another container, whose processes have numbers of their own.
    locked = reports / f".{gone}-{'cd' * 8}.ua-tmp"
    others = [
        reports / f".{os.getpid()}-{'ab' * 8}.ua-tmp",
        reports / "report.tmp",
        reports / f"{gone}-ab.ua-tmp",
        reports / "mine" / f".{gone}-{'ab' * 8}.ua-tmp",
    ]
    for file in (stale, locked, *others):
        file.write_text("half")
    with locked.open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        clean_up_after_kills(tmp_path, Redactor())
        assert not stale.exists()
        assert all(file.exists() for file in (locked, *others))
    clean_up_after_kills(tmp_path, Redactor())
    assert not locked.exists()
