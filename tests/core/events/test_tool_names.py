from __future__ import annotations

from core.events.tool_names import inner_calls, main_argument, tool_label, tool_name

NEWS = {"tool_slug": "COMPOSIO_SEARCH_NEWS", "arguments": {"query": "AI chip"}}
WEB = {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "AI chip"}}
SEND = {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"recipient_email": "ada@mail.example"}}


def test_names_lose_server_and_vendor() -> None:
    name = tool_name("mcp__composio__COMPOSIO_SEARCH_NEWS")
    assert (name.short, name.server) == ("SEARCH_NEWS", "composio")
    assert tool_name("mcp__local_toolkit__crawl_parallel").short == "crawl_parallel"
    assert tool_name("WebSearch").short == "WebSearch"
    assert tool_name("mcp__lonely").short == "lonely"
    assert tool_name("COMPOSIO_").short


def test_a_multi_execute_shows_what_runs_inside() -> None:
    name = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
    assert tool_label(name, {"tools": [NEWS, WEB]}) == "SEARCH_NEWS + SEARCH_WEB"
    assert tool_label(name, {"tools": [NEWS, WEB, SEND]}) == "SEARCH_NEWS +2"
    assert main_argument(name, {"tools": [NEWS, WEB]}) == "AI chip"
    assert tool_label(name, {}) == "MULTI_EXECUTE"
    assert tool_label(name, {"tools": "nonsense"}) == "MULTI_EXECUTE"
    assert inner_calls({"tools": [1, {"tool_slug": 2}, {"tool_slug": "X", "arguments": []}]}) == [("X", {})]


def test_a_subagent_is_called_by_its_name() -> None:
    given_ = {"subagent_type": "report-creation-expert", "description": "Write it", "prompt": "long"}
    assert tool_label("Agent", given_) == "report-creation-expert"
    assert main_argument("Task", given_) == "Write it"
    assert tool_label("Agent", {}) == "Agent"


def test_a_resource_is_named_as_a_person_writes_it() -> None:
    given_ = {"server": "notes", "uri": "notes://today"}
    assert tool_label("ReadMcpResourceTool", given_) == "ReadResource"
    assert main_argument("ReadMcpResourceTool", given_) == "notes:notes://today"
    assert tool_label("ListMcpResourcesTool", {}) == "ListResources"


def test_the_shown_argument_is_one_clean_line() -> None:
    assert main_argument("x", {"limit": 3, "query": "AI chip"}) == "AI chip"
    assert main_argument("x", {"urls": ["https://a.example", "https://b.example"]}) == "2 pages"
    assert main_argument("x", {"paths": "a"}) == "a"
    assert main_argument("x", {}) == ""
    assert main_argument("x", {"query": {"deep": [1]}}) == '{"deep": [1]}'
    shown = main_argument("x", {"command": "ls\n\x1b[2J" + "y" * 10_000})
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert len(shown) <= 120
