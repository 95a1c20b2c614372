from __future__ import annotations

from tests.core.cases import cases_of
from ua_tui.core.events.tool_names import inner_calls, main_argument, tool_label, tool_name

CASES = cases_of(__file__)


def test_names_lose_server_and_vendor() -> None:
    name = tool_name("mcp__composio__COMPOSIO_SEARCH_NEWS")
    assert (name.short, name.server) == ("SEARCH_NEWS", "composio")
    names = ("mcp__local_toolkit__crawl_parallel", "WebSearch", "mcp__lonely")
    assert [tool_name(name).short for name in names] == ["crawl_parallel", "WebSearch", "lonely"]
    assert tool_name("COMPOSIO_").short


def test_a_call_has_a_label_and_the_argument_that_matters_in_a_line() -> None:
    for name, given, label in CASES["labels"]:
        assert tool_label(name, given) == label
    for name, given, argument in CASES["arguments"]:
        assert main_argument(name, given) == argument
    assert inner_calls({"tools": [1, {"tool_slug": 2}, {"tool_slug": "X", "arguments": []}]}) == [("X", {})]
    shown = main_argument("x", {"command": "ls\n\x1b[2J" + "y" * 10_000})
    assert [each for each in ("\n", "\x1b") if each in shown] == []
    assert len(shown) <= 120
