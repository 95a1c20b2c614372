"""The sites the web reader cannot read: a dialog to see them and to take them off the list."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from core.errors import UniversalAgentError
from core.storage.workspace import WORKSPACES
from core.text import clean_line
from core.web_reader.blacklist import STRIKES, Blacklist, Listing
from tui.ports import ScreenHost
from tui.widgets.choice_list import ChoiceList
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["COMMAND", "BlacklistScreen", "open_screen"]

COMMAND = CommandSpec("blacklist", "Web reader blacklist", "Sites skipped", order=70)

_EMPTY = (
    "No site is on the list. One is put there for 30 days when the web reader refused its pages three times."
)
_WHAT = (
    "The web reader refused pages of these sites. Those with three errors are skipped until the day shown."
)


def open_screen(app: ScreenHost) -> None:
    """Show the blacklist."""
    app.push_screen(BlacklistScreen(Blacklist(app.settings.workspace_base / WORKSPACES)))


class BlacklistScreen(Dialog[None]):
    """Lists the sites with their errors; clearing one or all takes their errors away, too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,delete", "clear", "Clear", id="blacklist.clear", show=False),
        Binding("a", "clear_all", "Clear all", id="blacklist.clear_all", show=False),
        Binding("escape,q", "close", "Close", id="screen.back", show=False),
    ]

    def __init__(self, blacklist: Blacklist, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock, requested=True)
        self._blacklist = blacklist
        self._entries: list[Listing] = []
        self._asked = False

    def compose(self) -> ComposeResult:
        """Put down the list, what it is, and the answers."""
        with Box(classes="box") as box:
            box.border_title = Content("Blacklist of the web reader")
            yield Static(Content("Reading the list …"), id="blacklist-what")
            yield ChoiceList(id="blacklist-sites", markup=False, compact=True)
            yield Foot(
                Choice("c", "Clear", "clear", disabled=True),
                Choice("a", "Clear all", "clear-all", disabled=True),
                Choice("Esc", "Close", "close"),
            )

    def on_mount(self) -> None:
        """Read the list."""
        self._work(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take an answer given with the mouse or with Enter."""
        event.stop()
        match event.button.id:
            case "clear":
                self.action_clear()
            case "clear-all":
                self.action_clear_all()
            case _:
                self.action_close()

    def on_option_list_option_highlighted(self) -> None:
        """Moving on takes back the wish to clear everything."""
        if self._asked:
            self._asked = False
            self._tell(_WHAT)

    def action_clear(self) -> None:
        """Take the chosen site off."""
        chosen = self._chosen()
        if chosen is not None and self.accepts_answers:
            self._work(lambda: self._blacklist.clear(chosen.host))

    def action_clear_all(self) -> None:
        """Take every site off, when asked twice."""
        if not self._entries or not self.accepts_answers:
            return
        if len(self._entries) > 1 and not self._asked:
            self._asked = True
            self._tell(f"Press a once more to clear all {len(self._entries)} sites.")
            return
        self._work(self._blacklist.clear)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def _work(self, change: Callable[[], object] | None) -> None:
        self._asked = False
        self.run_worker(self._change_and_read(change), exclusive=True, exit_on_error=False)

    async def _change_and_read(self, change: Callable[[], object] | None) -> None:
        try:
            if change is not None:
                await asyncio.to_thread(change)
            self._entries = await asyncio.to_thread(self._blacklist.entries)
        except UniversalAgentError as error:
            self._tell(clean_line(str(error), 500))
            return
        self._show()

    def _show(self) -> None:
        sites = self.query_one("#blacklist-sites", OptionList)
        at = sites.highlighted or 0
        sites.clear_options()
        sites.add_options([Option(_told(entry)) for entry in self._entries])
        sites.display = bool(self._entries)
        self.query_one("#clear", Choice).disabled = not self._entries
        self.query_one("#clear-all", Choice).disabled = not self._entries
        self._tell(_WHAT if self._entries else _EMPTY)
        if self._entries:
            sites.highlighted = min(at, len(self._entries) - 1)
            sites.focus()
        else:
            self.query_one("#close", Choice).focus()

    def _chosen(self) -> Listing | None:
        at = self.query_one("#blacklist-sites", OptionList).highlighted
        return self._entries[at] if at is not None and at < len(self._entries) else None

    def _tell(self, words: str) -> None:
        self.query_one("#blacklist-what", Static).update(Content(words))


def _told(entry: Listing) -> Content:
    errors = f"{len(entry.strikes)} errors" if len(entry.strikes) > 1 else "1 error"
    if entry.expires is not None:
        standing = Content.styled(f"until {entry.expires.astimezone():%Y-%m-%d}", "$text-warning")
    else:
        standing = Content.styled(f"not listed: {STRIKES} errors are needed", "$text-muted")
    last = f"{errors}, last: {entry.last_error} at {clean_line(entry.strikes[-1].url, 200)}"
    return Content.assemble(
        (clean_line(entry.host, 253), "bold"), "  ", standing, "\n  ", Content.styled(last, "$text-muted")
    )
