"""The full-screen application around one session."""

from __future__ import annotations

import asyncio
import time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from ua_tui.core.concurrency.garbage_collection import deferred, return_large_blocks
from ua_tui.core.concurrency.spawn import Work
from ua_tui.core.errors import CredentialsError
from ua_tui.core.log import log
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.app.controllers import navigation
from ua_tui.tui.app.controllers.escape import Escape
from ua_tui.tui.app.controllers.failures import Failures, error_text
from ua_tui.tui.app.controllers.folder_trust import FolderTrustQuestion
from ua_tui.tui.app.controllers.queries import Queries
from ua_tui.tui.app.controllers.questions import Questions
from ua_tui.tui.app.controllers.session_settings import Budget
from ua_tui.tui.app.controllers.setup import NOT_SET_UP
from ua_tui.tui.app.controllers.shutdown import Shutdown
from ua_tui.tui.app.controllers.typed_ahead import TypedAhead, is_text
from ua_tui.tui.app.event_pump import EventPump
from ua_tui.tui.app.main_screen import MainScreen
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.ordering import KeyQueue
from ua_tui.tui.layout.frame import Frame
from ua_tui.tui.layout.store import LayoutStore
from ua_tui.tui.panes.feed import EventFeed, Handler
from ua_tui.tui.panes.spec import PaneSpec, pane_specs
from ua_tui.tui.panes.status.bar import StatusLine
from ua_tui.tui.panes.status.notice import NoticeBar
from ua_tui.tui.ports import SessionPort
from ua_tui.tui.render.frames import forget_rows
from ua_tui.tui.widgets.input_line import focused_field
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ua_tui.core.session.session import Session
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.session_source import SessionSource
    from ua_tui.tui.graphics.store import PictureStore
    from ua_tui.tui.panes.conversation.pane import ConversationPane
    from ua_tui.tui.panes.prompt.pane import Prompt
    from ua_tui.tui.panes.requests import StopSubagent
    from ua_tui.tui.screens.files.viewer import ViewerScreen
    from ua_tui.tui.screens.knowledge.find import SessionAccess
    from ua_tui.tui.terminal.clipboard import Clipboard
    from ua_tui.tui.widgets.command import Command

NOTE_SECONDS = 20.0


