"""The heading of a permission question: what the call does, in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from ua_tui.core.agent.permissions.actions import actions_of, server_of, short_name
from ua_tui.core.json_values import table_of
from ua_tui.tui.screens.requests.arguments import reveal, reveal_line


@cache
def _headings() -> Sequence[Mapping[str, Any]]:
    return tuple(table_of(__file__, "headings.toml")["heading"])


def heading_of(tool_name: str, arguments: dict[str, Any], subjects: Sequence[str]) -> str:
    """Return the question whether a call may run; a tool that is not known is named, with its server.

    Args:
        tool_name: the full name.
        arguments: its arguments.
        subjects: the tools that it would run, by which the call is named if it is not known.
    """
    actions = actions_of(tool_name, arguments)
    if len(actions) == 1:
        name, server, given = actions[0].name, actions[0].server, actions[0].arguments or {}
        for each in _headings():
            if server == each["server"] and any(fnmatchcase(name, pattern) for pattern in each["tools"]):
                try:
                    return reveal_line(str(each["question"]).format_map(given))
                except (KeyError, ValueError, AttributeError, IndexError):
                    break
    first, *others = subjects or [short_name(tool_name)]
    more = f" and {len(others)} more" if others else ""
    server = server_of(tool_name)
    return f"Call {reveal(first)}{more}{f' on {reveal(server)}' if server else ''}?"
