"""Every dialog alone on the screen, and one above a finished session."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.tui.app.test_snapshots import played_app, steps
from tests.tui.files_host import finished, jobs_of
from tests.tui.pane_host import note_events
from tests.tui.pictured import DARK, MEDIUM, SMALL, THEMED, Compare, Size, Stage, looks, no_blinking
from tests.waiting import until
from ua_tui.core.events.codec import ANY_EVENT
from ua_tui.core.trust_question import FolderChange, FolderQuestion
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.session import SessionView
from ua_tui.core.web_reader import LIFETIME, Blacklist, Listing, Strike
from ua_tui.tui.panes.status.facts import StatusFacts
from ua_tui.tui.screens.application.error import RESTARTS, ErrorScreen
from ua_tui.tui.screens.files.link import LinkScreen
from ua_tui.tui.screens.requests.auth import AuthScreen
from ua_tui.tui.screens.requests.folder_trust import FolderFilesScreen, FolderTrustScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.plan import PlanScreen
from ua_tui.tui.screens.requests.question import QuestionScreen
from ua_tui.tui.screens.requests.server_request import ServerFormScreen, ServerLinkScreen
from ua_tui.tui.screens.services.blacklist import BlacklistScreen
from ua_tui.tui.screens.session.budget import BudgetScreen
from ua_tui.tui.screens.session.confirm import DeleteScreen, FreshScreen, QuitScreen
from ua_tui.tui.screens.session.mode import ModeScreen
from ua_tui.tui.screens.session.queue import QueueScreen
from ua_tui.tui.screens.session.status import StatusScreen
from ua_tui.tui.widgets.modal import Modal

NOW = datetime(2026, 11, 21, 14, 2, 7, tzinfo=UTC)
_EVENTS = json.loads(Path(__file__).with_name("asked.json").read_bytes())
ASKED = {name: msgspec.convert(event, ANY_EVENT) for name, event in _EVENTS.items()}
MAIL = ASKED["mail"]

_DATA = json.loads(Path(__file__).with_name("dialogs.json").read_bytes())
CHANGES = msgspec.convert(_DATA["changes"], tuple[FolderChange, ...])
FOLDER = FolderQuestion(
    Path("/work/ai-chips"),
    "undecided",
    CHANGES,
    answers=("trusted", "partly", "ignored"),
    texts=_DATA["texts"],
)
FOLDER_KEYS = replace(FOLDER, changes=(), keys=("Anthropic", "Composio"))
FOLDER_CHANGED = replace(FOLDER, state="changed", changes=CHANGES[:1], difference=tuple(_DATA["difference"]))


def refused(host: str, *days: int, listed: bool = True) -> Listing:
    strikes = tuple(
        Strike(at=NOW.replace(day=day), code="1214", url=f"https://{host}/news/{day}", tool_use_id=f"t{day}")
        for day in days
    )
    since = strikes[-1].at if listed else None
    return Listing(host, strikes, since, since + LIFETIME if since is not None else None)


class Sites(Blacklist):
    """A list of the web reader in no file."""

    def __init__(self, *kept: Listing) -> None:
        super().__init__(Path("/nowhere"))
        self._kept = list(kept)

    def entries(self) -> list[Listing]:
        return self._kept


SITES = (
    refused("papers.example", 18, 19, 20), refused("daily-news-with-a-long-name.example", 2, 3, 5, 8),
    refused("few.example", 17, listed=False),
)  # fmt: skip


def working() -> QuitScreen:
    at, activity = 0.0, Activity()
    for event, then in _DATA["working"]:
        began = datetime.fromtimestamp(at, UTC)
        activity = activity.after(msgspec.structs.replace(msgspec.convert(event, ANY_EVENT), at=began))
        at = then
    return QuitScreen(1, lambda: activity, lambda: at)


def reported() -> list[tuple[str, str]]:
    facts = StatusFacts(SessionView(costs=Costs(limit=1.0)))
    note_events(facts, *(msgspec.convert(event, ANY_EVENT) for event in _DATA["reported"]))
    return facts.describe()


WIDER = msgspec.structs.replace(
    MAIL, once_only=False, proposed=["GMAIL_SEND_EMAIL(recipient_email=*@firm.example)"],
    scopes=["session", "folder", "everywhere"],
)  # fmt: skip
EXITED = "ProcessError: Command failed with exit code -9"
KEPT = [RESTARTS, "1 query is waiting, and will be kept.", "Details are in /work/run.log"]
WAITING = ("Mail the report to the team", "Compare it with last week's\nand say what is new")

DIALOGS: dict[str, tuple[Callable[[], Modal[Any]], tuple[str, ...]]] = {
    "permission": (lambda: PermissionScreen(MAIL, 2), ()),
    "permission-pattern": (lambda: PermissionScreen(ASKED["page"]), ("s", *["backspace"] * len("PAGE"), "*")),
    "permission-folder": (lambda: PermissionScreen(WIDER), ()),
    "permission-reason": (lambda: PermissionScreen(MAIL), ("r", *"Use the other account")),
    "question": (lambda: QuestionScreen(ASKED["question"]), ()),
    "server-form": (lambda: ServerFormScreen(ASKED["form"]), ("O", "enter", "1", "2", "ctrl+s")),
    "server-link": (lambda: ServerLinkScreen(ASKED["payment"]), ()),
    "permission-change": (lambda: PermissionScreen(MAIL), ("c",)),
    "plan": (lambda: PlanScreen(ASKED["plan"]), ()),
    "mode": (lambda: ModeScreen("plan"), ()),
    "auth": (lambda: AuthScreen(ASKED["link"], now=lambda: NOW), ()),
    "folder": (lambda: FolderTrustScreen(FOLDER), ()),
    "folder-keys": (lambda: FolderTrustScreen(FOLDER_KEYS), ()),
    "folder-changed": (lambda: FolderTrustScreen(FOLDER_CHANGED), ()),
    "folder-files": (lambda: FolderFilesScreen(FOLDER), ()),
    "error": (lambda: ErrorScreen("the agent died (signal 9)", [EXITED], advice=KEPT), ()),
    "quit": (working, ()),
    "delete": (lambda: DeleteScreen("work_products/ai-chip-news.html", "12K, saved 14:02."), ()),
    "link": (lambda: LinkScreen("https://computewire.example/accelerators/halden-h7\u202e?from=report"), ()),
    "blacklist": (lambda: BlacklistScreen(Sites(*SITES)), ("down",)),
    "blacklist-empty": (lambda: BlacklistScreen(Sites()), ()),
    "fresh": (lambda: FreshScreen("the agent does not know the conversation of this session any more"), ()),
    "queue": (lambda: QueueScreen(lambda: WAITING, lambda _seen, _wanted: True), ("down",)),
    "budget": (lambda: BudgetScreen(1.02, 1.0, waiting=1), ()),
    "budget-amount": (lambda: BudgetScreen(0.85, 1.0, running=True), ("r",)),
    "status": (lambda: StatusScreen(reported()), ()),
}


# One of each kind; the others have the same parts.
PICTURED = (
    "permission", "permission-pattern", "question", "server-form", "plan", "mode", "auth", "folder", "error",
    "blacklist", "queue",
)  # fmt: skip
# What has no room for everything on a small screen.
TIGHT = (
    "permission", "permission-folder", "permission-reason", "permission-change", "server-form", "auth", "folder",
    "folder-changed",
)  # fmt: skip


def listens(screen: Modal[Any]) -> bool:
    return screen.is_mounted and not screen.has_class("-quiet")


async def open_dialog(pilot: Pilot[str], name: str) -> Modal[Any]:
    make, keys = DIALOGS[name]
    app, screen = pilot.app, make()
    app.push_screen(screen)
    await until(partial(listens, screen))
    await finished(jobs_of(screen))
    await pilot.press(*keys)
    no_blinking(app)
    return screen


@pytest.mark.usefixtures("still")
@looks(DARK)
@pytest.mark.parametrize("dialog", PICTURED)
async def test_a_dialog(snap_compare: Compare, dialog: str, size: Size, theme: str) -> None:
    async with Stage(theme).run_test(size=size) as pilot:
        await open_dialog(pilot, dialog)
        await snap_compare(pilot)


@pytest.mark.usefixtures("still")
@looks(*THEMED[1:])
async def test_a_dialog_in_another_theme(snap_compare: Compare, size: Size, theme: str) -> None:
    async with Stage(theme).run_test(size=size) as pilot:
        await open_dialog(pilot, "permission")
        await snap_compare(pilot)


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("dialog", TIGHT)
async def test_the_text_of_a_dialog_on_a_small_screen(screen_compare: Compare, dialog: str) -> None:
    async with Stage().run_test(size=SMALL) as pilot:
        await open_dialog(pilot, dialog)
        await screen_compare(pilot)


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("dialog", [name for name in DIALOGS if name not in (*PICTURED, *TIGHT)])
async def test_the_text_of_a_dialog(screen_compare: Compare, dialog: str) -> None:
    async with Stage().run_test(size=MEDIUM) as pilot:
        await open_dialog(pilot, dialog)
        await screen_compare(pilot)


@pytest.mark.usefixtures("still")
@looks((SMALL, "ua-dark"), DARK)
async def test_a_dialog_above_a_finished_session(
    snap_compare: Compare, tmp_path: Path, size: Size, theme: str
) -> None:
    async with played_app(tmp_path, theme).run_test(size=size) as pilot:
        await steps()(pilot)
        await open_dialog(pilot, "permission")
        await snap_compare(pilot)
