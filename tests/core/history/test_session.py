from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.waiting import PATIENCE, run_ready, until
from ua_tui.core.errors import JournalError, SettingsError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history.lookup import find_session, session_names
from ua_tui.core.history.session import PastSession, runs_elsewhere
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.records import journal_reader as past_journal
from ua_tui.core.records.journal_reader import PastJournal, Unread
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.queue_file import QUEUE_FILE
from ua_tui.core.storage.workspace import JOURNAL, Workspace

START = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / WORKSPACES / "session_20261121_140200"
    folder.mkdir(parents=True)
    return folder


def line(event: ev.Event, seq: int = 1) -> bytes:
    return encode_event(msgspec.structs.replace(event, seq=seq, at=START + timedelta(seconds=seq))) + b"\n"


def write(folder: Path, events: Sequence[ev.Event]) -> None:
    (folder / "journal.jsonl").write_bytes(b"".join(line(each, seq) for seq, each in enumerate(events, 1)))


def begun(workspace: str = "/somewhere/else") -> ev.SessionStarted:
    return ev.SessionStarted(session_id="s", workspace=workspace, cwd="/", version="1", model="claude-x")


def delta(text: str, message: str = "m1", parent: str | None = None) -> ev.TextDelta:
    return ev.TextDelta(query_id="q1", message_id=message, text=text, parent_tool_use_id=parent)


def message(text: str, message: str = "m1") -> ev.MessageFinished:
    return ev.MessageFinished(query_id="q1", message_id=message, text=text, usage=ev.Usage(output_tokens=5))


def calls(count: int, first: int = 0, text: str = "found") -> Iterator[ev.Event]:
    for number in range(first, first + count):
        use, content = f"toolu_{number}", (TextContent(f"{text} {number}"),)
        seen = McpObservation(tool_name="Read", tool_use_id=use, server="s", content=content)
        yield ev.ToolCallStarted(query_id="q1", tool_use_id=use, name="Read", input={"n": number})
        yield ev.ToolCallFinished(tool_use_id=use, status="success", observation=seen, duration_ms=3.0)


def ended(query: str = "q1", cost: float = 0.25) -> ev.QueryFinished:
    usage = ev.Usage(input_tokens=90, output_tokens=10)
    return ev.QueryFinished(query_id=query, status="success", duration_ms=2_000.0, cost_usd=cost, usage=usage)


async def opened(folder: Path, tail: int = 1 << 20) -> tuple[PastSession, list[ev.Event]]:
    session = PastSession(folder, tail=tail)
    events: list[ev.Event] = []
    session.bus.subscribe(events.append)
    await session.start()
    return session, events


async def all_of(session: PastSession) -> list[ev.Event]:
    return [event async for batch in session.all_events() for event in batch]


def kinds(events: Sequence[ev.Event]) -> list[str]:
    return [event.event_name for event in events]


async def test_a_short_session_is_published_whole_with_its_folder_as_it_is_now(folder: Path) -> None:
    over = ev.SessionFinished(reason="quit", cost_usd=0.25, duration_ms=9_000.0)
    given = [begun(), ev.QueryReceived(query_id="q1", text="why?"), message("Because."), ended(), over]
    write(folder, given)
    session, events = await opened(folder)
    assert kinds(events) == kinds(given)
    assert isinstance(events[0], ev.SessionStarted)
    assert events[0].workspace == str(folder)
    assert session.complete
    stats = session.stats
    assert (stats.state, stats.setup.model, stats.cost) == ("finished", "claude-x", 0.25)
    assert (stats.tokens, stats.seconds) == (100, 9.0)
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    # A last line without its line break counts if it is whole, and a time without a zone is UTC.
    (folder / "journal.jsonl").write_bytes(line(begun()).replace(b"Z", b"") + line(ended())[:-1])
    session, events = await opened(folder)
    assert kinds(events) == ["session_started", "query_finished"]
    assert events[0].at == START + timedelta(seconds=1)
    assert not session.stats.unread.torn
    write(folder, [])
    session, events = await opened(folder)
    assert (events, session.complete, session.stats.events) == ([], True, 0)
    assert await all_of(session) == []


async def test_streamed_text_is_given_only_where_no_message_repeats_it(folder: Path) -> None:
    thought = ev.ThinkingDelta(query_id="q1", message_id="m1", text="hm")
    parts = [delta("cut", "m2"), delta(" off", "m2"), delta("after a new try", "m3")]
    parts.append(delta("of a sub-agent", "m4", "toolu_1"))
    over = ev.SubagentFinished(task_id="t", tool_use_id="toolu_1", name="expert", status="cancelled")
    end = ev.QueryFinished(query_id="q1", status="interrupted")
    begin = [ev.QueryReceived(query_id="q1", text="why?"), thought, delta("Be"), delta("cause")]
    write(folder, [*begin, message("Because."), *parts, over, end])
    _, events = await opened(folder)
    texts = [event.text for event in events if isinstance(event, ev.TextDelta)]
    # The empty one shows when the thought was over.
    assert texts == ["", "cut off", "of a sub-agent", "after a new try"]
    assert kinds(events).index("subagent_finished") > kinds(events).index("message_finished")
    assert kinds(events)[-1] == "query_finished"
    assert events[2].at == START + timedelta(seconds=3)


