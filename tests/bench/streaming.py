"""Typing, catching up, focus, size and theme while an answer streams, and keys at rest against plain Textual."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.bench.answers import answer, marker
from tests.bench.changes import CLEAR, SECONDS, measure
from tests.bench.driven import Driven, Taken, probes, reported
from tests.bench.goals import Goal
from tests.bench.processes import own_processes, resident_mb, running_seconds
from tests.bench.startup import EMPTY_APP
from tests.bench.table import Row, Section, median, quantile
from tests.e2e.running import environment, model_environment, program
from tests.e2e.scripted_model import PIECE, Block, Text, scripted_model

RATE = 150.0
PIECES = 1_500
TURNS = 2
KEY_EVERY = (0.2, 0.4)
KEYS_AT_REST = 30
REPEATS = 3
IDLE_SECONDS = 60.0
MEMORY_BOUND = 150.0


@dataclass
class Streamed:
    """What was measured while answers streamed: milliseconds, seconds, shares of a core in percent, and kB a second."""

    keys: list[Taken] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)


def streaming(base: Path, _runs: int) -> Section:
    """Measure the program while 150 pieces of Markdown a second come."""
    bare = _at_rest_in_bare_app(base / "bare")
    ended: SimpleQueue[float] = SimpleQueue()
    letters = probes()
    home = base / "ours"
    home.mkdir()
    found = Streamed()
    with (
        scripted_model(_reply, rate=RATE, ended=ended.put) as url,
        Driven([program()], cwd=home, env=model_environment(home, url, COLORTERM="truecolor")) as driven,
    ):
        driven.until("ready", SECONDS)
        driven.rest(SECONDS)
        before = resident_mb(driven.pid)
        at_rest = _type_at_rest(driven, letters)
        for number in range(1, TURNS + 1):
            _turn(driven, found, letters, number, ended)
        after = resident_mb(driven.pid)
        changes = measure(driven, letters, REPEATS, "/theme\r", ("light", "dark"))
        processes = own_processes(driven.pid)
        worked = sum(map(running_seconds, processes))
        driven.watch(IDLE_SECONDS)
        idle = (sum(map(running_seconds, processes)) - worked) / IDLE_SECONDS * 100
    keys = [key.took for key in found.keys]
    streamed = f"{len(keys)} keys, {RATE:.0f} pieces of {PIECE} characters a second"
    rested = f"median of {KEYS_AT_REST} keys {at_rest:.1f}, bare app {bare:.1f} ms"
    return Section(
        [
            Goal.AT_REST.row(at_rest - bare, rested),
            Goal.TYPICAL_KEY.row(median(keys), streamed),
            Goal.SLOW_KEY.row(quantile(keys, 0.9)),
            Goal.LONGEST_KEY.row(max(keys), reported([max(found.keys)])),
            Goal.PROCESSOR.row(max(found.shares)),
            Goal.SENT.row(max(found.sent)),
            Goal.LAG.row(max(found.lags), f"{PIECES:,} pieces, longest of {TURNS} turns"),
            Goal.IDLE.row(idle, "without the agent's command line"),
            Goal.AFTER_CHUNKS.row(changes.longest, changes.described),
            Row(
                "memory before the first question", before, "MB", MEMORY_BOUND, "resident, this process alone"
            ),
            Row(f"memory after {TURNS * PIECES:,} pieces", after, "MB"),
        ]
    )


def _reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
    # What the agent asks for itself, without tools, is answered in a word.
    shown_text = str(body["messages"])
    number = max((turn for turn in range(1, TURNS + 1) if _query(turn) in shown_text), default=0)
    return (Text(answer(number, PIECES) if number and "tools" in body else "Yes."),)


def _query(number: int) -> str:
    return f"Tell me about part {number}"


def _at_rest_in_bare_app(base: Path) -> float:
    base.mkdir()
    command = [sys.executable, str(EMPTY_APP), "input"]
    with Driven(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as driven:
        driven.until("anything", SECONDS)
        driven.rest(SECONDS)
        return _type_at_rest(driven, probes())


def _type_at_rest(driven: Driven, letters: Iterator[str]) -> float:
    """Type into a program that has nothing else to do; the median echo in milliseconds."""
    uneven = random.Random(0)
    took = []
    driven.forget()
    for _ in range(KEYS_AT_REST):
        driven.watch(uneven.uniform(*KEY_EVERY))
        letter = next(letters)
        began = driven.send(letter)
        took.append(driven.taken(began, driven.until(letter, SECONDS)).took)
    driven.send(CLEAR)
    driven.rest(SECONDS)
    return median(took)


def _turn(
    driven: Driven, found: Streamed, letters: Iterator[str], number: int, ended: SimpleQueue[float]
) -> None:
    """Ask, type while the answer streams, and see how late its end is."""
    driven.send(_query(number))
    driven.rest(SECONDS)
    driven.forget()
    driven.send("\r")
    driven.until("What the week brought", SECONDS)
    began, worked, written = time.perf_counter(), running_seconds(driven.pid), driven.written
    uneven = random.Random(number)
    typed: dict[str, float] = {}
    while ended.empty():
        driven.watch(uneven.uniform(*KEY_EVERY))
        letter = next(letters)
        typed[letter] = driven.send(letter)
    last = ended.get()
    shown = driven.until(marker(number), 2 * SECONDS)
    found.shares.append((running_seconds(driven.pid) - worked) / (shown - began) * 100)
    found.sent.append((driven.written - written) / (shown - began) / 1_000)
    found.lags.append(max(0.0, shown - last))
    found.keys += [driven.taken(at, driven.until(letter, SECONDS)) for letter, at in typed.items()]
    driven.rest(SECONDS)
    while not ended.empty():  # answers to questions that the agent asks for itself
        ended.get()
    driven.send(CLEAR)
    driven.rest(SECONDS)
