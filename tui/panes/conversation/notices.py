"""The app's own messages in a conversation: which events make one, and what it says."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import msgspec

from ua_tui.core.events.describe import Description, Severity, describe, describe_resume, describe_server
from ua_tui.core.events.types import (
    AuthFinished,
    BudgetReached,
    ErrorRaised,
    Event,
    McpServer,
    PermissionApplied,
    PlanLimit,
    QueryFinished,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.events.units import spoken_duration
from ua_tui.core.json_values import table_of
from ua_tui.core.provider.error_messages import AT_LIMIT
from ua_tui.core.text import clean_line
from ua_tui.tui.render.agent_failures import informative_causes

_LONGEST = 2_000
RETRY, RETRIED = ("retry",), "Retried."
OF_A_QUERY = "of a query"
"""The first part of a topic that ends with the next query: what is reported after it is a message of its own."""


@dataclass(frozen=True, slots=True)
class AppMessage:
    """A message of the app. A later message of the same `topic` replaces the earlier one.

    A message with `before` ends its topic. If the earlier message is the last block, it is replaced as well;
    otherwise the new message is added at the end, and the text of the earlier one becomes `before`.
    A message also replaces one of the notices at the end if its text is `instead_of`.
    """

    severity: Severity
    text: str
    details: tuple[str, ...] = ()
    topic: Hashable = None
    before: str = ""
    instead_of: str = ""


class _Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topic: tuple[str, ...] = ()
    details: int | None = None


_SHOWN = table_of(__file__, "notices.json", dict[str, _Shown])
"""The events that are shown as they are described, by their names.

`topic` is its first part, and the fields with the others; `details` is the first detail that is shown, too.
"""


def message_of(event: Event) -> AppMessage | None:
    """Return the message an event makes, all of it cleaned; None when it makes none."""
    match event:
        case SessionStarted(resumed_from=str()):
            return _message(Description("session", describe_resume(event)))
        case (
            QueryFinished(status="success")
            | BudgetReached(stopped=True)
            | BudgetReached(refused=True)
            | SessionFinished(reason="forked")
            | PlanLimit(is_near=False)
            | PermissionApplied(decision="allow")
            | PermissionApplied(rule="")
        ):
            # The end of the query reports the limit, and a waiting query is shown at the prompt.
            return None
        case QueryFinished():
            return _end_of_query(event)
        case AuthFinished():
            # The agent's answer in between is outdated, and has to stay above this message.
            before = f"{clean_line(event.toolkit) or 'Account'} sign-in requested."
            return _message(describe(event), topic=("auth", event.toolkit), before=before)
        case ErrorRaised():
            causes = informative_causes(describe(event).details)
            return _message(describe(event), tuple(f"because {clean_line(cause, 400)}" for cause in causes))
    if (shown := _SHOWN.get(event.event_name)) is None:
        return None
    description, first = describe(event), shown.details
    topic = (*shown.topic[:1], *(getattr(event, name) for name in shown.topic[1:]))
    details = description.details[first:] if first is not None else ()
    return _message(description, details, topic=topic or None)


def server_message(
    server: McpServer, *, was_reported: bool = False, was_lost: bool = False
) -> AppMessage | None:
    """Return the message about an MCP server that cannot be used, or that works again after that `was_reported`.

    With `was_lost` it worked before. A server that is not trusted yet makes none: the person is asked instead.
    """
    topic = ("mcp", server.name)
    match server.status:
        case "connected" if was_reported and was_lost:
            # That it was away is worth knowing as long as the session is read.
            failed = msgspec.structs.replace(server, status="failed", error=server.last_error)
            before = describe_server(failed).sentence[:_LONGEST]
            return _message(describe_server(server, again=True), topic=topic, before=before)
        case "connected" if was_reported:
            return _message(describe_server(server), topic=topic)
        case "off" | "disabled" | "failed" | "needs-auth":
            # A connection that could not be opened is reported as an error, before its server is known.
            same = describe(ErrorRaised(where=server.name, message=server.error or "")).sentence
            return _message(describe_server(server), topic=topic, instead_of=same)
        case _:
            return None


def _message(
    description: Description,
    details: tuple[str, ...] = (),
    *,
    topic: Hashable = None,
    before: str = "",
    instead_of: str = "",
) -> AppMessage:
    text = description.sentence[:_LONGEST].strip()
    details = tuple(detail[:_LONGEST] for detail in details)
    return AppMessage(description.severity, text, details, topic, before, instead_of)


def _end_of_query(event: QueryFinished) -> AppMessage:
    if event.error == AT_LIMIT:
        after = f" after {spoken_duration(event.duration_ms)}" if event.duration_ms else ""
        sentence = f"Stopped{after}: spending limit reached. Raise it with /budget."
        return _message(Description("query", sentence, Severity.ERROR))
    same_error = describe(ErrorRaised(where="agent", message=event.error or "")).sentence
    return _message(describe(event), topic=RETRY, before=RETRIED, instead_of=same_error[:_LONGEST].strip())