async def test_the_end_comes_first_and_the_whole_is_read_behind_it(folder: Path) -> None:
    first = [begun(), ev.QueryReceived(query_id="q1", text="first"), *calls(400), ended("q1")]
    second = [ev.QueryReceived(query_id="q2", text="second"), *calls(60, 400), ended("q2")]
    write(folder, [*first, *second])
    session, events = await opened(folder, tail=48 << 10)
    assert not session.complete
    assert kinds(events)[:2] == ["session_started", "query_received"]
    assert [event.query_id for event in events if isinstance(event, ev.QueryReceived)] == ["q2"]
    assert session.stats.cost is None, "a part does not state the total cost"
    everything = await all_of(session)
    assert kinds(everything) == kinds([*first, *second])
    assert session.complete
    assert (session.stats.cost, session.stats.seconds) == (0.5, 4.0)
    # A single long query is shown from within.
    write(folder, [begun(), ev.QueryReceived(query_id="q1", text="all"), *calls(500)])
    session, events = await opened(folder, tail=30 << 10)
    found = [event.tool_use_id for event in events if isinstance(event, ev.ToolCallStarted)]
    assert 10 < len(found) < 400
    assert found[-1] == "toolu_499"
    assert len(await all_of(session)) == 1_002
    assert session.stats.state == "crashed"


async def test_damage_is_passed_over_and_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_journal, "LONGEST_LINE", 300_000)
    later = b'{"event":"moon_phase","seq":3,"at":"2026-11-21T14:02:03Z","phase":"full"}\n'
    parts = [
        line(begun(), 1),
        b"\xff\xfe garbage\n",
        b'{"event":"query_received","query_id":5}\n',
        b"\n   \n\0\0\0\n",
        later,
        b"x" * 700_000 + b"\n",
        *(line(event, seq) for seq, event in enumerate(calls(1_000), 10)),
        b"[" * 5_000 + b"\n",
        line(ended(), 9_999),
        b'{"event":"session_fin',
    ]
    (folder / "journal.jsonl").write_bytes(b"".join(parts))
    session, _ = await opened(folder, tail=10_000)
    events = await all_of(session)
    assert len(events) == 2_002
    stats = session.stats
    assert (stats.unread, stats.state) == (Unread(0, 4, 1, True), "crashed")
    for event in events:
        if isinstance(event, ev.ToolCallStarted | ev.ToolCallFinished):
            again = session.journal.event_at(event.place)  # type: ignore[arg-type]
            assert isinstance(again, ev.ToolCallStarted | ev.ToolCallFinished)
            assert (again.seq, again.tool_use_id) == (event.seq, event.tool_use_id)


async def test_a_long_or_cut_journal_is_read_in_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, [begun(), *calls(1_000), ended()])
    session, _ = await opened(folder, tail=4_000)
    os.truncate(folder / "journal.jsonl", 100_000)
    assert 100 < len(await all_of(session)) < 2_000
    with pytest.raises(JournalError, match="was changed"):
        session.journal.event_at(900_000)
    monkeypatch.setattr(past_journal, "LARGEST", 40_000)
    write(folder, [begun(), *calls(1_000), ended()])
    session, events = await opened(folder, tail=8_000)
    everything = await all_of(session)
    assert kinds(everything[:1]) == kinds(events[:1]) == ["session_started"]
    assert 50 < len(everything) < 500
    assert everything[-1].event_name == "query_finished"
    assert session.stats.unread.left_out == (folder / "journal.jsonl").stat().st_size - 40_000


@pytest.mark.parametrize("make", ["nothing", "fifo", "link", "folder"])
def test_what_is_no_regular_journal_is_refused_at_once(folder: Path, make: str) -> None:
    path = folder / "journal.jsonl"
    if make == "fifo":
        os.mkfifo(path)
    elif make == "link":
        (folder / "other").write_bytes(line(begun()))
        path.symlink_to(folder / "other")
    elif make == "folder":
        path.mkdir()
    with pytest.raises(JournalError, match=r"session_.* cannot be opened: it"):
        PastSession(folder)


