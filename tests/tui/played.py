"""A session that was played once: fixed events at fixed times, and the files it left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from core.bus import Bus
from core.events.types import (
    ApiRetry,
    ArtifactSaved,
    ComplianceEnforced,
    ComplianceFailed,
    Event,
    McpServer,
    McpStatus,
    MessageFinished,
    ObserverFinished,
    ObserverStarted,
    PermissionAnswered,
    PermissionAsked,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SubagentFinished,
    SubagentStarted,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
)
from core.observation import CrawlObservation, McpObservation, SubagentObservation, TextContent

KINDS = {"work_products": "work_product", "corpus": "article"}
QUERY = "Research the latest AI chip news and write a comprehensive report"
START = datetime(2026, 11, 21, 14, 2, 0, tzinfo=UTC)
ANSWER = """\
# AI chips: the week

The report is at `work_products/ai-chip-news.html`; it rests on **8 articles**.

1. **Memory decides.** Sixteen-high stacks ship three months early.
2. **Power moves to the back.** Risk production has begun.

| Part | Made for | Ships |
|---|---|---|
| Halden H7 | serving | March |
| Quillmark Q9 | training | autumn |

> Two pages could not be read.
"""


class Clock:
    """Half a second later each time it is read."""

    def __init__(self) -> None:
        self._now = START

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=500)
        return self._now


def fixed_bus() -> Bus:
    """A bus whose events happen at known times."""
    return Bus(now=Clock())


def _call(number: int, name: str, given: dict[str, object], parent: str | None = None) -> ToolCallStarted:
    return ToolCallStarted(
        query_id="q1",
        tool_use_id=f"toolu_{number}",
        name=name,
        input=given,
        iteration=number,
        parent_tool_use_id=parent,
    )


def _end(
    started: ToolCallStarted,
    seconds: float,
    text: str = "{}",
    status: Literal["success", "error", "denied"] = "success",
    error: str | None = None,
) -> ToolCallFinished:
    kind: Any = McpObservation if started.name.startswith("mcp__") else SubagentObservation
    more: dict[str, object] = (
        {"server": started.name.split("__")[1]} if kind is McpObservation else {"agent": "x"}
    )
    if started.name.endswith("crawl_parallel"):
        kind, more = CrawlObservation, {"server": "local_toolkit", "pages": 8, "failed": 2}
    seen = kind(
        tool_name=started.name,
        tool_use_id=started.tool_use_id,
        content=(TextContent(text),),
        error=error,
        **more,
    )
    return ToolCallFinished(
        tool_use_id=started.tool_use_id,
        status=status,
        observation=seen,
        duration_ms=seconds * 1000,
    )


def _observed(number: int, observer: str, call: str, path: str, items: int) -> list[Event]:
    run = f"run_{number}"
    return [
        ObserverStarted(run_id=run, observer=observer, tool_use_id=call),
        ArtifactSaved(
            path=path,
            kind=KINDS.get(observer, observer),
            size=12_345,
            sha256="0" * 64,
            observer=observer,
            tool_use_id=call,
        ),
        ObserverFinished(
            run_id=run,
            observer=observer,
            tool_use_id=call,
            status="saved",
            artifacts=[path],
            items=items,
            duration_ms=2.4 * number,
        ),
    ]


def played_events() -> list[Event]:
    """The events of one research query, from its reception to its end."""
    multi = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
    news = _call(
        1, multi, {"tools": [{"tool_slug": "COMPOSIO_SEARCH_NEWS", "arguments": {"query": "AI chips"}}]}
    )
    web = _call(
        2, multi, {"tools": [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "AI chips"}}]}
    )
    agent = _call(
        3, "Agent", {"subagent_type": "report-creation-expert", "description": "Write the AI chip report"}
    )
    crawl = _call(4, "mcp__local_toolkit__crawl_parallel", {"urls": ["https://a.example/1"] * 10}, "toolu_3")
    corpus = _call(5, "mcp__local_toolkit__save_corpus", {}, "toolu_3")
    report = _call(
        6, "mcp__local_toolkit__write_local_file", {"path": "work_products/ai-chip-news.html"}, "toolu_3"
    )
    mail = _call(
        7, multi, {"tools": [{"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"to": "team@firm.example"}}]}
    )
    expert, rule = "report-creation-expert", "corpus-before-report"
    reported = "The research corpus has not been saved. Call save_corpus, then complete the report."
    servers = [
        McpServer(name="local_toolkit", status="connected", tools=5),
        McpServer(name="composio", status="connected", tools=8),
    ]
    return [
        McpStatus(servers=servers),
        QueryReceived(query_id="q1", text=QUERY),
        QueryClassified(query_id="q1", decision="COMPLEX", source="rule", raw_response="it says research"),
        ApiRetry(attempt=1, max_attempts=10, delay_ms=1200, error="overloaded"),
        ThinkingDelta(query_id="q1", message_id="m1", text="News first, then the background."),
        MessageFinished(query_id="q1", message_id="m1", text="I'll look at the news and the background."),
        news,
        web,
        _end(news, 1.8, "x" * 74_000),
        *_observed(1, "search_results", "toolu_1", "search_results/composio_search_news_140203_ab.json", 25),
        _end(web, 1.1, "x" * 9_000),
        *_observed(2, "search_results", "toolu_2", "search_results/composio_search_web_140204_cd.json", 10),
        agent,
        SubagentStarted(
            task_id="t1",
            tool_use_id="toolu_3",
            name="report-creation-expert",
            description="Write the AI chip report",
        ),
        MessageFinished(
            query_id="q1", message_id="m2", text="Reading ten pages.", parent_tool_use_id="toolu_3"
        ),
        crawl,
        _end(crawl, 12.4),
        *_observed(3, "corpus", "toolu_4", "extracted_articles/a_example_140210_ef.json", 8),
        ComplianceFailed(subagent=expert, rule=rule, message=reported),
        ComplianceEnforced(subagent=expert, rule=rule, message=reported),
        corpus,
        _end(corpus, 0.1),
        report,
        _end(report, 0.05),
        *_observed(4, "work_products", "toolu_6", "work_products/ai-chip-news.html", 1),
        SubagentFinished(task_id="t1", tool_use_id="toolu_3", name="report-creation-expert"),
        _end(agent, 33.0, "done"),
        mail,
        PermissionAsked(request_id="p1", tool_name=multi, input=mail.input, tool_use_id="toolu_7"),
        PermissionAnswered(request_id="p1", tool_name=multi, decision="deny", reason="Not today."),
        _end(mail, 4.2, "Not today.", "denied", "Not today."),
        MessageFinished(query_id="q1", message_id="m3", text=ANSWER),
        QueryFinished(
            query_id="q1",
            status="success",
            duration_ms=47_300,
            turns=4,
            cost_usd=0.21,
            usage=Usage(input_tokens=36_000, output_tokens=2_100),
            text=ANSWER,
        ),
    ]


def lay_files(folder: Path) -> None:
    """Put down what the session saved."""
    for name, size in (
        ("search_results/composio_search_news_140203_ab.json", 14_300),
        ("search_results/composio_search_web_140204_cd.json", 5_800),
        ("search_results/urls.txt", 1_900),
        ("extracted_articles/a_example_140210_ef.json", 2_900),
        ("work_products/ai-chip-news.html", 12_345),
        ("expanded_corpus.json", 21_000),
        ("run.log", 4_096),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
