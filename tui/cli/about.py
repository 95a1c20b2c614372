"""`ua-tui help`, `ua-tui completion` and `ua-tui schema`: what there is to know about the program itself."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import COMMANDS, add_arguments, read_arguments, wrong_usage
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

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
_SCHEMAS = {
    "export": ("Export of a session", "tui.export.records:Export"),
    "check": ("Checked reports", "core.claims.checked_report:CheckedReports"),
    "comparison": ("Two sessions compared", "tui.comparison.sessions:Comparison"),
}
"""The titles and the types of the formats that are neither artifacts nor the journal."""


def print_help(args: argparse.Namespace) -> int:
    """Show the help of a command, which ends the program."""
    name = args.command
    if name not in COMMANDS:
        sys.stderr.write(wrong_usage("ua-tui", f"there is no command {clean_line(name, 40)!r}"))
        return EXIT_USAGE
    read_arguments(f"ua-tui {name}" if name else "ua-tui", COMMANDS[name], ["--help"])
    return 0


def print_completion(args: argparse.Namespace) -> int:
    """Print the script of a shell that `shtab` makes of the parsers; returns the exit code."""
    import shtab

    from ua_tui.core.knowledge.records import KINDS
    from ua_tui.core.settings.model import EFFORTS
    from ua_tui.core.settings.parsers import OF_TEXTUAL, OWN_THEMES

    completed = {
        **dict.fromkeys(("SESSION", "A", "B"), _SESSIONS),
        **dict.fromkeys(("FILE", "REPORT", "PATH", "FILE_OR_FOLDER"), shtab.FILE),
        **dict.fromkeys(("DIR", "FOLDER"), shtab.DIRECTORY),
    }
    words = {
        "COMMAND": [name for name in COMMANDS if name],
        "LEVEL": EFFORTS,
        "KIND": KINDS,
        "MODE": ("default", "acceptEdits", "plan"),
        "THEME": (*OWN_THEMES, *OF_TEXTUAL),
    }
    root = argparse.ArgumentParser(prog="ua-tui", allow_abbrev=False)
    names = root.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, command in COMMANDS.items():
        parser = root if name is None else names.add_parser(name, help=command.about)
        # The first query is free text, and would stand where the name of a command is completed.
        add_arguments(parser, command.arguments, only_options=name is None)
        for action in parser._actions:
            if action.metavar in completed:
                action.complete = completed[action.metavar]  # type: ignore[attr-defined]
            elif action.metavar in words:
                action.choices = words[action.metavar]
    sys.stdout.write(shtab.complete(root, args.shell))
    return 0


def print_schema(args: argparse.Namespace) -> int:
    """Print the JSON Schema of a format; returns the exit code."""
    sys.stdout.write(json.dumps(schema_of(args.format), indent=2) + "\n")
    return 0


def schema_of(form: str) -> Mapping[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a format."""
    if form == "journal":
        from ua_tui.core.events.codec import journal_schema

        return journal_schema()
    if form in _SCHEMAS:
        title, place = _SCHEMAS[form]
        module, _, name = place.partition(":")
        schema = msgspec.json.schema(getattr(import_module(f"ua_tui.{module}"), name))
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}
    from ua_tui.observers.output.saving import artifact_schemas

    found: Mapping[str, Any] = artifact_schemas()[form]
    return found
