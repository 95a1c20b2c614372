"""A session without a screen: progress on standard error, the answer (or every event) on standard output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TextIO

from core.events import (
    ApiRetry,
    ArtifactSaved,
    AuthRequired,
    ComplianceEnforced,
    ErrorRaised,
    Event,
    McpStatus,
    ObserverFinished,
    PathFellBack,
    PermissionAnswered,
    PipelineFailed,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from core.text import clean, clean_line
from tui.format import main_argument, milliseconds, size, tool_label
from tui.garbage import deferred

if TYPE_CHECKING:
    from core.session import Session
    from core.settings import Settings

__all__ = ["EXIT_FAILED", "ProgressPrinter", "run_headless"]

EXIT_FAILED = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ProgressPrinter:
    """Writes a readable line for what a person would want to know; nothing for the rest."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._calls: dict[str, str] = {}
        self._servers: str = ""

    def __call__(self, event: Event) -> None:
        """Take one event from the bus."""
        line = self._line(event)
        if line:
            self._out.write(clean(line) + "\n")
            self._out.flush()

    def _line(self, event: Event) -> str | None:
        match event:
            case SessionStarted():
                return f"session {event.session_id}{' (DEMO)' if event.demo else ''} in {event.workspace}"
            case QueryReceived():
                return f"› {clean_line(event.text, 200)}"
            case QuerySteered():
                return f"  » {clean_line(event.text, 200)}"
            case QueryClassified():
                return f"  path {event.decision} ({event.source})"
            case PathFellBack():
                return f"  path COMPLEX: {tool_label(event.tool_name, {})} is needed after all"
            case ToolCallStarted():
                label = tool_label(event.name, event.input)
                self._calls[event.tool_use_id] = label
                return f"  → {label}  {clean_line(main_argument(event.name, event.input), 100)}".rstrip()
            case ToolCallFinished():
                return self._finished(event)
            case SubagentStarted():
                return f"  ▸ {event.name}: {event.description}"
            case SubagentFinished():
                return f"  ◂ {event.name}: {event.status}"
            case ObserverFinished(status="failed"):
                return f"  ✗ observer {event.observer}: {event.error}"
            case ArtifactSaved():
                copied = f" → {event.copied_to}" if event.copied_to else ""
                return f"  ● {event.path}  {size(event.size)}{copied}"
            case ComplianceEnforced():
                return f"  ⟲ {event.subagent} was sent back: {event.message}"
            case PermissionAnswered(decision="deny"):
                return f"  ⊘ {', '.join(event.subjects)} was not allowed. {event.reason}"
            case AuthRequired():
                return f"  ! connect {event.toolkit or 'the account'}: {event.url}"
            case ApiRetry():
                return (
                    f"  ⟲ the model's service is not answering ({event.error}): attempt {event.attempt} "
                    f"of {event.max_attempts}, next in {milliseconds(event.delay_ms)}"
                )
            case PipelineFailed():
                return f"  ✗ pipeline {event.pipeline}: {event.handler}: {event.error}"
            case ErrorRaised():
                return f"  ✗ {event.where}: {event.message}"
            case McpStatus():
                shown = ", ".join(
                    s.error if s.status == "off" and s.error else f"{s.name} {s.status}"
                    for s in event.servers
                    if s.status != "pending"
                )
                if not shown or shown == self._servers:
                    return None
                self._servers = shown
                return f"  servers: {shown}"
            case _:
                return None

    def _finished(self, event: ToolCallFinished) -> str:
        mark = {"success": "✓", "error": "✗", "denied": "⊘", "cancelled": "⊘"}[event.status]
        name = self._calls.pop(event.tool_use_id, event.tool_use_id)
        error = event.observation.error if event.observation else None
        why = f": {clean_line(error, 200)}" if error else ""
        return f"  {mark} {name}  {milliseconds(event.duration_ms)}{why}"


async def run_headless(settings: Settings, query: str, *, as_json: bool) -> int:
    """Run one query to its end; the exit code is 0, 1 when it failed, 128 + the signal when interrupted.

    Raises:
        OSError: standard output did not take everything.
    """
    from tui.compose import compose_session

    printer = None if as_json else ProgressPrinter(sys.stderr)
    lines = _Lines()
    session = await compose_session(
        settings,
        interactive=False,
        on_line=lines.write if as_json else None,
        subscribers=(printer,) if printer else (),
    )
    code = await _run(session, query, as_json=as_json)
    if lines.error is not None:
        raise lines.error
    return code


async def _run(session: Session, query: str, *, as_json: bool) -> int:
    ended: list[QueryFinished] = []
    links: list[AuthRequired] = []
    session.bus.subscribe(lambda event: links.append(event) if isinstance(event, AuthRequired) else None)
    session.bus.subscribe(lambda event: ended.append(event) if isinstance(event, QueryFinished) else None)
    interrupted: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _note_signal, interrupted, number)
    reason = "finished"
    try:
        work = asyncio.create_task(_query(session, query))
        ends: set[asyncio.Future[Any]] = {work, interrupted}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if interrupted.done():
            reason = "interrupted"
            work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error
    finally:
        await session.close(reason)
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
    if interrupted.done():
        sys.stderr.write("interrupted\n")
        return 128 + interrupted.result()
    last = ended[-1] if ended else None
    if last is None or last.status != "success":
        why = (last.error if last else None) or "the query did not come to its end"
        sys.stderr.write(f"ua-tui: the query failed: {clean_line(why, 500)}\n")
        return EXIT_FAILED
    if not as_json:
        sys.stdout.write(last.text.rstrip() + "\n")
        for link in links:
            sys.stdout.write(f"\nConnect {link.toolkit or 'the account'}: {link.url}\n")
        sys.stdout.flush()
    return 0


async def _query(session: Session, query: str) -> None:
    with deferred():
        await session.start()
    session.submit(query)
    await session.wait_idle()
    if session.pending_auth is not None:
        session.finish_auth("unattended")


def _note_signal(interrupted: asyncio.Future[int], number: int) -> None:
    if interrupted.done():
        # A second time means now: what is not written by then is lost.
        sys.stderr.write("ended before everything was saved\n")
        os._exit(128 + number)
    interrupted.set_result(int(number))


class _Lines:
    """Standard output while it takes lines; the query comes to its end without it, and then says so.

    Attributes:
        error: why it took no more; not that its reader had enough.
    """

    def __init__(self) -> None:
        self.error: OSError | None = None

    def write(self, line: bytes) -> None:
        """Write a line, or nothing from the first on that could not be written."""
        try:
            sys.stdout.buffer.write(line if line.endswith(b"\n") else line + b"\n")
            sys.stdout.buffer.flush()
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.error = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
