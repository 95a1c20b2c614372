"""The permission gate: where a tool call waits for a person's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import uuid4

from core.agent.permissions.actions import can_be_remembered
from core.agent.permissions.patterns import exact_pattern
from core.agent.permissions.policy import EXIT_PLAN, Judgement, PermissionPolicy, Verdict
from core.events.types import Event, PermissionAnswered, PermissionAsked, PermissionModeChanged
from core.redaction.redactor import Redactor
from core.text import clean

__all__ = ["REASON_LIMIT", "PermissionGate", "PermissionReply"]

REASON_LIMIT = 1_000
"""How many characters of a person's reason for a denial are passed to the model."""


@dataclass(frozen=True)
class PermissionReply:
    """What was decided about one waiting call.

    `reason` is passed to the model with a denial. `patterns` are what is allowed for the session; without any, the
    tools of the call are.
    """

    allow: bool
    scope: str = "once"
    reason: str = ""
    patterns: tuple[str, ...] = ()


@dataclass
class _Waiting:
    event: PermissionAsked
    input: dict[str, Any]
    judgement: Judgement
    future: asyncio.Future[PermissionReply] = field(repr=False)


class PermissionGate:
    """Asks a person, waits without a time limit, and answers exactly once.

    If nobody can be asked (`interactive=False`), every call is denied with a reason that names the option to allow it.
    """

    def __init__(
        self,
        policy: PermissionPolicy,
        publish: Callable[[Event], Event],
        *,
        interactive: bool,
        redactor: Redactor,
    ) -> None:
        self._policy = policy
        self._publish = publish
        self._interactive = interactive
        self._redactor = redactor
        self._waiting: dict[str, _Waiting] = {}
        self._denied: dict[str, str] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for a person."""
        return bool(self._waiting)

    def denial_of(self, tool_use_id: str) -> str | None:
        """Why this call was denied, by a person, a rule or a pipeline; None if it was not."""
        return self._denied.get(tool_use_id)

    def note_denied(self, tool_use_id: str, reason: str) -> None:
        """Record that a call was denied elsewhere, as by a pipeline."""
        self._denied[tool_use_id] = reason

    async def ask(self, tool_name: str, tool_input: dict[str, Any], tool_use_id: str) -> PermissionReply:
        """Allow or deny a call; the policy is consulted again first, as it may have changed since."""
        judgement = self._policy.judge(tool_name, tool_input)
        if judgement.verdict is not Verdict.ASK:
            return self._decided(judgement, tool_use_id)
        event = PermissionAsked(
            request_id=uuid4().hex[:12],
            tool_name=tool_name,
            input=self._redactor.redact_value(tool_input),
            tool_use_id=tool_use_id,
            subjects=[clean(subject) for subject in judgement.subjects],
            reason=judgement.reason,
            once_only=not all(can_be_remembered(subject) for subject in judgement.subjects),
        )
        self._publish(event)
        if not self._interactive:
            named = ", ".join(event.subjects)
            answer = PermissionReply(
                False,
                "headless",
                f"No one is available to answer. To allow it, start with --allow '{named}'.",
            )
        else:
            waiting = _Waiting(event, tool_input, judgement, asyncio.get_running_loop().create_future())
            self._waiting[event.request_id] = waiting
            try:
                answer = await waiting.future
            except asyncio.CancelledError:
                self._answered(event, PermissionReply(False, "interrupted"))
                raise
            finally:
                self._waiting.pop(event.request_id, None)
            answer = self._apply_answer(event, waiting.judgement, answer)
        if not answer.allow:
            self._denied[tool_use_id] = answer.reason or "The person denied this."
        self._answered(event, answer)
        if answer.allow and tool_name == EXIT_PLAN and self.mode == "plan":
            self.change_mode("default", "plan")
        return answer

    @property
    def mode(self) -> str:
        """The permission mode."""
        return self._policy.mode

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked."""
        return self._interactive

    def change_mode(self, mode: str, by: Literal["person", "plan"] = "person") -> bool:
        """Change the permission mode, and judge the waiting calls again; returns False if it is the mode already."""
        previous = self._policy.mode
        if mode == previous:
            return False
        self._policy.mode = mode
        self._publish(PermissionModeChanged(previous=previous, mode=mode, by=by))
        for request_id, waiting in list(self._waiting.items()):
            judgement = self._policy.judge(waiting.event.tool_name, waiting.input)
            if judgement.verdict is not Verdict.ASK:
                allow = judgement.verdict is Verdict.ALLOW
                self.answer(request_id, PermissionReply(allow, "mode", judgement.reason))
        return True

    def _decided(self, judgement: Judgement, tool_use_id: str) -> PermissionReply:
        """Answer a call about which the policy does not ask any more."""
        allow = judgement.verdict is Verdict.ALLOW
        if not allow:
            self._denied[tool_use_id] = judgement.reason
        return PermissionReply(allow, "policy", judgement.reason)

    def _apply_answer(
        self, event: PermissionAsked, judgement: Judgement, answer: PermissionReply
    ) -> PermissionReply:
        """Apply a person's answer, where the policy permits it."""
        if not answer.allow:
            return replace(answer, reason=clean(answer.reason).strip()[:REASON_LIMIT])
        if answer.scope != "session":
            return answer
        problem = self._policy.remember(event.tool_name, judgement.subjects, answer.patterns)
        if problem is not None:
            return PermissionReply(True, "once", problem)
        return replace(answer, patterns=answer.patterns or tuple(map(exact_pattern, judgement.subjects)))

    def answer(self, request_id: str, answer: PermissionReply) -> bool:
        """Answer a waiting call; returns False if no call waits under this id."""
        waiting = self._waiting.get(request_id)
        if waiting is None or waiting.future.done():
            return False
        waiting.future.set_result(answer)
        return True

    def cancel_all(self, reason: str) -> None:
        """Deny every waiting call."""
        for request_id in list(self._waiting):
            self.answer(request_id, PermissionReply(False, "interrupted", reason))

    def _answered(self, event: PermissionAsked, answer: PermissionReply) -> None:
        self._publish(
            PermissionAnswered(
                request_id=event.request_id,
                tool_name=event.tool_name,
                decision="allow" if answer.allow else "deny",
                subjects=event.subjects,
                scope=answer.scope,
                reason=answer.reason,
                patterns=[clean(pattern) for pattern in answer.patterns],
            )
        )
