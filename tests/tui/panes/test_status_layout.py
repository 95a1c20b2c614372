"""What of the status has room at which width, as pure functions of what is known."""

from __future__ import annotations

import itertools

import pytest
from textual.content import Content
from textual.style import Style

from tests.tui.pane_host import note_events
from ua_tui.core.events.types import (
    BudgetReached,
    Event,
    McpServer,
    McpStatus,
    MessageFinished,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    TokensSpent,
    TracingFailed,
    Usage,
)
from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.telemetry.tracer import Trace
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.status.facts import StatusFacts
from ua_tui.tui.panes.status.layout import cell, lay_out, part_at

WIDTHS = [200, 120, 80, 60, 40]
KEYS = [["F1 keys", "^Q quit"], ["F1 keys"]]
STARTED = SessionStarted(
    session_id="s", workspace="/w", cwd="/c", version="1", model="claude-sonnet-5", demo=True
)
RECEIVED = QueryReceived(query_id="q", text="x")
PATH = QueryClassified(
    query_id="q", decision="COMPLEX", source="rule", raw_response="the query says “research”"
)
BROKEN = McpStatus(
    servers=[
        McpServer(name="local_toolkit", status="connected", tools=5),
        McpServer(name="composio", status="failed", error="401"),
        McpServer(name="web\x1b[2Jreader", status="needs-auth"),
    ]
)
NEAR = BudgetReached(level="warning", spent_usd=0.85, limit_usd=1.0)
SPENT = BudgetReached(level="spent", spent_usd=1.02, limit_usd=1.0)


def known(*events: Event, limit: float | None = 1.0, now: float = 0.0) -> StatusFacts:
    facts = StatusFacts(SessionView(costs=Costs(limit=limit)), clock=lambda: now)
    note_events(facts, STARTED, RECEIVED, *events)
    return facts


def laid(facts: StatusFacts, width: int, state: str = "running", frame: int = 0) -> Content:
    line = lay_out(facts.cells(state, frame, width), KEYS, width)
    assert line.cell_length <= width
    return line


def parts(line: Content) -> dict[str, tuple[int, int]]:
    """Where each part of the line is."""
    found: dict[str, tuple[int, int]] = {}
    cells = [span for span in line.spans if isinstance(span.style, Style) and "part" in span.style.meta]
    for x in range(line.cell_length):
        meta = next((each.style.meta for each in cells if each.start <= x < each.end), {})  # type: ignore[union-attr]
        if name := part_at(line, x, meta):
            found[name] = (found.get(name, (x, x))[0], x + 1)
    return found


def shown(facts: StatusFacts, width: int, state: str = "running") -> str:
    return laid(facts, width, state).plain


def spent(tokens: int, cost: float | None = None) -> TokensSpent:
    return TokensSpent(query_id="q", message_id="m", usage=Usage(input_tokens=tokens), cost_usd=cost)


def test_a_session_has_as_many_tokens_when_it_is_read_again_as_while_it_ran() -> None:
    message = MessageFinished(query_id="q", message_id="m", text="", usage=Usage(input_tokens=2_000))
    ended = QueryFinished(query_id="q", status="success", usage=Usage(input_tokens=2_500))
    facts, past = StatusFacts(), SessionStats()
    counted = []
    # Of a sub-agent there are no messages with a usage, and of an old journal nothing but them.
    for event in (RECEIVED, spent(2_000), message, spent(40_000), ended, message, message, ended, message):
        note_events(facts, event)
        past.add([event])
        assert past.tokens == facts.view.costs.tokens.total
        counted.append(past.tokens)
    assert counted == [0, 2_000, 2_000, 42_000, 42_000, 44_000, 46_000, 46_000, 48_000]
    assert dict(facts.describe())["Tokens"].startswith("48,000 with")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_that_counts_is_dropped(width: int) -> None:
    facts = known(PATH, BROKEN, SPENT)
    text = shown(facts, width)
    assert "DEMO" in text
    assert "thinking" in text
    assert text.count("✗") == 3, "one for each server, and one for the budget"
    assert "\x1b" not in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "before", [(), (BROKEN,), (NEAR,), (BROKEN, SPENT)], ids=["", "broken", "near", "both"]
)
def test_nothing_moves_while_figures_change(width: int, before: tuple[Event, ...]) -> None:
    usages = [0, 950, 9_949, 38_000, 190_000, 1_400_000]
    costs = [0.001, 0.09, 0.5, 0.9]
    moments = [0.0, 9.0, 59.0, 724.0, 11_220.0]
    seen = set()
    for tokens, cost, now in itertools.product(usages, costs, moments):
        usage = MessageFinished(query_id="q", message_id="m", text="", usage=Usage(input_tokens=tokens))
        facts = known(PATH, *before, spent(tokens, cost), usage)
        facts.clock = lambda now=now: now  # type: ignore[misc]  # the loop's own
        seen.add(tuple(parts(laid(facts, width)).items()))
    assert len(seen) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_every_part_is_where_it_says(width: int) -> None:
    line = laid(known(PATH, BROKEN, NEAR), width)
    plain, found = line.plain, parts(line)
    before = 0
    for start, end in found.values():
        assert before <= start < end
        assert plain[start:end].strip()
        before = end
    assert "thinking" in plain[slice(*found["state"])]
    assert {"F1 keys"} <= found.keys() or not plain.rstrip().endswith("F1 keys")


def test_tracing_is_shown_only_if_it_failed() -> None:
    facts = StatusFacts(tracing=["Logfire", "OTLP at a:1"])
    assert "tracing" not in shown(facts, 200)
    assert "Logfire and OTLP at a:1" in dict(facts.describe())["Tracing"]
    note_events(facts, TracingFailed(error="no route"))
    assert "✗ tracing" in shown(facts, 120)
    assert dict(facts.describe())["Tracing"] == "failed: no route"


def test_the_trace_is_described_by_its_link_or_its_id() -> None:
    facts = StatusFacts(trace=lambda: Trace("0f"))
    assert dict(facts.describe())["Trace"] == "0f"
    facts.trace = lambda: Trace("0f", "https://l.example/p")
    assert dict(facts.describe())["Trace"].startswith("https://l.example/p?q=trace_id")


def test_keys_give_way_before_cells_do() -> None:
    cells = [cell("abc", 50, "a"), cell("def", 60, "b")]
    assert lay_out(cells, KEYS, 40).plain.endswith("F1 keys  ^Q quit")
    assert lay_out(cells, KEYS, 18).plain == "abc  def   F1 keys"
    assert lay_out(cells, KEYS, 12).plain == "def  F1 keys"
    assert lay_out([], KEYS, 3).plain == ""
