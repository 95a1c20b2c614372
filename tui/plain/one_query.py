"""A session without a screen: progress on standard error, the answer (or every event) on standard output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from ua_tui.core.agent.attachments.places import missing_names
from ua_tui.core.agent.output_schema import NOT_FITTING, REFUSED_SCHEMA
from ua_tui.core.concurrency.garbage_collection import deferred
from ua_tui.core.errors import JournalError, SettingsError, UniversalAgentError
from ua_tui.core.events.model_problems import CONNECTION_BROKE
from ua_tui.core.events.types import AuthRequired, Event, MessageFinished, QueryFinished
from ua_tui.core.tasks import until
from ua_tui.core.text import clean_line
from ua_tui.tui.render.events import EventLines
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_NOT_FITTING, EXIT_TIMEOUT, EXIT_USAGE
from ua_tui.tui.terminal.signals import stopping_on_signals

if TYPE_CHECKING:
    from pathlib import Path

    from ua_tui.core.session.resume import Resume
    from ua_tui.core.session.session import Session
    from ua_tui.core.settings.model import Settings


class ProgressPrinter(msgspec.Struct, eq=False):
    """Writes a readable line for the events that a user wants to know about."""

    out: TextIO
    _lines: EventLines = msgspec.field(default_factory=lambda: EventLines(marks=True))

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        line = self._lines.of(event)
        if line:
            self.out.write(line + "\n")
            self.out.flush()


class OneQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query that is asked without a screen.

    Attributes:
        as_json: whether every event is printed as JSON, and not the answer.
        resume: the past session in which it is asked, whose conversation continues.
        timeout: the seconds after which it is interrupted.
        output_schema: a JSON Schema; the answer is JSON that fits it.
        attach: files that go with the query.
        opened: gets the folder of the session.
    """

    text: str
    as_json: bool = False
    resume: Resume | None = None
    timeout: float | None = None
    output_schema: Mapping[str, Any] | None = None
    attach: Sequence[Path] = ()
    opened: Callable[[Path], None] = lambda folder: None


async def run_headless(settings: Settings, asked: OneQuery) -> int:
    """Run one query to its end; the exit code is 0, or says why there is no answer (`exit_codes`).

    Raises:
        WorkspaceError: a file cannot be attached.
        ConversationGone: that conversation no longer exists.
        OSError: not everything could be written to standard output.
    """
    from ua_tui.tui.compose import compose_session

    is_structured, timeout = asked.output_schema is not None, asked.timeout
    if is_structured:
        # Such an answer is given with a tool, which is not for simple queries.
        settings = replace(settings, classifier="off")
    printer = None if asked.as_json else ProgressPrinter(sys.stderr)
    lines = OutputLines()
    broken: list[str] = []

    def note_broken(event: Event) -> None:
        if isinstance(event, MessageFinished) and event.incomplete:
            broken.append(event.text)

    session = await compose_session(
        settings,
        interactive=False,
        on_line=lines.write if asked.as_json else None,
        subscribers=(printer, note_broken) if printer else (),
        resume=asked.resume,
        output_schema=asked.output_schema,
    )
    asked.opened(session.workspace.path)
    try:
        query = " ".join([*[await session.attach(file) for file in asked.attach], asked.text])
    except UniversalAgentError:
        is_new = session.workspace.unused
        await session.close("finished")
        if is_new:
            # It has the files that came before the one that cannot be attached.
            await asyncio.to_thread(session.workspace.discard)
        raise
    for name, meant in (await asyncio.to_thread(missing_names, query, session.places)).items():
        hint = f" (did you mean {clean_line(meant, 200)}?)" if meant else ""
        sys.stderr.write(
            f"ua-tui: there is no file {clean_line(name, 200)}{hint}, so its name is sent as text\n"
        )
    ended, links, signal_number, timed_out = await _run(session, query, timeout)
    if lines.error is not None:
        raise lines.error
    if signal_number is not None:
        sys.stderr.write("interrupted\n")
        return 128 + signal_number
    partly = timed_out and not is_structured
    if ended is not None and not asked.as_json and (ended.status == "success" or partly):
        _print_answer(ended, links, structured=is_structured)
    if timed_out:
        sys.stderr.write(f"ua-tui: the query was stopped after {timeout:g} s (--timeout)\n")
        return EXIT_TIMEOUT
    if ended is None or ended.status != "success":
        why = (ended.error if ended else None) or "the query did not finish"
        if broken and not is_structured:
            sys.stdout.write(broken[-1].rstrip() + "\n")
            sys.stdout.flush()
        failed = "" if why.startswith(CONNECTION_BROKE) else "the query failed: "
        sys.stderr.write(f"ua-tui: {failed}{clean_line(why, 500)}\n")
        if REFUSED_SCHEMA in why:
            return EXIT_USAGE
        return EXIT_NOT_FITTING if why.startswith(NOT_FITTING) else EXIT_FAILED
    return EXIT_FAILED if await asyncio.to_thread(_ends_early, session.workspace.path) else 0