async def test_the_folder_is_left_as_it_is(folder: Path) -> None:
    write(folder, [begun(), *calls(2_000), ended()])
    (folder / ".lock").touch()
    (folder / QUEUE_FILE).write_text('{"version":1,"queries":["one","two"]}')

    def look() -> list[tuple[str, int, int]]:
        found = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in folder.iterdir()]
        return [*sorted(found), (".", 0, folder.stat().st_mtime_ns)]

    before = look()
    session, _ = await opened(folder, tail=4_000)
    await all_of(session)
    await session.close("quit")
    assert look() == before
    assert session.unsent == ("one", "two")
    # A queue that cannot be read is none.
    for content in ("{", '{"queries": 5}', ""):
        (folder / QUEUE_FILE).write_text(content)
        assert (await opened(folder))[0].unsent == ()


async def test_a_session_of_another_program_is_distinguished_from_one_that_crashed(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, START)
    write(workspace.path, [begun(), ended()])
    (workspace.path / QUEUE_FILE).write_text('{"version":1,"queries":["still to come"]}')
    session, _ = await opened(workspace.path)
    assert (session.stats.state, session.unsent) == ("running", ())
    assert workspace.locked
    workspace.close()
    assert not runs_elsewhere(workspace.path)
    assert (await opened(workspace.path))[0].stats.state == "crashed"


async def test_it_accepts_no_query_and_has_no_controls(folder: Path) -> None:
    write(folder, [begun()])
    session, _ = await opened(folder)
    assert (session.inbox, session.controls, session.queued) == (None, None, ())


async def test_closing_ends_the_reading(folder: Path) -> None:
    write(folder, [begun(), *calls(5_000)])
    session, _ = await opened(folder, tail=4_000)
    batches = session.all_events()
    await anext(batches)
    await session.close("quit")
    assert [batch async for batch in batches] == []
    with pytest.raises(JournalError, match="closed"):
        await asyncio.to_thread(session.journal.event_at, 0)


def test_places_are_right_across_blocks(folder: Path) -> None:
    saved = ev.ArtifactSaved(path="a.json", kind="x", size=1, sha256="0", observer="o", tool_use_id="toolu_0")
    write(folder, [*calls(300, text="é" * 2_000), saved])
    journal = PastJournal(folder)
    placed = [event for _, batch in journal.batches(0) for event in batch]
    assert len(placed) == 601
    lines = (folder / "journal.jsonl").read_bytes()
    assert all(event.place == 0 or lines[event.place - 1 : event.place] == b"\n" for event in placed)  # type: ignore[attr-defined]
    assert isinstance(placed[-1], ev.ArtifactSaved)
    assert isinstance(journal.event_at(placed[-1].place), ev.ArtifactSaved)  # type: ignore[arg-type]
    journal.close()
    journal.close()


@pytest.mark.parametrize("length", [1, 5_000, 600_000])
def test_the_line_before_a_place_is_read(folder: Path, length: int) -> None:
    first, second = b"first", b"x" * length
    (folder / "journal.jsonl").write_bytes(first + b"\n" + second + b"\n" + b"torn")
    journal = PastJournal(folder)
    assert journal.line_before(len(first) + 1) == first
    assert journal.line_before(len(first) + length + 2) == second
    # No line ends there.
    assert [journal.line_before(place) for place in (0, 3, len(first) + length + 4, 1 << 20)] == [b""] * 4
    journal.close()


def test_a_session_is_found_by_name_or_as_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sessions = tmp_path / WORKSPACES
    names = ["session_20261121_140200", "session_20261121_140200-2", "session_20261121_140200-10"]
    for name in [*names, "session_20261122_090000", "session_20261101_000000", "notes"]:
        (sessions / name).mkdir(parents=True)
    (sessions / "session_20270101_000000").symlink_to(tmp_path)
    for name in [*names, "session_20261101_000000"]:
        write(sessions / name, [begun()])
    assert session_names(tmp_path)[:3] == ["session_20261122_090000", names[2], names[1]]
    os.utime(sessions / names[2] / JOURNAL, (1 << 32, 1 << 32))
    assert find_session(tmp_path, "latest") == sessions / names[2], "the one that was written to last"
    assert find_session(tmp_path, names[1]) == sessions / names[1]
    assert find_session(tmp_path, "20261101_000000") == sessions / "session_20261101_000000"
    assert find_session(Path("/"), f"{WORKSPACES}/{names[0]}") == Path(WORKSPACES) / names[0]


def test_what_is_no_session_is_described_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "work"
    base.mkdir()
    monkeypatch.chdir(base)
    (base / "a file").touch()
    reasons = {
        "latest": "there is no session in", "session_20200101_000000": "neither a folder here nor a session in",
        "": "neither a folder", "a file": "is not a folder", "..": "it has no journal", "x\0y": "there is no session",
        "y" * 5_000: "cannot be opened", "\x1b]0;x\x07": "there is no session",
    }  # fmt: skip
    for wanted, why in reasons.items():
        with pytest.raises(SettingsError, match=why) as raised:
            find_session(base, wanted)
        assert str(raised.value).isprintable()


