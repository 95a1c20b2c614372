"""Whether questions find the page that they are about, over sessions that were indexed from their files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.knowledge.questions import ask
from tests.bench.knowledge.sessions import Session, invent_sessions, write_session
from tests.bench.table import Row
from ua_tui.core.knowledge.access import open_search
from ua_tui.core.knowledge.search.search import TYPING_BUDGET
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.observers.knowledge.catch_up import update

SESSIONS, QUESTIONS = 200, 500
FIRST = 5
MISSED = 10.0
"""The most questions of a hundred whose answer is not among the first five."""
SPEED = 5_000.0


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
        "knowledge: time to rebuild 5,000 chunks",
        took / made.passages * SPEED,
        "s",
        1.0,
        f"{made.passages / took:,.0f} chunks/s: {SESSIONS} sessions, {sum(made.documents.values()):,} documents, "
        f"{made.passages:,} chunks in {took:.1f} s, {used:.1f} s of a core in this process",
    )
    quality, lines = _ask(database, sessions)
    return [quality, speed], lines


def _ask(database: Path, sessions: Sequence[Session]) -> tuple[Row, list[str]]:
    asked: dict[str, list[bool]] = {}
    lines = []
    search = open_search(database, budget=TYPING_BUDGET)
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
    everything = [found for each in asked.values() for found in each]
    missed = (1 - sum(everything) / len(everything)) * 100
    return (
        Row("knowledge: answers not among the first five", missed, "%", MISSED, f"found: {rates}"),
        lines,
    )
