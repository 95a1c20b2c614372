from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.limits import file_size_limit
from tests.journals import read_journal
from tests.waiting import PATIENCE, ManualClock, run_ready, until
from ua_tui.core.bus import Bus
from ua_tui.core.errors import JournalError
from ua_tui.core.events import types as ev
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.records.journal import DeltaJoiner, Journal, journal_line
from ua_tui.core.redaction.redactor import Redactor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    journal = Journal(path, Redactor(["hunter2hunter2"]))
    yield journal
    journal.close()


def query(seq: int, text: str = "hello") -> ev.QueryReceived:
    return ev.QueryReceived(seq=seq, query_id="q1", text=text)


def delta(seq: int, text: str, message_id: str = "m1") -> ev.TextDelta:
    return ev.TextDelta(seq=seq, query_id="q1", message_id=message_id, text=text)


def test_events_are_on_disk_at_once_and_read_back_equal(path: Path, journal: Journal) -> None:
    seen = McpObservation(tool_name="x", tool_use_id="t1", server="s", content=(TextContent("line\n\tline"),))
    given = {"a": [1, None, {"b": 2.5}]}
    events: list[ev.Event] = [
        query(1, "what is new? … 新"),
        ev.ToolCallStarted(seq=2, query_id="q1", tool_use_id="t1", name="Read", input=given),
        ev.ToolCallFinished(seq=3, tool_use_id="t1", status="success", observation=seen),
    ]
    for event in events:
        journal.append(event)
    reading = read_journal(path)
    assert reading.events == events
    assert (reading.skipped, reading.events[-1].seq) == (0, 3)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_lines_hold_no_secret_and_no_character_that_misleads(path: Path, journal: Journal) -> None:
    hostile = "a\x1b]52;c;x\x07b\u202ec\x9dd\u200b\U000e0041"
    given = {"api_key": "0123456789abc", "q": "sk-ant-abcdefghij"}
    link = "https://accounts.login.example/o/oauth?state=abcdef"
    events: list[ev.Event] = [
        query(1, f"key hunter2hunter2 and {hostile}"),
        ev.ToolCallStarted(seq=2, query_id="q1", tool_use_id="t", name="n", input=given),
        ev.AuthRequired(seq=3, toolkit="gmail", url=link),
        query(4, f"opened {link}"),
    ]
    for event in events:
        journal.append(event)
    raw = path.read_bytes()
    for secret in (b"hunter2", b"0123456789abc", b"sk-ant-abcdefghij", b"state=abcdef"):
        assert secret not in raw
    assert all(byte >= 0x20 or byte == 0x0A for byte in raw)
    for character in "\u202e\x9d\u200b\U000e0041":
        assert character.encode() not in raw
    first, _, link_, _ = read_journal(path).events
    assert isinstance(first, ev.QueryReceived)
    assert first.text.endswith(hostile)
    assert isinstance(link_, ev.AuthRequired)
    assert link_.url == "https://accounts.login.example/[redacted]"
    # A line for elsewhere is the journal's own.
    redactor = Redactor(["hunter2hunter2"])
    assert raw == b"".join(journal_line(event, redactor) for event in events)


def test_what_is_no_plain_json_is_written_as_far_as_it_can_be(path: Path, journal: Journal) -> None:
    deep: dict[str, object] = {}
    for _ in range(3000):
        deep = {"a": deep}
    journal.append(query(1, "lone \ud800 surrogate"))
    journal.append(
        ev.ToolCallStarted(seq=2, query_id="q", tool_use_id="t", name="n", input={"x": object(), "y": deep})
    )
    journal.append(query(3))
    reading = read_journal(path)
    assert [event.seq for event in reading.events] == [1, 2, 3]
    assert reading.skipped == 0
    assert isinstance(reading.events[0], ev.QueryReceived)
    assert reading.events[0].text == "lone \ufffd surrogate"


