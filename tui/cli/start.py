"""Starts a session on the full screen, line by line, or without a screen: `ua-tui`, `ua-tui run` and `ua-tui resume`.

What it needs for that is imported when it starts; where something is missing, what to do is said in a line.
"""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from ua_tui.core.concurrency.garbage_collection import pause_collection
from ua_tui.tui.cli.arguments import COMMANDS, WrongUsage, named_settings, settings_of
from ua_tui.tui.cli.output import complain, screen_problem
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.session.resume import Resume
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.plain.one_query import OneQuery

# What serves the screen to a browser has it drawn by this driver, through pipes.
_WEB_DRIVER = "textual.drivers.web_driver:WebDriver"

_INSTEAD = (
    "`ua-tui run`, or `ua-tui --plain` for a session line by line. "
    'Try `ua-tui --demo`, or `ua-tui run --demo "What is the capital of France?"`.'
)


def run_session(args: argparse.Namespace) -> int:
    """Run the full screen, or line by line what it would do; returns the exit code."""
    _refuse_slip(args.query, args.given)
    settings = settings_of(args)
    if args.replay:
        if not settings.demo or args.plain or args.query is not None:
            raise WrongUsage(
                "--replay needs --demo and nothing else; `ua-tui replay SESSION` replays one of yours"
            )
        from ua_tui.tui.cli.session.past import replay_demo

        return replay_demo(settings)
    return start_line_by_line(settings, args.query) if args.plain else start_on_screen(settings, args.query)


def _refuse_slip(query: str | None, given: Sequence[str]) -> None:
    """Refuse a word that looks like a misspelt command: as a query it would cost money."""
    if query is None or "--" in given or query.split() != [query]:
        return
    from difflib import get_close_matches

    if close := get_close_matches(query.lower(), [name for name in COMMANDS if name], 1, 0.75):
        raise WrongUsage(
            f"{query!r} looks like a command: did you mean ua-tui {close[0]}? To send it as a query, put -- before it"
        )


def run_query(args: argparse.Namespace) -> int:
    """Run one query without a screen; returns the exit code."""
    query = sys.stdin.read() if args.query == "-" else args.query
    if not query.strip():
        raise WrongUsage("the query is empty")
    if args.fresh and args.resume is None:
        raise WrongUsage("--fresh needs --resume")
    # Hardly anything becomes garbage before the agent is connected.
    pause_collection()
    settings, resume = settings_of(args), None
    if args.resume is not None:
        settings, resume = _resumed(settings, args.resume, args)
    from ua_tui.core.agent.output_schema import read_output_schema
    from ua_tui.tui.plain.one_query import OneQuery

    # Before a session begins: it would be listed for ever.
    schema = None if args.output_schema is None else read_output_schema(args.output_schema)
    asked = OneQuery(
        text=query,
        as_json=args.json,
        resume=resume,
        timeout=args.timeout,
        output_schema=schema,
        attach=args.attach,
    )
    return start_headless(settings, asked)


def resume_session(args: argparse.Namespace) -> int:
    """Resume a past session on the full screen or line by line; returns the exit code."""
    settings, resume = _resumed(settings_of(args), args.session, args)
    if args.plain:
        return start_line_by_line(settings, args.query, resume)
    named = shlex.quote(args.session)
    instead = (
        f"`ua-tui run --resume {named} QUERY`, or `ua-tui resume {named} --plain` for a session line by line"
    )
    return start_on_screen(
        settings, args.query, resume, quits="back" if args.back else "quit", instead=instead
    )


def _resumed(settings: Settings, wanted: str, args: argparse.Namespace) -> tuple[Settings, Resume]:
    """Find the session to resume."""
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.session.resume import prepare_resume

    folder = find_session(settings.workspace_base, wanted)
    return prepare_resume(settings, folder, fresh=args.fresh, named=named_settings(args))


def start_on_screen(
    settings: Settings,
    query: str | None,
    resume: Resume | None = None,
    *,
    quits: str = "quit",
    instead: str = _INSTEAD,
) -> int:
    """Run the full screen, which needs a terminal or a browser that it is served to; returns the exit code.

    `quits` is the word for what its end does, `instead` what to use without a terminal.
    """
    served = os.environ.get("TEXTUAL_DRIVER") == _WEB_DRIVER
    if not served and (problem := screen_problem()):
        return complain(f"{problem}; without one use {instead}", EXIT_USAGE)
    # Hardly anything becomes garbage before the first frame.
    gc.disable()
    from ua_tui.tui.cli.full_screen import NextSession, run_screen

    return run_screen(NextSession(settings, query, resume, quits=quits))


def start_line_by_line(settings: Settings, query: str | None, resume: Resume | None = None) -> int:
    """Run queries from standard input, starting with `query`; returns the exit code."""
    pause_collection()
    from ua_tui.tui.plain.session import run_plain

    if settings.demo or settings.folder.once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        report_untrusted(settings)
    else:
        from ua_tui.tui.plain.folder_trust import ask_about_folder

        settings = ask_about_folder(settings)
    return _without_screen(settings, lambda: run_plain(settings, query, resume))


def start_headless(settings: Settings, asked: OneQuery) -> int:
    """Run one query and end; returns the exit code.

    Raises:
        SettingsError: a rule cannot be used.
    """
    from ua_tui.core.agent.attachments.places import check_file
    from ua_tui.core.agent.permissions.rule_set import RuleSet, rules_of
    from ua_tui.core.errors import WorkspaceError
    from ua_tui.tui.plain.one_query import run_headless

    # Before a session begins: it would be listed for ever.
    RuleSet(rules_of(settings))
    try:
        for file in asked.attach:
            check_file(file)
    except WorkspaceError as error:
        return complain(str(error), EXIT_USAGE)
    report_untrusted(settings)
    return _without_screen(settings, lambda: run_headless(settings, asked))


def report_untrusted(settings: Settings) -> None:
    """Say in a line that the files of the folder have no effect, if that is not what the user decided."""
    if settings.demo or settings.folder.once:
        return
    from ua_tui.core.settings.places import Places
    from ua_tui.core.trust_question import describe_untrusted, find_question

    if (question := find_question(Places())) is not None:
        complain(describe_untrusted(question))


def _without_screen(settings: Settings, start: Callable[[], Coroutine[Any, Any, int]]) -> int:
    if not settings.has_credentials():
        from ua_tui.core.errors import CredentialsError

        return complain(str(CredentialsError()))
    import asyncio

    from ua_tui.core.errors import ConversationGone

    try:
        return asyncio.run(start())
    except ConversationGone as error:
        return complain(f"{error}; --fresh resumes with a new conversation in the same folder")
