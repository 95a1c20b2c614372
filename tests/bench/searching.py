from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from core.observation import ToolResult
from core.storage.files import Root
from core.storage.workspace import Workspace
from observers.base import ObserverContext
from observers.search_results import SearchResults
from tests.bench.pages import answer, lean, result, rich
from tests.bench.table import Row, Section, median

ROWS = 1_000
ROUNDS = 40
WARMING = 8
BOUND = 4.0
GROWTH = 1.5
LENGTHS = {1_000: 15, 10_000: 7, 100_000: 3}
SETS: dict[str, Callable[[int, int], list[dict[str, Any]]]] = {"lean": lean, "rich": rich}


def pages(base: Path, _runs: int) -> Section:
    """What a page of results costs, against reading and writing the same data and nothing else."""
    rows: list[Row] = []
    for name, make in SETS.items():
        rows += _ratios(base / name, name, make)
    return Section([*rows, *_lengths(base / "lengths")])


def _ratios(base: Path, name: str, make: Callable[[int, int], list[dict[str, Any]]]) -> list[Row]:
    """In turns the observer, and loads, dumps and a write: without waiting for the disk, and as we write.

    The quotient is that of each round, as the machine's clock may change meanwhile.
    """
    workspace = Workspace.create(base, datetime.now(UTC))
    context = ObserverContext(workspace)
    observer = SearchResults()
    folder = base / "base"
    folder.mkdir()
    root = Root(folder)
    times: list[tuple[float, float, float]] = []
    for number in range(WARMING + ROUNDS):
        text = answer(make(number, ROWS))
        given = result(number, text)
        ours = _seconds(partial(_observe, observer, given, context))
        plain = _seconds(partial(_base, text, (folder / f"{number}.json").write_bytes))
        durable = _seconds(partial(_base, text, partial(root.write, f"{number}-again.json")))
        if number >= WARMING:
            times.append((ours, plain, durable))
    workspace.close()
    reported = f"{ROWS} {name} rows, {len(text.encode()) >> 10} KiB, each page new; {ROUNDS} rounds in turns"
    took = [median([round_[place] for round_ in times]) * 1_000 for place in range(3)]
    return [
        Row(
            f"a page of search results, {name}, to loads + dumps + durable write",
            median([ours / durable for ours, _, durable in times]),
            "times",
            BOUND,
            f"{took[0]:.1f} ms to {took[2]:.1f} ms; {reported}",
        ),
        Row(
            f"a page of search results, {name}, to loads + dumps + plain write",
            median([ours / plain for ours, plain, _ in times]),
            "times",
            None,
            f"{took[0]:.1f} ms to {took[1]:.1f} ms; {reported}",
        ),
    ]


def _lengths(base: Path) -> list[Row]:
    """Whether a row costs as much in a long list as in a short one; lists of all lengths come in turns."""
    workspace = Workspace.create(base, datetime.now(UTC))
    context = ObserverContext(workspace)
    observer = SearchResults()
    times: dict[int, list[float]] = {length: [] for length in LENGTHS}
    number = 0
    for turn in range(max(LENGTHS.values())):
        for length, rounds in LENGTHS.items():
            if turn < rounds:
                number += 1
                given = result(number, answer(lean(number, length)))
                times[length].append(_seconds(partial(_observe, observer, given, context)) / length)
    workspace.close()
    micros = {length: median(taken) * 1e6 for length, taken in times.items()}
    reported = ", ".join(f"{micros[length]:.1f} µs a row of {length:,}" for length in LENGTHS)
    return [
        Row(
            "a row among 10,000, to one among 1,000",
            micros[10_000] / micros[1_000],
            "times",
            GROWTH,
            reported,
        ),
        Row(
            "a row among 100,000, to one among 1,000",
            micros[100_000] / micros[1_000],
            "times",
            GROWTH,
            reported,
        ),
    ]


def _observe(observer: SearchResults, given: ToolResult, context: ObserverContext) -> None:
    outcome = observer.observe(given, context)
    if len(outcome.artifacts) != 1 or outcome.duplicates:
        raise RuntimeError(f"the page was not saved as a new one: {outcome}")


def _base(text: str, write: Callable[[bytes], object]) -> None:
    write(orjson.dumps(orjson.loads(text)))


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
