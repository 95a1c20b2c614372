from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.core.cases import cases_of
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.pipelines import AfterTool, BeforeTool, Pipelines, ToolErrored
from ua_tui.core.web_reader import (
    MOST_RETRIES,
    Blacklist,
    ReaderError,
    ReaderPolicy,
    is_web_reader,
    reader_error,
)

CASES = cases_of(__file__)

READER = "mcp__web_reader__webReader"
PAGE = "https://papers.example/one"
NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
TIMED_OUT = (
    'MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"Network error, '
    'error id: 20260310, please contact customer service"}}"'
)
REFUSED = 'MCP error -400: 400 Bad Request: {"error": {"code": 1214, "message": "bad url"}}'


def test_an_error_is_known_by_its_form_as_a_whole() -> None:
    long = (("{" * 4_000 + "}", True, None), (REFUSED + " " * 10 + "x" * 9_000, True, None))
    for text, failed, expected in (*CASES["an_error_is_known_by_its_form_as_a_whole"], *long):
        given = text.replace("{TIMED_OUT}", TIMED_OUT).replace("{REFUSED}", REFUSED)
        wanted = ReaderError(expected[0], certain=expected[1]) if expected else None
        assert reader_error(given, failed=failed) == wanted, text


def test_a_web_reader_is_known_by_its_own_name() -> None:
    for tool, yes in CASES["a_web_reader_is_known_by_its_own_name"]:
        assert is_web_reader(tool) is yes


@pytest.fixture
def blacklist(tmp_path: Path) -> Blacklist:
    return Blacklist(tmp_path, now=lambda: NOW)


@pytest.fixture
def pipelines(blacklist: Blacklist) -> Pipelines:
    made = Pipelines()
    ReaderPolicy(blacklist).register(made)
    return made


def errored(text: str = TIMED_OUT, url: str = PAGE, name: str = READER) -> ToolErrored:
    return ToolErrored(tool_use_id="t", name=name, input={"url": url}, exception=OSError(), error=text)


def answered(text: str, *, error: str | None = None) -> AfterTool:
    observation = McpObservation(
        tool_name=READER, tool_use_id="t", server="web_reader", content=(TextContent(text),), error=error
    )
    return AfterTool(tool_use_id="t", name=READER, input={"url": PAGE}, observation=observation)


async def test_a_page_is_tried_again_twice(pipelines: Pipelines, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    shown_text = []
    for _ in range(MOST_RETRIES + 2):
        shown_text.append((await pipelines.run("tool.on_error", errored())).additional_context or "")
    assert all("try this page" in each for each in shown_text[:MOST_RETRIES])
    assert all(
        "do not try it again" in each and "crawl_parallel" in each for each in shown_text[MOST_RETRIES:]
    )
    other = await pipelines.run("tool.on_error", errored(url="https://other.example/"))
    assert other.additional_context == shown_text[0]
    assert "Network error" not in "".join(shown_text)
    assert "retry 1 of 2" in caplog.text
    assert "gave up after 3 attempts" in caplog.text


async def test_an_error_in_a_call_that_succeeded_is_advised_on_but_no_page(pipelines: Pipelines) -> None:
    after = await pipelines.run("tool.after_execute", answered(TIMED_OUT))
    assert "try this page once more" in (after.additional_context or "")
    for text in (json.dumps({"reader_result": {"content": TIMED_OUT}}), f"A page. {TIMED_OUT}", ""):
        assert (await pipelines.run("tool.after_execute", answered(text))).additional_context is None
    reported = await pipelines.run("tool.on_error", errored(REFUSED))
    assert "1214" in (reported.additional_context or "")
    assert (await pipelines.run("tool.on_error", errored("no network"))).additional_context is None


async def test_only_web_readers_are_observed(pipelines: Pipelines) -> None:
    assert pipelines.has_handlers("tool.after_execute", READER)
    assert not pipelines.has_handlers("tool.after_execute", "Read")
    assert not pipelines.copy(lambda _: None).has_handlers("tool.after_execute", "Read")
    reported = await pipelines.run("tool.on_error", errored(name="mcp__x__search"))
    assert reported.additional_context is None


async def test_a_listed_site_is_not_asked_for(pipelines: Pipelines, blacklist: Blacklist) -> None:
    def call(**arguments: object) -> BeforeTool:
        return BeforeTool(tool_use_id="t", name=READER, input=dict(arguments))

    assert (await pipelines.run("tool.before_execute", call(url=PAGE))).denied is None
    for number in range(3):
        blacklist.strike(PAGE, "1214", f"t{number}")
    denied = (
        await pipelines.run("tool.before_execute", call(url="https://WWW.papers.example/x"))
    ).denied or ""
    assert "until 2026-04-09" in denied
    assert "ua-tui blacklist clear papers.example" in denied
    for other in (call(url="https://other.example/"), call(), call(url=5)):
        assert (await pipelines.run("tool.before_execute", other)).denied is None
