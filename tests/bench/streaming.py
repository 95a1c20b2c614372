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
from tests.bench.child import COLUMNS, ROWS
from tests.bench.driven import Driven, Taken, probes, reported
from tests.bench.processes import resident_mb, running_seconds
from tests.bench.table import Row, Section, median
from tests.e2e.running import environment, program
from tests.e2e.scripted_model import PIECE, Block, Text, scripted_model

RATE = 150.0
PIECES = 1_500
TURNS = 2
KEY_EVERY = (0.2, 0.4)
IDLE_SECONDS = 6.0
SECONDS = 120.0
REPEATS = 3
PAUSE = 0.15
SIZES = ((108, 32), (132, 44), (COLUMNS, ROWS))
THREE_COLUMNS = ((150, 44), (COLUMNS, ROWS))
BARE = Path(__file__).parent / "bare_app.py"
HINT = "anything"
FOCUS_OUT, FOCUS_IN = "\x1b[O", "\x1b[I"
CLEAR = "\x15"

KEY_BOUND, LONGEST_KEY_BOUND = 30.0, 150.0
LAG_BOUND = 300.0
CHANGE_BOUND = 150.0
IDLE_BOUND = 0.5
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


@dataclass
class Figures:
    """What was measured of one program; milliseconds, shares of a core in percent, and MB."""

    keys: list[Taken] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    focus: list[Taken] = field(default_factory=list)
    resize: list[Taken] = field(default_factory=list)
    columns: list[Taken] = field(default_factory=list)
    theme: list[Taken] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)


