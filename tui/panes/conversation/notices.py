"""The app's own messages in a conversation: which events make one, and what it says."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import msgspec

from core.events.tool_names import tool_name
from core.events.types import (
    ApiRetry,
    AuthFinished,
    AuthRequired,
    BudgetRaised,
    BudgetReached,
    ComplianceEnforced,
    ComplianceFailed,
    ErrorRaised,
    Event,
    McpServer,
    ModelChosen,
    PathFellBack,
    PermissionAnswered,
    PermissionAsked,
    PipelineFailed,
    QueryFinished,
    ServerTrustAnswered,
    ServerTrustAsked,
    SessionFinished,
    SessionStarted,
    TracingFailed,
)
from core.events.units import duration, spent_of
from core.provider.error_messages import AT_LIMIT, REFUSALS, describe_retry
from core.text import clean, clean_line
from tui.panes.conversation.blocks import Tone
from tui.render.agent_failures import telling
from tui.render.server_changes import BROKEN, failure_of
from tui.render.session_terms import answering, goes_on_with

__all__ = ["Message", "message_of", "server_message"]

SENTENCE = 2_000
_ENDS = {
    "finished": "The session is over.",
    "interrupted": "The session was interrupted.",
    "quit": "The session was left by its user.",
    "signal": "The session was ended by a signal.",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What to say. A later message of the same `topic` takes the place of the earlier one.

    With `before` it ends the topic, and takes that place only where nothing was said since: otherwise it comes
    last, and the earlier one says `before`. It takes the place of what was said last, too, where that has the words
    `instead_of`.
    """

    mark: str
    tone: Tone
    text: str
    details: tuple[str, ...] = ()
    topic: Hashable = None
    before: str = ""
    instead_of: str = ""


def message_of(event: Event) -> Message | None:
    """Return the message an event makes, all of it cleaned; None when it makes none."""
    match event:
        case SessionStarted(resumed_from=str(resumed), session_id=own):
            text = (
                "Here the session goes on"
                if resumed == own
                else f"Goes on from session {clean_line(resumed)}"
            )
            holds = goes_on_with(event)
            return Message("·", Tone.QUIET, f"{text}: {holds}" if holds else f"{text}.")
        case PathFellBack():
            tool = tool_name(event.tool_name).short
            return Message("·", Tone.QUIET, f"The question needed a tool ({tool}): it goes on as COMPLEX.")
        case PermissionAsked():
            return _asked(event)
        case PermissionAnswered():
            return _answered(event)
        case AuthRequired() | AuthFinished():
            return _auth(event)
        case ServerTrustAsked() | ServerTrustAnswered():
            return _trust(event)
        case ApiRetry():
            return _retry(event)
        case ErrorRaised():
            causes = tuple(f"because {clean_line(cause, 400)}" for cause in telling(event.causes))
            text = clean(event.message[:SENTENCE]).strip()
            return Message(
                "✗", Tone.BAD, f"{clean_line(event.where)}: {text}" if event.where else text, causes
            )
        case PipelineFailed():
            text = f"Handler {clean_line(event.handler)} of {clean_line(event.pipeline)} failed"
            return Message("✗", Tone.BAD, f"{text}: {clean_line(event.error, 400)}")
        case ComplianceFailed():
            topic = ("compliance", event.subagent, event.rule)
            return Message("✗", Tone.WARNING, _broken(event), topic=topic)
        case ComplianceEnforced():
            topic = ("compliance", event.subagent, event.rule)
            return Message("⟲", Tone.WARNING, f"{_broken(event)} It was sent back to do so.", topic=topic)
        case BudgetReached(stopped=True) | BudgetReached(refused=True):
            # The end of the query says so, or did; and what waits stands at the prompt.
            return None
        case BudgetReached() | BudgetRaised():
            return _budget(event)
        case ModelChosen():
            return Message("·", Tone.QUIET, f"From the next query on {answering(event)}.", topic="model")
        case TracingFailed():
            text = f"Tracing failed: {clean_line(event.error, 400)}. The session goes on."
            return Message("✗", Tone.WARNING, text)
        case QueryFinished():
            return _finished(event)
        case SessionFinished():
            over = _ENDS.get(event.reason, f"The session is over: {clean_line(event.reason)}.")
            return Message("·", Tone.QUIET, over)
        case _:
            return None


def server_message(server: McpServer, *, told: bool = False, lost: bool = False) -> Message | None:
    """Return what to say of an MCP server that cannot be used, or can be again after that was `told`.

    `lost` says that it worked before. Of one that is not trusted yet the person is asked.
    """
    if server.status == "connected" and told:
        name = clean_line(server.name)
        if lost:
            # That it was away is worth knowing as long as the session is read.
            gone = failure_of(msgspec.structs.replace(server, error=server.last_error))
            again = f"MCP server {name} is connected again."
            return Message("✓", Tone.QUIET, again, topic=("mcp", server.name), before=gone)
        text = f"MCP server {name} is connected."
        return Message("✓", Tone.QUIET, text, topic=("mcp", server.name))
    if server.status == "off":
        return Message(
            "·",
            Tone.QUIET,
            clean_line(server.error or f"{server.name} is off.", 400),
            topic=("mcp", server.name),
        )
    if server.status == "disabled":
        text = f"MCP server {clean_line(server.name)} is disabled: the agent does not see its tools."
        return Message("⊘", Tone.QUIET, text, topic=("mcp", server.name))
    if server.status not in BROKEN:
        return None
    mark = "✗" if server.again_s is None else "↻"
    return Message(mark, Tone.WARNING, failure_of(server), topic=("mcp", server.name))


