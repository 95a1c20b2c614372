"""The `ua-tui` command: reads the options, and starts the screen, a headless session or a tool.

Nothing heavy is imported before the options are read, so that `--help` and a wrong option answer at once.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from core.resuming import Resume
    from core.settings import Settings

__all__ = ["build_parser", "main"]

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# What a full or broken disk says of a write to standard output.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# What serves the screen to a browser has it drawn by this driver, through pipes.
_WEB_DRIVER = "textual.drivers.web_driver:WebDriver"

_NO_MODEL = (
    "there is no way to reach a model: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL with "
    "ANTHROPIC_AUTH_TOKEN, or log in with `claude`, or try --demo"
)
_TRY = 'Try:  ua-tui --demo   or   ua-tui run --demo "What is the capital of France?"'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments and arguments[0] in _COMMANDS else None
    parser = build_parser(command)
    from core.errors import SettingsError, UniversalAgentError

    try:
        given = arguments[1:] if command else arguments
        args = parser.parse_args(given)
        args.given = given
        code = int(_COMMANDS[command](args, parser))
        # What is left of the output is written here, where it can still be said that it was not.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                if not code:
                    raise
                # It ended badly before, as on a hangup, and that is what is told.
                _drop_output(stream)
        return code
    except SettingsError as error:
        _failed(str(error))
        return EXIT_USAGE
    except UniversalAgentError as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_FAILED
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _drop_output()
        return _failed(f"the output cannot be written: {error.strerror}; write it to another place")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where to read on."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


class _ShowVersion(argparse.Action):
    """Tells the version, which takes longer to find out than all options take to read."""

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from core.version import VERSION

        sys.stdout.write(f"ua-tui {VERSION}\n")
        sys.stdout.flush()
        parser.exit()


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of one command; None is the full-screen session."""
    match command:
        case "run":
            parser = _Parser(
                prog="ua-tui run", description="Run one query without a screen.", allow_abbrev=False
            )
            parser.add_argument("query", help="what the agent is asked; - reads it from standard input")
            parser.add_argument("--json", action="store_true", help="print every event as a JSON line")
            parser.add_argument(
                "--resume", metavar="SESSION", help="ask in a past session: its folder, its name, or latest"
            )
            _add_fresh(parser)
            _add_session_options(parser)
        case "resume":
            parser = _Parser(
                prog="ua-tui resume",
                description="Go on with a past session on the full screen, in its own folder.",
                allow_abbrev=False,
            )
            parser.add_argument(
                "session", metavar="SESSION", help="its folder, its name, or latest for the newest"
            )
            parser.add_argument("query", nargs="?", help="a first query to go on with")
            _add_plain(parser)
            parser.add_argument("--theme", help="the colour theme of the screen")
            _add_fresh(parser)
            _add_session_options(parser)
        case "observe":
            parser = _Parser(
                prog="ua-tui observe",
                description="Run the observers on a saved tool result, or again over a past session.",
                allow_abbrev=False,
            )
            from tui.observe import add_arguments

            add_arguments(parser)
        case "open":
            parser = _Parser(
                prog="ua-tui open",
                description="Open a past session on the full screen, only to be read.",
                allow_abbrev=False,
            )
            from tui.past import command as opening

            opening.add_arguments(parser)
        case "sessions":
            parser = _Parser(
                prog="ua-tui sessions",
                description="Show the sessions there are: read one, go on with one, search, name and delete them.",
                allow_abbrev=False,
            )
            from tui import sessions

            sessions.add_arguments(parser)
        case "serve":
            parser = _Parser(
                prog="ua-tui serve",
                description="Show the full screen in browsers, on this machine unless --host says otherwise.",
                allow_abbrev=False,
            )
            from tui.serve import command as serving

            parser.add_argument("query", nargs="?", help="a first query for every session")
            parser.add_argument("--theme", help="the colour theme of the screen")
            serving.add_arguments(parser)
            _add_session_options(parser)
        case "blacklist":
            parser = _Parser(
                prog="ua-tui blacklist",
                description="Show the sites that the web reader cannot read and the crawler skips, or clear them.",
                allow_abbrev=False,
            )
            from tui import blacklist

            blacklist.add_arguments(parser)
        case "schema":
            parser = _Parser(
                prog="ua-tui schema",
                description="Print the JSON Schema of a line of the journal, or of a kind of artifact.",
                allow_abbrev=False,
            )
            parser.add_argument(
                "format",
                nargs="?",
                default="journal",
                choices=("journal", "search_results", "article", "workbench_activity"),
                metavar="FORMAT",
                help="one of %(choices)s; %(default)s when it is left out",
            )
        case _:
            parser = _Parser(
                prog="ua-tui",
                description="A full-screen cockpit for a Universal Agent: conversation, tool calls, observers, files.",
                epilog="commands: run (without a screen), sessions (list), open (a past session), "
                "resume (a past session), "
                "observe (on saved results), "
                "serve (in a browser), blacklist (of the web reader), schema (of journal and artifacts); "
                "each has its own --help",
                allow_abbrev=False,
            )
            parser.add_argument("query", nargs="?", help="a first query to start with")
            _add_plain(parser)
            parser.add_argument("--theme", help="the colour theme of the screen")
            _add_session_options(parser)
            parser.add_argument(
                "--version", action=_ShowVersion, nargs=0, help="show program's version number and exit"
            )
    return parser


