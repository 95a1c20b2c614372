"""run.log: the readable log of a session, and the one place where logging and warnings go.

    2026-11-21 05:10:11.123  query      Research the news
                                        and write a report
    2026-11-21 05:10:12.001  tool       mcp__composio__SEARCH started {"query": "news"}

A line starts with the local time and a kind; what follows of the same entry is indented, so that no text
can pass itself off as another entry.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from core.concurrency.threads import in_loop
from core.errors import WorkspaceError
from core.events import types as ev
from core.redaction.redactor import Redactor, mask_link, preview
from core.storage.append_file import AppendFile
from core.text import clean, clean_line, middle_truncate

__all__ = ["LogFile", "RootHandler", "SessionLog", "install_root_handler"]

_KIND_WIDTH = 11
_INDENT = " " * (25 + _KIND_WIDTH)
_PREVIEW = 2_000
_MESSAGE = 100_000
_BUFFERED = 2_000


class LogFile:
    """The file behind run.log: takes entries from any thread, cleans and redacts them, and never raises.

    While the disk refuses, entries are dropped; `on_failure` is told once at the beginning of such a time.

    Raises:
        WorkspaceError: the file cannot be opened.
    """

    def __init__(
        self, path: Path, redactor: Redactor, on_failure: Callable[[WorkspaceError], None] | None = None
    ) -> None:
        self._redactor = redactor
        self._on_failure = None if on_failure is None else in_loop(on_failure)
        self._failing = False
        self._lock = threading.Lock()
        self._path = path
        try:
            self._file = AppendFile(path)
        except OSError as error:
            raise WorkspaceError(
                f"The log {path} cannot be opened: {error.strerror or error}; "
                "check the folder's permissions and the space on its disk."
            ) from error

    def write(self, at: datetime, kind: str, text: str) -> None:
        """Write one entry; an aware time is shown as local time."""
        local = at.astimezone()
        head = f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d}  {clean_line(kind):<{_KIND_WIDTH}}"
        body = clean(self._redactor.redact(text)).strip("\n").replace("\n", "\n" + _INDENT)
        line = f"{head}{body}".rstrip() + "\n"
        with self._lock:
            if self._file.closed:
                return
            try:
                self._file.append(line.encode())
            except OSError as error:
                failed_before, self._failing = self._failing, True
                if failed_before or self._on_failure is None:
                    return
                failure = WorkspaceError(
                    f"The log {self._path} cannot be written: {error.strerror or error}; "
                    "free space or mend the disk: the session goes on, and so does the log then."
                )
                failure.__cause__ = error
            else:
                self._failing = False
                return
        # Outside the lock: whoever is told may well log something.
        self._on_failure(failure)

    def secret(self, value: str) -> None:
        """Mask a value from now on."""
        self._redactor.add(value)

    def cut(self, text: str) -> str:
        """Cut a text to what one entry shows of it."""
        return preview(text, _PREVIEW, self._redactor)

    def close(self) -> None:
        """Close the file; later entries are dropped."""
        with self._lock:
            self._file.close()


class SessionLog:
    """Writes what happens in a session to run.log; a subscriber of the bus.

    Messages are written whole when they are finished, not piece by piece; one that never finishes is
    written, as far as it came, at the end of its query.
    """

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._unfinished: dict[tuple[str, str], list[str]] = {}

    def __call__(self, event: ev.Event) -> None:
        """Take one event from the bus."""
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
                self._write(event, *_entry(event, self._log.cut))
            case ev.AuthRequired():
                self._log.secret(event.url)
                self._write(event, *_entry(event, self._log.cut))
            case _:
                self._write(event, *_entry(event, self._log.cut))

    def _write(self, event: ev.Event, kind: str, text: str) -> None:
        self._log.write(event.at, kind, middle_truncate(text, _MESSAGE))


def _entry(event: ev.Event, cut: Callable[[str], str]) -> tuple[str, str]:
    match event:
        case ev.SessionStarted():
            demo = ", demo" if event.demo else ""
            return "session", (
                f"{event.session_id} started: ua-tui {event.version}, model {event.model or 'default'}, "
                f"permissions {event.permission_mode}{demo}\nworkspace {event.workspace}"
            )
        case ev.SessionFinished():
            return "session", (
                f"finished ({event.reason}): {event.queries} queries, {event.tool_calls} tool calls, "
                f"{event.artifacts} artifacts{_cost(event.cost_usd)}, {_seconds(event.duration_ms)}"
            )
        case ev.QueryReceived():
            return "query", event.text
        case ev.QuerySteered():
            return "query", f"said into it: {event.text}"
        case ev.QueryClassified():
            return (
                "path",
                f"{event.decision} ({event.source}) in {_seconds(event.duration_ms)}: {event.raw_response}",
            )
        case ev.PathFellBack():
            return "path", f"taken for SIMPLE, but called {event.tool_name}: goes on as COMPLEX"
        case ev.QueryFinished():
            error = f": {event.error}" if event.error else ""
            return "query", (
                f"{event.status} after {_seconds(event.duration_ms)}, {event.turns} turns{_cost(event.cost_usd)}{error}"
            )
        case ev.TokensSpent():
            whose = " by a sub-agent" if event.parent_tool_use_id else ""
            return (
                "tokens",
                f"{event.usage.total} of {event.model or 'the model'}{whose}{_cost(event.cost_usd)}",
            )
        case ev.BudgetReached():
            held = ": a query waits" if event.refused else ""
            return "budget", f"{event.level}: ${event.spent_usd:.4f} of ${event.limit_usd:.4f}{held}"
        case ev.BudgetRaised():
            return "budget", f"raised to ${event.limit_usd:.4f}, of which ${event.spent_usd:.4f} is spent"
        case ev.TracingFailed():
            return "tracing", f"failed: {event.error}"
        case ev.ToolCallStarted():
            return "tool", f"{event.name} started [{event.tool_use_id}] {cut(_json(event.input))}"
        case ev.ToolCallFinished():
            name = event.observation.tool_name if event.observation else "call"
            head = f"{name} {event.status} [{event.tool_use_id}] in {_seconds(event.duration_ms)}"
            return "tool", f"{head}\n{cut(_outcome(event))}"
        case ev.SubagentStarted():
            return "sub-agent", f"{event.name} started: {event.description}"
        case ev.SubagentProgress():
            return "sub-agent", f"{event.name}: {event.description}"
        case ev.SubagentFinished():
            return "sub-agent", f"{event.name} {event.status}"
        case ev.ComplianceFailed():
            return "compliance", f"{event.subagent} broke {event.rule}: {event.message}"
        case ev.ComplianceEnforced():
            return "compliance", f"{event.subagent} was sent back for {event.rule}: {event.message}"
        case ev.ObserverStarted():
            return "observer", f"{event.observer} started on {event.tool_use_id}"
        case ev.ObserverFinished():
            return "observer", _observed(event)
        case ev.ArtifactSaved():
            copied = f", copied to {event.copied_to}" if event.copied_to else ""
            return "artifact", f"{event.path} ({event.kind}, {event.size} bytes) by {event.observer}{copied}"
        case ev.PermissionAsked():
            return "permission", f"asked for {event.tool_name}: {event.reason} {cut(_json(event.input))}"
        case ev.PermissionAnswered():
            return "permission", f"{event.decision} {event.tool_name} ({event.scope}) {event.reason}"
        case ev.AuthRequired():
            return "auth", f"{event.toolkit or 'an account'} must be connected at {mask_link(event.url)}"
        case ev.AuthFinished():
            return "auth", f"{event.toolkit or 'the account'}: {event.outcome}"
        case ev.ServerTrustAsked():
            return "trust", f"asked for the server {event.server} of {event.source}: {event.target}"
        case ev.ServerTrustAnswered():
            return "trust", f"{event.server}: {event.decision}"
        case ev.ModelChosen():
            effort = event.effort or "default"
            return (
                "model",
                f"{event.model or 'default'}, falls back on {event.fallback_model}, effort {effort}",
            )
        case ev.ApiRetry():
            attempt = f"attempt {event.attempt} of {event.max_attempts}"
            return "retry", f"{attempt}, again in {_seconds(event.delay_ms)}: {event.error}"
        case ev.McpStatus():
            return "mcp", ", ".join(
                f"{each.name} {each.status} {each.error or ''}".strip() for each in event.servers
            )
        case ev.PipelineFailed():
            return "pipeline", f"{event.handler} failed in {event.pipeline}: {event.error}"
        case ev.ErrorRaised():
            return "error", "\n".join(
                [f"{event.where}: {event.message}", *(f"caused by {c}" for c in event.causes)]
            )
        case ev.UnknownEvent():
            return event.original_name, cut(_json(event.fields))
        case _:
            return event.event_name, ""


def _observed(event: ev.ObserverFinished) -> str:
    counts = f"{event.items} items, {event.rejected} rejected, {event.duplicates} duplicates"
    saved = " -> " + ", ".join(event.artifacts) if event.artifacts else ""
    why = event.error or event.note
    return (
        f"{event.observer} {event.status} on {event.tool_use_id} in {event.duration_ms:.0f} ms ({counts}){saved}"
        + (f": {why}" if why else "")
    )


def _outcome(event: ev.ToolCallFinished) -> str:
    if event.observation is None:
        return ""
    return "\n".join(
        dict.fromkeys(part for part in (event.observation.error, event.observation.output) if part)
    )


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "{…}"


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2f} s"


def _cost(cost_usd: float | None) -> str:
    return f", ${cost_usd:.4f}" if cost_usd is not None else ""


class RootHandler(logging.Handler):
    """Takes every log record of the process; keeps the newest until there is a run.log, then writes them there."""

    def __init__(self) -> None:
        super().__init__()
        self._log: LogFile | None = None
        self._waiting: deque[tuple[datetime, str, str]] = deque(maxlen=_BUFFERED)
        self._undo: list[Callable[[], object]] = []

    def attach(self, log: LogFile) -> None:
        """Write what was kept, and everything from now on, to `log`."""
        with self._guard():
            self._log = log
            while self._waiting:
                log.write(*self._waiting.popleft())

    def detach(self) -> None:
        """Keep records again instead of writing them, as between two sessions."""
        with self._guard():
            self._log = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        at = datetime.fromtimestamp(record.created).astimezone()
        entry = (at, record.levelname.lower(), f"{record.name}: {_message(record)}")
        if self._log is None:
            self._waiting.append(entry)
        else:
            self._log.write(*entry)

    def uninstall(self) -> None:
        """Give logging, warnings and the hooks for lost errors back as they were."""
        while self._undo:
            self._undo.pop()()

    def _install(self, level: str) -> None:
        # Each line written to run.log is a change in the folder that is watched: told of, it would go on forever.
        logging.getLogger("watchfiles").setLevel(logging.WARNING)
        root = logging.getLogger()
        before = root.level
        root.addHandler(self)
        root.setLevel(level)
        self._undo += [lambda: root.removeHandler(self), lambda: root.setLevel(before)]

        show = warnings.showwarning
        logging.captureWarnings(True)
        self._undo += [
            lambda: setattr(warnings, "showwarning", show),
            lambda: logging.captureWarnings(False),
        ]

        unraisable, lost_in_thread = sys.unraisablehook, threading.excepthook
        sys.unraisablehook = _log_unraisable
        threading.excepthook = _log_lost_in_thread
        self._undo += [
            lambda: setattr(sys, "unraisablehook", unraisable),
            lambda: setattr(threading, "excepthook", lost_in_thread),
        ]

    def _guard(self) -> threading.RLock:
        assert self.lock is not None
        return self.lock


def _message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += "\n" + "".join(traceback.format_exception(record.exc_info[1]))
    except Exception as error:
        # Left to logging itself, the complaint about a malformed record would go to the terminal.
        return f"{record.msg!r} could not be formatted: {error!r}"
    return text


def install_root_handler(level: str = "INFO") -> RootHandler:
    """Route logging, warnings and lost exceptions away from the terminal, before anything heavy is imported.

    Libraries that call `logging.basicConfig` when they are imported find a handler and leave it alone.
    """
    handler = RootHandler()
    handler._install(level)
    return handler


def _log_unraisable(lost: sys.UnraisableHookArgs) -> None:
    _log_lost(f"ignored in {lost.object!r}", lost.exc_type, lost.exc_value, lost.exc_traceback)


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
        logging.getLogger(__name__).error(what, exc_info=(kind, error or kind(), trace))