def streaming(base: Path, _runs: int) -> Section:
    """Typing, catching up, focus, size and theme while 150 pieces of Markdown a second come, against plain Textual."""
    ended: SimpleQueue[float] = SimpleQueue()
    with scripted_model(_reply, rate=RATE, ended=ended.put) as url:
        plain = [sys.executable, str(BARE), url]
        themes = ("textual-light", "textual-dark")
        subjects = (
            Subject(
                [program()], "Conversation", "ready", "/theme\r", ("ua-light", "ua-dark"), TURNS, REPEATS
            ),
            Subject([*plain, "markdown"], HINT, HINT, "\x14", themes[:1], 1, 1),
            Subject([*plain, "log"], HINT, HINT, "\x14", themes[:1], 1, 1),
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
        for number in range(1, subject.turns + 1):
            _turn(driven, figures, letters, number, ended)
        figures.memory.append(resident_mb(driven.pid) or 0.0)
        for _ in range(subject.repeats):
            figures.focus.append(_focus(driven, next(letters)))
        for size in SIZES[: subject.repeats]:
            figures.resize.append(_resize(driven, size, next(letters)))
        for size in THREE_COLUMNS:
            figures.columns.append(_resize(driven, size, next(letters)))
        for theme in subject.other_themes:
            figures.theme.append(_theme(driven, subject.themes, theme))
        worked = running_seconds(driven.pid)
        driven.watch(IDLE_SECONDS)
        figures.idle.append((running_seconds(driven.pid) - worked) / IDLE_SECONDS * 100)
    return figures


def _turn(
    driven: Driven, figures: Figures, letters: Iterator[str], number: int, ended: SimpleQueue[float]
) -> None:
    """Ask, type while the answer streams, and see how late its end is."""
    driven.send(_query(number))
    driven.rest(SECONDS)
    driven.forget()
    driven.send("\r")
    driven.until("What the week brought", SECONDS)
    began, worked = time.perf_counter(), running_seconds(driven.pid)
    uneven = random.Random(number)
    typed: dict[str, float] = {}
    while ended.empty():
        driven.watch(uneven.uniform(*KEY_EVERY))
        letter = next(letters)
        typed[letter] = driven.send(letter)
    last = ended.get()
    shown = driven.until(marker(number), 2 * SECONDS)
    figures.shares.append((running_seconds(driven.pid) - worked) / (shown - began) * 100)
    figures.lags.append(max(0.0, shown - last) * 1_000)
    for letter, at in typed.items():
        figures.keys.append(driven.taken(at, driven.until(letter, SECONDS)))
    driven.rest(SECONDS)
    while not ended.empty():  # answers to questions that the agent asks for itself
        ended.get()
    driven.send(CLEAR)
    driven.rest(SECONDS)


def _focus(driven: Driven, letter: str) -> Taken:
    """The focus leaves the terminal and comes back, and a key is typed: until its echo."""
    driven.watch(PAUSE)
    driven.forget()
    began = driven.send(FOCUS_OUT + FOCUS_IN + letter)
    took = driven.taken(began, driven.until(letter, SECONDS))
    driven.rest(SECONDS)
    return took


def _resize(driven: Driven, size: tuple[int, int], letter: str) -> Taken:
    """The terminal gets another size, and a key is typed: until all is painted, the key too."""
    driven.watch(PAUSE)
    driven.forget()
    began = driven.resize(*size)
    driven.send(letter)
    driven.until(letter, SECONDS)
    driven.rest(SECONDS)
    return driven.taken(began, driven.last())


def _theme(driven: Driven, opened_by: str, theme: str) -> Taken:
    """Another theme is chosen from the list: until all is painted in it."""
    driven.send(CLEAR)
    driven.rest(SECONDS)
    driven.send(opened_by)
    driven.rest(SECONDS)
    driven.send(theme)
    driven.rest(SECONDS)
    driven.forget()
    began = driven.send("\r")
    driven.watch(PAUSE)
    driven.rest(SECONDS)
    return driven.taken(began, driven.last())


def _rows(ours: Figures, markdown: Figures, log: Figures) -> list[Row]:
    def row(
        measure: str, figure: Callable[[Figures], float], unit: str, bound: float | None, reported: str = ""
    ) -> Row:
        digits = 0 if unit == "ms" else 1
        compared = (
            f"Markdown widget {figure(markdown):,.{digits}f}, Log widget {figure(log):,.{digits}f} {unit}"
        )
        return Row(measure, figure(ours), unit, bound, f"{compared}; {reported}" if reported else compared)

    pieces = TURNS * PIECES
    streamed = f"{RATE:.0f} pieces of {PIECE} characters a second"
    return [
        row(
            "key to echo, median",
            _typical,
            "ms",
            KEY_BOUND,
            f"{len(ours.keys)} keys at uneven times, {streamed}",
        ),
        row(
            "key to echo, longest",
            lambda f: _longest(f.keys),
            "ms",
            LONGEST_KEY_BOUND,
            reported([max(ours.keys)]),
        ),
        row(
            "last byte to the end on screen",
            lambda f: max(f.lags),
            "ms",
            LAG_BOUND,
            f"after {PIECES:,} pieces, longest of {TURNS} turns",
        ),
        row("a core while it streams", lambda f: max(f.shares), "%", None, streamed),
        row("focus out, in and a key", lambda f: _longest(f.focus), "ms", CHANGE_BOUND, reported(ours.focus)),
        row(
            "another size, all painted",
            lambda f: _longest(f.resize),
            "ms",
            CHANGE_BOUND,
            reported(ours.resize),
        ),
        row(
            "the size of three columns, and back",
            lambda f: _longest(f.columns),
            "ms",
            CHANGE_BOUND,
            reported(ours.columns),
        ),
        row(
            "another theme, all painted",
            lambda f: _longest(f.theme),
            "ms",
            CHANGE_BOUND,
            reported(ours.theme),
        ),
        row(
            "idle afterwards",
            lambda f: max(f.idle),
            "% CPU",
            IDLE_BOUND,
            f"over {IDLE_SECONDS:.0f} s, this process alone",
        ),
        row(
            "memory at the first frame",
            lambda f: f.memory[0],
            "MB",
            MEMORY_BOUND,
            "resident, this process alone",
        ),
        row("memory before the first question", lambda f: f.memory[1], "MB", MEMORY_BOUND),
        row(
            f"memory after {pieces:,} pieces",
            lambda f: f.memory[2],
            "MB",
            None,
            f"the widgets after {PIECES:,}",
        ),
    ]


def _typical(figures: Figures) -> float:
    return median([key.took for key in figures.keys])


def _longest(taken: Sequence[Taken]) -> float:
    return max(each.took for each in taken)
