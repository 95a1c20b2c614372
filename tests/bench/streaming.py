from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.bench.answers import answer, marker
from tests.bench.changes import CLEAR, SECONDS, Changes, measure
from tests.bench.driven import Driven, Taken, probes, reported
from tests.bench.goals import Goal
from tests.bench.processes import own_processes, resident_mb, running_seconds
from tests.bench.table import Row, Section, median, quantile
from tests.e2e.running import environment, program
from tests.e2e.scripted_model import PIECE, Block, Text, scripted_model

RATE = 150.0
PIECES = 1_500
TURNS = 2
KEY_EVERY = (0.2, 0.4)
REPEATS = 3
BARE = Path(__file__).parent / "bare_app.py"
HINT = "anything"
KEYS_AT_REST = 30

MEMORY_BOUND = 150.0


@dataclass(frozen=True)
class Subject:
    """A program to measure.

    `frame` and `ready` are words that stand on its first screen and on that which takes a question; `themes` are the
    keys that open its list of themes. What is compared with takes minutes for what is measured, and is asked less.
    """

    command: Sequence[str]
    frame: str
    ready: str
    themes: str
    other_themes: Sequence[str]
    turns: int
    repeats: int
    idle_seconds: float


@dataclass
class Figures:
    """What was measured of one program; milliseconds, shares of a core in percent, kB a second, and MB."""

    at_rest: list[Taken] = field(default_factory=list)
    keys: list[Taken] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)
    idle: float = 0.0
    memory: list[float] = field(default_factory=list)


def streaming(base: Path, _runs: int) -> Section:
    """Typing, catching up, focus, size and theme while 150 pieces of Markdown a second come, against plain Textual."""
    ended: SimpleQueue[float] = SimpleQueue()
    with scripted_model(_reply, rate=RATE, ended=ended.put) as url:
        plain = [sys.executable, str(BARE), url]
        themes = ("textual-light", "textual-dark")
        subjects = (
            Subject(
                [program()],
                "Conversation",
                "ready",
                "/theme\r",
                ("light", "dark"),
                TURNS,
                REPEATS,
                60.0,
            ),
            Subject([*plain, "markdown"], HINT, HINT, "\x14", themes[:1], 1, 1, 6.0),
            Subject([*plain, "log"], HINT, HINT, "\x14", themes[:1], 1, 1, 6.0),
        )
        names = ("ours", "markdown", "log")
        found = [
            _measure(subject, base / name, url, ended) for name, subject in zip(names, subjects, strict=True)
        ]
    return Section(_rows(*found))


def _reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
    # What the agent asks for itself, without tools, is answered in a word; plain Textual says that it has none.
    shown_text = str(body["messages"])
    number = max((turn for turn in range(1, TURNS + 1) if _query(turn) in shown_text), default=0)
    return (Text(answer(number, PIECES) if number and "tools" in body else "Yes."),)


def _query(number: int) -> str:
    return f"Tell me about part {number}"


def _measure(subject: Subject, base: Path, url: str, ended: SimpleQueue[float]) -> Figures:
    base.mkdir()
    surroundings = environment(
        base,
        COLORTERM="truecolor",
        UA_BASE_URL=url,
        UA_API_KEY="sk-ant-test-0123456789",
        UA_CLASSIFIER="off",
    )
    figures = Figures()
    letters = probes()
    with Driven(subject.command, cwd=base, env=surroundings) as driven:
        driven.until(subject.frame, SECONDS)
        figures.memory.append(resident_mb(driven.pid) or 0.0)
        driven.until(subject.ready, SECONDS)
        driven.rest(SECONDS)
        figures.memory.append(resident_mb(driven.pid) or 0.0)
        _type_at_rest(driven, figures, letters)
        for number in range(1, subject.turns + 1):
            _turn(driven, figures, letters, number, ended)
        figures.memory.append(resident_mb(driven.pid) or 0.0)
        figures.changes = measure(driven, letters, subject.repeats, subject.themes, subject.other_themes)
        processes = own_processes(driven.pid)
        worked = sum(map(running_seconds, processes))
        driven.watch(subject.idle_seconds)
        worked = sum(map(running_seconds, processes)) - worked
        figures.idle = worked / subject.idle_seconds * 100
    return figures


