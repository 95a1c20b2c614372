"""Calls with all of their texts: each start paired with its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ua_tui.core.events import types as ev
from ua_tui.core.observation import Observation

CALL_EVENTS = (ev.ToolCallStarted, ev.PermissionAnswered, ev.ToolCallFinished)
"""The events that `OpenCalls` handles."""
_MOST_OPEN = 1_000


@dataclass(slots=True)
class FullCall:
    """A call as its events have it: with the arguments that it ran with, its end, and the files that it produced.

    `changes` says how a person changed the arguments, a line for each.
    """

    started: ev.ToolCallStarted
    finished: ev.ToolCallFinished | None = None
    artifacts: tuple[ev.ArtifactSaved, ...] = ()
    changes: tuple[str, ...] = ()

    def add(self, event: ev.Event) -> None:
        """Add what a later event says about this call; others change nothing."""
        call = self.started.tool_use_id
        match event:
            case ev.ToolCallFinished(tool_use_id=id_) if id_ == call:
                self.finished = self.finished or event
            case ev.ArtifactSaved(tool_use_id=id_) if id_ == call and event not in self.artifacts:
                self.artifacts += (event,)
            case ev.PermissionAnswered(tool_use_id=id_) if id_ == call:
                self.started, self.changes = self.started.changed_by(event), tuple(event.changes)

    @property
    def observation(self) -> Observation | None:
        """Its result; None while it runs, and without one."""
        return self.finished.observation if self.finished is not None else None

    def cancel(self) -> None:
        """End a call that will have no other end."""
        self.finished = ev.ToolCallFinished(tool_use_id=self.started.tool_use_id, status="cancelled")


def end_of_call(event: ev.Event) -> ev.ToolCallFinished | None:
    """The event as the end of a call, for those who read a part of a session and may not have its start."""
    return event if isinstance(event, ev.ToolCallFinished) else None


class EndedCall(NamedTuple):
    """The start of a call, with the arguments that it ran with, and its end."""

    started: ev.ToolCallStarted
    finished: ev.ToolCallFinished


class OpenCalls(dict[str, FullCall]):
    """The calls that run, by their ids; of very many the newest."""

    def ended_by(self, event: ev.Event) -> EndedCall | None:
        """Handle an event; returns the call that it ends, if it ends one of these."""
        match event:
            case ev.ToolCallStarted():
                self[event.tool_use_id] = FullCall(event)
                if len(self) > _MOST_OPEN:
                    del self[next(iter(self))]
            case ev.ToolCallFinished() if (call := self.pop(event.tool_use_id, None)) is not None:
                return EndedCall(call.started, event)
            case ev.PermissionAnswered(tool_use_id=str(call_id)) if call_id in self:
                self[call_id].add(event)
        return None
