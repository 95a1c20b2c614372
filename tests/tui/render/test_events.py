"""The lines of a session without a screen: what they say of servers, and of a model that is not to be had."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ua_tui.core.events.types import (
    AgentSilent,
    ApiRetry,
    AuthFinished,
    AuthRequired,
    ErrorRaised,
    QueryFinished,
    QueryReceived,
    SubagentFinished,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.tui.render.events import EventLines


@pytest.mark.parametrize("marks", [True, False])
def test_a_retry_says_what_happened_and_a_refusal_that_it_is_none(*, marks: bool) -> None:
    lines = EventLines(marks=marks)

    def shown_text(error: str) -> str:
        return lines.of(ApiRetry(attempt=1, max_attempts=10, delay_ms=500, error=error)) or ""

    assert "The model's service accepts no more requests for now" in shown_text("rate_limit")
    assert "(1 of 10)" in shown_text("rate_limit")
    assert "The model's service at http://127.0.0.1:9 did not answer" in shown_text(
        "no connection to http://127.0.0.1:9"
    )
    refused = shown_text("authentication_failed")
    assert refused.endswith("The model's service refused the key.")
    assert "not answer" not in refused


def test_a_silence_is_one_line_that_says_how_to_stop() -> None:
    lines = EventLines(marks=True)

    def line(waits_for: str, name: str = "", *, over: bool = False) -> str | None:
        event = AgentSilent(query_id="q1", waits_for=waits_for, name=name, silent_ms=34_000, over=over)
        return lines.of(event)

    assert line("model") == "  ⚠ No answer from the model's service for 34 s. Ctrl+C stops the query."
    assert line("process") == "  ⚠ The agent's process has not responded for 34 s. Ctrl+C stops the query."
    assert line("tool", "a, b") == "  · a, b have been running for 34 s without a result."
    assert line("subagent", "news-expert") == "  · No message from news-expert for 34 s."
    assert line("server", "notes") == "  · Waiting for notes to start (34 s). Ctrl+C stops the query."
    soon = AgentSilent(query_id="q1", waits_for="server", name="notes", silent_ms=5_000)
    assert "Waiting for notes to start (5 s, up to 30 s)." in (lines.of(soon) or "")
    assert line("model", over=True) is None
    assert lines.of(ErrorRaised(where="composio", message="it ended")) == "  ✗ composio: it ended"


def test_the_wait_for_an_account_is_a_wait_for_the_person() -> None:
    lines = EventLines(marks=False)
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    name = "mcp__composio__COMPOSIO_WAIT_FOR_CONNECTIONS"
    lines.of(QueryReceived(query_id="q", text="Send it", at=noon))
    lines.of(AuthRequired(toolkit="gmail", url="https://connect.example/1", at=noon))
    started = noon + timedelta(seconds=2)
    lines.of(ToolCallStarted(query_id="q", tool_use_id="t", name=name, input={}, at=started))
    connected = noon + timedelta(seconds=6)
    lines.of(AuthFinished(toolkit="gmail", outcome="completed", at=connected))
    end = lines.of(ToolCallFinished(tool_use_id="t", status="success", duration_ms=5_000))
    assert end == "Tool call WAIT_FOR_CONNECTIONS finished in 5.0 s, 4.0 s waiting for you"
    query = QueryFinished(query_id="q", status="success", duration_ms=9_000)
    assert lines.end_of_query(query).sentence == "Done in 9.0 s, 4.0 s waiting for you"


def test_of_the_end_of_a_subagent_only_that_a_person_stopped_it_is_told_beside_its_call() -> None:
    lines = EventLines(marks=True)
    ended = SubagentFinished(task_id="1", tool_use_id="t", name="researcher", status="cancelled")
    assert lines.of(ended) is None
    stopped = SubagentFinished(task_id="2", tool_use_id="u", name="researcher", by_person=True)
    assert lines.of(stopped) == "  ⊘ You stopped researcher"