class UaTuiApp(BaseApp):
    """The full screen around one session.

    It mounts the frame, starts workers, and passes keys, messages and events on. What to do with them is up to its
    controllers.

    Args:
        settings: what the user configured.
        source: opens the session behind the first frame.
        first_query: sent by itself as soon as the session is ready.
        state_dir: where the history of the prompt and the layout are stored; the user's state folder by default.
        clipboard: knows the routes to one; by default those that fit this terminal.
        layout: stores the sizes of the panes; by default in `state_dir`, or nowhere if the session is read-only.
    """

    TITLE = "ua-tui"
    AUTO_FOCUS = "#prompt"
    BINDINGS = bindings("UaTuiApp")

    def __init__(
        self,
        settings: Settings,
        source: SessionSource,
        first_query: str | None = None,
        *,
        state_dir: Path | None = None,
        clipboard: Clipboard | None = None,
        layout: LayoutStore | None = None,
    ) -> None:
        super().__init__(settings, clipboard)
        self.source = source
        self.typed_at = float("-inf")
        """When the user typed text last, whether or not it is in its field yet."""
        self._state_dir = state_dir
        self._layout = layout if layout or source.is_read_only else LayoutStore(state_dir)
        self.session: SessionPort | None = None
        self.early_state = "starting"
        """What is shown as the state until there is a session."""
        self._commands_read = False
        self.feed = EventFeed(self._on_handler_failure)
        self.pump = EventPump(self.call_later, self.feed.handle)
        self.pump.pause()
        self._typed_ahead = TypedAhead(self)
        self.queries = Queries(self, first_query)
        self.shutdown = Shutdown(self, stops_work=not source.is_read_only)
        self.failures = Failures(self)
        self.folder_trust = FolderTrustQuestion(self)
        self.budget = Budget(self)
        self.questions = Questions(self)
        self.escape = Escape(self)

    # -- the screen -------------------------------------------------------------------------------

    def get_default_screen(self) -> MainScreen:
        """Make the screen of the frame."""
        return MainScreen()

    def compose(self) -> ComposeResult:
        """Put down what the first frame shows."""
        frame, controls = Frame(self.size, self.source, self._layout), self.source.make_controls()
        frame.controls = controls
        yield frame
        yield NoticeBar()
        if controls is not None:
            yield controls
        status = self.source.make_status(self.settings, self.view)
        status.quits = ("quit", self.source.quits)
        yield status

    @property
    def session_folder(self) -> Path | None:
        """The session's folder; None before there is one, or when nothing may be written into it."""
        if self.session is None or self.source.is_read_only:
            return None
        return self.session.workspace.path

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
        """The bar for problems."""
        return self.screen_stack[0].query_one(NoticeBar)

    def on_mount(self) -> None:
        """Show the first frame before anything else is done."""
        self.key_queue.pause()
        self.shutdown.install_signal_handlers()
        self.app_resume_signal.subscribe(self, self.escape.note_return, immediate=True)
        self.call_after_refresh(self._after_first_frame)

    async def _after_first_frame(self) -> None:
        self.read_other_styles()
        # Beside the event loop, as they import a lot.
        await asyncio.to_thread(lambda: [spec.load() for spec in pane_specs()])
        await self.frame.fill()
        if self.source.is_new and not self.queries.waiting:
            self.frame.prompt.suggestions.offer(self.settings)
        self.feed.use(self._handlers())
        self.watch(self.screen_stack[0], "focused", self.escape.update)
        if self._is_followed:
            # Typed before one saw whose prompt it is.
            self.key_queue.drop()
        await self.key_queue.resume()
        self.pump.resume()
        self.spawn(self._open, "session", "agent")
        if self.source.has_prompt:
            self.spawn(self._open_history, "history", "screen")
        if self.settings.plugins:
            self.spawn(self._add_plugins, "plug-ins", "screen")
        self._notify_ignored_files()

    async def _add_plugins(self) -> None:
        """Add the viewers and panes of other packages; one that fails is reported and left out."""
        # Behind the first frame.
        from ua_tui.core.plugins import PluginProblem, load_objects
        from ua_tui.tui.viewers.contract import Viewer
        from ua_tui.tui.viewers.registry import add_viewers

        problems: list[PluginProblem] = []
        viewers = await asyncio.to_thread(load_objects, "ua_tui.viewers", Viewer, problems.append)
        panes = await asyncio.to_thread(load_objects, "ua_tui.panes", PaneSpec, problems.append)
        add_viewers(viewers)
        if panes:
            problems += await self.frame.add(panes)
            self.feed.use(self._handlers())
        for spec in panes:
            if spec in pane_specs() and spec.keys:
                self.bind(
                    spec.keys, f"screen.show({spec.name!r})", description=f"show {spec.title}", show=False
                )
        if problems:
            self.notice.show("; ".join(f"plug-in {each.plugin}: {each.message}" for each in problems))

    def _handlers(self) -> list[Handler]:
        """Everything that is given the session's events, in this order."""
        # What fails, and what it may cost, is up to those who run it.
        runs_here = not self.source.is_read_only
        return [
            *([self.failures] if runs_here else []),
            *self.frame.panes,
            self.frame,
            self.status,
            *([self.shutdown] if runs_here else []),
            self.questions,
            *([self.budget] if runs_here else []),
            self.attention,
            self.queries,
            self.escape,
        ]

    def _on_handler_failure(self, handler: Handler) -> None:
        self.notice.show(f"{type(handler).__name__} could not handle an event; details are in run.log.")

    def _notify_ignored_files(self) -> None:
        """Say which of the user's files could not be used as they are."""
        keys, layout = self.keys.problems, self._layout.problem if self._layout is not None else ""
        for each in (*keys, layout):
            if each:
                log.warning("%s", each)
        if len(keys) > 1:
            keys = (f"{len(keys)} key settings are ignored: {self.keys.shown('help.all')} shows why.",)
        for each in (*keys, layout):
            if each:
                self.notify(each, severity="warning", timeout=NOTE_SECONDS)

    # -- work in the background -------------------------------------------------------------------

    def spawn(self, work: Work, name: str, group: str) -> Worker[Any]:
        """Run a coroutine function as a worker; its failure is shown and never ends the application."""
        return start_job(self, work, group, name=name, replacing=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show the failure of a worker."""
        if event.state is not WorkerState.ERROR:
            return
        error = event.worker.error
        assert error is not None
        name = event.worker.name
        log.error("%s failed", name, exc_info=error)
        if name in ("session", "restart") or isinstance(error, CredentialsError):
            self.status.hint = ""
            self.early_state = NOT_SET_UP if isinstance(error, CredentialsError) else "failed"
            self.failures.handle_start_failure(name, error)
        else:
            self.notice.show(f"{name}: {error_text(error)}")

    async def _open(self) -> None:
        if not self.source.is_read_only:
            await self.folder_trust.ask()
        return_large_blocks()
        with deferred():
            await self.source.open(self)
        if self._commands_read:
            self.frame.prompt.offer_commands(self.commands())
        self.queries.send_unsent()
        self.queries.notify_unsent()
        self.status.state = self.state

    async def _open_history(self) -> None:
        from ua_tui.tui.panes.prompt.history import history_of

        self._commands_read = True
        # The history knows the secrets to mask from the settings.
        if not self.source.is_read_only:
            await self.folder_trust.answered.wait()
        history = await asyncio.to_thread(history_of, self.settings, self._state_dir)
        self.frame.prompt.use_history(history)
        self.frame.prompt.offer_commands(self.commands())

    # -- the session ------------------------------------------------------------------------------

    @property
    def view(self) -> SessionView:
        """What is known of the session from its events."""
        return self.feed.view

    @property
    def controls(self) -> Session | None:
        """Controls the session; None until it is made, and if it is read-only."""
        return self.session.controls if self.session is not None else None

    @property
    def idle_actions(self) -> tuple[str, ...]:
        """The beginnings of the names of actions that do nothing in this session."""
        return self.source.idle_actions

    @property
    def state(self) -> str:
        """What the session is doing."""
        return self.early_state if self.session is None else str(self.session.state)

    # -- the prompt -------------------------------------------------------------------------------

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Send a query, or a message to the running one."""
        if event.steers:
            self.queries.steer(event.text)
        else:
            self.queries.send(event.text)
            self.status.state = self.state

    def on_prompt_commanded(self, event: Prompt.Commanded) -> None:
        """Run a command."""
        self.call_later(event.command.run)

    def on_text_area_changed(self) -> None:
        """Note that the user types: a dialog that opens now must not take the keys for answers."""
        self.typed_at = time.monotonic()

    def on_prompt_queue_used(self, event: Prompt.QueueUsed) -> None:
        """Move the newest queued query back into the prompt, run the paused ones, or list those that wait."""
        queries = self.queries
        {"edit": queries.edit_last, "send": queries.resume, "open": queries.open}[event.what]()

    def on_conversation_pane_prompt_wanted(self, event: ConversationPane.PromptWanted) -> None:
        """Focus the prompt, or send the chosen query to try, as Enter does in the empty prompt."""
        self.frame.show("prompt")
        if event.sends and not self.frame.prompt.text:
            self.frame.prompt.action_send()

    def on_stop_subagent(self, event: StopSubagent) -> None:
        """Stop a sub-agent."""
        self.queries.stop_subagent(event.tool_use_id)

    def on_conversation_pane_fork_requested(self, event: ConversationPane.ForkRequested) -> None:
        """Fork the session before a query."""
        navigation.fork_session(self, event.query_id, event.text)

    # -- keys -------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Note that the user may be typing, then deliver an event."""
        if is_text(event) and self._is_typing:
            self.typed_at = time.monotonic()
        await super().on_event(event)

    async def deliver_event(self, event: events.Event) -> None:
        """Give an event to the widget it is for; text typed before a dialog could be read is not for it."""
        self.escape.note(event)
        if not self._typed_ahead.redirect(event):
            await super().deliver_event(event)

    async def on_key(self, event: events.Key) -> None:
        """Run the binding of a key; text without one is for the prompt."""
        event.prevent_default()
        if not await self._check_bindings(event.key) and not await self._press_control(event.key):
            self._typed_ahead.handle_unused(event)

    async def _press_control(self, key: str) -> bool:
        """Run the binding that a key has in the controls, which need no focus for it."""
        controls = self.frame.controls if self.screen_stack else None
        if controls is None or len(self.screen_stack) > 1:
            return False
        for binding in self._active_bindings.of(controls).get(key, ()):
            if await self.run_action(binding.action, controls):
                return True
        return False

    def on_frame_laid_out(self, message: Frame.LaidOut) -> None:
        """Clear what the panes in sight say, too."""
        self.failures.on_laid_out()

    def on_paste(self, event: events.Paste) -> None:
        """Give the prompt what was pasted where nothing takes it."""
        self._typed_ahead.handle_unused(event)

    def on_key_queue_key_followed(self, message: KeyQueue.KeyFollowed) -> None:
        """Let the next key be delivered, and show the keys of the place to which this one led."""
        super().on_key_queue_key_followed(message)
        if self.screen_stack and self.frame.is_filled:
            self.escape.update()

    @property
    def _is_typing(self) -> bool:
        """Whether typed text goes to a field."""
        # Nothing has the focus until the prompt is mounted.
        at_start = len(self.screen_stack) == 1 and self.focused is None
        return at_start or focused_field(self.screen) is not None

    def action_escape(self) -> None:
        """In the prompt stop the agent, in a pane go to the prompt."""
        self.escape.press()

    def interrupt(self) -> None:
        """Stop the agent."""
        if self.session is not None and self.session.inbox is not None:
            self.spawn(self.session.inbox.interrupt, "interrupt", "agent")
            self.status.refresh_state()

    def on_viewer_screen_query_requested(self, event: ViewerScreen.QueryRequested) -> None:
        """Ask the query of a report again, in a new session."""
        self.spawn(partial(navigation.ask_again, self, event.report), "ask again", "ask again")

    def session_access(self) -> SessionAccess:
        """How sessions are opened: this one by closing what is above its panes."""
        from ua_tui.tui.screens.knowledge.find import SessionAccess

        current = self.session.workspace.path.resolve() if self.session is not None else None
        read_only = self.session_folder is None
        return SessionAccess(self.show_panes, current, is_read_only=read_only)

    def on_status_line_opened(self, event: StatusLine.Opened) -> None:
        """Run the command of the clicked cell; show the whole status if it has none."""
        if event.command:
            self._run_command(event.command)
        elif rows := self.status.facts.describe():
            from ua_tui.tui.screens.session.status import StatusScreen

            self.push_screen(StatusScreen(rows))

    def action_write(self) -> None:
        """Close what is above the panes, and focus the prompt."""
        self.show_panes()
        self.frame.show("prompt")

    def show_panes(self) -> None:
        """Close what is above the panes."""
        for screen in reversed(self.screen_stack[1:]):
            screen.dismiss(None)

    @property
    def _is_followed(self) -> bool:
        """Whether the prompt is that of a session that runs elsewhere."""
        return self.source.is_read_only and self.source.has_prompt

    def action_stop(self) -> None:
        """Stop the agent, or say that it does not run; if another program runs it, ask first."""
        # Until it is read, what the fleet says counts: it runs.
        if self.state != "running" and not (self._is_followed and self.state == "starting"):
            self.notify("The agent is not running: nothing to stop.")
        elif self.controls is not None:
            self.interrupt()
        elif len(self.screen_stack) == 1:
            from ua_tui.tui.screens.session.confirm import ConfirmScreen

            whose = f"{clean_line(self.source.owner, 60)}'s" if self.source.owner else "this"
            advice = (
                "Its query stays unfinished; if the session runs a job, the job counts as cancelled. "
                "The journal records your name."
            )
            dialog = ConfirmScreen(
                "Stop", f"Stop {whose} session?", advice, yes="Stop it", no="Leave it running", risky=True
            )

            def answered(is_sure: bool | None) -> None:
                if is_sure:
                    self.spawn(self.source.interrupt, "interrupt", "agent")

            self.push_screen(dialog, answered)

    def action_questions(self) -> None:
        """Show the questions that were left open."""
        if len(self.screen_stack) == 1:
            self.questions.reopen()

    def action_open_report(self) -> None:
        """Show the newest report of the session."""
        self.frame.open_newest_report()

    def action_command(self, name: str) -> None:
        """Run a command, unless something is above the panes."""
        if len(self.screen_stack) == 1:
            self._run_command(name)

    def _run_command(self, name: str) -> None:
        next(each for each in self.commands() if each.name == name).run()

    def action_restart(self) -> None:
        """Start the agent again after a failure, resume a past session, or say why not."""
        if self.source.resumes:
            self.spawn(partial(navigation.resume_shown, self), "resume", "resume")
        elif self.source.is_read_only:
            self.notify(self.source.refusal)
        elif self.state in ("failed", NOT_SET_UP):
            self.restart_agent()
        else:
            self.notify("The agent is running: nothing to restart.")

    def restart_agent(self) -> None:
        """Start the agent again after a failure."""
        if self.state in ("failed", NOT_SET_UP):
            self.failures.clear()
            self.spawn(self._open, "restart" if self.session else "session", "agent")

    async def action_quit(self) -> None:
        """Quit; confirm first while work runs; quit at once when pressed again."""
        self.shutdown.request()

    @cached_property
    def graphics(self) -> PictureStore:
        """The pictures in the graphics of the terminal; nothing is set up before the first one."""
        from ua_tui.tui.graphics.store import PictureStore

        return PictureStore(self, self.settings.pictures)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if "graphics" in vars(self) and not self._batch_count:
            # Only text that is written erases a picture, even if the row shows the same text as below it.
            forget_rows(self.console, self.graphics.paint(screen, renderable))

    # -- the end ----------------------------------------------------------------------------------

    def exit(
        self, result: str | None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Remove the pictures from the terminal and exit."""
        from rich.text import Text

        if "graphics" in vars(self):
            self.graphics.close()
        message = Text(message) if isinstance(message, str) else message
        super().exit(result, return_code, message)

    async def on_unmount(self) -> None:
        """Remove the signal handlers, and close the session if the screen itself failed."""
        await self.shutdown.finish()
        await self.source.close()

    def _fatal_error(self) -> None:
        # Textual's own report prints local variables, which may hold secrets.
        log.error("the screen failed", exc_info=self._exception)
        from rich.text import Text

        why = error_text(self._exception) if self._exception else "unknown"
        self.panic(Text(f"ua-tui stopped because of an internal error: {why}"))

    def commands(self) -> tuple[Command, ...]:
        """Return every command; they are not needed for the first frame."""
        from ua_tui.tui.app.commands import commands_of

        return commands_of(self)

    def action_command_palette(self) -> None:
        """Offer every command by name."""
        from textual.command import SimpleCommand

        from ua_tui.tui.screens.application.command_palette import Palette

        if not Palette.is_open(self.app):
            # Textual's own provider would put them in the order of the alphabet.
            offered = (SimpleCommand(each.title, each.run, each.help) for each in self.commands())
            self.push_screen(Palette(self.screen, offered))
