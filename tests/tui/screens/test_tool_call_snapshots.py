"""Pictures of the tool call in every look."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from PIL import Image
from textual.pilot import Pilot

from core.events.types import ArtifactSaved, ToolCallFinished, ToolCallStarted
from core.observation import (
    ImageContent,
    McpObservation,
    SubagentObservation,
    TextContent,
    WorkbenchObservation,
)
from tests.tui.files_host import Host, until
from tests.tui.pictured import every_look
from tui.render.subagent_progress import Progress
from tui.screens.tool_call.screen import ToolCallScreen

AT = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
NEWS = "mcp__composio__COMPOSIO_SEARCH_NEWS"
BENCH = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
CODE = """\
import pandas as pd

def growth(path: str) -> float:
    table = pd.read_csv(path)  # one row a year
    return table["revenue"].pct_change().mean()
"""
ANSWER = """\
# The report is written

It rests on **8 articles** of ten; two pages could not be read.

- `work_products/ai-chip-news.html` is the report
- `expanded_corpus.json` has what it was made from
"""


def _started(name: str, **arguments: object) -> ToolCallStarted:
    return ToolCallStarted(query_id="q", tool_use_id="t", name=name, input=arguments, at=AT)


def _finished(observation: object, status: str = "success", duration_ms: float = 1840.0) -> ToolCallFinished:
    return ToolCallFinished(
        tool_use_id="t",
        status=status,  # type: ignore[arg-type]  # one of the four words
        observation=observation,  # type: ignore[arg-type]  # one of ours
        duration_ms=duration_ms,
    )


def _saved(path: str, kind: str, size: int, copied_to: str | None = None) -> ArtifactSaved:
    return ArtifactSaved(
        path=path, kind=kind, size=size, sha256="0" * 64, observer=kind, tool_use_id="t", copied_to=copied_to
    )


def _picture() -> ImageContent:
    drawn = Image.new("RGB", (48, 24), (30, 60, 120))
    for x in range(48):
        for y in range(24):
            if (x - 24) ** 2 / 4 + (y - 12) ** 2 < 80:
                drawn.putpixel((x, y), (230, 150, 40))
    file = io.BytesIO()
    drawn.save(file, "PNG")
    return ImageContent(base64.b64encode(file.getvalue()).decode())


def _search() -> ToolCallScreen:
    results = [
        {
            "position": number,
            "title": f"Halden Compute unveils H{number}, an inference part built around four-bit arithmetic",
            "link": f"https://computewire.example/accelerators/halden-h{number}",
            "snippet": "A serving accelerator with 288 gigabytes of memory. " * 4,
        }
        for number in range(1, 9)
    ]
    text = json.dumps({"data": {"results": {"news_results": results}}, "successful": True, "error": None})
    observation = McpObservation(
        tool_name=NEWS, tool_use_id="t", server="composio", content=(TextContent(text),),
        truncated=True, recovered=True,
    )  # fmt: skip
    files = [
        _saved("search_results/composio_search_news_140203_ab.json", "search_results", 14_300),
        _saved("search_results/urls.txt", "urls", 1_900),
    ]
    return ToolCallScreen(
        _started(NEWS, query="AI accelerator chips", num=10, filters={"hl": "en", "when": "7d"}),
        _finished(observation),
        files,
        zone=UTC,
    )


def _failed() -> ToolCallScreen:
    observation = WorkbenchObservation(
        tool_name=BENCH,
        tool_use_id="t",
        server="composio",
        stdout="reading revenue.csv\n",
        stderr="Traceback (most recent call last):\n  File 'cell.py', line 4\nKeyError: 'revenue'\n",
        error="The code failed: KeyError: 'revenue'",
        content=(TextContent("The code failed: KeyError: 'revenue'"), _picture()),
    )
    return ToolCallScreen(
        _started(BENCH, code_to_execute=CODE, timeout=30), _finished(observation, "error", 12_400.0), zone=UTC
    )


def _agent() -> ToolCallScreen:
    observation = SubagentObservation(
        tool_name="Agent", tool_use_id="t", agent="report-creation-expert", content=(TextContent(ANSWER),)
    )
    return ToolCallScreen(
        _started(
            "Agent",
            subagent_type="report-creation-expert",
            description="Write the AI chip report",
            prompt="Read the ten pages in search_results/urls.txt, save the corpus,\nthen write the report.",
        ),
        _finished(observation, duration_ms=33_000.0),
        [
            _saved(
                "work_products/ai-chip-news.html", "work_products", 12_345, "SAVED_REPORTS/ai-chip-news.html"
            )
        ],
        progress=Progress(38_000, "save_corpus  8 articles"),
        zone=UTC,
    )


SCREENS: dict[str, tuple[Callable[[], ToolCallScreen], tuple[str, ...]]] = {
    "search": (_search, ("end", "up", "up", "right", "end", "up", "up")),
    "failed": (_failed, ()),
    "agent": (_agent, ("tab",)),
}


pytestmark = pytest.mark.usefixtures("still")


def _pressing(screen: ToolCallScreen, *keys: str) -> Callable[[Pilot[None]], object]:
    async def before(pilot: Pilot[None]) -> None:
        await until(lambda: screen.view.row_count > 0)
        await until(lambda: not any(worker.is_running for worker in pilot.app.workers))
        await pilot.press(*keys)
        await until(lambda: not any(worker.is_running for worker in pilot.app.workers))
        await pilot.pause(0.3)

    return before


@every_look
@pytest.mark.parametrize("name", SCREENS)
def test_a_call(snap_compare: Callable[..., bool], name: str, size: tuple[int, int], theme: str) -> None:
    make, keys = SCREENS[name]
    screen = make()
    assert snap_compare(
        Host(screen=screen, theme=theme), terminal_size=size, run_before=_pressing(screen, *keys)
    )
