"""Parsing of the command line, and the options that several commands share.

Nothing slow is imported before the options are parsed, so that `--help` and usage errors are immediate.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from core.settings.model import Settings


__all__ = [
    "Adder",
    "Command",
    "WrongUsage",
    "add_fresh",
    "add_no_plugins",
    "add_plain",
    "add_session",
    "add_session_options",
    "add_sessions_folder",
    "add_theme",
    "add_version",
    "command_first",
    "first_query",
    "read_arguments",
    "settings_of",
    "wrong_usage",
]


Adder = Callable[[argparse.ArgumentParser], object]
"""Adds arguments to a parser, or text to its help."""


class Command(NamedTuple):
    """One command: what it is in a few words and in a sentence, what carries it out, and what adds its arguments."""

    about: str
    description: str
    run: Callable[[argparse.Namespace], int]
    adders: tuple[Adder, ...]


class WrongUsage(Exception):
    """Arguments that do not go together; the message says which."""


def wrong_usage(prog: str, message: str) -> str:
    """Say in a line what is wrong with the command line of `prog`, and where to read on."""
    return f"{prog}: {message}; see {prog} --help\n"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, wrong_usage(self.prog, message))


class _OptionsAlone(_Parser):
    """Knows only the options, and leaves everything else as it is."""

    def add_argument(self, *names: Any, **how: Any) -> argparse.Action:
        if names[0].startswith("-"):
            return super().add_argument(*names, **how)
        return argparse.Action((), names[0])


def read_arguments(prog: str, command: Command, given: Sequence[str]) -> argparse.Namespace:
    """Read the arguments of a command, options and others in any order; what follows `--` is not an option.

    The result has an attribute for each argument, `prog`, and `given`.

    Raises:
        SystemExit: they are wrong, or ask for help or the version.
    """
    # Not `parse_intermixed_args`, which takes what follows `--` for options.
    options = _OptionsAlone(prog=prog, add_help=False, allow_abbrev=False)
    whole = _Parser(prog=prog, description=command.description, allow_abbrev=False)
    for add in command.adders:
        add(options)
        add(whole)
    args, others = options.parse_known_args(given)
    args.prog, args.given = prog, given
    return whole.parse_args(others, args)


def command_first(given: Sequence[str], commands: Mapping[str | None, Command]) -> list[str]:
    """Put the name of a command before the options that were given ahead of it; nothing else is moved.

    Raises:
        SystemExit: those options are wrong, or ask for the version.
    """
    if not given or given[0] in commands or not given[0].startswith("-"):
        return list(given)
    options = _OptionsAlone(prog="ua-tui", add_help=False, allow_abbrev=False)
    for add in commands[None].adders:
        add(options)
    for at, word in enumerate(given):
        if word == "--":
            break
        if word in commands:
            # It may be the value of an option.
            _, others = options.parse_known_args(given[: at + 1])
            if others[-1:] == [word] and all(other.startswith("-") for other in others[:-1]):
                return [word, *given[:at], *given[at + 1 :]]
    return list(given)


class _ShowVersion(argparse.Action):
    """Shows the version, which takes longer to find out than all options take to parse."""

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from core.version import VERSION

        sys.stdout.write(f"ua-tui {VERSION}\n")
        sys.stdout.flush()
        parser.exit()


def add_version(parser: argparse.ArgumentParser) -> None:
    """Add the option that shows the version."""
    parser.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="show program's version number and exit"
    )


def first_query(help_text: str) -> Adder:
    """Return what adds an optional query with this help text."""
    return lambda parser: parser.add_argument("query", nargs="?", help=help_text)


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the past session."""
    parser.add_argument("session", metavar="SESSION", help="its folder, its name, or latest for the newest")


def add_sessions_folder(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the past sessions."""
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder that holds AGENT_RUN_WORKSPACES (default: here)"
    )


def add_plain(parser: argparse.ArgumentParser) -> None:
    """Add the option for no full screen."""
    parser.add_argument(
        "--plain",
        action="store_true",
        help="line by line without a full screen, for screen readers and logs",
    )


def add_theme(parser: argparse.ArgumentParser) -> None:
    """Add the colour theme."""
    parser.add_argument(
        "--theme",
        metavar="NAME",
        help="the colour theme for this run: dark, light, ansi (the terminal's 16 colours) or a Textual theme",
    )


def add_fresh(parser: argparse.ArgumentParser) -> None:
    """Add the option to resume without the earlier conversation."""
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="resume with a new conversation, for example when the earlier one is gone",
    )


def add_no_plugins(parser: argparse.ArgumentParser) -> None:
    """Add the option to ignore plug-ins."""
    parser.add_argument(
        "--no-plugins",
        dest="plugins",
        action="store_false",
        default=None,
        help="ignore the observers of other installed packages",
    )


def add_session_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every session; `settings_of` reads them."""
    parser.add_argument(
        "--demo", action="store_true", default=None, help="a scripted session: no network, no key"
    )
    parser.add_argument(
        "--demo-pace", type=float, metavar="N", help="how slowly the demo streams (0: at once)"
    )
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        help="the folder for AGENT_RUN_WORKSPACES and SAVED_REPORTS (default: here)",
    )
    parser.add_argument("--model", help="the model that answers")
    parser.add_argument(
        "--effort", metavar="LEVEL", help="how much the model thinks: low, medium, high, xhigh or max"
    )
    parser.add_argument("--base-url", metavar="URL", help="a server that speaks the Anthropic Messages API")
    parser.add_argument(
        "--allow",
        action="append",
        metavar="PATTERN",
        help="run tools with a matching name without asking (repeatable)",
    )
    parser.add_argument(
        "--tool",
        "--extra-tools",
        dest="tool",
        action="append",
        metavar="NAME",
        help="offer Bash, Write, Edit or WebFetch (repeatable)",
    )
    parser.add_argument("--permission-mode", metavar="MODE", help="default, acceptEdits or plan")
    parser.add_argument("--max-turns", metavar="N", help="the limit of model turns per query")
    parser.add_argument("--max-cost", "--max-cost-usd", metavar="USD", help="the spending limit of a session")
    add_no_plugins(parser)
    parser.add_argument(
        "--dangerously-skip-permissions",
        action="store_true",
        default=None,
        help="run every tool without asking",
    )


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings of a session with the given options.

    Raises:
        SettingsError: an option is invalid, or refused for root.
    """
    from core.errors import SettingsError
    from core.settings.model import load_settings

    if args.dangerously_skip_permissions and hasattr(os, "geteuid") and os.geteuid() == 0:
        raise SettingsError(
            "--dangerously-skip-permissions is refused for root: run as another user, or use --allow."
        )

    overrides: dict[str, Any] = {
        "demo": args.demo,
        "demo_pace": args.demo_pace,
        "workspace_base": Path(args.workspace) if args.workspace else None,
        "model": args.model,
        "effort": args.effort,
        "base_url": args.base_url,
        "allow": tuple(args.allow) if args.allow else None,
        "extra_tools": tuple(args.tool) if args.tool else None,
        "permission_mode": args.permission_mode,
        "max_turns": args.max_turns,
        "max_cost_usd": args.max_cost,
        "plugins": args.plugins,
        "dangerously_skip_permissions": args.dangerously_skip_permissions,
        "theme": getattr(args, "theme", None),
    }
    return load_settings(overrides)
