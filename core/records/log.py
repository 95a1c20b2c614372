"""run.log: the readable log of a session, and the only destination of logging and warnings.

    2026-11-21 05:10:11.123  query      Research the news
                                        and write a report
    2026-11-21 05:10:12.001  tool       mcp__composio__SEARCH started {"query": "news"}

A line starts with the local time and a kind; further lines of the same entry are indented, so that no text can pass
for another entry.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import TracebackType

import msgspec

from ua_tui.core.concurrency.threads import in_loop
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import to_json
from ua_tui.core.events.describe import describe
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor, preview, with_masked_link
from ua_tui.core.storage.regular_file import AppendFile
from ua_tui.core.text import clean, clean_line, middle_truncate
from ua_tui.core.view.calls import end_of_call

_KIND_WIDTH = 11
_INDENT = " " * (25 + _KIND_WIDTH)
_PREVIEW = 2_000
_MESSAGE = 100_000
_BUFFERED = 2_000


class LogFile:
    """The file behind run.log: writes entries from any thread, cleaned and redacted, and never raises.

    While the disk fails, entries are dropped; `on_failure` is called once at the beginning of such a period.

    Raises:
        WorkspaceError: the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        on_failure: Callable[[WorkspaceError], object] = lambda _error: None,
    ) -> None:
        self.redactor = redactor
        self._on_failure = in_loop(on_failure)
        self._failing = False
        self._lock = threading.Lock()
        self._path = path
        try:
            self._file = AppendFile(path)
        except OSError as error:
            raise WorkspaceError(
                f"the log {path} cannot be opened: {error.strerror or error}; "
                "check the folder's permissions and the space on its disk."
            ) from error

    def write(self, at: datetime, kind: str, text: str) -> None:
        """Write one entry; an aware time is shown as local time."""
        local = at.astimezone()
        head = f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d}  {clean_line(kind):<{_KIND_WIDTH}}"
        body = clean(self.redactor.redact(text)).strip("\n").replace("\n", "\n" + _INDENT)
        line = f"{head}{body}".rstrip() + "\n"
        with self._lock:
            if self._file.closed:
                return
            try:
                self._file.append(line.encode())
            except OSError as error:
                failed_before, self._failing = self._failing, True
                if failed_before:
                    return
                failure = WorkspaceError(
                    f"the log {self._path} cannot be written: {error.strerror or error}; "
                    "free space or fix the disk. The session continues, and the log continues afterwards."
                )
                failure.__cause__ = error
            else:
                self._failing = False
                return
        # Outside the lock: the callback may log something.
        self._on_failure(failure)

    def cut(self, text: str) -> str:
        """Cut a text to what one entry shows of it."""
        return preview(text, _PREVIEW, self.redactor)

    def close(self) -> None:
        """Close the file; later entries are dropped."""
        with self._lock:
            self._file.close()


class SessionLog(msgspec.Struct, eq=False):
    """Writes what happens in a session to run.log; a subscriber of the bus.

    Messages are written when they are finished, not piece by piece; a message that never finishes is written at the end
    of its query, as far as it was received.
    """

    log: LogFile
    _unfinished: dict[tuple[str, str], list[str]] = {}

    def __call__(self, event: ev.Event) -> None:
        """Handle one event of the bus."""
        match event:
            case ev.TextDelta():
                self._unfinished.setdefault((event.message_id, "answer"), []).append(event.text)
            case ev.ThinkingDelta():
                self._unfinished.setdefault((event.message_id, "thinking"), []).append(event.text)
            case ev.MessageFinished():
                thinking = self._unfinished.pop((event.message_id, "thinking"), [])
                self._unfinished.pop((event.message_id, "answer"), None)
                if thinking:
                    self._write(event, "thinking", "".join(thinking))
                if event.text:
                    self._write(event, "answer", event.text)
            case ev.QueryFinished() | ev.SessionFinished():
                unfinished, self._unfinished = self._unfinished, {}
                for (_, kind), texts in unfinished.items():
                    self._write(event, kind, "".join(texts) + " [unfinished]")
                self._write_description(event)
            case _:
                self._write_description(with_masked_link(event, self.log.redactor))

    def _write_description(self, event: ev.Event) -> None:
        description, details = describe(event), ""
        if (end := end_of_call(event)) is not None:
            found = end.observation
            data = f"[{end.tool_use_id}]\n{self.log.cut(found.text if found is not None else '')}"
        else:
            data, details = self._data(event), "".join(f"\n{each}" for each in description.details)
        self._write(event, description.kind, f"{description.sentence} {data}".rstrip() + details)

    def _data(self, event: ev.Event) -> str:
        """What only the log has: the ids and arguments of calls, cut to a preview."""
        match event:
            case ev.ToolCallStarted():
                return f"[{event.tool_use_id}] {self.log.cut(to_json(event.input, '{…}'))}"
            case ev.PermissionAnswered(input=dict() as changed) if event.changes:
                return f"[{event.tool_use_id}] {self.log.cut(to_json(changed, '{…}'))}"
            case ev.PermissionAsked():
                return self.log.cut(to_json(event.input, "{…}"))
            case ev.UnknownEvent():
                return self.log.cut(to_json(event.fields, "{…}"))
            case _:
                return ""

    def _write(self, event: ev.Event, kind: str, text: str) -> None:
        self.log.write(event.at, kind, middle_truncate(text, _MESSAGE))


