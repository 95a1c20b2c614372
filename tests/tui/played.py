"""A session that was played once: fixed events at fixed times, and the files it left."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ua_tui.core.bus import Bus
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import Event

PLAYED = Path(__file__).with_suffix(".jsonl")
"""One event a line; x*9 stands for a text of nine letters."""
QUERY = "Research the latest AI chip news and write a comprehensive report"
START = datetime(2026, 11, 21, 14, 2, 0, tzinfo=UTC)


class Clock:
    """Half a second later each time it is read."""

    def __init__(self) -> None:
        self._now = START

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=500)
        return self._now


def fixed_bus() -> Bus:
    """A bus whose events happen at known times."""
    return Bus(now=Clock())


def played_events() -> list[Event]:
    """The events of one research query, from its reception to its end."""
    text = re.sub(r"x\*(\d+)", lambda found: "x" * int(found[1]), PLAYED.read_text(encoding="utf-8"))
    return [decode_event(line) for line in text.splitlines()]


def lay_files(folder: Path) -> None:
    """Put down what the session saved."""
    for name, size in (
        ("search_results/composio_search_news_140203_ab.json", 14_300),
        ("search_results/composio_search_web_140204_cd.json", 5_800),
        ("search_results/urls.txt", 1_900),
        ("extracted_articles/a_example_140210_ef.json", 2_900),
        ("work_products/ai-chip-news.html", 12_345),
        ("expanded_corpus.json", 21_000),
        ("run.log", 4_096),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
