"""A session without a screen: progress on standard error, the answer (or every event) on standard output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, TextIO

from core.concurrency.garbage_collection import deferred
from core.concurrency.race import until
from core.events.types import AuthRequired, Event, QueryFinished
from core.text import clean_line
from tui.render.events import EventLines
from tui.terminal.exit_codes import EXIT_FAILED

if TYPE_CHECKING:
    from core.session.resume import Resume
    from core.session.session import Session
    from core.settings.model import Settings

__all__ = ["SIGNALS", "OutputLines", "ProgressPrinter", "note_signal", "run_headless"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ProgressPrinter:
    """Writes a readable line for the events that a user wants to know about."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines = EventLines(marks=True)

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        line = self._lines.of(event)
        if line:
            self._out.write(line + "\n")
            self._out.flush()


async def run_headless(settings: Settings, query: str, *, as_json: bool, resume: Resume | None = None) -> int:
    """Run one query to its end; the exit code is 0, 1 if it failed, 128 + the signal if interrupted.

    With `resume` it is asked in a past session, whose conversation continues.

    Raises:
        ConversationGone: that conversation no longer exists.
        OSError: not everything could be written to standard output.
    """
    from tui.compose import compose_session

    printer = None if as_json else ProgressPrinter(sys.stderr)
    lines = OutputLines()
    session = await compose_session(
        settings,
        interactive=False,
        on_line=lines.write if as_json else None,
        subscribers=(printer,) if printer else (),
        resume=resume,
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
    for number in SIGNALS:
        loop.add_signal_handler(number, note_signal, interrupted, number)
    try:
        await until(_query(session, query), asyncio.shield(interrupted))
    finally:
        await session.close("interrupted" if interrupted.done() else "finished")
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    if interrupted.done():
        sys.stderr.write("interrupted\n")
        return 128 + interrupted.result()
    last = ended[-1] if ended else None
    if last is None or last.status != "success":
        why = (last.error if last else None) or "the query did not finish"
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


def note_signal(interrupted: asyncio.Future[int], number: int) -> None:
    """Note that a signal asks for the end; end at once if it does so again."""
    if interrupted.done():
        # A second time means now: what is not written by then is lost.
        sys.stderr.write("ended before everything was saved\n")
        os._exit(128 + number)
    interrupted.set_result(int(number))


class OutputLines:
    """Standard output until a write fails; the query still runs to its end, and then reports the failure.

    Attributes:
        error: why it took no more; not that its reader had enough.
        ended: whether it takes no more, for whatever reason.
    """

    def __init__(self) -> None:
        self.error: OSError | None = None
        self.ended = False

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
