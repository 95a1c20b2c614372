"""The sub-agents and skills: where each comes from, its tools and model, and its problems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import ClassVar

from rich.cells import set_cell_size
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from core.agent.definitions.roster import RosterEntry, expected_servers, read_roster, roster_entries
from core.errors import UniversalAgentError
from core.events.tool_names import tool_name
from core.events.types import McpServer
from core.events.units import quantity
from core.settings.model import Places, Settings
from core.text import clean_line
from tui.keys.keymap import Keys, keys_of
from tui.keys.places import KeyPlace, key_binding, moving
from tui.ports import ScreenHost, SessionPort
from tui.render.format import middle_cut, tail_cut
from tui.viewers.view.chrome import KeyLine, TitleLine
from tui.widgets.choice_list import ChoiceList
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import NARROW
from tui.widgets.modal import Modal
from tui.widgets.workers import start_job

__all__ = ["COMMAND", "AgentList", "AgentsScreen", "open_screen"]

COMMAND = CommandSpec("agents", "Sub-agents and skills", "Source and problems", order=60)


_KIND, _STATE, _TOOLS, _MODEL, _FROM = 6, 9, 5, 9, 8
_MUTED = "$text-muted"
_STATES = {
    "ready": ("✓", "$success"),
    "broken": ("!", "$warning"),
    "left out": ("✗", "$error"),
    "replaced": ("⊘", _MUTED),
    "off": ("·", _MUTED),
}
_KINDS = {"agent": "agent", "skill": "skill"}
_FROMS = {"project": "folder", "user": "yours", "shipped": "ua-tui"}


def open_screen(app: ScreenHost) -> None:
    """Show the sub-agents and skills."""
    app.push_screen(AgentsScreen(app.settings, lambda: app.session))


class AgentList(ChoiceList, inherit_bindings=False):
    """The files, one per line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *moving(up="cursor_up", down="cursor_down", first="first", last="last"),
    ]


