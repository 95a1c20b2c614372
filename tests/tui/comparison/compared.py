"""Two sessions to compare, with hand-made checks of their reports."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import SOURCE, answered, checked, claim, reported
from ua_tui.core.events import types as ev

A, B = "session_20260310_120000", "session_20260311_120000"


def session_a(base: Path) -> Recorded:
    """A session that read a page and wrote a report with two figures."""
    session = Recorded(base, A)
    path = reported(session, "<h1>Cats</h1><p>About 41 percent smile.</p><p>There are 12 kinds.</p>")
    checked(
        session,
        path,
        claim("41 percent", "found", sentence="About 41 percent of cats smile."),
        claim("12", "found", sentence="There are 12 kinds of them."),
    )
    answered(session)
    session.add(ev.SessionFinished(reason="quit"))
    return session


def session_b(base: Path) -> Recorded:
    """One with the same query and another one, another page, a failed call, and a report that differs."""
    session = Recorded(base, B)
    answered(session)
    session.add(
        ev.QueryReceived(query_id="q2", text="And \x1b[31mdogs\x1b[0m?"),
        ev.ToolCallStarted(query_id="q2", tool_use_id="t1", name="Read", input={}),
        ev.ToolCallFinished(tool_use_id="t1", status="error"),
    )
    path = reported(session, "<h1>Cats</h1><p>About 43 percent smile.</p><p>600 were asked.</p>")
    checked(
        session,
        path,
        claim("43 percent", "differs", sentence="About 43 percent of cats smile."),
        claim("600", "not found", sentence="They asked 600 owners \x1b]0;x\x07 for it."),
        source=replace(SOURCE, url="https://dogs.example/smiles", title="Dogs"),
    )
    session.add(
        ev.QueryFinished(query_id="q2", status="success", cost_usd=0.06, duration_ms=8_000),
        ev.SessionFinished(reason="quit"),
    )
    return session