def _ends_early(folder: Path) -> bool:
    """Whether the journal of a closed session lacks its end, as on a full disk; says so."""
    from ua_tui.core.history.headline import ends_in_order
    from ua_tui.core.records.journal_reader import unreadable

    try:
        if ends_in_order(folder):
            return False
        why = "not all events could be written to the disk"
    except JournalError as error:
        why = unreadable(error)
    sys.stderr.write(
        f"ua-tui: the query was answered, but the journal in {clean_line(str(folder), 300)} is incomplete: {why}; "
        "free space and run it again if you need its records\n"
    )
    return True


async def _run(
    session: Session, query: str, timeout: float | None
) -> tuple[QueryFinished | None, list[AuthRequired], int | None, bool]:
    """Run the query; returns its end, the links to open, the signal that interrupted it, and whether time ran out."""
    ended: list[QueryFinished] = []
    links: list[AuthRequired] = []
    session.bus.subscribe(lambda event: links.append(event) if isinstance(event, AuthRequired) else None)
    session.bus.subscribe(lambda event: ended.append(event) if isinstance(event, QueryFinished) else None)
    interrupted, time_left = asyncio.Event(), asyncio.timeout(timeout)
    with stopping_on_signals(interrupted.set) as signals:
        try:
            with suppress(TimeoutError):
                async with time_left:
                    await until(_query(session, query), interrupted.wait())
        finally:
            reason = "timeout" if time_left.expired() else "interrupted" if signals else "finished"
            await session.close(reason)
    return ended[-1] if ended else None, links, signals[0] if signals else None, time_left.expired()


def _print_answer(ended: QueryFinished, links: Sequence[AuthRequired], *, structured: bool) -> None:
    if structured:
        sys.stdout.write(json.dumps(ended.output, ensure_ascii=False) + "\n")
    elif ended.text.strip():
        sys.stdout.write(ended.text.rstrip() + "\n")
        for link in links:
            sys.stdout.write(f"\nConnect {link.toolkit or 'the account'}: {link.url}\n")
    sys.stdout.flush()


async def _query(session: Session, query: str) -> None:
    from ua_tui.tui.widgets.command import problem_of_query

    with deferred():
        await session.start()
    if problem := problem_of_query(session, query):
        raise SettingsError(problem)
    session.submit(query)
    await session.wait_idle()
    if session.auth.pending is not None:
        session.finish_auth("unattended")


class OutputLines(msgspec.Struct, eq=False):
    """Standard output until a write fails; the query still runs to its end, and then reports the failure.

    Attributes:
        error: why it took no more; not that its reader had enough.
        ended: whether it takes no more, for whatever reason.
    """

    error: OSError | None = None
    ended: bool = False

    def write(self, line: bytes) -> None:
        """Write a line; write nothing after the first failure."""
        self.send(line if line.endswith(b"\n") else line + b"\n")

    def send(self, data: bytes) -> None:
        """Write a part of a line."""
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except OSError as error:
            self.ended = True
            if not isinstance(error, BrokenPipeError):
                self.error = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
