from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from core.knowledge.access import open_search
from core.storage.workspace import WORKSPACES
from tests.bench.apart import report_of
from tests.bench.knowledge.corpus import CHUNKS, build_corpus
from tests.bench.knowledge.demo import demo_row
from tests.bench.knowledge.feed_child import ARTICLES
from tests.bench.knowledge.finding import finding_rows
from tests.bench.knowledge.queries import query_rows
from tests.bench.knowledge.team import team_rows
from tests.bench.knowledge.typing import typing_row
from tests.bench.table import Row, Section, median

__all__ = ["knowledge"]

SECONDS = 300.0
SIZE, STALL, VISIBLE = 2.2, 20.0, 1_000.0


def knowledge(base: Path, _runs: int) -> Section:
    """The knowledge base: queries, the size of its file, typing, indexing beside a session, finding, and the demo."""
    many = base / "many"
    database = many / WORKSPACES / "knowledge.db"
    text = build_corpus(database)
    size = database.stat().st_size
    with closing(open_search(database)) as search:
        rows = query_rows(database, search)
    rows.append(
        Row(
            "knowledge: size of the file, to that of its texts",
            size / text,
            "times",
            SIZE,
            f"{size / 1e6:.0f} MB for {text / 1e6:.0f} MB of texts and titles in {CHUNKS:,} chunks",
        )
    )
    rows.append(typing_row(many, database))
    of_team, without_team = team_rows(database, text)
    rows += of_team
    feed, details = _feed_rows(base)
    found, missed = finding_rows(base / "sessions")
    return Section([*rows, *feed, *found, demo_row(base / "demo")], [*details, *missed, *without_team])


def _feed_rows(base: Path) -> tuple[list[Row], list[str]]:
    visible = _measure(base / "visible", "visible")
    indexing = _measure(base / "indexing", "indexing")
    times = visible["times"]
    rows = [
        Row(
            "knowledge: visible to a search after artifact_saved, longest",
            max(times),
            "ms",
            VISIBLE,
            f"{len(times)} articles, median {median(times):.0f} ms",
        ),
        Row(
            f"knowledge: longest stall while {ARTICLES} articles are indexed",
            indexing["longest"],
            "ms",
            STALL,
            f"{indexing['chunks']:,} chunks, saved within {indexing['submitted']:.1f} s, "
            f"indexed after {indexing['took']:.1f} s; at rest {indexing['before']:.1f} ms{_parts(indexing)}",
        ),
    ]
    details = []
    for stall in indexing["stalls"]:
        details += [f"indexing, at {stall['at']:.2f} s: {stall['late']:.0f} ms"]
        details += [f"    {times}x {where}" for where, times in Counter(stall["seen"]).most_common(6)]
    return rows, details


def _parts(indexing: dict[str, Any]) -> str:
    """What the longest stall consists of; only long ones are known so closely."""
    longest = max(indexing["stalls"], key=lambda stall: float(stall["late"]), default=None)
    if longest is None:
        return ""
    return f"; of it {longest['working']:.0f} ms computed, {longest['waiting']:.0f} ms without a core"


def _measure(base: Path, mode: str) -> dict[str, Any]:
    return report_of("tests.bench.knowledge.feed_child", mode, base, seconds=SECONDS)
