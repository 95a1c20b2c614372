"""What fills the context: read from the command line's answer, whatever it has."""

from __future__ import annotations

from tests.core.cases import cases_of
from ua_tui.core.agent.messages.usage import ContextPart, read_context_usage

CASES = cases_of(__file__)


def test_the_parts_are_named_and_the_largest_of_their_own_parts_are_listed() -> None:
    usage = read_context_usage(
        {
            "categories": CASES["the_parts_are_named_and_the_largest_of_their_own_parts_are"],
            "totalTokens": 115,
            "maxTokens": 900,
            "rawMaxTokens": 1000,
            "model": "some-model",
            "autocompactSource": "unknown-model",
            "mcpTools": [{"serverName": name, "tokens": tokens} for name, tokens in (("a", 30), ("b", 40), ("a", 20))],
            "messageBreakdown": {"toolResultTokens": 15, "userMessageTokens": 5, "toolCallTokens": 0},
        }
    )  # fmt: skip
    assert (usage.model, usage.total, usage.window, usage.is_guess) == ("some-model", 115, 1000, True)
    mcp, messages, new, free = usage.parts
    assert mcp == ContextPart("Tools of MCP servers", 90, details=(("a", 50), ("b", 40)))
    assert messages.details == (("tool results", 15), ("queries", 5))
    assert "\x1b" not in new.name
    assert (free.name, free.is_used) == ("Free", False)


def test_anything_else_is_nothing() -> None:
    for raw in CASES["anything_else_is_nothing"]:
        usage = read_context_usage(raw)
        assert (usage.total, usage.window, usage.parts) == (0, 0, ())
