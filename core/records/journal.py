"""The journal of a session: every event as one JSON line, written as it happens."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from ua_tui.core.concurrency.threads import Schedule
from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import encode_any_event, encode_event
from ua_tui.core.events.types import Event, TextDelta, ThinkingDelta
from ua_tui.core.log import log
from ua_tui.core.redaction.masking import masked_copy
from ua_tui.core.redaction.redactor import Redactor, seal_json, with_masked_link
from ua_tui.core.storage.regular_file import AppendFile

_BACKLOG_BYTES = 16 << 20
_RETRY_AFTER = 1.0


class DeltaJoiner(msgspec.Struct, eq=False):
    """Joins the deltas of a streaming message, so that one line holds the text of `window` seconds.

    Deltas of one message and kind become one event with the `seq` and `at` of the first; any other event is passed on
    at once, after the deltas before it. Subscribe the object itself to the bus.

    Args:
        sink: called with every event, in the order of `seq`.
        window: how long deltas are delayed, in seconds; a timer of the running event loop ends the delay.
        clock: monotonic time in seconds.
    """

    sink: Callable[[Event], None]
    window: float = 0.25
    clock: Callable[[], float] = time.monotonic
    _held: dict[tuple[type[Event], str], tuple[TextDelta | ThinkingDelta, list[str]]] = msgspec.field(
        default_factory=dict
    )
    _since: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        if not isinstance(event, (TextDelta, ThinkingDelta)):
            self.flush()
            self._pass_on(event)
            return
        if self._held and self.clock() - self._since >= self.window:
            self.flush()
        if not self._held:
            self._since = self.clock()
            # Without an event loop the next event passes them on.
            with suppress(RuntimeError):
                self._timer = asyncio.get_running_loop().call_later(self.window, self.flush)
        key = (type(event), event.message_id)
        if key in self._held:
            self._held[key][1].append(event.text)
        else:
            self._held[key] = (event, [event.text])

    def flush(self) -> None:
        """Pass on the delayed deltas."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, {}
        for first, texts in held.values():
            self._pass_on(first if len(texts) == 1 else msgspec.structs.replace(first, text="".join(texts)))

    def _pass_on(self, event: Event) -> None:
        try:
            self.sink(event)
        except Exception:
            log.exception("%s could not be handled", event.event_name)


def journal_line(event: Event, redactor: Redactor) -> bytes:
    """Encode an event for the journal: one line of JSON, redacted and safe to display.

    The link of an `auth_required` is masked from then on wherever the redactor is used, as is that of an
    `elicitation_asked`.
    """
    event = with_masked_link(event, redactor)
    try:
        text = encode_event(event).decode()
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        log.warning("%s is not plain JSON; only what can be encoded is written: %s", event.event_name, error)
        text = encode_any_event(masked_copy(event, redactor)).decode()
    return seal_json(text, redactor)


class Journal:
    """Appends events to a file, each as one complete line, redacted and safe to display.

    Appending never raises once the journal is open. If the disk fails, lines wait in memory (up to 16 MiB, then the
    oldest are dropped) and are written, in order, with the next event for which writing works again, or when a timer
    of the running event loop tries it, each second; `on_failure` is called once at the beginning of such a period. The
    journal's own thread syncs results and ends of queries to the disk.

    Args:
        path: the file; it is created if it is missing.
        redactor: masks secrets in every line.
        on_failure: called with the reason why lines cannot be written.
        on_line: called with every line that was written or waits to be written.

    Raises:
        JournalError: the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        *,
        on_failure: Callable[[JournalError], object] = lambda _error: None,
        on_line: Callable[[bytes], None] | None = None,
    ) -> None:
        self.path = path
        self._redactor = redactor
        self._on_failure = on_failure
        self._on_line = on_line
        self._backlog: deque[bytes] = deque()
        self._backlog_size = 0
        self._lost = 0
        self._failing = False
        self._retry: asyncio.TimerHandle | None = None
        try:
            self._file = AppendFile(path)
        except OSError as error:
            raise JournalError(
                f"the journal {path} cannot be opened: {error.strerror or error}; "
                "check the folder's permissions and the space on its disk."
            ) from error
        self._syncer = Schedule("journal sync")

    def append(self, event: Event) -> None:
        """Write an event; a sink for `DeltaJoiner`, or a subscriber of the bus by itself."""
        line = journal_line(event, self._redactor)
        self._write(line)
        if event.is_synced:
            self._syncer.plan(self._file.sync)
        if self._on_line is not None:
            self._on_line(line)

    def sync(self) -> None:
        """Write all waiting lines, and return when they are on the disk or the disk failed."""
        self._drain()
        try:
            self._file.sync()
        except OSError as error:
            self._note_failure(error)

    def close(self) -> None:
        """Write all waiting lines, sync them to the disk and close the file; closing again does nothing."""
        if self._file.closed:
            return
        if self._retry is not None:
            self._retry.cancel()
        self._syncer.finish()
        self.sync()
        self._file.close()

    def _write(self, line: bytes) -> None:
        if self._file.closed:
            log.warning("an event came after the journal was closed")
            return
        if not self._backlog:
            try:
                self._file.append(line)
            except OSError as error:
                self._hold(line)
                self._note_failure(error)
                self._plan_retry()
            return
        self._hold(line)
        self._drain()

    def _hold(self, line: bytes) -> None:
        self._backlog.append(line)
        self._backlog_size += len(line)
        while self._backlog_size > _BACKLOG_BYTES:
            self._backlog_size -= len(self._backlog.popleft())
            self._lost += 1

    def _drain(self) -> None:
        while self._backlog:
            line = self._backlog[0]
            try:
                self._file.append(line)
            except OSError as error:
                self._note_failure(error)
                return
            # Waiting lines are removed only here, after they were written.
            self._backlog.popleft()
            self._backlog_size -= len(line)
        if self._failing:
            self._failing = False
            log.warning("the journal can be written again; %d events were lost", self._lost)
            self._lost = 0

    def _plan_retry(self) -> None:
        """Try again later even if no event follows; without an event loop only the next event and the end do."""
        if self._retry is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._retry = loop.call_later(_RETRY_AFTER, self._write_waiting)

    def _write_waiting(self) -> None:
        self._retry = None
        self._drain()
        if self._backlog:
            self._plan_retry()

    def _note_failure(self, error: OSError) -> None:
        if self._failing:
            return
        self._failing = True
        failure = JournalError(
            f"the journal {self.path} cannot be written: {error.strerror or error}; "
            "free space or fix the disk. The session continues, and waiting events are written afterwards."
        )
        failure.__cause__ = error
        self._on_failure(failure)
