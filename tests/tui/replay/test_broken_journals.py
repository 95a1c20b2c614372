"""Journals that are cut, spliced, swapped, damaged, or of other versions: each is played as far as it goes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.tui.replay.test_past_session import many, stamped
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history.event_replay import EventReplay
from ua_tui.core.history.recording import MARK_KINDS, Recording
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.feed import EventFeed
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.provenance import Origins
from ua_tui.tui.replay.footer import missing_text

Lines = list[bytes]
BEGUN = ev.SessionStarted(session_id="s", workspace="/gone", cwd="/", version="1")
EVENTS = stamped([BEGUN, *many(4, calls=8), ev.SessionFinished(reason="quit")])
CHANCE = random.Random(17)


def lines() -> Lines:
    """The lines of a journal of 78 events, without their ends."""
    return [encode_event(event) for event in EVENTS]


def joined(found: Lines, end: bytes = b"\n") -> bytes:
    return b"".join(line + end for line in found)


def without(*numbers: int) -> bytes:
    return joined([line for number, line in enumerate(lines()) if number not in numbers])


def swapped(first: int, second: int) -> bytes:
    found = lines()
    found[first], found[second] = found[second], found[first]
    return joined(found)


def instead(number: int, line: bytes) -> bytes:
    found = lines()
    found[number] = line
    return joined(found)


def changed(number: int, **fields: Any) -> bytes:
    """Replace fields of a line; None removes one."""
    event = json.loads(lines()[number]) | fields
    return instead(
        number, json.dumps({name: value for name, value in event.items() if value is not ...}).encode()
    )


def flipped(number: int) -> bytes:
    """A journal in which a byte of a value in a line is no UTF-8."""
    return instead(number, lines()[number].replace(b'"at":"2', b'"at":"\xff', 1))


def torn(number: int) -> bytes:
    """A journal that ends in a line."""
    return joined(lines()[:number]) + lines()[number][: CHANCE.randrange(1, 40)]


def other(count: int) -> Lines:
    """The last lines of another session, whose events have their own numbers."""
    events = stamped([BEGUN, *many(2, calls=3)])
    return [encode_event(event) for event in events][-count:]


WHOLE = len(EVENTS)
CUT, DAMAGED, ORDER = "was cut off", "damaged", "out of order"
BEGINNING, END, LATER, NOTHING = (
    "beginning of its journal",
    "no beginning",
    "later version",
    "nothing to replay",
)

CASES: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "whole": (lambda: joined(lines()), WHOLE, ""),
    "older: without most fields": (lambda: changed(1, prompt=...), WHOLE, ""),
    "older: no numbers": (
        lambda: joined([line.replace(b'"seq":', b'"old":') for line in lines()]),
        WHOLE,
        "",
    ),
    "newer: an event": (
        lambda: instead(5, b'{"event":"hologram_shown","seq":6,"at":"2026-11-21T14:02:03Z"}'),
        WHOLE - 1,
        LATER,
    ),
    "newer: three events": (
        lambda: joined([*lines(), *[b'{"event":"hologram","seq":99}'] * 3]),
        WHOLE,
        LATER,
    ),
    "newer: fields of an event": (lambda: changed(5, colour="red", depth={"a": [1]}), WHOLE, ""),
    "newer: another type of a field": (lambda: changed(4, name=["Read"]), WHOLE - 1, DAMAGED),
    "cut at the end of a line": (lambda: joined(lines()[:40]), 40, ""),
    "cut in the first line": (lambda: lines()[0][:30], 0, NOTHING),
    **{f"cut in line {at}": (partial(torn, at), at, CUT) for at in (1, 2, 9, 20, 33, 50, 64, 77)},
    "cut before the break of the last line": (lambda: joined(lines())[:-1], WHOLE, ""),
    "without its first line": (lambda: without(0), WHOLE - 1, BEGINNING),
    "without its first ten lines": (lambda: without(*range(10)), WHOLE - 10, BEGINNING),
    "from the middle of a line on": (lambda: joined(lines())[len(lines()[0]) // 2 :], WHOLE - 1, DAMAGED),
    "without the start of a call": (lambda: without(4), WHOLE - 1, END),
    "without the start of a query": (lambda: without(1), WHOLE - 1, END),
    "without thirty lines in the middle": (lambda: without(*range(17, 47)), WHOLE - 30, END),
    "without the ends of calls": (lambda: without(3, 5, 7), WHOLE - 3, ""),
    "two lines swapped": (lambda: swapped(8, 9), WHOLE, ORDER),
    "distant lines swapped": (lambda: swapped(8, 60), WHOLE, ORDER),
    "first and last swapped": (lambda: swapped(0, WHOLE - 1), WHOLE, BEGINNING),
    "all lines reversed": (lambda: joined(lines()[::-1]), WHOLE, ORDER),
    "all lines shuffled": (lambda: joined(random.Random(3).sample(lines(), WHOLE)), WHOLE, ORDER),
    "a line twice": (lambda: joined([*lines()[:9], *lines()[8:]]), WHOLE + 1, ORDER),
    "the whole twice": (lambda: joined(lines() * 2), WHOLE * 2, ORDER),
    "with the end of another one": (lambda: joined([*lines()[:40], *other(10)]), 50, ORDER),
    "with another one in the middle": (
        lambda: joined([*lines()[:40], *other(10), *lines()[40:]]),
        WHOLE + 10,
        ORDER,
    ),
    "with the beginning of another one": (
        lambda: joined([*other(17)[:8], *lines()[30:]]),
        WHOLE - 22,
        BEGINNING,
    ),
    **{f"a wrong byte in line {at}": (partial(flipped, at), WHOLE - 1, DAMAGED) for at in (2, 6, 30, 75)},
    "a wrong byte in each line": (lambda: joined([b"\xff" + line for line in lines()]), 0, NOTHING),
    "zeros at the end": (lambda: joined(lines()) + b"\0" * 4_096, WHOLE, ""),
    "zeros in the middle": (
        lambda: joined(lines()[:30]) + b"\0" * 512 + joined(lines()[30:]),
        WHOLE - 1,
        DAMAGED,
    ),
    "empty lines": (lambda: joined([part for line in lines() for part in (line, b"", b"  ")]), WHOLE, ""),
    "breaks of Windows": (lambda: joined(lines(), b"\r\n"), WHOLE, ""),
    "a byte order mark": (lambda: b"\xef\xbb\xbf" + joined(lines()), WHOLE - 1, DAMAGED),
    "in UTF-16": (lambda: joined(lines()).decode().encode("utf-16"), 0, NOTHING),
    "noise": (lambda: random.Random(5).randbytes(20_000), 0, NOTHING),
    "noise in the middle": (
        lambda: instead(20, random.Random(6).randbytes(900).replace(b"\n", b"")),
        WHOLE - 1,
        DAMAGED,
    ),
    "empty": (lambda: b"", 0, NOTHING),
    "other JSON": (lambda: joined([b"[]", b"{}", b"null", b'"event"', b"7"]), 0, NOTHING),
    "a line of six megabytes": (lambda: instead(10, b'{"event":"' + b"x" * (6 << 20)), WHOLE - 1, DAMAGED),
    "times without a zone": (lambda: joined([line.replace(b'Z"', b'"') for line in lines()]), WHOLE, ""),
    "a time of the year 1": (lambda: changed(9, at="0001-01-01T00:00:00Z"), WHOLE, ""),
    "a time of the year 9999": (lambda: changed(9, at="9999-12-31T23:59:59Z"), WHOLE, ""),
    "no time": (lambda: changed(9, at="yesterday"), WHOLE - 1, DAMAGED),
    "a number that is none": (lambda: changed(9, seq="nine"), WHOLE - 1, DAMAGED),
    "a huge number": (lambda: changed(9, seq=1 << 62), WHOLE, ORDER),
    "a negative number": (lambda: changed(9, seq=-4), WHOLE, ""),
    "deep JSON": (lambda: instead(9, b"[" * 100_000), WHOLE - 1, DAMAGED),
    "a call that is its own parent": (lambda: changed(2, parent_tool_use_id="call_0_0"), WHOLE, ""),
}


def test_the_table_has_more_than_fifty_journals() -> None:
    assert len(CASES) > 50


@pytest.mark.parametrize("name", CASES)
def test_a_journal_is_played_as_far_as_it_can_be_read_and_what_is_missing_is_said(
    tmp_path: Path, name: str
) -> None:
    make, events, said = CASES[name]
    path = tmp_path / "journal.jsonl"
    path.write_bytes(make())
    before = path.read_bytes()
    recording = Recording(PastJournal(path.parent), longest_wait=3.0)
    assert all(0 <= share <= 1 for share in recording.read())
    assert len(recording) == events
    text = missing_text(recording)
    assert said in text, text
    assert bool(said) == bool(text), text
    assert 0 <= recording.seconds <= 3.0 * events
    # All of it can be shown, and each moment of it found.
    failed: list[object] = []
    panes = (ConversationPane(), TracePane(), ObserversPane(), Origins())
    feed = EventFeed(failed.append, panes)
    replay = EventReplay(tmp_path)
    feed.handle([*replay.add(recording.events(0, events)), *replay.rest()])
    assert not failed
    view = recording.moment(events)
    assert view.events == events
    assert (view.query_count, view.call_count) == (feed.view.query_count, feed.view.call_count)
    for kind in MARK_KINDS:
        position = recording.next(kind, 0, 1)
        while position is not None:
            assert 0 < position <= events
            assert recording.position(recording.offset(position)) >= position
            position = recording.next(kind, position, 1)
    assert path.read_bytes() == before