def test_a_torn_tail_is_ended_on_opening_and_only_that_line_is_lost(path: Path) -> None:
    first = Journal(path, Redactor())
    first.append(query(1))
    first.append(query(2))
    first.close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 20)
    second = Journal(path, Redactor())
    second.append(query(3))
    second.close()
    reading = read_journal(path)
    assert [event.seq for event in reading.events] == [1, 3]
    assert reading.skipped == 1


def test_reading_skips_garbage_and_keeps_events_of_later_versions(path: Path) -> None:
    path.write_bytes(
        b'{"event":"query_received","seq":1,"query_id":"q","text":"a","added_later":5}\n'
        b"\xff\xfe not json\n\0\0\0\0\n"
        b'{"event":"query_received","seq":"no"}\n' + b"[" * 100_000 + b"\n"
        b'{"event":"moon_landed","seq":5,"crew":3}\n'
        b'{"event":"query_rec'
    )
    reading = read_journal(path)
    assert [event.seq for event in reading.events] == [1, 5]
    assert isinstance(reading.events[1], ev.UnknownEvent)
    assert reading.events[1].fields == {"crew": 3}
    assert reading.skipped == 4


@pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
def test_what_is_no_journal_is_an_error_and_never_blocks(path: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(target)
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(path, Redactor())
    assert target.read_text() == "precious"


def test_a_full_disk_is_reported_once_and_loses_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    failures: list[JournalError] = []
    journal = Journal(path, Redactor(), on_failure=failures.append)
    journal.append(query(1))
    size = path.stat().st_size
    with file_size_limit(size + 30):
        for seq in range(2, 6):
            journal.append(query(seq))
        assert path.stat().st_size == size
    assert len(failures) == 1
    assert isinstance(failures[0].__cause__, OSError)
    journal.append(query(6))
    journal.close()
    assert caplog.messages == ["the journal can be written again; 0 events were lost"]
    reading = read_journal(path)
    assert [event.seq for event in reading.events] == [1, 2, 3, 4, 5, 6]
    assert reading.skipped == 0


async def test_what_waited_is_written_when_there_is_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ua_tui.core.records.journal._RETRY_AFTER", 0.0)
    journal = Journal(path, Redactor())
    with file_size_limit(0):
        journal.append(query(1))
        # Attempts that fail.
        await run_ready()
    await until(lambda: [event.seq for event in read_journal(path).events] == [1])
    journal.close()


def test_the_oldest_waiting_lines_are_lost_and_counted(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal(path, Redactor())
    with file_size_limit(0):
        for seq in range(1, 41):
            journal.append(query(seq, "x" * (1 << 20)))
    journal.close()
    kept = [event.seq for event in read_journal(path).events]
    assert kept == list(range(41 - len(kept), 41))
    assert caplog.messages == [f"the journal can be written again; {40 - len(kept)} events were lost"]
    assert 10 <= len(kept) <= 16


def test_a_callback_may_publish_without_a_loop_and_what_waited_is_written_on_closing(path: Path) -> None:
    bus = Bus()
    journal = Journal(path, Redactor(), on_failure=lambda error: bus.publish(query(0, str(error))))
    bus.subscribe(journal.append)
    with file_size_limit(0):
        bus.publish(query(0))
        bus.publish(query(0))
    journal.close()
    journal.close()
    assert [event.seq for event in read_journal(path).events] == [1, 2, 3]


def test_many_results_can_be_forced_to_disk_while_more_come(path: Path) -> None:
    journal = Journal(path, Redactor())
    for seq in range(1, 101):
        journal.append(ev.ToolCallFinished(seq=seq, tool_use_id=f"t{seq}", status="success"))
    journal.sync()
    journal.close()
    assert max(event.seq for event in read_journal(path).events) == 100


@given(texts=st.lists(st.text(max_size=40), min_size=1, max_size=8), cut=st.integers(0, 60))
def test_whatever_the_text_and_wherever_it_is_cut_the_rest_survives(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], cut: int
) -> None:
    path = tmp_path_factory.mktemp("j") / "journal.jsonl"
    journal = Journal(path, Redactor())
    for seq, text in enumerate(texts, 1):
        journal.append(query(seq, text))
    journal.close()
    assert [e.text for e in read_journal(path).events if isinstance(e, ev.QueryReceived)] == texts
    with path.open("r+b") as file:
        file.truncate(max(0, path.stat().st_size - cut))
    whole = path.read_bytes().count(b"\n")
    again = Journal(path, Redactor())
    again.append(query(99))
    again.close()
    seqs = [event.seq for event in read_journal(path).events]
    assert seqs[:whole] == list(range(1, whole + 1))
    assert seqs[-1] == 99


def test_deltas_are_joined_until_another_event_comes() -> None:
    seen: list[ev.Event] = []
    joiner = DeltaJoiner(seen.append)
    joiner(delta(1, "a"))
    joiner(delta(2, "b"))
    assert seen == []
    joiner(query(3))
    joiner(delta(4, "c"))
    joiner.flush()
    joiner.flush()
    assert seen == [delta(1, "ab"), query(3), delta(4, "c")]


def test_streams_that_alternate_are_joined_each_for_itself_in_order_of_their_first() -> None:
    seen: list[ev.Event] = []
    joiner = DeltaJoiner(seen.append)
    for seq, (message, text) in enumerate([("m1", "a"), ("m2", "x"), ("m1", "b"), ("m2", "y")], 1):
        joiner(delta(seq, text, message))
    joiner(ev.ThinkingDelta(seq=5, query_id="q1", message_id="m1", text="hm"))
    joiner(ev.MessageFinished(seq=6, query_id="q1", message_id="m1", text="ab"))
    found = [(event.seq, getattr(event, "text", "")) for event in seen]
    assert found == [(1, "ab"), (2, "xy"), (5, "hm"), (6, "ab")]


def test_without_a_loop_the_clock_ends_a_window() -> None:
    clock = ManualClock()
    seen: list[ev.Event] = []
    joiner = DeltaJoiner(seen.append, clock=clock)
    for seq, now in enumerate([0.0, 0.1, 0.24, 0.25, 0.3], 1):
        clock.now = 100 + now
        joiner(delta(seq, str(seq)))
    joiner.flush()
    assert seen == [delta(1, "123"), delta(4, "45")]


async def test_in_a_loop_a_timer_passes_on_the_tail_of_a_stream() -> None:
    arrived = asyncio.Event()
    seen: list[ev.Event] = []

    def take(event: ev.Event) -> None:
        seen.append(event)
        arrived.set()

    joiner = DeltaJoiner(take, window=0.01)
    joiner(delta(1, "a"))
    joiner(delta(2, "b"))
    assert not seen
    await asyncio.wait_for(arrived.wait(), PATIENCE)
    assert seen == [delta(1, "ab")]


def test_a_sink_that_fails_gets_the_next_event() -> None:
    seen: list[ev.Event] = []

    def broken(event: ev.Event) -> None:
        seen.append(event)
        raise OSError

    joiner = DeltaJoiner(broken)
    joiner(delta(1, "a"))
    joiner(query(2))
    assert [event.seq for event in seen] == [1, 2]


def test_a_line_is_given_on_as_it_was_written(path: Path) -> None:
    lines: list[bytes] = []

    def refuse(line: bytes) -> None:
        lines.append(line)
        raise BrokenPipeError

    bus, journal = Bus(), Journal(path, Redactor(["hunter2hunter2"]), on_line=refuse)
    bus.subscribe(DeltaJoiner(journal.append))
    bus.publish(query(0, "key hunter2hunter2"))
    for text in ("Hel", "lo"):
        bus.publish(delta(0, text))
    bus.publish(ev.MessageFinished(query_id="q1", message_id="m1", text="Hello"))
    journal.close()
    assert path.read_bytes() == b"".join(lines)
    assert (len(lines), b"hunter2" in lines[0]) == (3, False)
    assert [msgspec.json.decode(line)["seq"] for line in lines] == [1, 2, 4]
    assert msgspec.json.decode(lines[1])["text"] == "Hello"
