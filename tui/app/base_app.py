"""The base of every full-screen application: its styles and themes, its keys, and what may reach the terminal."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual._context import active_message_pump
from textual.app import App, ScreenStackError, SuspendNotSupported
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.driver import Driver
from textual.errors import NoWidget
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.widget import MountError
from textual.worker import WorkerError, WorkerFailed

from ua_tui.core.log import log
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.tui.app.controllers.attention import Attention
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.keymap import ActiveBindings, Keys, choose_keys
from ua_tui.tui.keys.ordering import KeyQueue
from ua_tui.tui.render.format import first_sentence, middle_cut
from ua_tui.tui.render.frames import improve_frames
from ua_tui.tui.render.strips import improve_strips
from ua_tui.tui.terminal.copy import Copying, copy_text
from ua_tui.tui.terminal.driver import adapt_driver, guard_pastes
from ua_tui.tui.terminal.foreground import IN_FRONT, repaint_when_continued, ring_bell, suspend_process
from ua_tui.tui.terminal.links import browse
from ua_tui.tui.terminal.output_filter import ControlFilter
from ua_tui.tui.theme.stylesheet import CachedStylesheet
from ua_tui.tui.theme.themes import (
    ABOUT,
    MISSING,
    THEMES,
    PaletteFilter,
    listed,
    readable,
    setting_of,
    theme_named,
)
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.tui.screens.knowledge.find import SessionAccess
    from ua_tui.tui.screens.team.fleet import FleetScreen
    from ua_tui.tui.terminal.clipboard import Clipboard

STYLES = Path(__file__).parents[2] / "styles"
_GONE = (NoMatches, NoScreen, NoWidget, ScreenStackError, MountError)
"""What is raised about widgets and screens that were removed."""
_NO_MOUSE = "".join(f"\x1b[?{mode}l" for mode in (1000, 1003, 1006, 1015))
FIRST_STYLES = ("app.tcss", "status.tcss")
AGAIN_SECONDS = 2.0
LONGEST_NOTIFICATION = 240
"""Cells; only paths and other values make a sentence as long as that."""


class BaseApp(App[str]):
    """An application in the styles of ua-tui, of which the first frame reads only what it needs.

    Its keys are the active ones, each takes effect before the next, and Ctrl+Z suspends it.

    Args:
        settings: the theme and the keys, how to notify, where the knowledge base is, and the secrets to mask.
        routes: knows the routes to a clipboard; by default those that fit the terminal.

    Attributes:
        settings: what the user configured.
        theme_store: where a theme that is chosen from the list is stored; None stores it nowhere.
        chosen_theme: the name in the settings of the theme that was chosen; None before.
        attention: calls an absent user back, if the settings say so.
        is_suspended: whether another program has the terminal.

    Raises:
        SettingsError: there is no such theme.
    """

    BINDINGS = bindings("BaseApp")
    stylesheet: CachedStylesheet
    CSS_PATH: ClassVar[list[str | Path]] = [STYLES / name for name in FIRST_STYLES]  # type: ignore[assignment]  # a list of paths

    def __init__(self, settings: Settings, routes: Clipboard | None = None) -> None:
        super().__init__()
        self.settings = settings
        improve_strips()
        repaint_when_continued()
        improve_frames()
        self.copying = Copying(self, routes, lambda: self.session_folder)
        self.use_keys(choose_keys(settings.keys))
        self.key_queue = KeyQueue(self, self.deliver_event)
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())
        # Always the same one: strips keep what each filter made of them.
        self._fence = ControlFilter()
        self._palette = PaletteFilter(self.console.color_system == "256")
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme_named(settings.theme, self.available_themes)
        self.theme_store: Callable[[str], str] | None = None
        self.chosen_theme: str | None = None
        self.attention = Attention(settings, self.write_to_terminal)
        self.is_suspended = False
        self._copy_pressed_at = float("-inf")
        self._storing = asyncio.Lock()
        self._told: dict[str, float] = {}
        """The notifications on the screen, and when each has gone."""

    # -- the terminal -----------------------------------------------------------------------------

    def get_driver_class(self) -> type[Driver]:
        """Read the terminal so that nothing in a paste counts as a key, and write to it even if it is gone."""
        guard_pastes()
        adapt_driver()
        return super().get_driver_class()

    def on_mount(self) -> None:
        """Notice when another program gets the terminal, and when it gives it back."""
        self.app_suspend_signal.subscribe(self, partial(self._on_suspended, True), immediate=True)
        self.app_resume_signal.subscribe(self, partial(self._on_suspended, False), immediate=True)

    def _on_suspended(self, is_suspended: bool, _app: object) -> None:
        self.is_suspended = is_suspended
        # What was typed ahead was meant for the other program, and must not answer what is asked meanwhile.
        self.key_queue.drop()
        self.attention.is_suspended = is_suspended
        self.attention.touched()

    async def on_exit_app(self) -> None:
        """End the program that has the terminal, which is needed for the end of this one."""
        if ending := self.workers.cancel_group(self, IN_FRONT):
            with suppress(WorkerError):
                await self.workers.wait_for_complete(ending)

    def restore_terminal(self) -> None:
        """Leave the terminal as it was before, from any thread, also if the app hangs while it does so itself."""
        if self._driver is not None and not self.is_suspended:
            # The driver ends the mouse's reports only in the main thread.
            self._driver.write(_NO_MOUSE)
            self._driver.stop_application_mode()
            self._driver.close()

    # -- keys -------------------------------------------------------------------------------------

    def use_keys(self, keys: Keys) -> None:
        """Make these the active keys."""
        self.keys = keys
        self._active_bindings = ActiveBindings(keys)

    async def on_callback(self, event: events.Callback) -> None:
        """Call nothing back once the application ends: its widgets are being removed."""
        if not self.is_running:
            event.prevent_default()

    def _handle_exception(self, error: Exception) -> None:
        """End with a traceback, unless a widget only looked for another one that was removed together with it."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        is_leaving = not self.is_running or getattr(active_message_pump.get(None), "_pruning", False)
        if not (is_leaving and isinstance(cause, _GONE)):
            if self.is_suspended:
                # The end of the screen changes the terminal, which stops a process in the background.
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
            super()._handle_exception(error)

    async def on_event(self, event: events.Event) -> None:
        """Note that the user is at the screen, and deliver an event; a key waits until the one before was handled."""
        if self.is_suspended and isinstance(event, events.InputEvent | events.Paste):
            return
        if isinstance(event, events.InputEvent):
            self.attention.touched()
        await self.key_queue.handle(event)

    async def deliver_event(self, event: events.Event) -> None:
        """Give an event to the widget it is for."""
        if not (isinstance(event, events.MouseDown | events.MouseMove) and self._is_removed(event)):
            await super().on_event(event)

    def _is_removed(self, event: events.MouseEvent) -> bool:
        """Whether the mouse is on a widget that stands there only until the next layout; Textual needs its parent."""
        try:
            widget, _ = self.screen.get_widget_at(event.x, event.y)
        except NoWidget:
            return False
        return not widget.is_attached

    def on_key_queue_key_followed(self, message: KeyQueue.KeyFollowed) -> None:
        """Let the next key be delivered."""
        self.key_queue.on_key_followed(message)

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        if not (priority or self.screen.is_mounted):
            # The key was for the screen below; actions of this one would look for widgets that it does not have yet.
            return False
        if not self.keys.chosen:
            return await super()._check_bindings(key, priority)
        chain = self.screen._binding_chain if priority else self.screen._modal_binding_chain
        for node, _ in reversed(chain) if priority else chain:
            for binding in self._active_bindings.of(node).get(key, ()):
                if binding.priority == priority and await self.run_action(binding.action, node):
                    return True
        return False

    def on_app_focus(self) -> None:
        """Note that the terminal has the focus."""
        self.attention.focused = True

    def on_app_blur(self) -> None:
        """Note that the terminal has lost the focus."""
        self.attention.focused = False

    def on_fleet_screen_asked(self, event: FleetScreen.Asked) -> None:
        """Call an absent user back to a session that needs them."""
        self.attention.announce("a session of the fleet needs you")

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell, and stop until it continues this program in its foreground.

        The whole process group is stopped, as the terminal itself would do it: with the agent's half running and this
        one stopped, calls would run into their time limits. The agent continues where it was.
        """
        try:
            with self.suspend():
                stopped = suspend_process()
        except SuspendNotSupported:
            stopped = False
        if not stopped:
            self.notify("Ctrl+Z needs a shell that can resume the program.")

    # -- links and copying ------------------------------------------------------------------------

    @property
    def session_folder(self) -> Path | None:
        """The folder of the session; None without one."""
        return None

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        """Open a link; a browser that shows this screen opens it itself."""
        if self.is_web:
            super().open_url(url, new_tab=new_tab)
        else:
            browse(self, url)

    def write_to_terminal(self, text: str) -> None:
        """Notify in the terminal, if there is one: not before the start, nor after the end."""
        if self.is_suspended:
            ring_bell()
        elif self._driver is not None:
            self._driver.write(text)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what an input has cut or copied."""
        copy_text(self, text, "Text")

    # -- what sessions found ----------------------------------------------------------------------

    @property
    def knowledge(self) -> KnowledgePlace | None:
        """The knowledge base of the settings; None if there is none."""
        from ua_tui.core.knowledge.place import place_of

        return place_of(self.settings)

    def session_access(self) -> SessionAccess:
        """How sessions are opened from what they found."""
        from ua_tui.tui.screens.knowledge.find import SessionAccess

        return SessionAccess()

    def open_find(self, words: str = "") -> None:
        """Show what any session found for these words; a search that is in front goes to them."""
        from ua_tui.tui.screens.knowledge.find import FindScreen

        if isinstance(self.screen, FindScreen):
            self.screen.search_for(words)
        else:
            self.push_screen(FindScreen(self.knowledge, self.session_access(), words))

    def action_find(self) -> None:
        """Find what any session found."""
        self.open_find()

    # -- styles -----------------------------------------------------------------------------------

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let no control sequence through to the terminal."""
        palette = [self._palette] if self._palette.enabled else []
        return [*super().get_line_filters(), *palette, self._fence]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Fill in what some themes leave out."""
        return MISSING

    def get_css_variables(self) -> dict[str, str]:
        """Return the variables of the theme; those of a foreign theme are changed until they are readable."""
        variables = readable(self.current_theme, super().get_css_variables())
        self.theme_variables = variables
        return variables

    def refresh_css(self, animate: bool = True) -> None:
        """Style everything again; before there is a screen nothing has been styled, and one parse is enough."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show one short sentence, which is never markup, once at a time; a message that has more is in the log."""
        shown = middle_cut(first_sentence(message), LONGEST_NOTIFICATION)
        now, seconds = time.monotonic(), self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self._told = {text: until for text, until in self._told.items() if until > now}
        if shown in self._told:
            return
        self._told[shown] = now + seconds
        if shown != message:
            log.info("a notification was shortened: %s", message)
        super().notify(shown, title=title, severity=severity, timeout=timeout, markup=False)

    def read_other_styles(self) -> None:
        """Read the styles of everything behind the first frame."""
        for path in sorted(STYLES.glob("*.tcss")):
            if path.name not in FIRST_STYLES:
                self.stylesheet.read(path)
        # Reading alone does not make Textual forget the rules it has looked up so far.
        self.stylesheet.parse()

    # -- commands ---------------------------------------------------------------------------------

    def action_copy_or_quit(self) -> None:
        """Copy the selection; without one say how to quit, and quit when pressed twice."""
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
        message = f"Nothing is selected: press {self.keys.shown('copy')} again to quit."
        self.notify(message, timeout=AGAIN_SECONDS)

    def action_help(self) -> None:
        """Show every key."""
        from ua_tui.tui.screens.application.help import show_help

        show_help(self, everything=True)

    def action_keys_here(self) -> None:
        """Show the keys of the pane or screen that has the focus."""
        from ua_tui.tui.screens.application.help import show_help

        show_help(self)

    def search_themes(self) -> None:
        """Offer the themes."""
        from textual.command import SimpleCommand

        from ua_tui.tui.screens.application.command_palette import Palette

        names = listed(self.available_themes)
        themes = (SimpleCommand(name, partial(self.choose_theme, name), ABOUT.get(name)) for name in names)
        self.push_screen(Palette(self.screen, themes, "Search for themes…"))

    def choose_theme(self, name: str) -> None:
        """Show the theme `name`, as the settings call it, and store the choice.

        Raises:
            SettingsError: there is no such theme.
        """
        self.theme = theme_named(name, self.available_themes)
        self.chosen_theme = setting_of(self.theme)
        if self.theme_store is not None:
            work = partial(self._store_theme, self.theme_store, self.chosen_theme)
            start_job(self, work, "kept theme", name="theme", replacing=False)

    async def _store_theme(self, store: Callable[[str], str], name: str) -> None:
        # One after the other: the last choice is the one that stays.
        async with self._storing:
            if problem := await asyncio.to_thread(store, name):
                self.notify(clean_line(problem, 500), severity="warning")
