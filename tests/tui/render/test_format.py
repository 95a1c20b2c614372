from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.render.format import (
    Mark,
    clock,
    count,
    duration,
    inner_calls,
    main_argument,
    middle_cut,
    milliseconds,
    money,
    size,
    spent_of,
    spinner,
    tail_cut,
    tokens,
    tool_label,
    tool_name,
)

NEWS = {"tool_slug": "COMPOSIO_SEARCH_NEWS", "arguments": {"query": "AI chip"}}
WEB = {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "AI chip"}}
SEND = {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"recipient_email": "ada@mail.example"}}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0s"),
        (0.04, "0.0s"),
        (0.4, "0.4s"),
        (1.84, "1.8s"),
        (33, "33.0s"),
        (59.94, "59.9s"),
        (59.96, "1m 00s"),
        (124, "2m 04s"),
        (3599.7, "1h 00m"),
        (3725, "1h 02m"),
        (90_000, "1d 01h"),
    ],
)
def test_durations_change_unit_without_gaps(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(0, 10_000_000))
def test_durations_fit_their_column(seconds: float) -> None:
    assert cell_len(duration(seconds)) <= 8


@pytest.mark.parametrize(("value", "text"), [(0.1, "<1 ms"), (3, "3 ms"), (999.4, "999 ms"), (1800, "1.8s")])
def test_milliseconds(value: float, text: str) -> None:
    assert milliseconds(value) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0B"),
        (812, "812B"),
        (1000, "1K"),
        (1400, "1.4K"),
        (12_300, "12K"),
        (999_600, "1M"),
        (3_100_000, "3.1M"),
        (2 * 10**9, "2G"),
    ],
)
def test_sizes(number: int, text: str) -> None:
    assert size(number) == text


@given(st.integers(0, 10**14))
def test_sizes_fit_their_column(number: int) -> None:
    assert len(size(number)) <= 5


def test_counts_tokens_and_money() -> None:
    assert count(950) == "950"
    assert tokens(38_200) == "38k tok"
    assert tokens(812) == "812 tok"
    assert money(0.214) == "$0.21"
    assert money(0.004) == "<$0.01"
    assert money(0) == "$0.00"
    assert money(None) == ""
    assert money(1234) == "$1,234"


def test_the_clock_shows_the_time_of_its_zone() -> None:
    at = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
    assert clock(at, UTC) == "14:02"
    assert clock(at, timezone(timedelta(hours=2))) == "16:02"


def test_a_time_beyond_all_calendars_is_none() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert clock(first, timezone(timedelta(hours=-5))) == "--:--"
    assert clock(last, timezone(timedelta(hours=9))) == "--:--"


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


def test_the_telling_argument_is_one_clean_line() -> None:
    assert main_argument("x", {"limit": 3, "query": "AI chip"}) == "AI chip"
    assert main_argument("x", {"urls": ["https://a.example", "https://b.example"]}) == "2 pages"
    assert main_argument("x", {"paths": "a"}) == "a"
    assert main_argument("x", {}) == ""
    assert main_argument("x", {"query": {"deep": [1]}}) == '{"deep": [1]}'
    shown = main_argument("x", {"command": "ls\n\x1b[2J" + "y" * 10_000})
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert len(shown) <= 120


@given(st.text(max_size=60), st.integers(0, 30))
def test_cuts_fit_and_keep_what_fits(text: str, width: int) -> None:
    for cut in (middle_cut(text, width), tail_cut(text, width)):
        assert cell_len(cut) <= max(width, 0)
    if cell_len(text) <= width:
        assert middle_cut(text, width) == tail_cut(text, width) == text


def test_a_middle_cut_keeps_both_ends() -> None:
    assert middle_cut("composio_search_news_140214.json", 15) == "composi…14.json"
    assert middle_cut("中文字符很长", 7) == "中文…长"


def test_every_state_has_a_mark_and_a_word() -> None:
    assert {mark.name for mark in Mark} >= {"RUNNING", "SUCCESS", "ERROR", "DENIED", "CANCELLED", "RETRY"}
    assert Mark.DENIED.word != Mark.CANCELLED.word
    assert all(cell_len(mark.glyph) == 1 and mark.word for mark in Mark)
    assert {cell_len(spinner(tick)) for tick in range(30)} == {1}


@pytest.mark.parametrize(
    ("spent", "limit", "told"),
    [
        (0.85, 1.0, ("$0.85", "$1.00")),
        (0.0, 1.0, ("$0.00", "$1.00")),
        (0.0163, 0.02, ("$0.0163", "$0.0200")),
        (0.0527, 0.05, ("$0.0527", "$0.0500")),
        (0.198, 0.2, ("$0.1980", "$0.2000")),
        (0.2, 0.2, ("$0.20", "$0.20")),
        (1999.996, 2000.0, ("$2,000", "$2,000")),
    ],
)
def test_what_is_spent_never_looks_like_a_limit_it_is_not(
    spent: float, limit: float, told: tuple[str, str]
) -> None:
    assert spent_of(spent, limit) == told
