"""The setup dialog: choose a connection method, enter what it needs, test it, store it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.timer import Timer
from textual.widgets import Input

from ua_tui.core.errors import SettingsError
from ua_tui.core.provider.probe import ModelVerdict
from ua_tui.core.provider.setup import ModelSetup, SetupInput, SetupPlan, find_input_error
from ua_tui.core.settings.model import Settings
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.screens.setup.pages import (
    FORMS,
    METHODS,
    Form,
    LoginPage,
    MessagePage,
    MethodRow,
    log_in,
    paragraphs,
)
from ua_tui.tui.terminal.foreground import start_in_front
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, Words
from ua_tui.tui.workers import start_job

ALSO = (
    "You can also set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL with ANTHROPIC_AUTH_TOKEN, in the environment. "
    "COMPOSIO_API_KEY adds mail, search and 500 more tools."
)


@dataclass(frozen=True)
class SetupResult:
    """The settings to continue with; stored, or for this session only."""

    settings: Settings


class SetupScreen(Dialog[SetupResult | Literal["demo", "quit"] | None]):
    """Sets up the model; closes with the settings to continue with, or None to change nothing.

    Esc goes one step back. The input is kept until the dialog closes.

    Args:
        model_setup: makes, checks and stores the settings.
        message: why the dialog is shown.
        requested: whether the person opened it, so that keys count at once.
        starts: describes what a session does with the settings.
        keep_secret: called with every secret before it is used.
        login: logs in with the Claude Code CLI on this terminal.
    """

    AT_ONCE = Dialog.AT_ONCE | {"choose"}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"choose('{name}')", title, show=False)
            for number, (name, title, _) in enumerate(METHODS, start=1)
        ),
        *bindings("SetupScreen"),
    ]

    def __init__(
        self,
        model_setup: ModelSetup,
        message: str = "",
        *,
        requested: bool = False,
        starts: Callable[[Settings], str] = lambda _settings: "",
        keep_secret: Callable[[Iterable[str]], None] = lambda _secrets: None,
        login: Callable[[App[Any], Settings], Awaitable[int]] = log_in,
    ) -> None:
        super().__init__(requested=requested)
        self._setup = model_setup
        self._message = message
        self._starts = starts
        self._keep_secret = keep_secret
        self._log_in = login
        self._page = "methods"
        self._method = METHODS[0][0]
        self._plan: SetupPlan | None = None
        self._activity = ""
        self._since: Timer | None = None

    # -- the pages ---------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Create every page; the first one is shown."""
        with Box("Setup" if self._requested else "Set up a model"):
            with Vertical(id="page-methods", classes="page"):
                yield Words("How do you want to connect to a model?", "heading")
                with Vertical(id="methods"):
                    for number, (name, title, description) in enumerate(METHODS, start=1):
                        yield MethodRow(number, name, title, description)
                where = (
                    f"What you enter is tested first, then saved in {self._setup.path}, readable only by you."
                )
                now = f"Current: {self._setup.now}." if self._setup.now else ""
                yield Words(paragraphs([self._message, now, where, ALSO], gap="\n"), "advice")
            for method in FORMS:
                yield Form(method, self._setup.given(method))
            yield LoginPage(self._setup.settings, self._log_in)
            yield MessagePage("page-outcome")
            yield Foot(
                Choice("Enter", "Choose", "choose"),
                Choice("Esc", "Close", "back"),
                Choice("q", "Quit", "quit"),
                id="foot-methods",
            )
            yield Foot(
                Choice("Enter", "Test and save", "check"), Choice("Esc", "Back", "back"), id="foot-form"
            )
            yield Foot(
                Choice("Enter", "Use login", "use"),
                Choice("i", "Log in here", "log_in"),
                Choice("k", "Recheck", "refresh", "check_login"),
                Choice("Esc", "Back", "back"),
                id="foot-login",
            )
            yield Foot(
                Choice("Enter", "Start", "start"),
                Choice("Enter", "Edit", "change", "back"),
                Choice("r", "Try again", "again"),
                Choice("s", "Save anyway", "anyway"),
                Choice("t", "For this session only", "once"),
                Choice("Esc", "Back", "back"),
                id="foot-outcome",
            )

    def on_mount(self) -> None:
        """Show the methods."""
        self._show("methods")

    def _show(self, page: str, *, focus: str = "") -> None:
        """Show a page with its answers."""
        self._page = page
        for each in self.query(".page"):
            each.display = each.id == f"page-{page}"
        foot = page if page in ("methods", "login", "outcome") else "form"
        for each in self.query(Foot):
            each.display = each.id == f"foot-{foot}"
        self.query_one(Box).scroll_home(animate=False)
        if focus:
            self.focus_choice(focus)
        elif page == "methods":
            self.focus_choice(f"#{self._method}")

    def _offer(self, *names: str) -> None:
        """Offer only these answers to the result; the first has the focus."""
        for choice in self.query("#foot-outcome Choice"):
            choice.display = choice.id in names
        self._show("outcome", focus=f"#foot-outcome #{names[0]}")

    def _show_result(self, heading: str, *texts: str, warnings: Iterable[str] = ()) -> None:
        self.query_one("#page-outcome", MessagePage).show(heading, *texts, warnings=tuple(warnings))

    # -- choosing and entering ---------------------------------------------------------------------

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Mark the chosen method while an answer below has the focus."""
        if isinstance(event.widget, MethodRow):
            self._method = event.widget.id or self._method
            for row in self.query(MethodRow):
                row.set_class(row.id == self._method, "-chosen")

    def action_choose(self, name: str = "") -> None:
        """Open the page of a method; by default of the chosen one."""
        name = name or self._method
        if self._page != "methods" or not self.accepts_answers:
            return
        if name == "demo":
            self.answer("demo")
        elif name == "login":
            self._show("login")
            self.action_check_login()
        else:
            form = self.query_one(f"#page-{name}", Form)
            self._show(name)
            replaced = self._setup.replaced(form.method)
            instead = f" This replaces {', '.join(replaced)} there." if replaced else ""
            form.begin(f"It is tested with one small request, then saved in {self._setup.path}.{instead}")

    @on(Input.Submitted)
    def _next_or_check(self) -> None:
        self.action_check()

    def action_check(self) -> None:
        """Test what was entered."""
        if self._page not in FORMS:
            return
        form = self.query_one(f"#page-{self._page}", Form)
        form.fill_in()
        entered = form.entered
        if (problem := find_input_error(form.method, entered)) is not None:
            form.show_problem(*problem)
        else:
            self._plan = plan = self._setup.plan(form.method, entered)
            self._keep_secret(plan.secrets)
            start_job(self, self._check, "setup")

    def action_back(self) -> None:
        """Go one step back; from the first page, close without a change."""
        match self._page:
            case "methods":
                self.answer(None)
            case "outcome" if self._activity == "storing":
                pass
            case "outcome" if self._plan is not None:
                self.workers.cancel_group(self, "setup")
                method = self._plan.way
                self._plan = None
                self._show(method)
                if method == "login":
                    self.action_check_login()
                else:
                    self.query_one(f"#page-{method}", Form).query(Input).first().focus()
            case page:
                self._show("methods", focus=f"#{page}")

    def action_quit(self) -> None:
        """End the program."""
        if self._page == "methods":
            self.answer("quit")

    # -- the login ---------------------------------------------------------------------------------

    def action_check_login(self) -> None:
        """Check for a login."""
        if self._page != "login":
            return
        usable = self.query_one(LoginPage).check()
        self.query_one("#foot-login #use").display = usable
        self.focus_choice("#foot-login #use" if usable else "#foot-login #log_in")

    def action_log_in(self) -> None:
        """Log in with the Claude Code CLI."""
        if self._page == "login" and self.accepts_answers:
            start_in_front(self.app, self._run_login)

    async def _run_login(self) -> None:
        if await self.query_one(LoginPage).log_in():
            self.action_check_login()

    def action_use(self) -> None:
        """Use the login that was found."""
        self._plan = self._setup.plan("login", SetupInput())
        start_job(self, self._store, "setup")

    # -- testing and storing ------------------------------------------------------------------------

    async def _check(self) -> None:
        plan = self._plan
        assert plan is not None
        began = self.clock()

        def show_time() -> None:
            self._show_result("Testing…", f"Asking the model for one word. {self.clock() - began:.0f} s")

        self._activity = "checking"
        show_time()
        self._offer("back")
        self._since = self.set_interval(1.0, show_time)
        try:
            verdict = await self._setup.check(plan)
        finally:
            self._since.stop()
            self._activity = ""
        if verdict.works:
            await self._store(verdict)
            return
        self._show_result("That didn't work.", verdict.message, verdict.advice)
        self._offer("change", "again", *(["anyway"] if verdict.away else []), "back")

    async def _store(self, verdict: ModelVerdict | None = None) -> None:
        plan = self._plan
        assert plan is not None
        self._activity = "storing"
        try:
            changes = await asyncio.to_thread(self._setup.describe_changes, plan)
            stored = await asyncio.to_thread(self._setup.store, plan)
        except SettingsError as error:
            self._show_result("It could not be saved.", str(error), "You can still use it for this session.")
            self._offer("once", "again", "back")
            return
        finally:
            self._activity = ""
        where = f"Saved in {stored.path}, readable only by you ({changes})." if changes else ""
        heading, note = "Saved, but not tested.", ""
        if plan.way == "login":
            heading = "Login found."
            note = "Claude keeps the login itself. The first query shows whether it still works."
        elif verdict is not None:
            heading = "The model works." if verdict.kind == "ok" else "The key works."
            note = f"{verdict.message} {verdict.advice}".strip()
        self._show_result(heading, note, where, self._starts(plan.settings), warnings=stored.warnings)
        self._offer("start", "back")

    def action_again(self) -> None:
        """Test again, or store again."""
        if self._offers("again") and self._plan is not None:
            storing = self._offers("once")
            start_job(self, self._store if storing else self._check, "setup")

    def action_anyway(self) -> None:
        """Store what could not be tested."""
        if self._offers("anyway"):
            start_job(self, self._store, "setup")

    def action_once(self) -> None:
        """Continue without storing it."""
        if self._offers("once"):
            self.action_start()

    def action_start(self) -> None:
        """Continue with the settings."""
        if self._plan is not None:
            self.answer(SetupResult(self._plan.settings))

    def _offers(self, name: str) -> bool:
        shown = self._page == "outcome" and not self._activity
        return shown and any(choice.display for choice in self.query(f"#foot-outcome #{name}"))
