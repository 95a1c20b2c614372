"""Whether questions find the page that they are about, over sessions that were indexed from their files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.knowledge.questions import ask
from tests.bench.knowledge.sessions import Session, invent_sessions, write_session
from tests.bench.table import Row
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.observers.knowledge.catch_up import update
from ua_tui.tui.screens.knowledge.reader import TYPING_BUDGET

SESSIONS, QUESTIONS = 200, 500
FIRST = 5
MISSED = 2.5
"""The most questions of a hundred that name the thing, and whose answer is not among the first five."""
OTHER_WORDS = "other words"
"""The kind of questions that do not."""
SPEED = 6_000.0


def finding_rows(base: Path) -> tuple[list[Row], list[str]]:
    """Lay sessions, index them, and ask for what is in them; gives rows, and lines on what was not found."""
    sessions = list(invent_sessions(SESSIONS))
    for session in sessions:
        write_session(base, session)
    database = base / WORKSPACES / "knowledge.db"
    began, worked = time.perf_counter(), time.process_time()
    problems = update(database, base, Redactor(), again=True)
    took, used = time.perf_counter() - began, time.process_time() - worked
    made = read_status(database)
    if not made.passages or problems:
        raise RuntimeError(f"the knowledge base was not made: {problems}")
    speed = Row(
        "knowledge: time of a core to rebuild 6,000 chunks",
        used / made.passages * SPEED,
        "s",
        1.0,
        f"{made.passages / used:,.0f} chunks/s: {SESSIONS} sessions, {sum(made.documents.values()):,} documents, "
        f"{made.passages:,} chunks in {took:.1f} s, {used:.1f} s of a core in this process",
    )
    quality, lines = _ask(database, sessions)
    return [quality, speed], lines


def _ask(database: Path, sessions: Sequence[Session]) -> tuple[Row, list[str]]:
    asked: dict[str, list[bool]] = {}
    lines = []
    search = KnowledgeSearch(database, budget=TYPING_BUDGET, clock=time.thread_time)
    try:
        for question in ask(sessions, QUESTIONS):
            hits = search.search(question.text, limit=FIRST).hits
            found = any(hit.url in question.urls for hit in hits)
            asked.setdefault(question.kind, []).append(found)
            if not found:
                titles = ", ".join(f"{hit.kind} {hit.title}" for hit in hits)
                lines.append(f"not found: {question.kind}: {question.text} (found {titles or 'nothing'})")
    finally:
        search.close()
    rates = ", ".join(f"{kind} {sum(found) / len(found):.0%}" for kind, found in asked.items())
    every = [found for each in asked.values() for found in each]
    naming = [found for kind, each in asked.items() if kind != OTHER_WORDS for found in each]
    missed = (1 - sum(naming) / len(naming)) * 100
    shown = f"{sum(every)} of {len(every)} with those in other words; found: {rates}"
    return Row("knowledge: answers not among the first five", missed, "%", MISSED, shown), lines
