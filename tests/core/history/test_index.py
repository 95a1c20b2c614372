from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.core.cases import cases_of
from tests.core.knowledge.stored import add, document, found
from ua_tui.core.bus import Bus
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history import headline as session_summary
from ua_tui.core.history.headline import TITLE, Summary, read_heading, texts_of
from ua_tui.core.history.index import SessionIndex, with_families
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.records import journal_reader
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.version import VERSION

CASES = cases_of(__file__)

END = ev.SessionFinished(
    reason="quit", queries=1, tool_calls=3, artifacts=2, cost_usd=0.5, duration_ms=61_000.0
)


def lay(
    base: Path, number: int, events: Sequence[ev.Event] = (), *, begun: bool = True, more: bytes = b""
) -> Path:
    folder = base / WORKSPACES / f"session_20261121_{number:06}"
    folder.mkdir(parents=True)
    (folder / ".lock").touch()
    bus, lines = Bus(), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    first = ev.SessionStarted(session_id=folder.name, workspace="/w", cwd="/", version=VERSION)
    for event in [*([first] if begun else []), *events]:
        bus.publish(event)
    (folder / "journal.jsonl").write_bytes(b"".join(lines) + more)
    return folder


def asked(text: str, answer: str = "", cost: float | None = None) -> list[ev.Event]:
    return [
        ev.QueryReceived(query_id="q1", text=text),
        ev.TextDelta(query_id="q1", message_id="m1", text="thinking aloud of zebras"),
        ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Read", input={}, iteration=1),
        ev.ArtifactSaved(path="a.md", kind="article", size=1, sha256="", observer="corpus"),
        ev.QueryFinished(query_id="q1", status="success", text=answer, cost_usd=cost),
    ]


def index(base: Path) -> SessionIndex:
    return SessionIndex(base, base / "cache")


def listed(of: SessionIndex) -> list[Summary]:
    return [summary for batch in of.refresh() for summary in batch]


def test_a_complete_session_is_read_from_both_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    middle = [ev.TextDelta(query_id="q1", message_id="m1", text="x" * 1000) for _ in range(400)]
    folder = lay(tmp_path, 1, [*asked("What\nis \x1b[2J this?"), *middle, END])
    assert (folder / "journal.jsonl").stat().st_size > 400_000
    monkeypatch.setattr(journal_reader.PastJournal, "lines", None)
    (found,) = listed(index(tmp_path))
    assert (found.state, found.calls, found.artifacts) == ("finished", 3, 2)
    assert (found.cost, found.seconds) == (0.5, 61.0)
    assert found.heading.startswith("What is ")
    assert "\x1b" not in found.heading
    # The heading needs no other lines.
    found = read_heading(lay(tmp_path, 2, asked("What is this?", cost=0.5)))
    assert (found.heading, found.state, found.cost) == ("What is this?", "unknown", None)
    assert read_heading(lay(tmp_path, 3, [END])).state == "finished"
    stopped = ev.SessionFinished(reason="interrupted")
    assert read_heading(lay(tmp_path, 5, [stopped])).state == "stopped"
    empty = read_heading(lay(tmp_path, 4, begun=False))
    assert (empty.state, empty.line) == ("unknown", "nothing was asked")


