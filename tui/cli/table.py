"""Every command of `ua-tui`: its arguments, and the function or module that runs it.

A command imports what it needs when it runs, so that `--help` and usage errors are immediate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.garbage_collection import pause_collection
from ua_tui.tui.cli.arguments import (
    Adder,
    CommandLine,
    WrongUsage,
    add_fresh,
    add_plain,
    add_session,
    add_session_options,
    add_sessions_folder,
    add_theme,
    add_version,
    amount,
    first_query,
    named_settings,
    read_arguments,
    settings_of,
    wrong_usage,
)
from ua_tui.tui.cli.start import start_headless, start_line_by_line, start_on_screen
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.session.resume import Resume
    from ua_tui.core.settings.model import Settings


def _session(args: argparse.Namespace) -> int:
    _not_a_slip(args.query, args.given)
    settings = settings_of(args)
    if args.replay:
        return _replay_demo(args, settings)
    return start_line_by_line(settings, args.query) if args.plain else start_on_screen(settings, args.query)


def _replay_demo(args: argparse.Namespace, settings: Settings) -> int:
    """Replay the recorded session of the demo."""
    if not settings.demo or args.plain or args.query is not None:
        raise WrongUsage("--replay goes with --demo alone; ua-tui replay SESSION replays one of yours")
    from ua_tui.tui.cli.session.replay import replay_demo

    return replay_demo(settings)


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--replay", action="store_true", help="with --demo: replay a recorded session")


def _not_a_slip(query: str | None, given: Sequence[str]) -> None:
    """Refuse a word that looks like a misspelt command: as a query it would cost money."""
    if query is None or "--" in given or query.split() != [query]:
        return
    from difflib import get_close_matches

    if close := get_close_matches(query.lower(), [name for name in COMMANDS if name], 1, 0.75):
        raise WrongUsage(
            f"{query!r} looks like a command: did you mean ua-tui {close[0]}? To send it as a query, put -- before it"
        )


def _add_commands(parser: argparse.ArgumentParser) -> None:
    from textwrap import fill

    commands = [
        fill(command.description, 79, initial_indent=f"  {name:<14}", subsequent_indent=" " * 16)
        for name, command in COMMANDS.items()
        if name
    ]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["commands (`ua-tui help COMMAND` shows their options):", *commands])


def _help(args: argparse.Namespace) -> int:
    """Show the help of a command, which ends the program."""
    from ua_tui.core.text import clean_line

    name = args.command
    if name not in COMMANDS:
        sys.stderr.write(wrong_usage("ua-tui", f"there is no command {clean_line(name, 40)!r}"))
        return EXIT_USAGE
    read_arguments(f"ua-tui {name}" if name else "ua-tui", COMMANDS[name], ["--help"])
    return 0


def _add_help(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", metavar="COMMAND", nargs="?", help="the command; none: all of them")


def _completion(args: argparse.Namespace) -> int:
    from ua_tui.tui.cli.completion import completion_script

    sys.stdout.write(completion_script(args.shell, COMMANDS))
    return 0


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="one of %(choices)s")


def _run(args: argparse.Namespace) -> int:
    query = sys.stdin.read() if args.query == "-" else args.query
    if not query.strip():
        raise WrongUsage("the query is empty")
    if args.fresh and args.resume is None:
        raise WrongUsage("--fresh goes with --resume")
    # Hardly anything becomes garbage before the agent is connected.
    pause_collection()
    settings, resume = settings_of(args), None
    if args.resume is not None:
        settings, resume = _resumed(settings, args.resume, args)
    return start_headless(
        settings,
        query,
        as_json=args.json,
        resume=resume,
        timeout=args.timeout,
        output_schema=args.output_schema,
        attach=args.attach,
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="the query; - reads it from standard input")
    parser.add_argument("--json", action="store_true", help="print every event as a JSON line")
    parser.add_argument(
        "--attach",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="add a file (text, table, picture, PDF) or name a folder; may be given several times",
    )
    parser.add_argument(
        "--resume", metavar="SESSION", help="resume a past session: its folder, its name, or latest"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=amount("seconds"),
        help="stop the query after so many seconds, and print what there is",
    )
    parser.add_argument(
        "--output-schema",
        metavar="FILE",
        type=Path,
        help="answer with JSON that fits the JSON Schema in this file",
    )


def _sessions(args: argparse.Namespace) -> int:
    from ua_tui.core.session.resume import prepare_resume
    from ua_tui.tui.cli.session.sessions import run

    settings, folder = run(args)
    if folder is None:
        return 0
    settings, resume = prepare_resume(settings, folder)
    return start_on_screen(settings, None, resume)


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    # Their module brings in the screen.
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _resume(args: argparse.Namespace) -> int:
    settings, resume = _resumed(settings_of(args), args.session, args)
    if args.plain:
        return start_line_by_line(settings, args.query, resume)
    return start_on_screen(settings, args.query, resume)


def _resumed(settings: Settings, wanted: str, args: argparse.Namespace) -> tuple[Settings, Resume]:
    """Find the session to resume."""
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.session.resume import prepare_resume

    folder = find_session(settings.workspace_base, wanted)
    return prepare_resume(settings, folder, fresh=args.fresh, named=named_settings(args))


def _serve(args: argparse.Namespace) -> int:
    if args.query is not None and args.query in COMMANDS:
        raise WrongUsage(f"{args.query!r} is a command; only sessions can be served")
    # Report errors in the settings here rather than in every tab.
    settings_of(args)
    from ua_tui.tui.cli.serve import run

    return run(args, args.given)


def _doctor(args: argparse.Namespace) -> int:
    from ua_tui.core.postgres.address import Address
    from ua_tui.tui.cli.doctor import run

    address = Address.parse(args.address) if args.address is not None else None
    return run(settings_of(args), as_json=args.json, address=address)


def _schema(args: argparse.Namespace) -> int:
    import json

    from ua_tui.core.events.codec import journal_schema
    from ua_tui.observers.output.saving import artifact_schemas

    match args.format:
        case "journal":
            schema = journal_schema()
        case "export":
            from ua_tui.tui.export.records import export_schema

            schema = export_schema()
        case "check":
            from ua_tui.core.claims.checked_report import check_schema

            schema = check_schema()
        case "comparison":
            from ua_tui.tui.comparison.sessions import comparison_schema

            schema = comparison_schema()
        case _:
            schema = dict(artifact_schemas()[args.format])
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "format",
        nargs="?",
        default="journal",
        choices=(
            "journal",
            "search_results",
            "article",
            "workbench_activity",
            "upload",
            "export",
            "check",
            "comparison",
        ),
        metavar="FORMAT",
        help="one of %(choices)s (default: %(default)s)",
    )


def _arguments_of(module: str) -> Adder:
    """Return what adds the arguments that a module declares, and its `EXAMPLES` to the help."""

    def add(parser: argparse.ArgumentParser) -> None:
        declared = import_module(module)
        declared.add_arguments(parser)
        if examples := getattr(declared, "EXAMPLES", ""):
            parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, examples

    return add


def _in_module(module: str, description: str) -> CommandLine:
    """Return a command that a module runs: it has `add_arguments(parser)`, `run(args)` and perhaps `EXAMPLES`."""
    return CommandLine(description, lambda args: import_module(module).run(args), (_arguments_of(module),))


COMMANDS: dict[str | None, CommandLine] = {
    None: CommandLine(
        "A full-screen cockpit for an AI agent: conversation, tool calls, observers, files.",
        _session,
        (
            first_query("a first query to start with"),
            add_plain,
            _add_replay,
            add_theme,
            add_session_options,
            add_version,
            _add_commands,
        ),
    ),
    "run": CommandLine(
        "Run one query without a screen.",
        _run,
        (_add_run, add_fresh, add_session_options),
    ),
    "sessions": CommandLine(
        "List the sessions; read, resume, search, rename and delete them.",
        _sessions,
        (add_sessions_folder, add_theme, _add_sessions),
    ),
    "open": _in_module(
        "ua_tui.tui.cli.session.open",
        "Open a past session on the full screen, read-only.",
    ),
    "replay": _in_module(
        "ua_tui.tui.cli.session.replay",
        "Replay a past session on the full screen as it happened, read-only.",
    ),
    "resume": CommandLine(
        "Resume a past session on the full screen, in its own folder.",
        _resume,
        (
            add_session,
            first_query("a first query to send"),
            add_plain,
            add_theme,
            add_fresh,
            add_session_options,
        ),
    ),
    "fork": CommandLine(
        "Continue a past session differently: a new session with all of it up to a query.",
        lambda args: import_module("ua_tui.tui.cli.session.fork").run(args),
        (_arguments_of("ua_tui.tui.cli.session.fork"), add_theme, add_session_options),
    ),
    "find": _in_module(
        "ua_tui.tui.cli.knowledge.find",
        "Find what the sessions of a folder read, found and wrote, in their knowledge base.",
    ),
    "knowledge": _in_module(
        "ua_tui.tui.cli.knowledge.maintenance",
        "Show the knowledge base of a folder's sessions, update or rebuild it, or forget something.",
    ),
    "batch": _in_module(
        "ua_tui.tui.cli.team.batch",
        "Run the queries of a file as sessions, on this machine or by the workers of a team, and print the answers.",
    ),
    "worker": _in_module(
        "ua_tui.tui.cli.team.worker",
        "Run jobs of a team's batches until it is stopped; then hand them back.",
    ),
    "fleet": _in_module(
        "ua_tui.tui.cli.team.fleet",
        "Show all sessions of this machine and of a team, live; follow one, answer its questions, interrupt it.",
    ),
    "team": _in_module(
        "ua_tui.tui.cli.team.manage",
        "Show the state of a team's database, create its tables, or grant and revoke access.",
    ),
    "check": _in_module(
        "ua_tui.tui.cli.session.check",
        "Check the figures, quotations and links of reports against what their sessions have read, or against files.",
    ),
    "again": CommandLine(
        "Ask the query of a report again, and say what changed since then.",
        lambda args: import_module("ua_tui.tui.cli.session.again").run(args),
        (_arguments_of("ua_tui.tui.cli.session.again"), add_session_options),
    ),
    "compare": _in_module(
        "ua_tui.tui.cli.session.compare",
        "Compare two sessions: queries, calls, costs, pages, claims and reports.",
    ),
    "export": _in_module(
        "ua_tui.tui.cli.session.export",
        "Write a session into one file to hand on: the report with its evidence, the conversation and the trace.",
    ),
    "observe": _in_module(
        "ua_tui.tui.cli.session.observe",
        "Run the observers on a saved tool result, or again on a past session.",
    ),
    "rebuild": _in_module(
        "ua_tui.tui.cli.session.rebuild",
        "Write the derived files of a past session again from its journal, for example after a crash.",
    ),
    "serve": CommandLine(
        "Serve the full screen to browsers, on this machine unless --host is given.",
        _serve,
        (
            first_query("a first query for every session"),
            add_theme,
            _arguments_of("ua_tui.tui.cli.serve"),
            add_session_options,
        ),
    ),
    "doctor": CommandLine(
        "Check what a session needs with one small request each, and say how to fix what fails.",
        _doctor,
        (_arguments_of("ua_tui.tui.cli.doctor"), add_session_options),
    ),
    "connect": _in_module(
        "ua_tui.tui.cli.connections.connect",
        "Connect a Composio account before a session, or list every toolkit with the state of its account.",
    ),
    "config": _in_module(
        "ua_tui.tui.cli.folder.config",
        "Show every setting with its value and source, or set one in a file.",
    ),
    "servers": _in_module(
        "ua_tui.tui.cli.connections.servers",
        "Show your own MCP servers, and trust those of this folder or not.",
    ),
    "trust": _in_module(
        "ua_tui.tui.cli.folder.trust",
        "Show what the files of a folder change in a session, and trust the folder or not.",
    ),
    "permissions": _in_module(
        "ua_tui.tui.cli.folder.permissions",
        "Show the permission rules and when they were last used, remove stored ones, or show what was decided.",
    ),
    "agents": _in_module(
        "ua_tui.tui.cli.folder.agents",
        "Show the sub-agents, skills and commands of a session in this folder, with their sources and problems.",
    ),
    "blacklist": _in_module(
        "ua_tui.tui.cli.folder.blacklist",
        "Show the sites that the web reader cannot read and the crawler skips, or clear them.",
    ),
    "schema": CommandLine(
        "Print the JSON Schema of a journal line, of an artifact format, an export, a check or a comparison.",
        _schema,
        (_add_schema,),
    ),
    "completion": CommandLine(
        "Print a script that completes commands and options in bash, zsh or fish.",
        _completion,
        (_add_completion,),
    ),
    "help": CommandLine("Show the help of a command.", _help, (_add_help,)),
}
"""Every command by its name; None is the full-screen session."""
