from __future__ import annotations

import io

from ua_tui.core.events.types import Event, QueryReceived, QuerySteered, SessionStarted, TextDelta
from ua_tui.tui.plain.one_query import ProgressPrinter


def printed(*events: Event) -> list[str]:
    out = io.StringIO()
    printer = ProgressPrinter(out)
    for event in events:
        printer(event)
    return out.getvalue().splitlines()


def test_a_message_to_a_running_query_is_below_it() -> None:
    lines = printed(
        QueryReceived(query_id="q1", text="Research\nthis"),
        TextDelta(query_id="q1", message_id="m1", text="words"),
        QuerySteered(query_id="q1", text="also\x1b[2J\ncats"),
    )
    assert lines == ["› Research this", "  » also\N{REPLACEMENT CHARACTER}[2J cats"]


def test_a_resumed_session_is_reported() -> None:
    def begun(before: int, resumed_from: str | None = "session_1") -> str:
        (line,) = printed(SessionStarted(
            session_id="session_1", workspace="/out/session_1", cwd="/", version="1", demo=True,
            resumed_from=resumed_from, queries_before=before,
        ))  # fmt: skip
        return line

    assert begun(0, None) == "· Session session_1 (demo) started in /out/session_1"
    assert begun(0) == "· Session session_1 (demo) resumed before its first query in /out/session_1"
    assert begun(1) == "· Session session_1 (demo) resumed after 1 query in /out/session_1"
    assert begun(12) == "· Session session_1 (demo) resumed after 12 queries in /out/session_1"
