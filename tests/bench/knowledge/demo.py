"""How many pages the demo's second research on a topic fetches, after the first one and without it."""

from __future__ import annotations

import json
from pathlib import Path

from core.events.types import ToolCallFinished
from core.observation import CrawlObservation, TextContent
from core.records.journal import read_journal
from core.storage.workspace import JOURNAL, WORKSPACES
from tests.bench.table import Row
from tests.e2e.running import run

__all__ = ["demo_row"]

FIRST = "Research the week's news on AI chips and write me a report"
SECOND = "What is new on AI chips since the last report?"
AT_MOST = 40.0
"""Fetches of the second session in percent of those of the first."""


def demo_row(base: Path) -> Row:
    """Run the two sessions, and the second one alone in another folder."""
    first = _fetches(base / "both", FIRST)
    second = _fetches(base / "both", SECOND)
    alone = _fetches(base / "alone", SECOND)
    return Row(
        "knowledge: fetches of a second demo session, of the first's",
        second / first * 100,
        "%",
        AT_MOST,
        f"{first} pages, then {second}; the second session alone fetches {alone}",
    )


def _fetches(base: Path, query: str) -> int:
    """Run a session, and count the pages that it fetched or tried to."""
    base.mkdir(parents=True, exist_ok=True)
    before = set((base / WORKSPACES).glob("session_*"))
    done = run(base, "run", "--demo", query)
    if done.code:
        raise RuntimeError(f"the session failed:\n{done.stderr}")
    (session,) = set((base / WORKSPACES).glob("session_*")) - before
    fetched = 0
    for event in read_journal(session / JOURNAL).events:
        match event:
            case ToolCallFinished(observation=CrawlObservation(content=(TextContent(text), *_))):
                answer = json.loads(text)
                fetched += sum(not article.get("from_knowledge") for article in answer.get("articles", ()))
                fetched += len(answer.get("failed", ()))
            case _:
                pass
    return fetched
