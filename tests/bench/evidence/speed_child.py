"""The check of a report in a process of its own: `MODE RESULT_FILE`.

The mode is `alone` or `screen` for a long report, or the folder of a session for the report in it.
"""

from __future__ import annotations

import asyncio
import html
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.bench.heartbeat import Heartbeat
from tests.bench.knowledge.sessions import Page, Session, invent_sessions, write_session
from ua_tui.core.concurrency.worker import WorkerProcess
from ua_tui.core.events.types import Event, ReportChecked
from ua_tui.core.observation import FileWriteObservation, TextContent, ToolCall, ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.check.session import check_in_session
from ua_tui.observers.execution.offload import ResultOffload
from ua_tui.observers.execution.runner import ObserverRunner

WORDS, SOURCES, TIMES = 5_000, 50, 5
REPORT = "work_products/long.html"
WRITER = "mcp__local_toolkit__write_local_file"
WORK = "work"


def _report(session: Session) -> bytes:
    """A report of `WORDS` words from all pages: a paragraph of each page in turn, with a link to it."""
    parts = ["<!doctype html><html><body><h1>All that was read</h1>"]
    words = 0
    pieces = {page.url: _paragraphs(page) for page in session.pages}
    for page in cycle(session.pages):
        if words >= WORDS:
            break
        text = next(pieces[page.url])
        words += len(text.split())
        parts.append(f'<p>{html.escape(text)} (<a href="{page.url}">{html.escape(page.title)}</a>)</p>')
    return "\n".join([*parts, "</body></html>"]).encode()


def _paragraphs(page: Page) -> Iterator[str]:
    facts = cycle([fact.sentence for fact in page.facts])
    for paragraph in cycle(page.text.split("\n\n")):
        yield f"{next(facts)} {paragraph}"


def _session() -> tuple[Path, bytes]:
    (session,) = invent_sessions(1, read=SOURCES)
    folder = write_session(Path.cwd(), session)
    report = _report(session)
    (folder / REPORT).write_bytes(report)
    return folder, report


def alone() -> dict[str, Any]:
    """Read the sources and check the long report, several times; seconds."""
    folder, _ = _session()
    return _check(folder, folder / REPORT, time.perf_counter)


def _check(folder: Path, report: Path, clock: Callable[[], float]) -> dict[str, Any]:
    took = []
    for _ in range(TIMES):
        began = clock()
        data = report.read_bytes()
        check = check_in_session(data, report.relative_to(folder).as_posix(), folder, Redactor())
        took.append(clock() - began)
    return {"took": took, "claims": len(check.claims), "sources": len(check.sources)}


async def _on_screen() -> dict[str, Any]:
    folder, report = _session()
    workspace = Workspace.resume(folder)
    worker = WorkerProcess(workspace)
    observers = default_observers(plugins=False)
    checked: asyncio.Future[ReportChecked] = asyncio.get_running_loop().create_future()

    def follow(event: Event) -> None:
        if isinstance(event, ReportChecked) and not checked.done():
            checked.set_result(event)

    offload = ResultOffload(worker)
    runner = ObserverRunner(observers, ObserverContext(workspace), follow, offload=offload)
    runner.start()
    heart = Heartbeat()
    heart.start()
    await asyncio.sleep(1.0)
    heart.phase = WORK
    began = time.perf_counter()
    runner.submit(_result(report))
    async with asyncio.timeout(60):
        await checked
        await runner.finish_submitted()
    took = time.perf_counter() - began
    heart.phase = "after"
    heart.stop()
    await runner.drain()
    worker.close()
    workspace.close()
    found = heart.report()
    return {
        "longest": max(found["phases"][WORK]),
        "before": max(found["phases"]["start"]),
        "stalls": [stall for stall in found["stalls"] if stall["phase"] == WORK],
        "took": took,
        "summary": checked.result().summary,
    }


def _result(report: bytes) -> ToolResult:
    arguments = {"path": REPORT, "content": report.decode()}
    call = ToolCall(tool_use_id="toolu_long", name=WRITER, input=arguments, query_id="q1")
    written = FileWriteObservation(
        tool_name=WRITER,
        tool_use_id=call.tool_use_id,
        server="local_toolkit",
        path=REPORT,
        content=(TextContent("{}"),),
    )
    return ToolResult(call=call, observation=written)


def screen() -> dict[str, Any]:
    """Have the observers of a session check the report beside a heartbeat; times in milliseconds and seconds."""
    return asyncio.run(_on_screen())


MODES: Mapping[str, Callable[[], dict[str, Any]]] = {"alone": alone, "screen": screen}


def main(mode: str, result: str) -> None:
    """Measure `mode`, and write what was found to `result`."""
    if mode in MODES:
        found = MODES[mode]()
    else:
        folder = Path(mode)
        (report,) = (folder / "work_products").glob("*.html")
        found = _check(folder, report, time.process_time)
    Path(result).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