async def followed(session: PastSession) -> list[ev.Event]:
    return [event async for events in session.follow() for event in events]


@pytest.mark.parametrize("tail", [1 << 20, 200])
async def test_what_happens_elsewhere_is_followed_to_its_end(folder: Path, tail: int) -> None:
    write(folder, [begun(), ev.QueryReceived(query_id="q1", text="Ask"), delta("Streamed ")])
    journal = folder / "journal.jsonl"
    with (folder / ".lock").open("wb") as lock, journal.open("ab", buffering=0) as appending:
        fcntl.flock(lock, fcntl.LOCK_EX)
        session = PastSession(folder, tail=tail)
        given: list[ev.Event] = []
        session.bus.subscribe(given.append)
        await session.start()
        if not session.complete:
            given = [event async for events in session.all_events() for event in events]
        assert session.runs_elsewhere
        assert [event.text for event in given if isinstance(event, ev.TextDelta)] == ["Streamed "]
        following = asyncio.create_task(followed(session))
        call = ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Read", input={}, iteration=1)
        appending.write(line(delta("on"), 4) + b"nonsense\n" + line(call, 5)[:-20])
        await until(lambda: session.journal.size >= journal.stat().st_size)
        appending.write(
            line(call, 5)[-20:] + line(ev.ToolCallFinished(tool_use_id="t1", status="success"), 6)
        )
        done = ev.QueryFinished(query_id="q1", status="success", duration_ms=2_000, cost_usd=0.25)
        appending.write(line(done, 7))
        await until(lambda: session.journal.size >= journal.stat().st_size)
        appending.write(line(ev.SessionFinished(reason="quit", cost_usd=0.25, duration_ms=9_000), 8))
        fcntl.flock(lock, fcntl.LOCK_UN)
        events = await asyncio.wait_for(following, PATIENCE)
    # Streamed text comes as it is streamed, each line once, and a line only when it is whole.
    names = ["TextDelta", "ToolCallStarted", "ToolCallFinished", "QueryFinished", "SessionFinished"]
    assert [(type(event).__name__, event.seq) for event in events] == [*zip(names, range(4, 9), strict=True)]
    assert (session.stats.state, session.stats.cost, session.stats.seconds) == ("finished", 0.25, 9.0)
    assert not session.runs_elsewhere
    (started,) = [event for event in events if isinstance(event, ev.ToolCallStarted)]
    again = session.journal.event_at(started.place)
    assert isinstance(again, ev.ToolCallStarted)
    assert again.tool_use_id == "t1"
    await session.close("quit")


async def test_a_followed_session_that_is_killed_has_crashed_and_has_what_waited(folder: Path) -> None:
    write(folder, [begun(), ev.QueryReceived(query_id="q1", text="Ask")])
    with (folder / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        session = PastSession(folder)
        await session.start()
        assert not session.unsent
        following = asyncio.create_task(followed(session))
        (folder / QUEUE_FILE).write_text('{"version": 1, "queries": ["And this"]}')
        with (folder / "journal.jsonl").open("ab") as appending:
            appending.write(line(delta("half"), 3) + b'{"event":"text_de')
    events = await asyncio.wait_for(following, PATIENCE)
    assert [event.seq for event in events] == [3]
    assert session.stats.state == "crashed"
    assert session.unsent == ("And this",)
    await session.close("quit")


async def test_following_ends_when_nobody_looks_any_more(folder: Path) -> None:
    write(folder, [begun()])
    with (folder / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        session = PastSession(folder)
        await session.start()
        following = asyncio.create_task(followed(session))
        await run_ready()
        await session.close("quit")
        with suppress(JournalError):
            await asyncio.wait_for(following, PATIENCE)
    assert session.stats.state == "running"


def test_a_line_that_is_too_long_is_skipped_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, [begun()])
    journal = PastJournal(folder)
    place = journal.size
    monkeypatch.setattr(past_journal, "LONGEST_LINE", 1_000)
    monkeypatch.setattr(past_journal, "BLOCK", 400)
    with (folder / "journal.jsonl").open("ab") as appending:
        appending.write(b"x" * 5_000 + b"\n" + line(delta("after"), 2))
    seqs: list[int] = []
    while True:
        before = place
        place, events = journal.more(place)
        if place == before:
            break
        seqs += [event.seq for event in events]
    assert seqs == [2]
    assert place == journal.size == (folder / "journal.jsonl").stat().st_size
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.more(place)
