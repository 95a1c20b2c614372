"""Pictures of every dialog alone on the screen, and of one above a finished session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from core.events.types import (
    AuthRequired,
    BudgetReached,
    ElicitationAsked,
    FormField,
    FormOption,
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
from core.trust_question.changes import Change
from core.trust_question.question import FolderQuestion
from core.web_reader.blacklist import LIFETIME, Blacklist, Listing, Strike
from tests.tui.app.test_snapshots import played_app, steps
from tests.tui.files_host import finished, until
from tests.tui.pictured import Drawn, cases, draw_once, every_look, no_blinking
from tui.panes.status.facts import StatusFacts
from tui.render.activity import CurrentActivity
from tui.screens.application.error import RESTARTS, ErrorScreen
from tui.screens.files.confirm_delete import DeleteScreen
from tui.screens.files.link import LinkScreen
from tui.screens.files.links import LinksScreen
from tui.screens.requests.auth import AuthScreen
from tui.screens.requests.folder_trust import FolderFilesScreen, FolderTrustScreen
from tui.screens.requests.permission import PermissionScreen
from tui.screens.requests.plan import PlanScreen
from tui.screens.requests.question import QuestionScreen
from tui.screens.requests.server_form import ServerFormScreen
from tui.screens.requests.server_link import ServerLinkScreen
from tui.screens.services.blacklist import BlacklistScreen
from tui.screens.session.budget import BudgetScreen
from tui.screens.session.confirm_fresh import FreshScreen
from tui.screens.session.mode import ModeScreen
from tui.screens.session.queue import QueueScreen
from tui.screens.session.quit import QuitScreen
from tui.screens.session.status import StatusScreen
from tui.viewers.view.links import FoundLink
from tui.widgets.modal import Modal

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
QUESTION = PermissionAsked(
    request_id="r4",
    tool_name="AskUserQuestion",
    input={
        "questions": [
            {
                "question": "Which sources should count?\u202e",
                "multiSelect": True,
                "options": [
                    {
                        "label": "News",
                        "description": "Articles of the last week, with their dates and their sites.",
                    },
                    {"label": "Papers", "description": "Preprints and conference papers."},
                ],
            },
            {"question": "Who reads it?", "options": []},
        ]
    },
)
FORM = ElicitationAsked(
    request_id="r5",
    server="hotels",
    message="Which room may I book?\u202e\nThe price is held for ten minutes.",
    fields=[
        FormField(name="city", title="City", about="Where to stay.", required=True, least=2, most=40),
        FormField(name="nights", kind="integer", title="Nights", least=1, most=9, default=3),
        FormField(name="breakfast", kind="boolean", title="Breakfast", default=False),
        FormField(
            name="extras",
            kind="choices",
            title="Extras",
            options=[FormOption(value="s", title="Sauna"), FormOption(value="b", title="Bicycle")],
            default=["b"],
        ),
        FormField(name="password", title="Password", secret=True),
    ],
)
PAYMENT = ElicitationAsked(
    request_id="r6",
    server="hotels",
    message="Pay the invoice, please.",
    mode="url",
    url="http://pay.hotels.example/invoices/4711?key=8f2c\u202e",
)
PLAN = PermissionAsked(
    request_id="r3",
    tool_name="ExitPlanMode",
    input={
        "plan": "# Tides of the Baltic\u202e\n\n1. Search for **papers**\n2. Write `work_products/tides.md`\n\n"
        "| step | minutes |\n|---|---|\n| search | 5 |\n| write | 20 |\n"
    },
)
LINK = AuthRequired(
    toolkit="gmail",
    url="https://connect.composio.dev/link/lk_0qK3vXw8Zt1b",
    expires_at=datetime(2026, 11, 21, 14, 12, 5, tzinfo=UTC),
)

FOLDER = FolderQuestion(
    folder=Path("/work/ai-chips"),
    state="undecided",
    changes=(
        Change("data", "the model's server", "https://gateway.example", ".env:2", sends=True),
        Change("data", "the model's token", "(not shown: 22 characters, c8fb1a)", ".env:3", sends=True),
        Change("data", "the Composio account", "research-team", "ua-tui.toml:6", sends=True),
        Change(
            "tools",
            "the sub-agent report-creation-expert",
            "replaces the one that ships with ua-tui with its 1 rule, has every tool",
            ".claude/agents/report.md",
        ),
        Change("tools", "the MCP server notes", "starts npx -y notes-server@latest", ".mcp.json", sends=True),
        Change(
            "cost",
            "the spending limit",
            "20",
            "ua-tui.toml:1",
            "a folder may only set a stricter value than yours",
        ),
    ),
    answers=("trusted", "partly", "ignored"),
    texts={
        ".env": "ANTHROPIC_BASE_URL=https://gateway.example\nANTHROPIC_AUTH_TOKEN=(not shown: 22 characters, c8fb1a)\n",
        "ua-tui.toml": 'max_cost_usd = 20\n\n[composio]\nuser_id = "research-team\u202e"\n',
    },
)
FOLDER_KEYS = replace(FOLDER, changes=(), keys=("Anthropic", "Composio"))
FOLDER_CHANGED = replace(
    FOLDER,
    state="changed",
    changes=FOLDER.changes[:1],
    difference=(
        ".env (changed)",
        "@@ -1,2 +1,2 @@",
        "-ANTHROPIC_BASE_URL=https://gateway.example",
        "+ANTHROPIC_BASE_URL=https://gateway.examp1e",
    ),
)

LINKS = [
    FoundLink("Sixteen-high stacks ship three months early", "https://computewire.example/memory/stacks", 3),
    FoundLink("the report", "https://computewire.example/accelerators/halden-h7\u202e?from=report", 5),
    FoundLink("", "https://xn--fiqs8s.example/" + "a-long-way/" * 12, 9),
    FoundLink("[b]Open in the editor[/b]", "vscode://file/etc/hosts", 12),
]


def refused(host: str, *days: int, listed: bool) -> Listing:
    strikes = tuple(
        Strike(at=NOW.replace(day=day), code="1214", url=f"https://{host}/news/{day}", tool_use_id=f"t{day}")
        for day in days
    )
    since = strikes[-1].at if listed else None
    return Listing(host, strikes, since, since + LIFETIME if since is not None else None)


class Sites(Blacklist):
    """A list of the web reader in no file."""

    def __init__(
        self,
        kept: Sequence[Listing] = (
            refused("papers.example", 18, 19, 20, listed=True),
            refused("daily-news-with-a-long-name.example", 2, 3, 5, 8, listed=True),
            refused("few.example", 17, listed=False),
        ),
    ) -> None:
        super().__init__(Path("/nowhere"))
        self._kept = list(kept)

    def entries(self) -> list[Listing]:
        return self._kept


def working() -> CurrentActivity:
    at = 0.0
    work = CurrentActivity(lambda: at)
    work.handle_events(
        [QueryReceived(query_id="q1", text="Research the latest AI chip news and write a report")]
    )
    at = 8.0
    given = {"subagent_type": "report-creation-expert", "description": "Write the report from the articles"}
    work.handle_events([ToolCallStarted(query_id="q1", tool_use_id="t1", name="Agent", input=given)])
    at = 20.0
    name = "mcp__local_toolkit__crawl_parallel"
    work.handle_events(
        [ToolCallStarted(query_id="q1", tool_use_id="t2", name=name, input={"urls": ["https://a.example"]})]
    )
    at = 41.0
    return work


def reported() -> list[tuple[str, str]]:
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
        facts.handle_event(event)
    return facts.describe()


DIALOGS: dict[str, tuple[Callable[[], Modal[Any]], tuple[str, ...]]] = {
    "permission": (lambda: PermissionScreen(MAIL, 2), ()),
    "permission-pattern": (
        lambda: PermissionScreen(PAGE, seen={("composio", "NOTION_GET_BLOCK")}),
        ("s", *["backspace"] * len("PAGE"), "*"),
    ),
    "permission-folder": (
        lambda: PermissionScreen(
            msgspec.structs.replace(
                MAIL,
                once_only=False,
                proposed=["GMAIL_SEND_EMAIL(recipient_email=*@firm.example)"],
                scopes=["session", "folder", "everywhere"],
            )
        ),
        (),
    ),
    "permission-reason": (lambda: PermissionScreen(MAIL), ("r", *"Use the other account")),
    "question": (lambda: QuestionScreen(QUESTION), ()),
    "server-form": (lambda: ServerFormScreen(FORM), ("O", "enter", "1", "2", "ctrl+s")),
    "server-link": (lambda: ServerLinkScreen(PAYMENT), ()),
    "permission-change": (lambda: PermissionScreen(MAIL), ("c",)),
    "plan": (lambda: PlanScreen(PLAN), ()),
    "mode": (lambda: ModeScreen("plan"), ()),
    "auth": (lambda: AuthScreen(LINK, now=lambda: NOW), ()),
    "folder": (lambda: FolderTrustScreen(FOLDER), ()),
    "folder-keys": (lambda: FolderTrustScreen(FOLDER_KEYS), ()),
    "folder-changed": (lambda: FolderTrustScreen(FOLDER_CHANGED), ()),
    "folder-files": (lambda: FolderFilesScreen(FOLDER), ()),
    "error": (
        lambda: ErrorScreen(
            "the agent died (signal 9)",
            ["ProcessError: Command failed with exit code -9"],
            advice=[RESTARTS, "1 query is waiting, and will be kept.", "Details are in /work/run.log"],
        ),
        (),
    ),
    "quit": (lambda: QuitScreen(1, working()), ()),
    "delete": (lambda: DeleteScreen("work_products/ai-chip-news.html", "12K, saved 14:02."), ()),
    "link": (lambda: LinkScreen("https://computewire.example/accelerators/halden-h7\u202e?from=report"), ()),
    "links": (lambda: LinksScreen(LINKS, 1), ()),
    "blacklist": (lambda: BlacklistScreen(Sites()), ("down",)),
    "blacklist-empty": (lambda: BlacklistScreen(Sites(())), ()),
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
    "status": (lambda: StatusScreen(reported()), ()),
}


def listens(screen: Modal[Any]) -> bool:
    return screen.is_mounted and not screen.has_class("-quiet")


async def dialogs(pilot: Pilot[str]) -> AsyncIterator[str]:
    """Open one dialog after the other."""
    app = pilot.app
    for name, (make, keys) in DIALOGS.items():
        screen = make()
        app.push_screen(screen)
        await until(partial(listens, screen))
        if working := [each for each in app.workers if screen in each.node.ancestors_with_self]:
            await finished(working)
        await pilot.press(*keys)
        no_blinking(app)
        yield name
        screen.dismiss(None)
        await pilot.pause()


@pytest.fixture(scope="module")
def drawn(shared_folder: Path) -> Callable[[tuple[int, int], str], dict[str, str]]:
    return draw_once(shared_folder, "dialogs", dialogs)


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize(("dialog", "size", "theme"), cases(list(DIALOGS)))
def test_a_dialog(
    snap_compare: Callable[..., bool],
    drawn: Callable[[tuple[int, int], str], dict[str, str]],
    dialog: str,
    size: tuple[int, int],
    theme: str,
) -> None:
    assert snap_compare(Drawn(drawn(size, theme)[dialog]))


@pytest.mark.usefixtures("still")
@every_look
def test_a_dialog_above_a_finished_session(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    async def ready(pilot: Pilot[str]) -> None:
        await steps()(pilot)
        screen = PermissionScreen(MAIL, 2)
        pilot.app.push_screen(screen)
        await until(partial(listens, screen))

    assert snap_compare(played_app(tmp_path, theme), terminal_size=size, run_before=ready)
