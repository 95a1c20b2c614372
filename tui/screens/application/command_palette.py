"""The command palette."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from heapq import nlargest
from typing import Any

from rich.cells import cell_len
from textual import events, on
from textual.await_complete import AwaitComplete
from textual.command import (
    Command,
    CommandList,
    CommandPalette,
    Hits,
    SearchIcon,
    SimpleCommand,
    SimpleProvider,
)
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkerCancelled

from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.widgets.modal import NARROW

GAP = 2
AROUND = 4
"""Rows left free above and below the box where there is room."""
_MOST = 200
"""Rows that are offered at once: Textual lays all of them out again for each letter that is typed."""
_PLAIN = str.maketrans("[]\\", "()/")


class _Best(SimpleProvider):
    """Offers the best of many commands."""

    async def search(self, query: str) -> Hits:
        """Give those that match best."""
        for hit in nlargest(_MOST, [hit async for hit in super().search(query)]):
            yield hit

    async def discover(self) -> Hits:
        """Give the first ones."""
        left = _MOST
        async for hit in super().discover():
            if left > 0:
                yield hit
            left -= 1


class Palette(CommandPalette):
    """Offers commands: the title at the left, the key or a short help at the right."""

    HORIZONTAL_BREAKPOINTS = NARROW

    _found: tuple[Command, ...] = ()
    _laid_out = 0
    """The width for which the rows were laid out."""

    def __init__(
        self,
        screen: Screen[Any],
        commands: Iterable[SimpleCommand],
        placeholder: str = "Search for commands…",
    ) -> None:
        # The type of a provider that Textual's documentation gives here is not the one it declares.
        provider: Any = _Best(screen, [_without_markup(each) for each in commands])
        super().__init__([provider], placeholder=placeholder)

    def on_mount(self) -> None:
        """Lay out the rows again whenever their width is another one; at first it is unknown."""
        self.screen_layout_refresh_signal.subscribe(self, self._lay_out, immediate=True)
        self.query_one(SearchIcon).icon = "›"

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close this screen, if it is open: at a second click Textual would close the one below."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()

    def _action_command_list(self, action: str) -> None:
        """Turn no page where there is no room for a command: Textual has no line to count."""
        if not action.startswith("page_") or self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)

    @on(Input.Submitted)
    async def wait_for_search(self) -> None:
        """Wait for what the whole text finds, as Enter would choose from what its beginning found."""
        searches = [each for each in self.workers if each.group == self._GATHER_COMMANDS_GROUP]
        for search in searches:
            # A search that was given up for a later one chooses nothing.
            with suppress(WorkerCancelled):
                await search.wait()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the height of the list."""
        rows = event.size.height - (0 if event.size.width < NARROW[-1][0] else AROUND)
        # Textual computes the height of the box before that of the list, so both need a limit.
        self.query_one("#--container").styles.max_height = rows
        # Without the rows of the box that hold no commands: its edges and the search line.
        self.query_one(CommandList).styles.max_height = max(1, rows - 3)

    def _lay_out(self, _screen: Screen[Any]) -> None:
        if self._found and self._room != self._laid_out:
            shown = self.query_one(CommandList)
            at = shown.highlighted
            self._refresh_command_list(shown, list(self._found), True)
            shown.highlighted = at

    def _refresh_command_list(
        self, command_list: CommandList, commands: list[Command], clear_current: bool
    ) -> None:
        self._found = tuple(commands)
        self._laid_out = width = self._room
        rows = [Command(_row(each, width), each.hit, id=each.id) for each in commands]
        super()._refresh_command_list(command_list, rows, clear_current)

    @property
    def _room(self) -> int:
        """Cells of a row; the list itself has no size before it is shown."""
        return self.query_one("#--container").content_size.width - 2 * GAP - 1


def _without_markup(command: SimpleCommand) -> SimpleCommand:
    # Textual takes brackets for markup. In a title that is searched it marks wrong letters after an escape.
    title = command.name.translate(_PLAIN)
    return SimpleCommand(title, command.callback, (command.help_text or "").replace("[", r"\["))


def _row(command: Command, width: int) -> Content:
    """Lay out a command in `width` cells; the help is cut at its end if there is no room."""
    name = command.hit.prompt
    title = name if isinstance(name, Content) else Content(str(name))
    room = width - title.cell_length - GAP
    help_text = Content.from_markup(command.hit.help or "").plain
    about = tail_cut(help_text, room) if room > 0 else ""
    space = " " * max(0, width - title.cell_length - cell_len(about))
    return Content.assemble(title, space, (about, "$text-on-rows"))
