from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.observers.formats import problems_in
from ua_tui.core.observation import McpObservation, TextContent, ToolCall, ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.search.tool_names import inner_tools, short_name
from ua_tui.observers.search_results import SearchResults

NOON = datetime(2026, 3, 10, 12, 0, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ObserverContext]:
    """A session's folder; whatever observers save in it has to follow the published formats."""
    found = ObserverContext(Workspace.create(tmp_path, NOON), now=lambda: NOON)
    yield found
    assert problems_in(found.workspace) == []


@pytest.fixture
def result() -> Callable[..., ToolResult]:
    return make_result


def make_result(
    tool: str, content: Any, tool_use_id: str = "toolu_1", /, *, error: str | None = None, **arguments: Any
) -> ToolResult:
    texts = (
        content if isinstance(content, list) and all(isinstance(part, str) for part in content) else [content]
    )
    blocks = tuple(TextContent(text if isinstance(text, str) else json.dumps(text)) for text in texts)
    return ToolResult(
        call=ToolCall(tool_use_id=tool_use_id, name=tool, input=arguments),
        observation=McpObservation(
            tool_name=tool, tool_use_id=tool_use_id, server="test", content=blocks, error=error
        ),
    )


def pages_found(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    """The artifacts that the observer of searches saves of a result, whose tools count as public searches."""
    name = result.call.name
    context.public_searches = (name, short_name(name), *(slug for slug, _ in inner_tools(result.call)))
    outcome = SearchResults().observe(result, context)
    saved = [each for each in outcome.artifacts if each.kind != "unparsed"]
    return [json.loads(context.workspace.read_artifact(each.path)) for each in saved]


def rows_found(
    context: ObserverContext, result: ToolResult, columns: Sequence[str] = ("title", "url")
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of those artifacts by the type of results."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for page in pages_found(context, result):
        rows = found.setdefault(page["type"], [])
        rows += [tuple(row.get(column) for column in columns) for row in page["results"]]
    return found
