"""The sub-agents and skills of the session: where each comes from, what it may use, and what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from core.agent.definitions.roster import RosterEntry, expected_servers, read_roster, roster_entries
from core.errors import UniversalAgentError
from core.settings.model import Places, Settings
from core.text import clean_line
from tui.keys.keymap import Keys, keys_of
from tui.ports import ScreenHost, SessionPort
from tui.screens.services import agent_rows as say
from tui.viewers.view.chrome import KeyLine, TitleLine
from tui.widgets.choice_list import ChoiceList
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import NARROW
from tui.widgets.modal import Modal
from tui.widgets.workers import start_job

__all__ = ["COMMAND", "AgentList", "AgentsScreen", "open_screen"]

COMMAND = CommandSpec("agents", "Sub-agents and skills", "Source and problems", order=60)


def open_screen(app: ScreenHost) -> None:
    """Show the sub-agents and skills."""
    app.push_screen(AgentsScreen(app.settings, lambda: app.session))


class AgentList(ChoiceList, inherit_bindings=False):
    """The files, one on a line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", "Up", id="move.up", show=False),
        Binding("down,j", "cursor_down", "Down", id="move.down", show=False),
        Binding("home,g", "first", "First", id="move.first", show=False),
        Binding("end,G", "last", "Last", id="move.last", show=False),
    ]


class AgentsScreen(Modal[None]):
    """Lists the files as they are now; the session goes on with what it found at its start.

    Args:
        settings: what the person configured.
        session: gives the session, whose servers say which tools there are; None as long as there is none.
        places: where the files are; by default those of the process.
    """

    HORIZONTAL_BREAKPOINTS = NARROW
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "read", "Read again", id="agents.read", show=False),
        Binding("pageup", "scroll_facts(-1)", "Scroll up", id="move.page_up", show=False),
        Binding("pagedown", "scroll_facts(1)", "Scroll down", id="move.page_down", show=False),
        Binding("escape,q", "close", "Close", id="screen.back", show=False),
    ]

    def __init__(
        self, settings: Settings, session: Callable[[], SessionPort | None], *, places: Places | None = None
    ) -> None:
        super().__init__()
        self._settings = settings
        self._find_session = session
        self._places = places
        self._entries: Sequence[RosterEntry] = ()
        self._wrong_setting: tuple[str, ...] = ()
        self._failure = ""

    def compose(self) -> ComposeResult:
        """Put down the list, what is to be said of one, and the keys."""
        yield TitleLine(id="agents-title")
        yield Static(id="agents-header")
        yield AgentList(id="agents-files", markup=False, compact=True)
        with VerticalScroll(id="agents-facts", can_focus=False):
            yield Static(id="agents-about")
        yield KeyLine(
            (self._keys.shown("agents.read"), "read again", "screen.read"),
            (self._keys.shown("screen.back"), "back", "screen.close"),
            id="agents-keys",
        )

    def on_mount(self) -> None:
        """Read the files."""
        self.query_one(TitleLine).show("Sub-agents and skills", facts="reading …")
        self._list.focus()
        self.action_read()

    def on_resize(self) -> None:
        """Lay everything out for the new width."""
        self._show()

    def action_read(self) -> None:
        """Read the files again."""
        start_job(self, self._read, "agents")

    def action_scroll_facts(self, pages: int) -> None:
        """Scroll what is said of a file by a page."""
        facts = self.query_one("#agents-facts")
        facts.scroll_relative(y=pages * max(1, facts.size.height - 1), animate=False)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say more of the file under the cursor."""
        event.stop()
        self.query_one("#agents-facts").scroll_home(animate=False)
        self._show_rows()

    @property
    def _keys(self) -> Keys:
        return keys_of(self.app)

    @property
    def _list(self) -> AgentList:
        return self.query_one(AgentList)

    @property
    def _chosen(self) -> RosterEntry | None:
        at = self._list.highlighted
        return self._entries[at] if at is not None and at < len(self._entries) else None

    async def _read(self) -> None:
        session = self._find_session()
        known = session.servers.known if session is not None else ()
        try:
            self._entries, self._wrong_setting = await asyncio.to_thread(self._look, known)
            self._failure = ""
        except (UniversalAgentError, OSError) as error:
            self._failure = clean_line(str(error), 400)
        self._show()

    def _look(self, known: Sequence[say.Server]) -> tuple[list[RosterEntry], tuple[str, ...]]:
        places = self._places or Places.of()
        roster = read_roster(self._settings, places)
        servers = known or expected_servers(self._settings, places.cwd)
        return roster_entries(roster, self._settings, servers), roster.not_chosen

    def _show(self) -> None:
        shown, count = self._list, len(self._entries)
        self.query_one("#agents-header", Static).update(say.header(self._width))
        if count != shown.option_count:
            at = shown.highlighted
            shown.clear_options()
            shown.add_options([Option("") for _ in self._entries])
            shown.highlighted = min(at or 0, count - 1) if count else None
        if count:
            self.query_one(TitleLine).show(facts=say.counted(self._entries))
        self._show_rows()

    @property
    def _width(self) -> int:
        return max(20, self.size.width - 3)

    def _show_rows(self) -> None:
        for index, entry in enumerate(self._entries):
            row = say.row(entry, self._width, chosen=index == self._list.highlighted)
            self._list.replace_option_prompt_at_index(index, row)
        about = say.about(self._chosen, self._width, self._wrong_setting, self._failure)
        self.query_one("#agents-about", Static).update(about)
