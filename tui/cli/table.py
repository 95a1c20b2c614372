"""Every command of `ua-tui`: what it takes, and what carries it out: the screen, a headless session or a tool.

Whatever a command needs is imported when it is carried out, so that `--help` and a wrong option answer at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.cli.arguments import (
    Command,
    WrongUsage,
    add_fresh,
    add_plain,
    add_session,
    add_session_options,
    add_sessions_folder,
    add_theme,
    add_version,
    first_query,
    settings_of,
)
from tui.cli.start import start_headless, start_line_by_line, start_on_screen

if TYPE_CHECKING:
    from core.session.resume import Resume
    from core.settings.model import Settings

__all__ = ["COMMANDS"]


def _session(args: argparse.Namespace) -> int:
    _not_a_slip(args.query, args.given)
    settings = settings_of(args)
    return start_line_by_line(settings, args.query) if args.plain else start_on_screen(settings, args.query)


def _not_a_slip(query: str | None, given: Sequence[str]) -> None:
    """Refuse a word that looks like a command, which would cost a query."""
    if query is None or "--" in given or query.split() != [query]:
        return
    from difflib import get_close_matches

    names = [*(name for name in COMMANDS if name), "help"]
    if close := get_close_matches(query.lower(), names, 1, 0.75):
        meant = "--help" if close[0] == "help" else close[0]
        raise WrongUsage(
            f"{query!r} looks like a command: did you mean ua-tui {meant}? A query of this one word comes after --"
        )


def _add_commands(parser: argparse.ArgumentParser) -> None:
    commands = ", ".join(f"{name} ({command.about})" for name, command in COMMANDS.items() if name)
    parser.epilog = f"commands: {commands}; each has its own --help"


def _run(args: argparse.Namespace) -> int:
    query = sys.stdin.read() if args.query == "-" else args.query
    if not query.strip():
        raise WrongUsage("the query is empty")
    if args.fresh and args.resume is None:
        raise WrongUsage("--fresh goes with --resume")
    settings, resume = settings_of(args), None
    if args.resume is not None:
        settings, resume = _resumed(settings, args.resume, args)
    return start_headless(settings, query, as_json=args.json, resume=resume)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="what the agent is asked; - reads it from standard input")
    parser.add_argument("--json", action="store_true", help="print every event as a JSON line")
    parser.add_argument(
        "--resume", metavar="SESSION", help="ask in a past session: its folder, its name, or latest"
    )


def _sessions(args: argparse.Namespace) -> int:
    from core.session.resume import prepare_resume
    from tui.cli.sessions import run

    settings, folder = run(args)
    if folder is None:
        return 0
    settings, resume = prepare_resume(settings, folder)
    return start_on_screen(settings, None, resume)


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    # Their module brings in the screen.
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _open(args: argparse.Namespace) -> int:
    from tui.cli.open import run

    return run(args)


def _add_open(parser: argparse.ArgumentParser) -> None:
    from tui.cli.open import add_arguments

    add_arguments(parser)


def _resume(args: argparse.Namespace) -> int:
    settings, resume = _resumed(settings_of(args), args.session, args)
    if args.plain:
        return start_line_by_line(settings, args.query, resume)
    return start_on_screen(settings, args.query, resume)


def _resumed(settings: Settings, wanted: str, args: argparse.Namespace) -> tuple[Settings, Resume]:
    """Find the session that is to go on."""
    from core.history.lookup import find_session
    from core.session.resume import prepare_resume

    folder = find_session(settings.workspace_base, wanted)
    options = {"model": args.model, "effort": args.effort, "max_cost_usd": args.max_cost}
    # An empty one stands for the default, and is a word of the person, too.
    named = [name for name, given in options.items() if given is not None]
    return prepare_resume(settings, folder, fresh=args.fresh, named=named)


def _observe(args: argparse.Namespace) -> int:
    from tui.cli.observe import run

    return run(args)


def _add_observe(parser: argparse.ArgumentParser) -> None:
    from tui.cli.observe import add_arguments

    add_arguments(parser)


def _serve(args: argparse.Namespace) -> int:
    if args.query is not None and args.query in COMMANDS:
        raise WrongUsage(f"{args.query!r} is a command, and only a session can be served")
    # What is wrong is said here, and not in every tab.
    settings_of(args)
    from tui.cli.serve import run

    return run(args, args.given)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    from tui.cli.serve import add_arguments

    add_arguments(parser)


def _doctor(args: argparse.Namespace) -> int:
    from tui.cli.doctor import run

    return run(settings_of(args), as_json=args.json)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    from tui.cli.doctor import add_arguments

    add_arguments(parser)


def _connect(args: argparse.Namespace) -> int:
    from tui.cli.connect import run

    return run(args)


def _add_connect(parser: argparse.ArgumentParser) -> None:
    from tui.cli.connect import add_arguments

    add_arguments(parser)


def _config(args: argparse.Namespace) -> int:
    from tui.cli.config import run

    return run(args)


def _add_config(parser: argparse.ArgumentParser) -> None:
    from tui.cli.config import add_arguments

    add_arguments(parser)


def _servers(args: argparse.Namespace) -> int:
    from tui.cli.servers import run

    return run(args)


def _add_servers(parser: argparse.ArgumentParser) -> None:
    from tui.cli.servers import add_arguments

    add_arguments(parser)


def _agents(args: argparse.Namespace) -> int:
    from tui.cli.agents import run

    return run(args)


def _add_agents(parser: argparse.ArgumentParser) -> None:
    from tui.cli.agents import add_arguments

    add_arguments(parser)


def _blacklist(args: argparse.Namespace) -> int:
    from tui.cli.blacklist import run

    return run(args)


def _add_blacklist(parser: argparse.ArgumentParser) -> None:
    from tui.cli.blacklist import add_arguments

    add_arguments(parser)


def _schema(args: argparse.Namespace) -> int:
    import json

    from core.events.schema import journal_schema
    from observers.output.formats import artifact_schema

    schema = journal_schema() if args.format == "journal" else artifact_schema(args.format)
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "format",
        nargs="?",
        default="journal",
        choices=("journal", "search_results", "article", "workbench_activity"),
        metavar="FORMAT",
        help="one of %(choices)s; %(default)s when it is left out",
    )


COMMANDS: dict[str | None, Command] = {
    None: Command(
        "the full screen",
        "A full-screen cockpit for a Universal Agent: conversation, tool calls, observers, files.",
        _session,
        (
            first_query("a first query to start with"),
            add_plain,
            add_theme,
            add_session_options,
            add_version,
            _add_commands,
        ),
    ),
    "run": Command(
        "without a screen",
        "Run one query without a screen.",
        _run,
        (_add_run, add_fresh, add_session_options),
    ),
    "sessions": Command(
        "list",
        "Show the sessions there are: read one, go on with one, search, name and delete them.",
        _sessions,
        (add_sessions_folder, add_theme, _add_sessions),
    ),
    "open": Command(
        "a past session",
        "Open a past session on the full screen, only to be read.",
        _open,
        (_add_open,),
    ),
    "resume": Command(
        "a past session",
        "Go on with a past session on the full screen, in its own folder.",
        _resume,
        (
            add_session,
            first_query("a first query to go on with"),
            add_plain,
            add_theme,
            add_fresh,
            add_session_options,
        ),
    ),
    "observe": Command(
        "on saved results",
        "Run the observers on a saved tool result, or again over a past session.",
        _observe,
        (_add_observe,),
    ),
    "serve": Command(
        "in a browser",
        "Show the full screen in browsers, on this machine unless --host says otherwise.",
        _serve,
        (first_query("a first query for every session"), add_theme, _add_serve, add_session_options),
    ),
    "doctor": Command(
        "tries keys, servers and folders",
        "Try what a session needs with one small request each, and say what to do where something fails.",
        _doctor,
        (_add_doctor, add_session_options),
    ),
    "connect": Command(
        "an account at Composio",
        "Connect an account at Composio ahead of a session, or show every toolkit with the state of its account.",
        _connect,
        (_add_connect,),
    ),
    "config": Command(
        "settings and where they come from",
        "Show every setting with its value and where that comes from, or set one in a file.",
        _config,
        (_add_config,),
    ),
    "servers": Command(
        "MCP servers of your own",
        "Show the MCP servers of your own, and decide which of this folder's are trusted.",
        _servers,
        (_add_servers,),
    ),
    "agents": Command(
        "sub-agents and skills",
        "Show the sub-agents and skills of a session here, where each comes from, and what is wrong with it.",
        _agents,
        (_add_agents,),
    ),
    "blacklist": Command(
        "of the web reader",
        "Show the sites that the web reader cannot read and the crawler skips, or clear them.",
        _blacklist,
        (_add_blacklist,),
    ),
    "schema": Command(
        "of journal and artifacts",
        "Print the JSON Schema of a line of the journal, or of a kind of artifact.",
        _schema,
        (_add_schema,),
    ),
}
"""Every command by its name; None is the full-screen session."""
