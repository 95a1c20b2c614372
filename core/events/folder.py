"""Describes what of the files of the current folder had an effect in a session, as `session_started` records it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ua_tui.core.events.types import SessionStarted
from ua_tui.core.text import clean_line

_STATES = {
    "undecided": "not trusted, and without effect",
    "changed": "changed since the answer about them, and without effect",
    "ignored": "ignored, as the user chose",
    "partly": "trusted without what decides where data goes",
    "trusted": "trusted",
}
_MOST = 5
"""How many names are written of a list."""


def describe_folder(event: SessionStarted) -> Iterator[str]:
    """A clause for each fact: the files, the settings that were held back, the servers; none if the folder has none."""
    if event.folder_trust in _STATES:
        once = " for this run" if event.folder_trusted_once else ""
        yield f"files of the folder {_STATES[event.folder_trust]}{once}: {_names(event.folder_files)}"
    if event.held_back:
        yield f"settings of the folder held back: {_names(event.held_back)}"
    for state in dict.fromkeys(event.folder_servers.values()):
        servers = [name for name, each in event.folder_servers.items() if each == state]
        yield f"MCP servers of the folder {clean_line(state, 40)}: {_names(servers)}"


def _names(names: Sequence[str]) -> str:
    shown = [clean_line(each, 100) for each in names[:_MOST]]
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST else []
    return ", ".join([*shown, *more]) or "none"