def _type_at_rest(driven: Driven, figures: Figures, letters: Iterator[str]) -> None:
    """Type into a program that has nothing else to do."""
    uneven = random.Random(0)
    driven.forget()
    for _ in range(KEYS_AT_REST):
        driven.watch(uneven.uniform(*KEY_EVERY))
        letter = next(letters)
        began = driven.send(letter)
        figures.at_rest.append(driven.taken(began, driven.until(letter, SECONDS)))
    driven.send(CLEAR)
    driven.rest(SECONDS)


def _turn(
    driven: Driven, figures: Figures, letters: Iterator[str], number: int, ended: SimpleQueue[float]
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
    figures.shares.append((running_seconds(driven.pid) - worked) / (shown - began) * 100)
    figures.sent.append((driven.written - written) / (shown - began) / 1_000)
    figures.lags.append(max(0.0, shown - last))
    for letter, at in typed.items():
        figures.keys.append(driven.taken(at, driven.until(letter, SECONDS)))
    driven.rest(SECONDS)
    while not ended.empty():  # answers to questions that the agent asks for itself
        ended.get()
    driven.send(CLEAR)
    driven.rest(SECONDS)


def _rows(ours: Figures, markdown: Figures, log: Figures) -> list[Row]:
    def compared(figure: Callable[[Figures], float], unit: str, digits: int, reported: str = "") -> str:
        others = (
            f"Markdown widget {figure(markdown):,.{digits}f}, Log widget {figure(log):,.{digits}f} {unit}"
        )
        return f"{others}; {reported}" if reported else others

    def goal(goal: Goal, figure: Callable[[Figures], float], digits: int, reported: str = "") -> Row:
        return goal.row(figure(ours), compared(figure, goal.unit, digits, reported))

    def memory(measure: str, place: int, bound: float | None, reported: str = "") -> Row:
        def figure(figures: Figures) -> float:
            return figures.memory[place]

        return Row(measure, figure(ours), "MB", bound, compared(figure, "MB", 1, reported))

    at_rest, bare = (median([key.took for key in each.at_rest]) for each in (ours, log))
    streamed = f"{RATE:.0f} pieces of {PIECE} characters a second"
    return [
        Goal.AT_REST.row(
            at_rest - bare, f"median of {KEYS_AT_REST} keys {at_rest:.1f}, bare app {bare:.1f} ms"
        ),
        goal(Goal.TYPICAL_KEY, lambda f: quantile(_keys(f), 0.5), 0, f"{len(ours.keys)} keys, {streamed}"),
        goal(Goal.SLOW_KEY, lambda f: quantile(_keys(f), 0.9), 0),
        goal(Goal.LONGEST_KEY, lambda f: max(_keys(f)), 0, reported([max(ours.keys)])),
        goal(Goal.PROCESSOR, lambda f: max(f.shares), 1),
        goal(Goal.SENT, lambda f: max(f.sent), 0),
        goal(Goal.LAG, lambda f: max(f.lags), 2, f"{PIECES:,} pieces, longest of {TURNS} turns"),
        goal(Goal.IDLE, lambda f: f.idle, 2, "without the agent's command line"),
        goal(Goal.AFTER_CHUNKS, lambda f: f.changes.longest, 0, ours.changes.described),
        memory("memory at the first frame", 0, MEMORY_BOUND, "resident, this process alone"),
        memory("memory before the first question", 1, MEMORY_BOUND),
        memory(f"memory after {TURNS * PIECES:,} pieces", 2, None, f"the widgets after {PIECES:,}"),
    ]


def _keys(figures: Figures) -> list[float]:
    return [key.took for key in figures.keys]
