"""Pictures of every dialog above a finished session."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from core.events import (
    AuthRequired,
    BudgetReached,
    McpServer,
    McpStatus,
    PermissionAsked,
    QueryClassified,
    QueryReceived,
    SessionStarted,
    TokensSpent,
    ToolCallStarted,
    Usage,
)
from tests.tui.test_snapshots import SIZES, Before, played_app, steps
from tui.at_work import AtWork
from tui.panes.status_facts import StatusFacts
from tui.screens.auth import AuthScreen
from tui.screens.budget import BudgetScreen
from tui.screens.closing import Closing
from tui.screens.delete import DeleteScreen
from tui.screens.error import RESTARTS, ErrorScreen
from tui.screens.fresh import FreshScreen
from tui.screens.link import LinkScreen
from tui.screens.permission import PermissionScreen
from tui.screens.queue import QueueScreen
from tui.screens.quit import QuitScreen
from tui.screens.status import StatusScreen

THEMES = ["ua-dark", "ua-light", "ua-ansi"]
NOW = datetime(2026, 11, 21, 14, 2, 7, tzinfo=UTC)
MAIL = PermissionAsked(
    request_id="r1",
    tool_name="mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL",
    subjects=["GMAIL_SEND_EMAIL"],
    reason="it can change something outside the workspace",
    once_only=True,
    input={
        "thought": "Send the report to the team",
        "tools": [
            {
                "tool_slug": "GMAIL_SEND_EMAIL",
                "arguments": {
                    "recipient_email": "team@northwindsilicon.example",
                    "subject": "AI chips this\u202eweek",
                    "body": "Hello all,\n\nthis week's report on AI chips is ready.\n\nKind regards",
                },
            }
        ],
    },
)
PAGE = PermissionAsked(
    request_id="r2",
    tool_name="mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL",
    subjects=["NOTION_GET_PAGE"],
    reason="it is not among the contained tools",
    input={"tools": [{"tool_slug": "NOTION_GET_PAGE", "arguments": {"page_id": "8f2c"}}]},
)
LINK = AuthRequired(
    toolkit="gmail",
    url="https://connect.composio.dev/link/lk_0qK3vXw8Zt1b",
    expires_at=datetime(2026, 11, 21, 14, 12, 5, tzinfo=UTC),
)


def working() -> AtWork:
    at = 0.0
    work = AtWork(lambda: at)
    work.take([QueryReceived(query_id="q1", text="Research the latest AI chip news and write a report")])
    at = 8.0
    given = {"subagent_type": "report-creation-expert", "description": "Write the report from the articles"}
    work.take([ToolCallStarted(query_id="q1", tool_use_id="t1", name="Agent", input=given)])
    at = 20.0
    name = "mcp__local_toolkit__crawl_parallel"
    work.take(
        [ToolCallStarted(query_id="q1", tool_use_id="t2", name=name, input={"urls": ["https://a.example"]})]
    )
    at = 41.0
    return work


def told() -> list[tuple[str, str]]:
    facts = StatusFacts(limit=1.0)
    for event in (
        SessionStarted(
            session_id="s", workspace="/w", cwd="/c", version="1", model="claude-sonnet-5", demo=True
        ),
        QueryReceived(query_id="q1", text="x"),
        QueryClassified(query_id="q1", decision="COMPLEX", source="rule", raw_response="it says “research”"),
        McpStatus(
            servers=[
                McpServer(name="local_toolkit", status="connected", tools=7),
                McpServer(name="composio", status="failed", error="the server refused the key (401)"),
            ]
        ),
        TokensSpent(query_id="q1", message_id="m", usage=Usage(input_tokens=38_100), cost_usd=0.85),
        BudgetReached(level="warning", spent_usd=0.85, limit_usd=1.0),
    ):
        facts.take(event)
    return facts.told()


DIALOGS: dict[str, tuple[Callable[[], Closing[Any]], tuple[str, ...]]] = {
    "permission": (lambda: PermissionScreen(MAIL, 2), ()),
    "permission-pattern": (
        lambda: PermissionScreen(PAGE, seen={("composio", "NOTION_GET_BLOCK")}),
        ("s", *["backspace"] * len("PAGE"), "*"),
    ),
    "permission-reason": (lambda: PermissionScreen(MAIL), ("r", *"Use the other account")),
    "auth": (lambda: AuthScreen(LINK, now=lambda: NOW), ()),
    "error": (
        lambda: ErrorScreen(
            "the agent died (signal 9)",
            ["ProcessError: Command failed with exit code -9"],
            advice=[RESTARTS, "1 query waits: what waits is kept.", "The whole story is in /work/run.log"],
        ),
        (),
    ),
    "quit": (lambda: QuitScreen(1, working()), ()),
    "delete": (lambda: DeleteScreen("work_products/ai-chip-news.html", "12K, saved 14:02."), ()),
    "link": (lambda: LinkScreen("https://computewire.example/accelerators/halden-h7\u202e?from=report"), ()),
    "fresh": (lambda: FreshScreen("the agent does not know the conversation of this session any more"), ()),
    "queue": (
        lambda: QueueScreen(
            lambda: ("Mail the report to the team", "Compare it with last week's\nand say what is new"),
            lambda _seen, _wanted: True,
        ),
        ("down",),
    ),
    "budget": (lambda: BudgetScreen(1.02, 1.0, waiting=1), ()),
    "budget-amount": (lambda: BudgetScreen(0.85, 1.0, running=True), ("r",)),
    "status": (lambda: StatusScreen(told()), ()),
}


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No animation, and one time zone for everybody."""
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def opened(dialog: str) -> Before:
    make, keys = DIALOGS[dialog]
    played: Callable[[Pilot[str]], Awaitable[None]] = steps()

    async def before(pilot: Pilot[str]) -> None:
        await played(pilot)
        screen = make()
        pilot.app.push_screen(screen)
        await pilot.pause()
        for _ in range(200):
            if not screen.has_class("-quiet"):
                break
            await pilot.pause(0.05)
        if drawing := [worker for worker in pilot.app.workers if worker.group == "code"]:
            await pilot.app.workers.wait_for_complete(drawing)
        await pilot.press(*keys)
        for line in screen.query("Input"):
            line.cursor_blink = False  # type: ignore[attr-defined]  # an Input
        await pilot.pause(0.2)

    return before


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40", "200x50"])
@pytest.mark.parametrize("dialog", DIALOGS)
def test_a_dialog(
    snap_compare: Callable[..., bool], tmp_path: Path, dialog: str, size: tuple[int, int], theme: str
) -> None:
    assert snap_compare(played_app(tmp_path, theme), terminal_size=size, run_before=opened(dialog))