def _add_plain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plain",
        action="store_true",
        help="line by line without a full screen, for screen readers and logs",
    )


def _add_fresh(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="go on with a conversation that knows nothing of the earlier one, as when that is gone",
    )


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo", action="store_true", default=None, help="a scripted session: no network, no key"
    )
    parser.add_argument(
        "--demo-pace", type=float, metavar="N", help="how slowly the demo streams; 0 is at once"
    )
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        help="the folder for AGENT_RUN_WORKSPACES and SAVED_REPORTS (default: here)",
    )
    parser.add_argument("--model", help="the model that answers")
    parser.add_argument("--base-url", metavar="URL", help="a server that speaks the Anthropic Messages API")
    parser.add_argument(
        "--allow",
        action="append",
        metavar="PATTERN",
        help="let tools whose name matches run unasked (repeatable)",
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
    parser.add_argument("--max-turns", metavar="N", help="how many model turns a query may take")
    parser.add_argument("--max-cost", "--max-cost-usd", metavar="USD", help="what a session may cost")
    parser.add_argument(
        "--no-plugins",
        dest="plugins",
        action="store_false",
        default=None,
        help="leave out the observers of other installed packages",
    )
    parser.add_argument(
        "--dangerously-skip-permissions",
        action="store_true",
        default=None,
        help="run every tool without asking",
    )


def _settings(args: argparse.Namespace) -> Settings:
    from core.errors import SettingsError
    from core.settings import load_settings

    if args.dangerously_skip_permissions and hasattr(os, "geteuid") and os.geteuid() == 0:
        raise SettingsError(
            "--dangerously-skip-permissions is refused for root: be another user, or use --allow."
        )

    overrides: dict[str, Any] = {
        "demo": args.demo,
        "demo_pace": args.demo_pace,
        "workspace_base": Path(args.workspace) if args.workspace else None,
        "model": args.model,
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


def _resumed(settings: Settings, wanted: str, fresh: bool) -> tuple[Settings, Resume]:
    """Find the session that is to go on."""
    from core.past_sessions import find_session
    from core.resuming import resume_with

    return resume_with(settings, find_session(settings.workspace_base, wanted), fresh=fresh)


def _resume(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    settings, resume = _resumed(_settings(args), args.session, args.fresh)
    if args.plain:
        return _line_by_line(settings, args.query, resume)
    return _on_screen(settings, args.query, resume)


def _session(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if args.plain:
        return _line_by_line(_settings(args), args.query)
    return _full_screen(args, parser)


def _line_by_line(settings: Settings, first_query: str | None, resume: Resume | None = None) -> int:
    if not settings.has_credentials():
        return _failed(_NO_MODEL)
    import asyncio

    from core.errors import ConversationGone
    from tui.plain.session import run_plain

    try:
        return asyncio.run(run_plain(settings, first_query, resume))
    except ConversationGone as error:
        return _failed(f"{error}; --fresh goes on with a fresh conversation in the same folder")


def _full_screen(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    return _on_screen(_settings(args), args.query)


def _on_screen(settings: Settings, first_query: str | None, resume: Resume | None = None) -> int:
    served = os.environ.get("TEXTUAL_DRIVER") == _WEB_DRIVER
    if not served and not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        return _failed("the full screen needs a terminal; without one use `ua-tui run` or --plain. " + _TRY)
    if not served and os.environ.get("TERM", "") in {"", "dumb"}:
        return _failed(
            "the full screen needs a terminal that can move its cursor, but TERM is dumb: "
            "use `ua-tui --plain`, which goes line by line"
        )
    from tui.garbage import put_off

    # Until the first frame stands, hardly anything becomes garbage.
    put_off()
    from tui.screen import run_screen

    return run_screen(settings, first_query=first_query, resume=resume)


def _run(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    query = sys.stdin.read() if args.query == "-" else args.query
    if not query.strip():
        parser.error("the query is empty")
    settings, resume = _settings(args), None
    if args.resume is not None:
        settings, resume = _resumed(settings, args.resume, args.fresh)
    elif args.fresh:
        parser.error("--fresh goes with --resume")
    if not settings.has_credentials():
        return _failed(_NO_MODEL)
    import asyncio

    from core.errors import ConversationGone
    from tui.headless import run_headless

    try:
        return asyncio.run(run_headless(settings, query, as_json=args.json, resume=resume))
    except ConversationGone as error:
        return _failed(f"{error}; --fresh goes on with a fresh conversation in the same folder")


def _observe(args: argparse.Namespace, _parser: argparse.ArgumentParser) -> int:
    from tui.observe import run

    return run(args)


def _open(args: argparse.Namespace, _parser: argparse.ArgumentParser) -> int:
    from tui.past.command import run

    return run(args)


def _sessions(args: argparse.Namespace, _parser: argparse.ArgumentParser) -> int:
    from core.resuming import resume_with
    from tui.sessions import run

    settings, folder = run(args)
    if folder is None:
        return 0
    settings, resume = resume_with(settings, folder)
    return _on_screen(settings, None, resume)


def _serve(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if args.query is not None and args.query in _COMMANDS:
        parser.error(f"{args.query!r} is a command, and only a session can be served")
    # What is wrong is said here, and not in every tab.
    _settings(args)
    from tui.serve.command import run

    return run(args, args.given)


def _blacklist(args: argparse.Namespace, _parser: argparse.ArgumentParser) -> int:
    from tui.blacklist import run

    return run(args)


def _schema(args: argparse.Namespace, _parser: argparse.ArgumentParser) -> int:
    import json

    from core.schema import journal_schema
    from observers.formats import artifact_schema

    schema = journal_schema() if args.format == "journal" else artifact_schema(args.format)
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0


def _drop_output(stream: TextIO | None = None) -> None:
    """Let what Python still has to write at its exit go nowhere, as nobody can take it; standard output by default."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _failed(message: str) -> int:
    from core.text import clean_line

    sys.stderr.write(f"ua-tui: {clean_line(message, 1000)}\n")
    return EXIT_FAILED


_COMMANDS = {
    None: _session,
    "run": _run,
    "open": _open,
    "resume": _resume,
    "sessions": _sessions,
    "observe": _observe,
    "serve": _serve,
    "blacklist": _blacklist,
    "schema": _schema,
}
