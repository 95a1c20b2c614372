"""The lines of a session without a screen: what they say of servers, and of a model that is not to be had."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.events.types import (
    AgentSilent,
    ApiRetry,
    AuthFinished,
    AuthRequired,
    ErrorRaised,
    McpServer,
    McpStatus,
    QueryFinished,
    ToolCallFinished,
    ToolCallStarted,
)
from tui.render.events import EventLines

OFF = McpServer(name="composio", status="off", error="Composio is off: set COMPOSIO_API_KEY.")
BAD = McpServer(name=".mcp.json", status="failed", error="/w/.mcp.json is not valid JSON. Correct it.")
AWAY = McpServer(name="notes", status="failed", error="it cannot be reached (ECONNREFUSED): see that it runs")
GOOD = McpServer(name="local_toolkit", status="connected")


def reported(lines: EventLines, *servers: McpServer) -> list[str]:
    return (lines.of(McpStatus(servers=list(servers))) or "").splitlines()


def test_each_servers_failure_is_shown_once_with_its_reason_and_only_what_changed() -> None:
    lines = EventLines(marks=True)
    assert reported(lines, McpServer(name="notes", status="pending")) == []
    assert reported(lines, OFF, BAD) == [
        "  · Composio is off: set COMPOSIO_API_KEY.",
        "  ✗ /w/.mcp.json is not valid JSON. Correct it.",
    ]
    assert reported(lines, OFF, BAD, AWAY) == [
        "  ✗ MCP server notes failed: it cannot be reached (ECONNREFUSED): see that it runs"
    ]
    assert reported(lines, GOOD, OFF, BAD, AWAY) == ["  · Servers: local_toolkit connected"]
    assert reported(lines, GOOD, OFF, BAD, AWAY) == []


def test_a_connection_that_could_not_be_opened_is_one_line_until_another_reason_is_known() -> None:
    lines = EventLines(marks=True)
    why = "Composio at http://127.0.0.1:9 could not be reached: check the network"
    assert lines.of(ErrorRaised(where="composio", message=why)) == f"  ✗ composio: {why}"
    failed = McpServer(name="composio", status="failed", error=why)
    assert reported(lines, failed, GOOD) == ["  · Servers: local_toolkit connected"]
    other = McpServer(name="composio", status="failed", error="it ended")
    assert reported(lines, other) == ["  ✗ MCP server composio failed: it ended"]


def test_a_server_that_was_lost_is_said_to_be_connected_again() -> None:
    lines = EventLines(marks=False)
    notes = McpServer(name="notes", status="connected")
    assert reported(lines, notes, GOOD) == ["Servers: notes connected, local_toolkit connected"]
    soon = McpServer(name="notes", status="failed", error="it ended", again_s=1)
    later = McpServer(name="notes", status="failed", error="it ended again", again_s=2)
    assert reported(lines, soon) == ["MCP server notes failed: it ended. Reconnecting automatically."]
    assert reported(lines, McpServer(name="notes", status="reconnecting"), later) == []
    assert reported(lines, notes) == ["Servers: notes connected again"]


@pytest.mark.parametrize(
    ("server", "line"),
    [
        (McpServer(name="a", status="failed", error="a fault"), "Error: MCP server a failed: a fault"),
        (McpServer(name="a", status="failed", error="its name is off"), "Error: MCP server a failed: its name is off"),
        (McpServer(name="web", status="failed", error="it answers with a web page"),
         "Error: MCP server web failed: it answers with a web page"),
        (McpServer(name="composio", status="failed", error="Composio refused the key: set a valid one"),
         "Error: Composio refused the key: set a valid one"),
        (McpServer(name="mail", status="needs-auth"),
         "Error: MCP server mail needs a login: `ua-tui doctor` tests it, and /connections "
         "reconnects it"),
        (McpServer(name="mail", status="disabled"), "Servers: mail disabled"),
    ],
)  # fmt: skip
def test_a_line_has_the_name_once_and_what_to_do(server: McpServer, line: str) -> None:
    assert reported(EventLines(marks=False), server) == [line]


@pytest.mark.parametrize("marks", [True, False])
def test_a_retry_says_what_happened_and_a_refusal_that_it_is_none(*, marks: bool) -> None:
    lines = EventLines(marks=marks)

    def shown_text(error: str) -> str:
        return lines.of(ApiRetry(attempt=1, max_attempts=10, delay_ms=500, error=error)) or ""

    assert "The model's service accepts no more requests for now" in shown_text("rate_limit")
    assert "ttempt 1 of 10" in shown_text("rate_limit")
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
    assert line("process") == "  ⚠ The agent's process has not reacted for 34 s. Ctrl+C stops the query."
    assert line("tool", "a, b") == "  · a, b have been running for 34 s without a result."
    assert line("subagent", "news-expert") == "  · No message from news-expert for 34 s."
    assert line("model", over=True) is None


def test_the_wait_for_an_account_is_a_wait_for_the_person() -> None:
    lines = EventLines(marks=False)
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    name = "mcp__composio__COMPOSIO_WAIT_FOR_CONNECTIONS"
    lines.of(AuthRequired(toolkit="gmail", url="https://connect.example/1", at=noon))
    started = noon + timedelta(seconds=2)
    lines.of(ToolCallStarted(query_id="q", tool_use_id="t", name=name, input={}, at=started))
    connected = noon + timedelta(seconds=6)
    lines.of(AuthFinished(toolkit="gmail", outcome="completed", at=connected))
    end = lines.of(ToolCallFinished(tool_use_id="t", status="success", duration_ms=5_000))
    assert end == "Tool call WAIT_FOR_CONNECTIONS finished in 5.0 s, 4.0 s of it waiting for you"
    query = QueryFinished(query_id="q", status="success", duration_ms=9_000)
    assert lines.end_of_query(query).sentence == "Done in 9.0 s, 4.0 s of it waiting for you"
