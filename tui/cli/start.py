"""Starts a session on the full screen, line by line, or without a screen.

What it needs for that is imported when it starts; where something is missing, what to do is said in a line.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.concurrency.garbage_collection import pause_collection
from ua_tui.tui.cli.output import complain, screen_problem
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from pathlib import Path

    from ua_tui.core.session.resume import Resume
    from ua_tui.core.settings.model import Settings

# What serves the screen to a browser has it drawn by this driver, through pipes.
_WEB_DRIVER = "textual.drivers.web_driver:WebDriver"

_TRY = 'Try:  ua-tui --demo   or   ua-tui run --demo "What is the capital of France?"'


def start_on_screen(settings: Settings, query: str | None, resume: Resume | None = None) -> int:
    """Run the full screen, which needs a terminal or a browser that it is served to; returns the exit code."""
    served = os.environ.get("TEXTUAL_DRIVER") == _WEB_DRIVER
    if not served and (problem := screen_problem()):
        return complain(f"{problem}; without one use `ua-tui run` or `ua-tui --plain`, line by line. {_TRY}")
    # Hardly anything becomes garbage before the first frame.
    gc.disable()
    from ua_tui.tui.cli.full_screen import run_screen

    return run_screen(settings, first_query=query, resume=resume)


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


def start_headless(
    settings: Settings,
    query: str,
    *,
    as_json: bool,
    resume: Resume | None = None,
    timeout: float | None = None,
    output_schema: Path | None = None,
    attach: Sequence[Path] = (),
    opened: Callable[[Path], None] = lambda folder: None,
) -> int:
    """Run one query and end; returns the exit code. `timeout` is in seconds, `output_schema` the file of a JSON Schema.

    The files to `attach` go with the query; `opened` gets the folder of the session.

    Raises:
        SettingsError: the schema or a rule cannot be used.
    """
    from ua_tui.core.agent.attachments.copying import check_file
    from ua_tui.core.agent.output_schema import read_output_schema
    from ua_tui.core.agent.permissions.rule_set import RuleSet, rules_of
    from ua_tui.core.errors import WorkspaceError
    from ua_tui.tui.plain.one_query import run_headless

    # Before a session begins: it would be listed for ever.
    schema = None if output_schema is None else read_output_schema(output_schema)
    RuleSet(rules_of(settings))
    try:
        for file in attach:
            check_file(file)
    except WorkspaceError as error:
        return complain(str(error), EXIT_USAGE)
    report_untrusted(settings)
    return _without_screen(
        settings,
        lambda: run_headless(
            settings,
            query,
            as_json=as_json,
            resume=resume,
            timeout=timeout,
            output_schema=schema,
            attach=attach,
            opened=opened,
        ),
    )


def report_untrusted(settings: Settings) -> None:
    """Say in a line that the files of the folder have no effect, if that is not what the user decided."""
    if settings.demo or settings.folder.once:
        return
    from ua_tui.core.settings.places import Places
    from ua_tui.core.trust_question.question import describe_untrusted, find_question

    if (question := find_question(Places.of())) is not None:
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