class RootHandler(logging.Handler):
    """Handles the log records of a session; buffers the newest until there is a run.log, then writes them there.

    A program may run several sessions. A record that is logged in the context of one of them, as in the tasks and
    threads that it began, is that session's alone; any other record goes to all of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._log: LogFile | None = None
        self._waiting: deque[tuple[datetime, str, str]] = deque(maxlen=_BUFFERED)

    def attach(self, log: LogFile) -> None:
        """Write the buffered records, and all later ones, to `log`."""
        with self._guard():
            self._log = log
            while self._waiting:
                log.write(*self._waiting.popleft())

    def detach(self) -> None:
        """Buffer records again, as between two sessions."""
        with self._guard():
            self._log = None

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one record, unless it is of another session."""
        owner = _owner.get()
        if owner is not None and owner is not self and _installed.has(owner):
            return
        at = datetime.fromtimestamp(record.created).astimezone()
        entry = (at, record.levelname.lower(), f"{record.name}: {_message(record)}")
        if self._log is None:
            self._waiting.append(entry)
        else:
            self._log.write(*entry)

    def uninstall(self) -> None:
        """Handle no more records; the last one restores logging, warnings and the hooks for lost errors."""
        _installed.remove(self)

    def _guard(self) -> threading.RLock:
        assert self.lock is not None
        return self.lock


_owner: ContextVar[RootHandler | None] = ContextVar("session_log", default=None)


class _Installed(msgspec.Struct, eq=False):
    """The handlers of the sessions that run in this process, and what logging was before the first of them."""

    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)
    _handlers: list[RootHandler] = []
    _undo: list[Callable[[], object]] = []

    def has(self, handler: RootHandler) -> bool:
        """Whether a handler is installed."""
        return handler in self._handlers

    def add(self, handler: RootHandler) -> None:
        """Install a handler; the first one takes over logging."""
        root = logging.getLogger()
        with self._lock:
            if not self._handlers:
                self._take_over(root)
            self._handlers.append(handler)
            root.addHandler(handler)
            root.setLevel(min(each.level for each in self._handlers))

    def remove(self, handler: RootHandler) -> None:
        """Remove a handler, in whatever order; the last one gives everything back."""
        root = logging.getLogger()
        with self._lock:
            if handler not in self._handlers:
                return
            self._handlers.remove(handler)
            root.removeHandler(handler)
            if self._handlers:
                root.setLevel(min(each.level for each in self._handlers))
            while self._undo and not self._handlers:
                self._undo.pop()()

    def _take_over(self, root: logging.Logger) -> None:
        # Each line written to run.log changes the watched folder: logging that would never end.
        logging.getLogger("watchfiles").setLevel(logging.WARNING)
        before = root.level
        self._undo.append(lambda: root.setLevel(before))

        show = warnings.showwarning
        logging.captureWarnings(True)
        self._undo += [
            lambda: setattr(warnings, "showwarning", show),
            lambda: logging.captureWarnings(False),
        ]

        unraisable, lost_in_thread = sys.unraisablehook, threading.excepthook
        sys.unraisablehook = lambda lost: _log_lost(
            f"ignored in {lost.object!r}", lost.exc_type, lost.exc_value, lost.exc_traceback
        )
        threading.excepthook = _log_lost_in_thread
        self._undo += [
            lambda: setattr(sys, "unraisablehook", unraisable),
            lambda: setattr(threading, "excepthook", lost_in_thread),
        ]


_installed = _Installed()


def _message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += "\n" + "".join(traceback.format_exception(record.exc_info[1]))
    except Exception as error:
        # logging itself would report a malformed record on the terminal.
        return f"{record.msg!r} could not be formatted: {error!r}"
    return text


def install_root_handler(level: str = "INFO") -> RootHandler:
    """Route logging, warnings and lost exceptions away from the terminal, before anything heavy is imported.

    Libraries that call `logging.basicConfig` during their import find a handler and keep it. What the calling task logs
    from now on, and the tasks that it begins, belongs to this handler: begin each session in a task of its own.
    """
    handler = RootHandler()
    handler.setLevel(level)
    _installed.add(handler)
    _owner.set(handler)
    return handler


def _log_lost_in_thread(lost: threading.ExceptHookArgs) -> None:
    name = lost.thread.name if lost.thread is not None else "a thread"
    _log_lost(f"{name} ended with an error", lost.exc_type, lost.exc_value, lost.exc_traceback)


def _log_lost(
    what: str,
    kind: type[BaseException],
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    if kind is not SystemExit:
        log.error(what, exc_info=(kind, error or kind(), trace))
