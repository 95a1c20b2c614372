"""How a session is set up: its model, its permissions, its servers, and the conversation that the agent has."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ua_tui.core.events import types as ev
from ua_tui.core.text import clean_line


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is set up at some moment; texts are clean lines.

    Attributes:
        conversation: the agent's id of the newest conversation; `spoken` is whether the model wrote anything in it.
        path: who decided on the path of the newest query, or the tool with which it left the simple one; None before.
        plan: the newest report on a limit of the user's plan.
        untrusted: the first text that the agent read which is not the user's.
        tracing_failed: why spans are no longer written or sent.
    """

    model: str | None = None
    effort: str | None = None
    fallback_model: str | None = None
    mode: str = "default"
    demo: bool = False
    conversation: str | None = None
    spoken: bool = False
    servers: tuple[ev.McpServer, ...] = ()
    path: ev.QueryClassified | ev.PathFellBack | None = None
    plan: ev.PlanLimit | None = None
    untrusted: str = ""
    tracing_failed: str = ""

    def after(self, event: ev.Event) -> Setup:
        """Return the set-up after an event; the same if the event changes nothing."""
        match event:
            case ev.SessionStarted():
                return replace(
                    self,
                    model=event.model or self.model,
                    effort=event.effort,
                    fallback_model=event.fallback_model,
                    mode=event.permission_mode,
                    demo=event.demo,
                )._with_conversation(event.provider_session_id)
            case ev.ConversationCleared() | ev.SessionRewound():
                return self._with_conversation(event.provider_session_id)
            case ev.MessageFinished():
                return self if self.spoken else replace(self, spoken=True)
            case ev.ModelChosen():
                return replace(
                    self, model=event.model, effort=event.effort, fallback_model=event.fallback_model
                )
            case ev.PermissionModeChanged():
                return replace(self, mode=event.mode)
            case ev.McpStatus():
                return replace(self, servers=tuple(event.servers))
            case ev.QueryReceived():
                return replace(self, path=None)
            case ev.QueryClassified() | ev.PathFellBack():
                return replace(self, path=event)
            case ev.PlanLimit():
                return replace(self, plan=event)
            case ev.UntrustedTextRead():
                return replace(self, untrusted=clean_line(event.what, 200))
            case ev.TracingFailed():
                return replace(self, tracing_failed=clean_line(event.error, 300))
            case _:
                return self

    def _with_conversation(self, conversation: str | None) -> Setup:
        return (
            self
            if conversation == self.conversation
            else replace(self, conversation=conversation, spoken=False)
        )
