"""A folder with as many sessions as one likes, of every kind there is, to see how the list of them holds.

Run as `python -m tests.many_sessions DIR [COUNT]`, then `ua-tui sessions --workspace DIR`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ua_tui.core.bus import Bus
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.history.headline import TITLE
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.version import VERSION

COUNT = 1_000
FIRST = datetime(2026, 1, 1, 8, 0, tzinfo=UTC)
APART = timedelta(hours=5, minutes=17)
WORD = "heliotrope"
"""Stands in one answer of every hundred sessions, and in nothing else."""
THEMES = (
    "AI chips",
    "sea freight",
    "the price of copper",
    "night trains",
    "grid storage",
    "olive oil",
    "dark fibre",
)
ASKED = (
    "Research the latest news of {} and write a comprehensive report",
    "Who leads the market of {}?",
    "Compare three offers for {}",
    "Email the summary of {} to the team",
)
SENTENCE = "Two of the sources agree on {}, and a third one gives an older figure for the same quarter. "


def lay_sessions(base: Path, count: int = COUNT) -> list[Path]:
    """Put down `count` sessions below `base`; every fiftieth crashed, every hundredth has a name of its own."""
    folders = []
    for number in range(count):
        began = FIRST + number * APART
        folder = base / WORKSPACES / f"session_{began:%Y%m%d_%H%M%S}"
        folder.mkdir(parents=True)
        (folder / ".lock").touch()
        _write(folder, number, began)
        if number % 100 == 7:
            (folder / TITLE).write_text(f"What I wanted to keep, part {number // 100}\n", encoding="utf-8")
        folders.append(folder)
    return folders


def _write(folder: Path, number: int, began: datetime) -> None:
    now = began

    def clock() -> datetime:
        nonlocal now
        now += timedelta(seconds=1.5)
        return now

    bus, lines = Bus(now=clock), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    for event in _events(folder.name, number):
        bus.publish(event)
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    os.utime(folder / "journal.jsonl", (now.timestamp(), now.timestamp()))


def _events(name: str, number: int) -> Iterator[Event]:
    theme = THEMES[number % len(THEMES)]
    queries = 1 + number % 3
    calls = 2 + number % 9
    yield SessionStarted(session_id=name, workspace="/w", cwd="/", version=VERSION, demo=number % 11 == 0)
    for at in range(queries):
        query = f"q{at + 1}"
        yield QueryReceived(query_id=query, text=ASKED[(number + at) % len(ASKED)].format(theme))
        for call in range(calls):
            yield from _call(query, f"toolu_{at}_{call}", theme)
        answer = SENTENCE.format(theme) * (5 + number % 20)
        answer += WORD if number % 100 == 42 and at == 0 else ""
        yield TextDelta(query_id=query, message_id=f"m{at}", text=answer)
        yield MessageFinished(query_id=query, message_id=f"m{at}", text=answer)
        if number % 50 == 3 and at == queries - 1:
            return
        yield QueryFinished(
            query_id=query, status="success", text=answer, cost_usd=0.01 * calls, duration_ms=9_000
        )
    total = queries * calls
    yield SessionFinished(
        reason="quit", queries=queries, tool_calls=total, artifacts=number % 6,
        cost_usd=0.01 * total, duration_ms=12_000.0 * total,
    )  # fmt: skip


def _call(query: str, use: str, theme: str) -> Iterator[Event]:
    name = "mcp__local_toolkit__crawl_parallel"
    yield ToolCallStarted(query_id=query, tool_use_id=use, name=name, input={"urls": [theme]}, iteration=1)
    content = (TextContent(SENTENCE.format(theme) * 12),)
    seen = McpObservation(tool_name=name, tool_use_id=use, server="local_toolkit", content=content)
    yield ToolCallFinished(tool_use_id=use, status="success", observation=seen, duration_ms=1_500)


def main() -> None:
    """Lay the sessions below the folder given on the command line."""
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit("usage: python -m tests.many_sessions DIR [COUNT]")
    count = int(sys.argv[2]) if len(sys.argv) == 3 else COUNT
    print(f"{len(lay_sessions(Path(sys.argv[1]), count)):,} sessions in {sys.argv[1]}")


if __name__ == "__main__":
    main()
