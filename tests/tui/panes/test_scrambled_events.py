"""The panes, given events in any order and more than once, while somebody folds, filters and searches in them."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from tests.tui.pane_host import START, PaneHost, finished, handle_events, started
from ua_tui.core.events.types import (
    ApiRetry,
    ArtifactSaved,
    ComplianceEnforced,
    Event,
    MessageFinished,
    ObserverFinished,
    ObserverStarted,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SubagentFinished,
    SubagentProgress,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallProgress,
    Usage,
)
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane

pytestmark = pytest.mark.slow

TEXTS = (
    "",
    " \n",
    "said",
    "[/b] \x1b[31m\u202e",
    "long " * 300,
    "# Head\n\n- one\n- two\n",
    "```py\nx = 1\n",
    "漢字" * 60,
)
TOOLS = ("Read", "Agent", "mcp__a__[/x]", "mcp__", "")
SIZES = ((120, 40), (80, 24), (30, 8), (12, 5))
KEYS = (
    *("up", "down", "enter", "left", "right", "home", "end", "pageup", "pagedown"),
    *("f", "slash", "escape", "backspace", "e", "E", "n", "N", "s", "m"),
)


def an_event(random: Random) -> Event:
    """One event about a handful of queries, calls, messages and runs, true or not."""
    query, call, message = (f"{kind}{random.randrange(4)}" for kind in "qcm")
    parent = random.choice((None, f"c{random.randrange(4)}"))
    text, at = random.choice(TEXTS), START + timedelta(seconds=random.randrange(-9, 99))
    shown_text: dict[str, Any] = {"query_id": query, "message_id": message, "text": text, "at": at}
    about: dict[str, Any] = {"task_id": f"t{call}", "tool_use_id": call, "name": random.choice(("", text))}
    run: dict[str, Any] = {
        "run_id": message,
        "observer": random.choice(("search", text)),
        "tool_use_id": call,
    }
    return random.choice(
        (
            lambda: QueryReceived(query_id=query, text=text, at=at),
            lambda: QueryFinished(query_id=query, status=random.choice(("success", "error")), text=text),
            lambda: started(call, random.choice(TOOLS), parent, query, description=text, subagent_type=text),
            lambda: started(call, random.choice(TOOLS), parent, query),
            lambda: finished(
                call, random.choice(("success", "error", "denied")), text=text, error=text or None
            ),
            lambda: ToolCallProgress(tool_use_id=call, done=1, total=2, unit=text),
            lambda: SubagentStarted(**about, description=text),
            lambda: SubagentProgress(**about, usage=Usage(output_tokens=5)),
            lambda: SubagentFinished(**about, status="error"),
            lambda: TextDelta(**shown_text, parent_tool_use_id=parent),
            lambda: ThinkingDelta(**shown_text, parent_tool_use_id=parent),
            lambda: MessageFinished(**shown_text, parent_tool_use_id=parent),
            lambda: ArtifactSaved(path="a", kind="x", size=1, sha256="", observer="search", tool_use_id=call),
            lambda: ObserverStarted(**run),
            lambda: ObserverFinished(**run, status=random.choice(("saved", "failed")), items=2, error=text),
            lambda: ComplianceEnforced(subagent=text, rule="rule", message=text),
            lambda: PermissionAsked(request_id="p", tool_name="x", tool_use_id=call),
            lambda: PermissionAnswered(request_id="p", tool_name="x", decision="allow"),
            lambda: ApiRetry(attempt=1, max_attempts=3, delay_ms=1),
            lambda: SessionFinished(reason="end"),
        )
    )()


@pytest.mark.parametrize("pane", [TracePane, ObserversPane, ConversationPane])
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_events_in_any_order_are_shown(
    pane: type[TracePane | ObserversPane | ConversationPane], seed: int
) -> None:
    random = Random(seed)  # the same each time
    view: TracePane | ObserversPane | ConversationPane = pane()
    async with PaneHost(view).run_test(size=random.choice(SIZES)) as pilot:
        for step in range(40):
            handle_events(view, [an_event(random) for _ in range(random.choice((1, 2, 9)))])
            await pilot.press(random.choice(KEYS))
            if step % 9 == 8:
                await pilot.resize_terminal(*random.choice(SIZES))
            keys = [entry.key for entry in view.entries]
            assert [view.index_of(key) for key in keys] == list(range(len(keys)))
        await pilot.press("escape", "escape")
        assert view.entries