def test_a_session_without_an_end_is_added_up_and_running_only_while_its_lock_is_held(tmp_path: Path) -> None:
    folder = lay(tmp_path, 1, [*asked("First", cost=0.25), *asked("Second", cost=0.5)], more=b'{"event":"que')
    of = index(tmp_path)
    (found,) = listed(of)
    assert (found.state, found.calls, found.artifacts, found.cost) == ("crashed", 2, 2, 0.75)
    assert found.query == "First"
    with (folder / ".lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert listed(of)[0].state == "running"
        assert listed(index(tmp_path))[0].state == "running"
        with pytest.raises(WorkspaceError, match="is running"):
            of.delete(folder.name)
    assert listed(of)[0].state == "crashed"
    assert (folder / "journal.jsonl").exists()


def test_the_cost_of_a_query_without_an_end_is_estimated_until_its_end_states_it(tmp_path: Path) -> None:
    def spent(cost: float | None) -> ev.Event:
        return ev.TokensSpent(query_id="q1", message_id="m1", usage=ev.Usage(), cost_usd=cost)

    def end(cost: float | None) -> ev.Event:
        return ev.QueryFinished(query_id="q1", status="error", cost_usd=cost)

    def costs() -> tuple[float | None, bool]:
        # Read on from what is remembered, and everything again.
        (found,), (again,) = listed(of), listed(SessionIndex(tmp_path, tmp_path / "no cache"))
        assert found.cost == pytest.approx(again.cost)
        assert found.is_estimated == again.is_estimated
        return found.cost and round(found.cost, 6), found.is_estimated

    of = index(tmp_path)
    folder = lay(tmp_path, 1, [spent(None)])
    assert costs() == (None, False)
    for event, cost, is_estimated in (
        (spent(0.25), 0.25, True),
        (spent(0.5), 0.75, True),
        (end(1.0), 1.0, False),
        (spent(0.1), 1.1, True),
        (end(None), 1.1, True),
        (spent(0.2), 1.3, True),
        (end(0.3), 1.4, False),
    ):
        with (folder / "journal.jsonl").open("ab") as journal:
            journal.write(encode_event(event) + b"\n")
        assert costs() == (cost, is_estimated)


def test_what_cannot_be_read_is_marked_and_hides_nothing_else(tmp_path: Path) -> None:
    lay(tmp_path, 1, asked("Whole"))
    lay(tmp_path, 2, begun=False)
    lay(tmp_path, 3, begun=False, more=b"\xff\x00 nonsense\n" * 50)
    (tmp_path / WORKSPACES / "session_20261121_000004").mkdir()
    for number in (5, 6, 7):
        (lay(tmp_path, number) / "journal.jsonl").unlink()
    sessions = tmp_path / WORKSPACES
    (sessions / "session_20261121_000005" / "journal.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(sessions / "session_20261121_000006" / "journal.jsonl")
    (sessions / "session_20261121_000007" / "journal.jsonl").mkdir()
    (sessions / "session_20261121_000008").symlink_to(sessions / "session_20261121_000001")
    (sessions / "session_20261121_000009").write_text("a file")
    of = index(tmp_path)
    found = {summary.name[-1]: summary for summary in listed(of)}
    assert [found[number].state for number in "12345678"] == ["crashed", "crashed", *["corrupt"] * 6]
    assert [found[number].why for number in "2345678"] == CASES[
        "what_cannot_be_read_is_marked_and_hides_nothing_else"
    ]
    assert "9" not in found
    assert [each.name for each in of.search("whole", list(found.values())) if each is not None] == [
        "session_20261121_000001"
    ]


@pytest.mark.parametrize("at", ["session_20261121_000001", "session_20261121_000001/journal.jsonl", ""])
def test_what_may_not_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    lay(tmp_path, 1, asked("Hidden"))
    lay(tmp_path, 2, asked("Open"))
    hidden = tmp_path / WORKSPACES / at
    really_open, really_scan, really_stat = os.open, os.scandir, os.stat

    def refuse(path: Any) -> None:
        # Whoever runs the tests may be allowed everything.
        if hidden in (Path(path), *Path(path).parents) and (at or Path(path) == hidden):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def opened(path: Any, *args: Any, **more: Any) -> int:
        refuse(path)
        return really_open(path, *args, **more)

    def scanned(path: Any) -> Any:
        refuse(path)
        return really_scan(path)

    def stated(path: Any, *args: Any, **more: Any) -> os.stat_result:
        if Path(path).parent == hidden:
            refuse(path)
        return really_stat(path, *args, **more)

    of = index(tmp_path)
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "scandir", scanned)
    monkeypatch.setattr(os, "stat", stated)
    if not at:
        with pytest.raises(WorkspaceError, match="cannot be listed: Permission denied"):
            listed(of)
        return
    (second, first) = listed(of)
    assert second.query == "Open"
    assert (first.state, first.query) == ("corrupt", "")
    assert first.why.startswith("you have no permission to read it: check the permissions")


def test_a_session_of_a_later_version_says_so_whether_it_can_be_read_or_not(tmp_path: Path) -> None:
    later = ev.SessionStarted(session_id="s", workspace="/w", cwd="/", version="99.1.0", demo=True)
    readable = lay(tmp_path, 1, [later, *asked("What is new?"), END], begun=False)
    lines = (readable / "journal.jsonl").read_bytes()
    lines = lines.replace(b'"demo":true', b'"demo":{"of":"another shape"}')
    lay(tmp_path, 2, begun=False, more=lines)
    lay(tmp_path, 3, begun=False, more=lines.replace(b"session_started", b"session_opened"))
    later_event = b'{"event":"dreamt","seq":99,"at":"2027-01-01T00:00:00Z","of":["sheep"]}\n'
    lay(tmp_path, 4, asked("Dreams"), more=later_event)
    dreams, opened, reshaped, first = listed(index(tmp_path))
    why = "it was written by ua-tui 99.1.0, a later version than this one"
    assert (first.state, first.query, first.why) == ("finished", "What is new?", why)
    assert (reshaped.state, reshaped.query, reshaped.why) == ("corrupt", "What is new?", why)
    assert (opened.state, opened.why) == ("corrupt", why)
    assert (dreams.state, dreams.query, dreams.why) == ("crashed", "Dreams", "")


def test_of_a_running_session_only_news_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay(tmp_path, 1, [*asked("First", cost=0.25)])
    of = index(tmp_path)
    listed(of)
    whole = (folder / "journal.jsonl").stat().st_size
    read: list[int] = []
    really = os.pread

    def noting(file: int, length: int, at: int) -> bytes:
        read.append(at)
        return really(file, length, at)

    with (folder / ".lock").open("rb") as lock, (folder / "journal.jsonl").open("ab") as journal:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = lay(tmp_path, 2, [*asked("Second", cost=0.5), *asked("Third")], begun=False)
        added = (second / "journal.jsonl").read_bytes()
        half = added.index(b"\n", len(added) // 2) + 20
        monkeypatch.setattr(os, "pread", noting)
        monkeypatch.setattr(journal_reader, "SCANNED", 100)
        counts = []
        for part in (added[:half], added[half:]):
            journal.write(part)
            journal.flush()
            now = next(each for each in listed(of) if each.name == folder.name)
            counts.append((now.state, now.calls, now.artifacts, now.cost))
        assert min(filter(None, read)) >= whole
        fresh = next(each for each in listed(index(tmp_path / "x" / "..")) if each.name == folder.name)
    assert counts == [("running", 2, 2, 0.75), ("running", 3, 3, 0.75)]
    assert fresh == now


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        lay(tmp_path, number, [*asked(f"Question {number}"), END])
    first = listed(index(tmp_path))
    assert [summary.query for summary in first] == [f"Question {number}" for number in (4, 3, 2, 1, 0)]
    read: list[str] = []
    real = session_summary.read_summary

    def noting(folder: Path, stamp: session_summary.Stamp, before: Summary | None) -> Summary:
        read.append(folder.name[-1])
        return real(folder, stamp, before)

    monkeypatch.setattr("ua_tui.core.history.index.read_summary", noting)
    assert listed(index(tmp_path)) == first
    assert read == []
    with (tmp_path / WORKSPACES / "session_20261121_000002" / "journal.jsonl").open("ab") as journal:
        journal.write(b"{}\n")
    again = listed(index(tmp_path))
    assert read == ["2"]
    assert again[2].state == "crashed"


def test_a_broken_cache_is_ignored(tmp_path: Path) -> None:
    lay(tmp_path, 1, asked("Still here"))
    cache = tmp_path / "cache"
    cache.write_text("a file in the way")
    assert [summary.query for summary in listed(index(tmp_path))] == ["Still here"]
    cache.unlink()
    listed(index(tmp_path))
    (file,) = cache.iterdir()
    for content in (b"", b"nonsense", b'{"version":99,"sessions":[]}', b'[1,{"name":3}]'):
        file.write_bytes(content)
        assert listed(index(tmp_path))[0].query == "Still here"
        assert b"Still here" in file.read_bytes()


def test_titles_queries_and_answers_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, 1, [*asked("The Alps", "High mountains"), END])
    lay(tmp_path, 2, [*asked("First"), *asked("later QUERY of alps"), END])
    lay(tmp_path, 3, [*asked("Nothing"), END])
    of = index(tmp_path)
    of.rename("session_20261121_000003", "  My ALPS\x1b[2J notes ")
    among = listed(of)
    numbers = {"alps": "123", "MOUNTAINS high": "1", "mountains query": "", "zebras": "", "000002": "2"}
    for words, expected in numbers.items():
        found = {each.name[-1] for each in of.search(words, among) if each is not None}
        assert found == {*expected}, words
    assert list(of.search("alps", among, lambda: True)) == []
    # Words far into a journal are found over the edges of its blocks.
    monkeypatch.setattr(journal_reader, "SCANNED", 100)
    folder = lay(tmp_path, 4, [*asked("one", "two"), *asked("three", "f\u00f6ur")])
    assert list(texts_of(folder)) == ["one", "two", "three", "f\u00f6ur"]


def test_a_title_is_kept_in_the_session_and_can_be_taken_away(tmp_path: Path) -> None:
    folder = lay(tmp_path, 1, [*asked("Question"), END])
    of = index(tmp_path)
    assert of.rename(folder.name, "A title\nof two lines").heading == "A title of two lines"
    assert listed(index(tmp_path))[0].title == "A title of two lines"
    assert of.rename(folder.name, " ").heading == "Question"
    assert not (folder / TITLE).exists()
    with pytest.raises(WorkspaceError):
        of.rename("session_20261121_999999", "no such")


def test_a_session_is_deleted_with_what_is_in_it_and_nothing_beside_it(tmp_path: Path) -> None:
    folder, other = lay(tmp_path, 1, [END]), lay(tmp_path, 2, [END])
    outside, knowledge = tmp_path / "outside", tmp_path / "elsewhere.db"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    (folder / "link").symlink_to(outside)
    (folder / "work_products").mkdir()
    # It is deleted also if it cannot be forgotten.
    knowledge.mkdir()
    of = SessionIndex(tmp_path, tmp_path / "cache", knowledge=knowledge)
    listed(of)
    assert "the session is deleted, but stays in the knowledge base until the next session runs" in of.delete(
        folder.name
    )
    assert not folder.exists()
    assert (outside / "kept.txt").exists()
    assert [summary.name for summary in listed(of)] == [other.name]


def test_a_deleted_session_is_forgotten(tmp_path: Path) -> None:
    folder, other = lay(tmp_path, 1, [END]), lay(tmp_path, 2, [END])
    knowledge = tmp_path / WORKSPACES / FILE
    with open_store(knowledge) as store:
        # A program that has the file open for long.
        for each in (folder, other):
            add(store, each.name, document(f"quokkas in {each.name}"))
        assert index(tmp_path).delete(folder.name) == ""
        assert found(knowledge, "quokkas") == [(other.name, "notes.md")]
        assert b"quokkas in " + folder.name.encode() not in knowledge.read_bytes()
        # It was reading the session when that was deleted.
        assert add(store, folder.name, document("quokkas again"))
    assert found(knowledge, "quokkas") == [(other.name, "notes.md")]


def test_only_sessions_are_named_and_deleted(tmp_path: Path) -> None:
    lay(tmp_path, 1)
    (tmp_path / "outside").mkdir()
    (tmp_path / WORKSPACES / "blacklist.json").write_text(json.dumps({}))
    (tmp_path / WORKSPACES / "session_20261121_000009").symlink_to(tmp_path / "outside")
    for name in ("", ".", "..", "../outside", "session_20261121_000009", "blacklist.json"):
        with pytest.raises(WorkspaceError, match="is not a session"):
            index(tmp_path).delete(name)
        with pytest.raises(WorkspaceError, match="is not a session"):
            index(tmp_path).rename(name, "A title")
    assert list((tmp_path / "outside").iterdir()) == []


def test_forks_are_listed_below_the_session_that_they_are_forks_of() -> None:
    def session(number: int, of: int | None = None) -> Summary:
        return Summary(name=f"s{number}", forked_from=f"s{of}" if of is not None else "")

    newest_first = [session(6, 9), session(5, 2), session(4, 1), session(3), session(2, 1), session(1)]
    rows = [(row.name, depth) for row, depth in with_families(newest_first)]
    assert rows == [("s6", 0), ("s1", 0), ("s2", 1), ("s5", 2), ("s4", 1), ("s3", 0)]
    # A journal may say anything.
    circle = [session(1, 2), session(2, 1)]
    assert sorted(row.name for row, _ in with_families(circle)) == ["s1", "s2"]
