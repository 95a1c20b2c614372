from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.table import Row, Section, median, quantile
from ua_tui.core.bus import Bus
from ua_tui.core.observation import (
    AnyObservation,
    CrawlObservation,
    FileWriteObservation,
    McpObservation,
    NativeObservation,
    SearchObservation,
    SubagentObservation,
    TextContent,
    ToolCall,
    ToolResult,
    WorkbenchObservation,
)
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.execution.runner import ObserverRunner

RESULTS = 1_000
BATCH = 8
BOUND = 100.0
SECONDS = 120.0
COMPOSIO = "mcp__composio__"
TOOLKIT = "mcp__local_toolkit__"


def cost(base: Path, _runs: int) -> Section:
    """What the agent pays to hand a result to all observers: as they come in a session, and all at once."""
    paced = asyncio.run(_submit(base / "paced", BATCH))
    burst = asyncio.run(_submit(base / "burst", RESULTS))
    reported = f"{RESULTS} results of eight kinds to all observers"
    return Section(
        [
            Row("hand over a result, median", median(paced), "µs", BOUND, f"{reported}, {BATCH} at a time"),
            Row("hand over a result, p99", quantile(paced, 0.99), "µs", None, f"longest {max(paced):.0f} µs"),
            Row("the same at once, median", median(burst), "µs", BOUND, f"{reported}, all in a row"),
            Row("the same at once, p99", quantile(burst, 0.99), "µs", None, f"longest {max(burst):.0f} µs"),
        ]
    )


async def _submit(base: Path, batch: int) -> list[float]:
    """Microseconds of each hand-over; after every batch the observers get the time to work it off."""
    workspace = Workspace.create(base, datetime.now(UTC))
    runner = ObserverRunner(default_observers(), ObserverContext(workspace), Bus().publish)
    runner.start()
    results = [_result(number) for number in range(RESULTS)]
    for result in results:
        if isinstance(result.observation, FileWriteObservation):
            workspace.write(result.observation.path, result.call.input["content"])
    times: list[float] = []
    for start in range(0, RESULTS, batch):
        for result in results[start : start + batch]:
            began = time.perf_counter_ns()
            runner.submit(result)
            times.append((time.perf_counter_ns() - began) / 1_000)
        async with asyncio.timeout(SECONDS):
            while runner.backlog:  # noqa: ASYNC110  # the runner tells no one that it rests
                await asyncio.sleep(0.001)
    lost = await runner.drain(SECONDS)
    workspace.close()
    if lost:
        raise RuntimeError(f"observers lost {len(lost)} runs: {lost[0]}")
    return times


def _result(number: int) -> ToolResult:
    """The results of a session in turns: search, crawl, workbench, file, sub-agent, tools of others."""
    kind = number % 8
    match kind:
        case 0 | 1:
            slug = ("COMPOSIO_SEARCH_NEWS", "COMPOSIO_SEARCH_WEB")[kind]
            arguments: dict[str, Any] = {
                "tools": [{"tool_slug": slug, "arguments": {"query": f"chips {number}"}}]
            }
            return _made(number, COMPOSIO + "COMPOSIO_MULTI_EXECUTE_TOOL", arguments, _found(number, slug))
        case 2:
            return _made(number, TOOLKIT + "crawl_parallel", {"urls": _urls(number)}, _crawled(number))
        case 3:
            code = {"code_to_execute": "rows = load()\n" * 60, "session_id": f"s{number}"}
            return _made(number, COMPOSIO + "COMPOSIO_REMOTE_WORKBENCH", code, {"stdout": "row\n" * 500})
        case 4:
            page = {"path": f"work_products/report-{number}.html", "content": "<p>text</p>" * 2_000}
            return _made(number, TOOLKIT + "write_local_file", page, {"path": page["path"], "bytes": 22_000})
        case 5:
            task = {
                "subagent_type": "report-creation-expert",
                "prompt": "Write the report",
                "description": "report",
            }
            return _made(number, "Agent", task, "The report is written. " * 100)
        case 6:
            return _made(number, "Read", {"file_path": "/somewhere/notes.md"}, "a line of notes\n" * 1_000)
        case _:
            mail = {"tools": [{"tool_slug": "GMAIL_FETCH_EMAILS", "arguments": {"max_results": 20}}]}
            return _made(
                number, COMPOSIO + "COMPOSIO_MULTI_EXECUTE_TOOL", mail, {"messages": ["mail " * 50] * 20}
            )


def _made(number: int, name: str, arguments: dict[str, Any], content: Any) -> ToolResult:
    call = ToolCall(
        tool_use_id=f"toolu_{number:06}", name=name, input=arguments, query_id="q1", query="chips"
    )
    text = content if isinstance(content, str) else json.dumps(content)
    given: dict[str, Any] = {
        "tool_name": name,
        "tool_use_id": call.tool_use_id,
        "content": (TextContent(text),),
        "ended_at": datetime.now(UTC),
    }
    observation: AnyObservation
    match number % 8:
        case 0 | 1:
            observation = SearchObservation(server="composio", query=f"chips {number}", **given)
        case 2:
            observation = CrawlObservation(server="local_toolkit", pages=10, **given)
        case 3:
            observation = WorkbenchObservation(server="composio", successful=True, **given)
        case 4:
            observation = FileWriteObservation(server="local_toolkit", path=arguments["path"], **given)
        case 5:
            observation = SubagentObservation(agent="report-creation-expert", **given)
        case 6:
            observation = NativeObservation(**given)
        case _:
            observation = McpObservation(server="composio", **given)
    return ToolResult(call=call, observation=observation)


def _urls(number: int) -> list[str]:
    return [f"https://paper-{item}.example/articles/{number}" for item in range(10)]


def _found(number: int, slug: str) -> dict[str, Any]:
    """An answer of a search service with ten hits, about 10 KB."""
    hits = [
        {
            "title": f"Chips of the week {number}",
            "link": url,
            "snippet": "The makers of chips told what they make. " * 20,
            "source": "Paper",
            "date": "2 hours ago",
            "position": place,
        }
        for place, url in enumerate(_urls(number), 1)
    ]
    listed = {"news_results": hits} if slug.endswith("NEWS") else {"organic_results": hits}
    answer = {"successful": True, "data": {"results": listed}}
    return {"successful": True, "data": {"results": [{"tool_slug": slug, "response": answer}]}}


def _crawled(number: int) -> dict[str, Any]:
    articles = [
        {
            "title": "Chips",
            "url": url,
            "path": f"search_results/crawl_{place}.md",
            "words": 900,
            "date": "2026-01-02",
        }
        for place, url in enumerate(_urls(number))
    ]
    return {"articles": articles, "failed": []}
