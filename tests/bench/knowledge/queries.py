"""Queries over one hundred thousand passages: how long each takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.knowledge.corpus import CHUNKS, SITES
from tests.bench.table import Row, median, quantile
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.search.search import KnowledgeSearch

SEED = 5
EACH = 40
"""Queries of each form."""
WARMING = 20
STRANGE = 0.3
"""The part of the queries whose words come from two passages, so that few or none have all of them."""
MEDIAN, P95 = 10.0, 40.0


def query_rows(
    path: Path,
    search: KnowledgeSearch,
    where: str = "",
    most: tuple[float, float] = (MEDIAN, P95),
    clock: Callable[[], float] = time.perf_counter,
) -> list[Row]:
    """Ask queries of all forms in any order; the first ones only warm the machine up.

    Args:
        path: the file whose words are searched.
        search: what answers: over the file, or over the database of a team with the same texts.
        where: names it in the rows.
        most: what the median and the 95th percentile may be, in milliseconds.
        clock: gives the seconds that count.
    """
    asked = list(_queries(path))
    random.Random(SEED).shuffle(asked)
    took: dict[str, list[float]] = {}
    partial = 0
    for number, (form, text) in enumerate([*asked[:WARMING], *asked]):
        began = clock()
        results = search.search(text)
        ended = clock()
        if number >= WARMING:
            took.setdefault(form, []).append((ended - began) * 1_000)
            partial += results.partial
    times = [each for form in took.values() for each in form]
    forms = ", ".join(
        f"{form} {median(each):.1f}/{quantile(each, 0.95):.1f}" for form, each in sorted(took.items())
    )
    what = f"{len(times)} queries over {CHUNKS:,} chunks"
    partly = f"{partial} partial, longest {max(times):.0f} ms"
    return [
        Row(
            f"knowledge: {where}a query, median", median(times), "ms", most[0], f"{what}; median/p95: {forms}"
        ),
        Row(f"knowledge: {where}a query, p95", quantile(times, 0.95), "ms", most[1], f"{what}; {partly}"),
    ]


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    db = open_reader(path)
    draw = random.Random(SEED)

    def words() -> list[str]:
        row = db.execute("SELECT text FROM chunk WHERE id = ?", (draw.randint(1, CHUNKS),)).fetchone()
        return [word.strip(".").lower() for word in row[0].split()]

    def some(count: int) -> str:
        found = words() + (words() if draw.random() < STRANGE else [])
        return " ".join(draw.sample([word for word in found if len(word) > 3], count))

    def phrase(count: int) -> str:
        found = words()
        start = draw.randrange(len(found) - count)
        return f'"{" ".join(found[start : start + count])}"'

    forms: dict[str, Callable[[], str]] = {
        **{f"{count} words": lambda count=count: some(count) for count in range(1, 6)},  # type: ignore[misc]
        "phrase": lambda: phrase(draw.choice((2, 3))),
        "phrase and word": lambda: f"{phrase(2)} {some(1)}",
        "site": lambda: f"{some(2)} site:site-{draw.randrange(SITES)}.example",
        "kind": lambda: f"{some(2)} kind:article",
        "since": lambda: f"{some(2)} since:200d",
        "without": lambda: f"{some(2)} -{some(1)}",
    }
    for form, make in forms.items():
        for _ in range(EACH):
            yield form.replace("1 words", "1 word"), make()
    db.close()
