"""What the screen of sub-agents and skills says: rows, and all there is to be said of one."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.cells import set_cell_size
from textual.content import Content

from core.agent.definitions.roster import RosterEntry
from core.events.tool_names import tool_name
from core.events.types import McpServer as Server
from core.text import clean_line
from tui.render.format import middle_cut, tail_cut

__all__ = ["Server", "about", "counted", "header", "row"]

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


def header(width: int) -> Content:
    """The names of the columns."""
    text = (
        f"   {'name':<{_name_room(width)}}  {'kind':<{_KIND}}{'state':<{_STATE}}  {'tools':>{_TOOLS}}"
        f"  {'model':<{_MODEL}}  from"
    )
    return Content.styled(text[:width].rstrip(), _MUTED)


def row(entry: RosterEntry, width: int, *, chosen: bool) -> Content:
    """One file on one line; the chosen one is marked, as a cursor may have no colour."""
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


def about(entry: RosterEntry | None, width: int, wrong_setting: Sequence[str], failure: str) -> Content:
    """All there is to be said of a file, and what is wrong with the setting."""
    lines = [_hanging("✗ ", each, width, "$error") for each in (failure, *wrong_setting) if each]
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
            lines.append(_field("tools", _named_tools(entry), width))
            lines.append(_field("model", _model(entry), width))
        if entry.source == "shipped":
            lines.append(_field("from", "it ships with ua-tui", width))
        else:
            lines.append(_field("from", entry.origin, width))
    told = "Sub-agents: .claude/agents/NAME.md here or in your home. Skills: .claude/skills/NAME/SKILL.md. "
    told += "Changes hold from the next session on."
    lines += [Content(""), _hanging("", told, width, _MUTED)]
    return Content("\n").join(lines)


def counted(entries: Sequence[RosterEntry]) -> str:
    """How many there are, and how many have a problem."""
    agents = sum(each.kind == "agent" and each.state in ("ready", "broken") for each in entries)
    skills = sum(each.kind == "skill" and each.state == "ready" for each in entries)
    problems = sum(bool(each.problems) for each in entries)
    told = f"{agents} sub-agents · {skills} skill{'' if skills == 1 else 's'} on"
    return f"{told} · {problems} problem{'s' if problems > 1 else ''}" if problems else told


def _name_room(width: int) -> int:
    others = 3 + 2 + _KIND + _STATE + 2 + _TOOLS + 2 + _MODEL + 2 + _FROM
    return max(12, min(40, width - others))


def _tools(entry: RosterEntry) -> str:
    if entry.kind == "skill" or entry.state == "left out":
        return "–"
    return "all" if entry.tools is None else f"{len(entry.tools)}"


def _named_tools(entry: RosterEntry) -> str:
    if entry.tools is None:
        return "all that the session has"
    return ", ".join(tool_name(tool).short for tool in entry.tools) or "none"


def _model(entry: RosterEntry) -> str:
    return "that of the agent that calls it" if entry.model == "inherit" else clean_line(entry.model)


def _field(label: str, text: str, width: int) -> Content:
    return _hanging(f"{label}  ", text, width, label_style=_MUTED)


def _hanging(label: str, text: str, width: int, style: str = "", *, label_style: str = "") -> Content:
    """Set a text behind a label, its further lines below its first one."""
    lines = wrap(clean_line(text, 6_000), max(12, width - len(label))) or [""]
    return Content.assemble((label, label_style or style), (f"\n{' ' * len(label)}".join(lines), style))
