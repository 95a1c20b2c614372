"""Finds one tool call in the journal of a session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    PermissionAnswered,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.history.headline import event_lines
from ua_tui.core.observation import Observation
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import JOURNAL


@dataclass(slots=True)
class PastToolCall:
    """A call as a journal has it, with the files it produced, and how the person changed its arguments."""

    started: ToolCallStarted
    finished: ToolCallFinished | None = None
    artifacts: tuple[ArtifactSaved, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def observation(self) -> Observation | None:
        """Its result; None while it runs, and without one."""
        return self.finished.observation if self.finished is not None else None

    def add(self, event: Event) -> None:
        """Add what a later event says about this call; others change nothing."""
        call = self.started.tool_use_id
        match event:
            case ToolCallFinished(tool_use_id=id_) if id_ == call:
                self.finished = self.finished or event
            case ArtifactSaved(tool_use_id=id_) if id_ == call and event not in self.artifacts:
                self.artifacts += (event,)
            case PermissionAnswered(tool_use_id=id_) if id_ == call:
                self.started, self.changes = self.started.changed_by(event), tuple(event.changes)
            case _:
                pass

    def cancel(self) -> None:
        """End a call that will have no other end."""
        self.finished = ToolCallFinished(tool_use_id=self.started.tool_use_id, status="cancelled")


def read_call(session: Path, tool_use_id: str, stop: Stop = NEVER) -> PastToolCall | None:
    """Find a call in the journal of the session in a folder; None if it is not there. Runs in a thread.

    Raises:
        JournalError: the journal cannot be read.
        Stopped: the flag was set.
    """
    journal, wanted = session / JOURNAL, tool_use_id.encode()
    call: PastToolCall | None = None
    try:
        with open(open_regular(journal), "rb") as file:
            for number, (line, _) in enumerate(event_lines(file.fileno(), b'{"event":"')):
                if not number & 1023:
                    stop.check()
                # Decoding every line would take most of the time.
                if wanted in line:
                    call = _with_line(call, line, tool_use_id)
    except OSError as error:
        reason = error.strerror or str(error)
        raise JournalError(f"The journal of the session {session.name} cannot be read: {reason}.") from error
    return call


def _with_line(call: PastToolCall | None, line: bytes, tool_use_id: str) -> PastToolCall | None:
    try:
        event = decode_event(line)
    except ValueError:
        return call
    if isinstance(event, ToolCallStarted) and event.tool_use_id == tool_use_id:
        return PastToolCall(event)
    if call is not None:
        call.add(event)
    return call
