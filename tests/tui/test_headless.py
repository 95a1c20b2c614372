from __future__ import annotations

import io

from core.events import Event, QueryReceived, QuerySteered, TextDelta
from tui.headless import ProgressPrinter


def printed(*events: Event) -> list[str]:
    out = io.StringIO()
    tell = ProgressPrinter(out)
    for event in events:
        tell(event)
    return out.getvalue().splitlines()


def test_what_is_said_into_a_query_stands_below_it() -> None:
    lines = printed(
        QueryReceived(query_id="q1", text="Research\nthis"),
        TextDelta(query_id="q1", message_id="m1", text="words"),
        QuerySteered(query_id="q1", text="also\x1b[2J\ncats"),
    )
    assert lines == ["› Research this", "  » also\N{REPLACEMENT CHARACTER}[2J cats"]