def _retry(event: ApiRetry) -> Message:
    why = clean_line(describe_retry(event.error), 300)
    text = f"{why[:1].upper()}{why[1:]}"
    if event.error in REFUSALS:
        # It is not tried again, and the end of the query says what to do.
        return Message("✗", Tone.BAD, f"{text}.", topic="retry")
    text += f": try {event.attempt} of {event.max_attempts}"
    text += f" in {duration(event.delay_ms / 1000)}." if event.delay_ms else "."
    return Message("⟲", Tone.WARNING, text, topic="retry")


def _budget(event: BudgetReached | BudgetRaised) -> Message:
    spent, limit = spent_of(event.spent_usd, event.limit_usd)
    if isinstance(event, BudgetRaised):
        return Message("·", Tone.QUIET, f"The session may cost {limit} from here on; {spent} is spent.")
    if event.level == "warning":
        text = f"{spent} of {limit} is spent. At the limit the work stops; /budget raises it."
        return Message("⚠", Tone.WARNING, text, topic="budget")
    text = f"{spent} is spent, and the session may cost {limit}: nothing more runs until /budget raises that."
    return Message("✗", Tone.BAD, text, topic="budget")


def _broken(event: ComplianceFailed | ComplianceEnforced) -> str:
    what = clean_line(event.message, 400) or clean_line(event.rule).replace("_", " ")
    return f"{clean_line(event.subagent)} broke a rule: {what.rstrip('.')}."


def _subjects(event: PermissionAsked | PermissionAnswered) -> str:
    names = event.subjects or [event.tool_name]
    return ", ".join(dict.fromkeys(tool_name(name).short for name in names))


def _asked(event: PermissionAsked) -> Message:
    why = f" {clean_line(event.reason)}" if event.reason else ""
    return Message(
        "?", Tone.WARNING, f"May {_subjects(event)} run?{why}", topic=("permission", event.request_id)
    )


def _answered(event: PermissionAnswered) -> Message:
    tool = _subjects(event)
    topic = ("permission", event.request_id)
    why = f": {clean_line(event.reason)}" if event.reason else ""
    if event.decision == "allow":
        scope = "" if event.scope == "once" else f" ({clean_line(event.scope)})"
        return Message("✓", Tone.GOOD, f"{tool} was allowed{scope}{why}", topic=topic)
    return Message("⊘", Tone.WARNING, f"{tool} was denied{why}", topic=topic)


def _auth(event: AuthRequired | AuthFinished) -> Message:
    toolkit = clean_line(event.toolkit)
    topic = ("auth", event.toolkit)
    if isinstance(event, AuthRequired):
        text = f"{toolkit} needs your account. Open this link, then come back:"
        return Message("?", Tone.WAITING, text, (clean(event.url[:SENTENCE]).strip(),), topic)
    # What the agent said meanwhile is not true any more, and has to stand above this.
    before = f"{toolkit} needed your account."
    match event.outcome:
        case "completed":
            return Message("✓", Tone.GOOD, f"{toolkit} is connected.", topic=topic, before=before)
        case "cancelled":
            why = "cancelled"
        case "expired":
            why = "the link ran out"
        case "unattended":
            why = "nobody was there to sign in"
    return Message("⊘", Tone.WARNING, f"{toolkit} was not connected: {why}.", topic=topic, before=before)


def _trust(event: ServerTrustAsked | ServerTrustAnswered) -> Message:
    name = clean_line(event.server, 80)
    topic = ("trust", event.server)
    if isinstance(event, ServerTrustAsked):
        text = f"May the MCP server {name} of this folder be used? {clean_line(event.target, 300)}"
        return Message("?", Tone.WARNING, text, topic=topic)
    if event.decision == "trusted":
        return Message("✓", Tone.GOOD, f"MCP server {name} is trusted in this folder.", topic=topic)
    why = "is refused in this folder" if event.decision == "refused" else "is left out this time"
    return Message("⊘", Tone.QUIET, f"MCP server {name} {why}.", topic=topic)


def _finished(event: QueryFinished) -> Message | None:
    took = f" after {duration(event.duration_ms / 1000)}" if event.duration_ms else ""
    match event.status:
        case "success":
            return None
        case "interrupted":
            return Message("⊘", Tone.WARNING, f"Interrupted{took}. What came so far is kept.")
        case "error":
            if event.error == AT_LIMIT:
                text = f"Stopped{took}: what the session may cost is spent. /budget raises that."
                return Message("✗", Tone.BAD, text)
            why = clean((event.error or "no reason was given")[:SENTENCE]).strip()
            text = f"The query failed{took}: {why}"
            return Message("✗", Tone.BAD, text, instead_of=f"agent: {why}")
