"""The application: it lends the session workers, shows its events, and passes on what the person says."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.driver import Driver
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from core.concurrency.garbage_collection import deferred
from core.errors import CredentialsError
from core.events.types import ErrorRaised, Event, QueryFinished, QueryReceived
from core.provider.error_messages import AT_LIMIT
from core.settings.model import Settings
from tui.app.base_app import StyledApp
from tui.app.commands import commands_of
from tui.app.controllers.attention import AttentiveApp
from tui.app.controllers.budget import Spending
from tui.app.controllers.failures import DEMO, Failures, told
from tui.app.controllers.model_choice import Modelling
from tui.app.controllers.navigation import Above
from tui.app.controllers.prompt_hint import WayBack
from tui.app.controllers.queries import Queries
from tui.app.controllers.questions import Asks
from tui.app.controllers.setup import NOT_SET_UP, Setup
from tui.app.controllers.shutdown import Leaving
from tui.app.controllers.typed_ahead import TypedAheadApp
from tui.app.event_pump import EventPump
from tui.app.main_screen import MainScreen
from tui.graphics.app import GraphicsApp
from tui.keys.keymap import ChosenKeysApp, choose_keys
from tui.keys.ordering import OrderedKeysApp
from tui.layout.frame import PANES, Frame
from tui.layout.store import KeptLayout
from tui.panes.status.bar import StatusLine, traces
from tui.panes.status.notice import NoticeBar
from tui.ports import Build, SessionPort
from tui.render.activity import AtWork
from tui.terminal.copy import copy_text
from tui.terminal.disconnect import guard_output
from tui.terminal.paste import guard_pastes
from tui.terminal.suspend import SuspendingApp

if TYPE_CHECKING:
    from tui.panes.conversation.pane import ConversationPane
    from tui.panes.prompt.pane import Prompt
    from tui.terminal.clipboard import Clipboard

__all__ = ["DEMO", "UaTuiApp"]

AGAIN_SECONDS = 2.0

log = logging.getLogger(__name__)


class UaTuiApp(
    AttentiveApp, OrderedKeysApp, ChosenKeysApp, TypedAheadApp, GraphicsApp, SuspendingApp, StyledApp
):
    """The full screen around one session.

    Args:
        settings: what the person configured.
        build: makes the session; called behind the first frame, may import what is heavy.
        first_query: sent by itself as soon as the session is ready.
        state_dir: where the prompt's history and the sizes of the panes are kept; the user's state folder by default.
        clipboard: knows the routes to one; by default those that fit this terminal.
    """

    TITLE = "ua-tui"
    AUTO_FOCUS = "#prompt"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", id="quit", show=False, priority=True),
        Binding("ctrl+c", "copy_or_quit", "Copy", id="copy", show=False, priority=True),
        Binding("ctrl+p", "command_palette", "Commands", id="commands", show=False, priority=True),
        Binding("ctrl+r", "restart", "Restart the agent", id="restart", show=False),
        Binding("escape", "escape", "Stop", id="stop", show=False),
        Binding("f1", "help", "All keys", id="help.all", show=False),
        Binding("question_mark", "keys_here", "Keys", id="help.here", show=False),
    ]

    def __init__(
        self,
        settings: Settings,
        build: Build,
        first_query: str | None = None,
        *,
        state_dir: Path | None = None,
        clipboard: Clipboard | None = None,
    ) -> None:
        super().__init__(clipboard, settings.theme)
        self.settings = settings
        self.picture_setting = settings.pictures
        self.use_keys(choose_keys(settings.keys))
        self._build = build
        self._state_dir = state_dir
        self.kept_layout: KeptLayout | None = KeptLayout(state_dir)
        self._session: SessionPort | None = None
        self.queries = Queries(self, first_query)
        self._early_state = "starting"
        self.leaving = Leaving(self)
        self.above = Above(self)
        self.at_work = AtWork()
        self._failures = Failures(self)
        self.spending = Spending(self)
        self.modelling = Modelling(self)
        self.setup = Setup(self)
        self.way_back = WayBack(self)
        self._copy_pressed_at = 0.0
        self._pump = EventPump(self.call_later, self._deliver)
        self._pump.hold()
        self._asks = Asks(self)

    def get_driver_class(self) -> type[Driver]:
        """Have the terminal read so that nothing in a paste counts as a key, and written to even when it is gone."""
        guard_pastes()
        guard_output()
        return super().get_driver_class()

    # -- the screen -------------------------------------------------------------------------------

    def get_default_screen(self) -> MainScreen:
        """Give the screen that the frame stands on."""
        return MainScreen()

    def compose(self) -> ComposeResult:
        """Put down what the first frame shows."""
        yield Frame(self.size.width, self.kept_layout)
        yield NoticeBar()
        yield StatusLine(
            demo=self.settings.demo,
            model=self.settings.model,
            mode=self.settings.effective_permission_mode,
            limit=self.settings.max_cost_usd,
            tracing=traces(self.settings),
        )

    @property
    def session_folder(self) -> Path | None:
        """Where the session's files are; None when there was none."""
        return self._session.workspace.path if self._session is not None else None

    @property
    def frame(self) -> Frame:
        """The panes and the prompt."""
        return self.screen_stack[0].query_one(Frame)

    @property
    def status(self) -> StatusLine:
        """The status line."""
        return self.screen_stack[0].query_one(StatusLine)

    @property
    def notice(self) -> NoticeBar:
        """The bar for what went wrong."""
        return self.screen_stack[0].query_one(NoticeBar)

    def on_mount(self) -> None:
        """Show the first frame before anything else is done."""
        self.hold_keys()
        self.leaving.heed_signals()
        self.call_after_refresh(self._after_first_frame)

    async def _after_first_frame(self) -> None:
        self.read_other_styles()
        await asyncio.to_thread(_import_panes)
        await self.frame.fill()
        self.way_back.begin()
        await self.release_keys()
        self._pump.release()
        self.spawn(self._open(), "session", "agent")
        self.spawn(self._open_history(), "history", "screen")
        self.above.tell_passed_over()

    # -- work in the background -------------------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, Any], name: str, group: str) -> Worker[Any]:
        """Run a coroutine as a worker; its failure is shown and never ends the application."""
        return self.run_worker(work, name=name, group=group, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show what a worker failed of."""
        if event.state is not WorkerState.ERROR:
            return
        error = event.worker.error
        assert error is not None
        name = event.worker.name
        log.error("%s failed", name, exc_info=error)
        if name in ("session", "restart") or isinstance(error, CredentialsError):
            self._early_state = NOT_SET_UP if isinstance(error, CredentialsError) else "failed"
            self._failures.of_start(name, error)
        else:
            self.notice.show(f"{name}: {told(error)}")

    async def _open(self) -> None:
        with deferred():
            await self._start_session()
        self.queries.send_on()
        self.queries.tell_unsent()
        self.status.state = self.state

    async def _start_session(self) -> None:
        if self._session is None:
            self._early_state = "starting"
            self.status.follow(lambda: self.state)
            session = await self._build(self.spawn)
            session.bus.subscribe(self._pump.receive)
            self._session = session
            self.status.facts.trace = lambda: session.trace
            self.frame.folder = session.workspace.path
            self.frame.prompt.offer_files(session.workspace.path)
            self.frame.prompt.of_agent = lambda: session.commands
            await session.start()
        else:
            await self._session.restart()

    async def _open_history(self) -> None:
        from tui.panes.prompt.history import history_of

        history = await asyncio.to_thread(history_of, self.settings, self._state_dir)
        self.frame.prompt.use_history(history)
        self.frame.prompt.offer_commands(commands_of(self))

    # -- events -----------------------------------------------------------------------------------

    def _deliver(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case QueryReceived():
                    self.notice.clear()
                case QueryFinished(status="error", error=error) if self._is_news(error):
                    self.notice.show(
                        error or "The query failed.",
                        f"{self.keys.shown('show.conversation')} shows the conversation",
                    )
                case ErrorRaised():
                    self._failures.take(event)
                case _:
                    pass
        for pane in (*self.frame.panes, self.frame, self.status):
            try:
                pane.handle_events(events)
            except Exception:
                log.exception("%s could not show %d events", type(pane).__name__, len(events))
                self.notice.show(f"{type(pane).__name__} could not show what came; run.log says why.")
        self.at_work.handle_events(events)
        self.leaving.look()
        self._asks.handle_events(events)
        self.spending.handle_events(events)
        self.call_back(events)
        self.queries.show()
        self._failures.look()
        self.way_back.look()

    def _is_news(self, error: str | None) -> bool:
        """Whether a query failed unseen, and of something that opens no dialog."""
        return not (self.frame.shows("conversation") or error == AT_LIMIT or self.state == "failed")

    @property
    def session(self) -> SessionPort | None:
        """The session; None until it is made."""
        return self._session

    @property
    def waiting(self) -> int:
        """How many queries wait."""
        return len(self.queries.waiting)

    @property
    def state(self) -> str:
        """What the session is doing."""
        return self._early_state if self._session is None else str(self._session.state)

    # -- what the person says ---------------------------------------------------------------------

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Hand a query on, or keep it until the session can take it."""
        self.queries.send(event.text)
        self.status.state = self.state

    def on_prompt_commanded(self, event: Prompt.Commanded) -> None:
        """Do what the person named."""
        self.call_later(event.command.run)

    def on_text_area_changed(self) -> None:
        """Note that somebody is typing: a dialog that opens now must not take the keys for answers."""
        self.typed_at = time.monotonic()

    def on_prompt_steered(self, event: Prompt.Steered) -> None:
        """Say something into the running query."""
        self.queries.steer(event.text)

    def on_prompt_take_back(self) -> None:
        """Put the newest queued query back into the prompt."""
        self.queries.take_back()

    def on_conversation_pane_suggested(self, event: ConversationPane.Suggested) -> None:
        """Write what was clicked into the prompt, unless something is being written there."""
        if not self.frame.prompt.value:
            self.frame.prompt.put(event.query)
        self.frame.show("prompt")

    def on_prompt_go_on(self) -> None:
        """Let held queries run."""
        self.queries.go_on()

    def on_prompt_open_queue(self) -> None:
        """Show all that waits."""
        self.queries.open()

    # -- keys -------------------------------------------------------------------------------------

    def action_escape(self) -> None:
        """Stop the agent; when it rests, share the screen again, or change between prompt and panes."""
        if self._session is not None and self.state == "running":
            self.spawn(self._session.interrupt(), "interrupt", "agent")
            self.status.handle_events([])
        elif self.frame.is_zoomed:
            self.frame.action_maximise()
        else:
            self.frame.show("conversation" if self.frame.prompt.has_focus else "prompt")

    def open_sessions(self) -> None:
        """Show the sessions."""
        self.above.sessions()

    def on_status_line_opened(self, event: StatusLine.Opened) -> None:
        """Run the command of the cell that was clicked; where there is none, show the whole status."""
        command = next((each for each in commands_of(self) if each.name == event.command), None)
        if command is not None:
            command.run()
        elif event.rows:
            from tui.screens.session.status import StatusScreen

            self.push_screen(StatusScreen(event.rows))

    def action_restart(self) -> None:
        """Start the agent again after it failed."""
        if self.state not in ("failed", NOT_SET_UP):
            self.notify("The agent is running: nothing to restart.", markup=False)
            return
        self._failures.forget()
        self.spawn(self._open(), "restart" if self._session else "session", "agent")

    def action_copy_or_quit(self) -> None:
        """Copy the selection; without one, say how to quit, and quit when pressed twice."""
        from textual.widgets import TextArea

        focused = self.focused
        text = focused.selected_text if isinstance(focused, TextArea) else ""
        text = text or self.screen.get_selected_text() or ""
        if text:
            copy_text(self, text, "Selection")
            return
        now = time.monotonic()
        if now - self._copy_pressed_at < AGAIN_SECONDS:
            self.call_later(self.action_quit)
            return
        self._copy_pressed_at = now
        told = f"Nothing is selected. Press {self.keys.shown('copy')} again to quit."
        self.notify(told, markup=False, timeout=AGAIN_SECONDS)

    async def action_quit(self) -> None:
        """Quit; ask first while work runs; leave at once when pressed again."""
        self.leaving.ask()

    # -- the end ----------------------------------------------------------------------------------

    async def on_unmount(self) -> None:
        """Close the session after a failure of the screen itself; give the signals back."""
        await self.leaving.finish()

    def _fatal_error(self) -> None:
        # Textual's own report prints local variables, which may hold secrets.
        log.error("the screen failed", exc_info=self._exception)
        why = told(self._exception) if self._exception else "unknown"
        self.panic(Content(f"ua-tui stopped because of a fault of its own: {why}"))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Offer every action by name."""
        return (SystemCommand(each.title, each.help, each.run) for each in commands_of(self))


def _import_panes() -> None:
    """Import what `Frame.fill` is going to need, beside the event loop."""
    for name in ("workspace.preview", "prompt.pane", *(f"{name}.pane" for _, name, _ in PANES)):
        import_module(f"tui.panes.{name}")