class AgentsScreen(Modal[None]):
    """Lists the files as they are now; the running session keeps what it read at its start.

    Args:
        settings: the settings.
        session: returns the session, whose servers provide the tools; None before it starts.
        places: where the files are; by default those of the process.
    """

    HORIZONTAL_BREAKPOINTS = NARROW
    PLACE: ClassVar[KeyPlace] = KeyPlace("In the sub-agents", parts=(AgentList,))
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("agents.read", "r", "read", "read the files again"),
        *moving(page_up="scroll_facts(-1)", page_down="scroll_facts(1)"),
        key_binding("screen.back", "escape,q", "close", "back"),
    ]

    def __init__(
        self, settings: Settings, session: Callable[[], SessionPort | None], *, places: Places | None = None
    ) -> None:
        super().__init__()
        self._settings = settings
        self._find_session = session
        self._places = places
        self._entries: Sequence[RosterEntry] = ()
        self._setting_problems: tuple[str, ...] = ()
        self._failure = ""

    def compose(self) -> ComposeResult:
        """Create the list, the details, and the keys."""
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
        """Lay out everything for the new width."""
        self._show()

    def action_read(self) -> None:
        """Read the files again."""
        start_job(self, self._read, "agents")

    def action_scroll_facts(self, pages: int) -> None:
        """Scroll the details by a page."""
        facts = self.query_one("#agents-facts")
        facts.scroll_relative(y=pages * max(1, facts.size.height - 1), animate=False)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the details of the file under the cursor."""
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
            self._entries, self._setting_problems = await asyncio.to_thread(self._read_entries, known)
            self._failure = ""
        except (UniversalAgentError, OSError) as error:
            self._failure = clean_line(str(error), 400)
        self._show()

    def _read_entries(self, known: Sequence[McpServer]) -> tuple[list[RosterEntry], tuple[str, ...]]:
        places = self._places or Places.of()
        roster = read_roster(self._settings, places)
        servers = known or expected_servers(self._settings, places.cwd)
        return roster_entries(roster, self._settings, servers), roster.not_chosen

    def _show(self) -> None:
        shown, count = self._list, len(self._entries)
        self.query_one("#agents-header", Static).update(_header(self._width))
        if count != shown.option_count:
            at = shown.highlighted
            shown.clear_options()
            shown.add_options([Option("") for _ in self._entries])
            shown.highlighted = min(at or 0, count - 1) if count else None
        if count:
            self.query_one(TitleLine).show(facts=_counts(self._entries))
        self._show_rows()

    @property
    def _width(self) -> int:
        return max(20, self.size.width - 3)

    def _show_rows(self) -> None:
        for index, entry in enumerate(self._entries):
            row = _entry_row(entry, self._width, chosen=index == self._list.highlighted)
            self._list.replace_option_prompt_at_index(index, row)
        about = _details(self._chosen, self._width, self._setting_problems, self._failure)
        self.query_one("#agents-about", Static).update(about)


def _header(width: int) -> Content:
    """Lay out the names of the columns."""
    text = (
        f"   {'name':<{_name_room(width)}}  {'kind':<{_KIND}}{'state':<{_STATE}}  {'tools':>{_TOOLS}}"
        f"  {'model':<{_MODEL}}  from"
    )
    return Content.styled(text[:width].rstrip(), _MUTED)


def _entry_row(entry: RosterEntry, width: int, *, chosen: bool) -> Content:
    """Lay out a file on one line; the chosen one has a mark, as the cursor may have no colour."""
    mark, style = _STATES[entry.state]
    room = _name_room(width)
    return Content.assemble(
        ("›" if chosen else " ", "bold"),
        (f"{mark} ", "" if chosen else style),
        set_cell_size(middle_cut(clean_line(entry.name), room), room),
        (f"  {_KINDS[entry.kind]:<{_KIND}}", _MUTED),
        (f"{entry.state:<{_STATE}}", "" if chosen else style),
        (f"  {_tools(entry):>{_TOOLS}}", _MUTED),
        (f"  {set_cell_size(tail_cut(clean_line(entry.model) or '–', _MODEL), _MODEL)}", _MUTED),
        (f"  {_FROMS[entry.source]}", _MUTED),
    )


def _details(entry: RosterEntry | None, width: int, setting_problems: Sequence[str], failure: str) -> Content:
    """Lay out the details of a file, and the problems of the setting."""
    lines = [_hanging("✗ ", each, width, "$error") for each in (failure, *setting_problems) if each]
    if entry is not None:
        mark, style = _STATES[entry.state]
        lines.append(
            Content.assemble(
                (clean_line(entry.name), "bold"),
                (f"  {mark} {entry.state}", style),
                (f" · {entry.kind}", _MUTED),
            )
        )
        lines += [_hanging("✗ ", each, width, "$error") for each in entry.problems]
        lines += [_hanging("· ", each, width, _MUTED) for each in entry.notes]
        if entry.description:
            lines.append(_hanging("", entry.description, width))
        if entry.kind == "agent" and entry.state != "left out":
            lines.append(_field("tools", _tool_list(entry), width))
            lines.append(_field("model", _model(entry), width))
        if entry.source == "shipped":
            lines.append(_field("from", "shipped with ua-tui", width))
        else:
            lines.append(_field("from", entry.origin, width))
    where = "Sub-agents: .claude/agents/NAME.md here or in your home folder. Skills: .claude/skills/NAME/SKILL.md. "
    where += "Changes apply from the next session."
    lines += [Content(""), _hanging("", where, width, _MUTED)]
    return Content("\n").join(lines)


def _counts(entries: Sequence[RosterEntry]) -> str:
    """How many there are, and how many have a problem."""
    agents = sum(each.kind == "agent" and each.state in ("ready", "broken") for each in entries)
    skills = sum(each.kind == "skill" and each.state == "ready" for each in entries)
    problems = sum(bool(each.problems) for each in entries)
    text = f"{agents} sub-agents · {quantity(skills, 'skill')} on"
    return f"{text} · {problems} problem{'s' if problems > 1 else ''}" if problems else text


def _name_room(width: int) -> int:
    others = 3 + 2 + _KIND + _STATE + 2 + _TOOLS + 2 + _MODEL + 2 + _FROM
    return max(12, min(40, width - others))


def _tools(entry: RosterEntry) -> str:
    if entry.kind == "skill" or entry.state == "left out":
        return "–"
    return "all" if entry.tools is None else f"{len(entry.tools)}"


def _tool_list(entry: RosterEntry) -> str:
    if entry.tools is None:
        return "all tools of the session"
    return ", ".join(tool_name(tool).short for tool in entry.tools) or "none"


def _model(entry: RosterEntry) -> str:
    return "same as the calling agent" if entry.model == "inherit" else clean_line(entry.model)


def _field(label: str, text: str, width: int) -> Content:
    return _hanging(f"{label}  ", text, width, label_style=_MUTED)


def _hanging(label: str, text: str, width: int, style: str = "", *, label_style: str = "") -> Content:
    """Lay out a text after a label with a hanging indent."""
    lines = wrap(clean_line(text, 6_000), max(12, width - len(label))) or [""]
    return Content.assemble((label, label_style or style), (f"\n{' ' * len(label)}".join(lines), style))
