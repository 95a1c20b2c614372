"""How the model is reached: the ways there are, what each needs, tried before it is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.timer import Timer
from textual.widgets import Button, Input, Static

from core.errors import SettingsError
from core.provider.probe import ModelVerdict
from core.provider.setup import ModelSetup, SetupInput, SetupPlan, StoredSetup, find_input_error
from core.settings.model import Settings
from tui.ports import ScreenHost
from tui.screens.setup.pages import FORMS, WAYS, Form, MessagePage, WayRow, paragraphs
from tui.screens.setup.setup_login import LoginPage
from tui.terminal.login import log_in
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import Box, Choice, Dialog, Foot
from tui.widgets.workers import start_job

__all__ = ["COMMAND", "SetupResult", "SetupScreen", "open_screen"]

COMMAND = CommandSpec("setup", "Setup", "Set up the model: key, login, server", order=10)

LETTERS = ("a", "c", "z", "l", "d")
ALSO = (
    "ANTHROPIC_API_KEY in the environment does as well, or ANTHROPIC_BASE_URL with ANTHROPIC_AUTH_TOKEN. "
    "COMPOSIO_API_KEY adds mail, search and 500 more tools."
)


def open_screen(app: ScreenHost) -> None:
    """Open the setup of the model."""
    app.setup.open()


@dataclass(frozen=True)
class SetupResult:
    """What to go on with; it was stored, or holds for this session alone."""

    settings: Settings


class SetupScreen(Dialog[SetupResult | Literal["demo", "quit"] | None]):
    """Asks how the model is reached, tries it, stores it; closes with what to go on with, or None to change nothing.

    Esc goes one step back, and what was entered is kept until the dialog closes.

    Args:
        desk: makes, checks and stores what was chosen.
        message: why this is asked.
        asked: the person asked for it, so that what was typed before was meant for it.
        starts: says what a session does with it.
        keep_secret: is told of every secret before it is used.
        login: logs in with Claude's own command line on this terminal.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(f"{number},{letter}", f"way('{name}')", title, show=False)
            for number, (letter, (name, title, _)) in enumerate(zip(LETTERS, WAYS, strict=True), start=1)
        ),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("i", "log_in", "Log in", show=False),
        Binding("k", "look", "Look again", show=False),
        Binding("y", "copy", "Copy the command", show=False),
        Binding("r", "again", "Try again", show=False),
        Binding("s", "anyway", "Store it anyway", show=False),
        Binding("t", "once", "For this session", show=False),
        Binding("q", "quit", "Quit", show=False),
        Binding("escape", "back", "Back", show=False),
    ]

    def __init__(
        self,
        desk: ModelSetup,
        message: str = "",
        clock: Callable[[], float] = time.monotonic,
        *,
        asked: bool = False,
        starts: Callable[[Settings], str] = lambda _settings: "",
        keep_secret: Callable[[Iterable[str]], None] = lambda _secrets: None,
        login: Callable[[App[Any], Settings], int] = log_in,
    ) -> None:
        super().__init__(clock, requested=asked)
        self._desk = desk
        self._message = message
        self._asked = asked
        self._starts = starts
        self._keep_secret = keep_secret
        self._log_in = login
        self._page = "ways"
        self._way = WAYS[0][0]
        self._plan: SetupPlan | None = None
        self._doing = ""
        self._since: Timer | None = None

    # -- the pages ---------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Put down every page, of which the first is shown."""
        with Box(classes="box") as box:
            box.border_title = Content("Set up" if self._asked else "Before the first question")
            with Vertical(id="page-ways", classes="page"):
                yield Static(Content("How is the model reached?"), classes="heading")
                with Vertical(id="ways"):
                    for number, (name, title, meaning) in enumerate(WAYS, start=1):
                        yield WayRow(number, name, title, meaning)
                where = (
                    f"What you enter is tried first, then stored in {self._desk.path}, for you alone to read."
                )
                now = f"Now: {self._desk.now}." if self._desk.now else ""
                yield Static(paragraphs([self._message, now, where, ALSO], gap="\n"), classes="advice")
            for way in FORMS:
                yield Form(way, self._desk.given(way))
            yield LoginPage(self._desk.settings, self._log_in)
            yield MessagePage("page-outcome")
            yield Foot(
                Choice("Enter", "Choose", "choose"),
                Choice("Esc", "Close", "back"),
                Choice("q", "Quit", "quit"),
                id="foot-ways",
            )
            yield Foot(
                Choice("Enter", "Check and store", "check"), Choice("Esc", "Back", "back"), id="foot-form"
            )
            yield Foot(
                Choice("Enter", "Use it", "use"),
                Choice("i", "Log in here", "log_in"),
                Choice("k", "Look again", "look"),
                Choice("y", "Copy the command", "copy"),
                Choice("Esc", "Back", "back"),
                id="foot-login",
            )
            yield Foot(
                Choice("Enter", "Start", "start"),
                Choice("Enter", "Change it", "change"),
                Choice("r", "Try again", "again"),
                Choice("s", "Store it anyway", "anyway"),
                Choice("t", "For this session only", "once"),
                Choice("Esc", "Back", "back"),
                id="foot-outcome",
            )

    def on_mount(self) -> None:
        """Begin with the ways."""
        self._show("ways")

    def _show(self, page: str, *, focus: str = "") -> None:
        """Show a page with its answers."""
        self._page = page
        for each in self.query(".page"):
            each.display = each.id == f"page-{page}"
        foot = page if page in ("ways", "login", "outcome") else "form"
        for each in self.query(Foot):
            each.display = each.id == f"foot-{foot}"
        self.query_one(Box).scroll_home(animate=False)
        if focus:
            self.focus_choice(focus)
        elif page == "ways":
            self.focus_choice(f"#{self._way}")

    def _offer(self, *names: str) -> None:
        """Offer only these answers to how it went; the first has the focus."""
        for choice in self.query("#foot-outcome Choice"):
            choice.display = choice.id in names
        self._show("outcome", focus=f"#foot-outcome #{names[0]}")

    def _tell(self, heading: str, *said: str, warnings: Iterable[str] = ()) -> None:
        self.query_one("#page-outcome", MessagePage).say(heading, *said, warnings=tuple(warnings))

    # -- choosing and entering ---------------------------------------------------------------------

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Keep the way one was at marked while the focus is on an answer below."""
        if isinstance(event.widget, WayRow):
            self._way = event.widget.id or self._way
            for row in self.query(WayRow):
                row.set_class(row.id == self._way, "-chosen")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button says."""
        event.stop()
        match event.button.id:
            case "choose":
                self.action_way(self._way)
            case "check":
                self._check_form()
            case "use":
                self._use_login()
            case "start":
                self._start()
            case "change" | "back":
                self.action_back()
            case "log_in" | "look" | "copy" | "again" | "anyway" | "once" | "quit" as name:
                getattr(self, f"action_{name}")()
            case name if name is not None:
                self.action_way(name)
            case _:
                pass

    def action_way(self, name: str) -> None:
        """Go one of the ways."""
        if self._page != "ways" or not self.accepts_answers:
            return
        if name == "demo":
            self.answer("demo")
        elif name == "login":
            self._show("login")
            self.action_look()
        else:
            form = self.query_one(f"#page-{name}", Form)
            self._show(name)
            replaced = self._desk.replaced(form.way)
            instead = f" What it has of {', '.join(replaced)} is replaced." if replaced else ""
            form.begin(f"It is tried with one tiny request, then stored in {self._desk.path}.{instead}")

    @on(Input.Submitted)
    def _next_or_check(self, event: Input.Submitted) -> None:
        event.stop()
        self._check_form()

    def _check_form(self) -> None:
        if self._page not in FORMS:
            return
        form = self.query_one(f"#page-{self._page}", Form)
        form.fill_in()
        given = form.given
        if (wrong := find_input_error(form.way, given)) is not None:
            form.tell(*wrong)
        else:
            self._try(self._desk.plan(form.way, given))

    def action_back(self) -> None:
        """Go one step back; from the first, leave all as it is."""
        match self._page:
            case "ways":
                self.answer(None)
            case "outcome" if self._doing == "storing":
                pass
            case "outcome" if self._plan is not None:
                self._stop()
                way = self._plan.way
                self._plan = None
                self._show(way)
                if way == "login":
                    self.action_look()
                else:
                    self.query_one(f"#page-{way}", Form).query(Input).first().focus()
            case page:
                self._show("ways", focus=f"#{page}")

    def action_quit(self) -> None:
        """End the program."""
        if self._page == "ways":
            self.answer("quit")

    # -- the login ---------------------------------------------------------------------------------

    def action_look(self) -> None:
        """Look whether there is a login."""
        if self._page != "login":
            return
        usable = self.query_one(LoginPage).look()
        self.query_one("#foot-login #use").display = usable
        self.focus_choice("#foot-login #use" if usable else "#foot-login #log_in")

    def action_log_in(self) -> None:
        """Have Claude's command line log in."""
        if self._page == "login" and self.accepts_answers and self.query_one(LoginPage).log_in():
            self.action_look()

    def action_copy(self) -> None:
        """Copy the command that logs in."""
        if self._page == "login":
            self.query_one(LoginPage).copy_command()

    def _use_login(self) -> None:
        self._plan = self._desk.plan("login", SetupInput())
        start_job(self, self._store, "setup")

    # -- trying and storing ------------------------------------------------------------------------

    def _try(self, plan: SetupPlan) -> None:
        self._plan = plan
        self._keep_secret(plan.secrets)
        start_job(self, self._check, "setup")

    async def _check(self) -> None:
        plan = self._plan
        assert plan is not None
        began = self._clock()

        def tell() -> None:
            self._tell("Trying it…", f"Asking the model for one word. {self._clock() - began:.0f} s")

        self._doing = "checking"
        tell()
        self._offer("back")
        self._since = self.set_interval(1.0, tell)
        try:
            verdict = await self._desk.check(plan)
        finally:
            self._since.stop()
            self._doing = ""
        if verdict.works:
            await self._store(verdict)
            return
        self._tell("That does not work yet.", verdict.message, verdict.advice)
        self._offer("change", "again", *(["anyway"] if verdict.away else []), "back")

    async def _store(self, verdict: ModelVerdict | None = None) -> None:
        plan = self._plan
        assert plan is not None
        self._doing = "storing"
        try:
            told = await asyncio.to_thread(self._desk.describe_changes, plan)
            stored = await asyncio.to_thread(self._desk.store, plan)
        except SettingsError as error:
            self._tell("It could not be stored.", str(error), "It can still be used until this session ends.")
            self._offer("once", "again", "back")
            return
        finally:
            self._doing = ""
        self._tell_stored(plan, stored, told, verdict)

    def _tell_stored(
        self, plan: SetupPlan, stored: StoredSetup, told: str, verdict: ModelVerdict | None
    ) -> None:
        where = f"Stored in {stored.path}, for you alone to read ({told})." if told else ""
        if plan.way == "login":
            kept = (
                "The login stays where Claude keeps it. Whether it still works shows with the first question."
            )
            self._tell(
                "The login is there.", kept, where, self._starts(plan.settings), warnings=stored.warnings
            )
        elif verdict is None:
            self._tell("Stored, but not tried.", where, self._starts(plan.settings), warnings=stored.warnings)
        else:
            self._tell(
                "The model answers." if verdict.kind == "ok" else "The key is good.",
                " ".join(part for part in (verdict.message, verdict.advice) if part),
                where,
                self._starts(plan.settings),
                warnings=stored.warnings,
            )
        self._offer("start", "back")

    def _stop(self) -> None:
        self.workers.cancel_group(self, "setup")

    def action_again(self) -> None:
        """Try once more, or store once more."""
        if self._offers("again") and self._plan is not None:
            storing = self._offers("once")
            start_job(self, self._store if storing else self._check, "setup")

    def action_anyway(self) -> None:
        """Store what could not be tried."""
        if self._offers("anyway"):
            start_job(self, self._store, "setup")

    def action_once(self) -> None:
        """Go on with it without having it stored."""
        if self._offers("once"):
            self._start()

    def _start(self) -> None:
        if self._plan is not None:
            self.answer(SetupResult(self._plan.settings))

    def _offers(self, name: str) -> bool:
        shown = self._page == "outcome" and not self._doing
        return shown and any(choice.display for choice in self.query(f"#foot-outcome #{name}"))
