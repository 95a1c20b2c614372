"""Follows the sub-agents: which are running, which call started each, and that each ends exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ua_tui.core.agent.messages.usage import is_count
from ua_tui.core.events.types import Event, SubagentFinished, SubagentProgress, SubagentStarted, Usage
from ua_tui.core.json_values import value_in
from ua_tui.core.text import clean

if TYPE_CHECKING:
    import claude_agent_sdk as sdk


class _Task(msgspec.Struct):
    tool_use_id: str
    name: str
    description: str


class SubagentTask(msgspec.Struct, frozen=True, kw_only=True):
    """A running sub-agent: the call that started it, when, for which request, and its calls without a result yet."""

    call: str = ""
    request: str = ""
    started_at: datetime | None = None
    open_calls: int = 0


class SubagentTasks(msgspec.Struct, eq=False):
    """The sub-agents of one connection, by task id."""

    _open: dict[str, _Task] = {}
    _stopped: set[str] = set()

    def call_of(self, task_id: str) -> str | None:
        """The call that started a running sub-agent."""
        task = self._open.get(task_id)
        return task.tool_use_id if task else None

    def of_call(self, tool_use_id: str) -> dict[str, str]:
        """The names of the running sub-agents that a call started, by their task ids."""
        return {key: task.name for key, task in self._open.items() if task.tool_use_id == tool_use_id}

    def note_stopped(self, tool_use_id: str, *, stopped: bool = True) -> None:
        """Record that a person stops the sub-agents of a call, or that this failed."""
        (self._stopped.add if stopped else self._stopped.discard)(tool_use_id)

    def was_stopped(self, tool_use_id: str) -> bool:
        """Whether a person stopped the sub-agents of a call."""
        return tool_use_id in self._stopped

    def close(self) -> Iterator[Event]:
        """End every sub-agent that is still running."""
        for task_id in list(self._open):
            task = self._open.pop(task_id)
            yield SubagentFinished(
                task_id=task_id, tool_use_id=task.tool_use_id, name=task.name, status="cancelled"
            )

    def feed(
        self,
        message: sdk.TaskStartedMessage
        | sdk.TaskProgressMessage
        | sdk.TaskNotificationMessage
        | sdk.TaskUpdatedMessage,
    ) -> Iterator[Event]:
        """Report the start, progress or end of a sub-agent."""
        import claude_agent_sdk as sdk

        task_id = message.task_id
        known = self._open.get(task_id)
        match message:
            case sdk.TaskStartedMessage():
                name = clean(str(message.data.get("subagent_type") or message.task_type or "sub-agent"))
                known = _Task(message.tool_use_id or "", name, clean(message.description))
                self._open[task_id] = known
                yield SubagentStarted(
                    task_id=task_id, tool_use_id=known.tool_use_id, name=name, description=known.description
                )
            case sdk.TaskProgressMessage() if known:
                yield SubagentProgress(
                    task_id=task_id,
                    tool_use_id=known.tool_use_id,
                    name=known.name,
                    description=clean(message.description),
                    usage=_task_usage(message.usage),
                )
            case sdk.TaskNotificationMessage() if known:
                self._open.pop(task_id, None)
                yield self._finished(task_id, known, message.status, _task_usage(message.usage))
            # A finished task is reported twice, here and by a notification with more details; only a stopped task may
            # be reported here alone.
            case sdk.TaskUpdatedMessage(status="killed" | "failed" as status) if known:
                self._open.pop(task_id)
                yield self._finished(task_id, known, status)

    def _finished(self, task_id: str, task: _Task, reported: str, usage: Usage | None = None) -> Event:
        status: Literal["success", "error", "cancelled"] = (
            "success" if reported == "completed" else "error" if reported == "failed" else "cancelled"
        )
        return SubagentFinished(
            task_id=task_id,
            tool_use_id=task.tool_use_id,
            name=task.name,
            status=status,
            usage=usage,
            by_person=status == "cancelled" and self.was_stopped(task.tool_use_id),
        )


def _task_usage(raw: Any) -> Usage | None:
    total = value_in(raw, "total_tokens")
    return Usage(output_tokens=total) if is_count(total) else None
