"""Completion of commands, options and paths in shells, by the scripts that `shtab` makes of the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import shtab

from ua_tui.tui.cli.arguments import CommandLine, OptionsAlone

_PATHS = {"FILE": shtab.FILE, "REPORT": shtab.FILE, "PATH": shtab.FILE, "DIR": shtab.DIRECTORY}
_NAMES = "latest $(ls AGENT_RUN_WORKSPACES 2>/dev/null | grep -x 'session_[[:alnum:]_-]*')"
_SESSIONS = {
    "bash": "_ua_tui_sessions",
    "zsh": "_ua_tui_sessions",
    "fish": "(echo latest; ls AGENT_RUN_WORKSPACES 2>/dev/null | grep -x 'session_[[:alnum:]_-]*')",
    "preamble": {
        "bash": f'_ua_tui_sessions() {{ compgen -W "{_NAMES}" -- "$1"; }}',
        "zsh": f"_ua_tui_sessions() {{ compadd -- ${{=:-{_NAMES}}}; }}",
    },
}
"""Completes names of sessions in the current folder; no others, as bash runs what is in words."""


def completion_script(shell: str, commands: Mapping[str | None, CommandLine]) -> str:
    """Return the script of a shell, which is bash, zsh or fish."""
    # The first query is free text, and would stand where the name of a command is completed.
    root = OptionsAlone(prog="ua-tui", allow_abbrev=False)
    names = root.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, command in commands.items():
        parser = root if name is None else names.add_parser(name, help=command.description)
        for add in command.adders:
            add(parser)
        for action in parser._actions:
            if action.metavar == "SESSION":
                action.complete = _SESSIONS  # type: ignore[attr-defined]
            elif isinstance(action.metavar, str) and action.metavar in _PATHS:
                action.complete = _PATHS[action.metavar]  # type: ignore[attr-defined]
    return shtab.complete(root, shell)
