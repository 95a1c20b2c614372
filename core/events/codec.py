"""Converts events to lines of JSON and back."""

from __future__ import annotations

import msgspec

from core.events.types import (
    ApiRetry,
    ArtifactSaved,
    AuthFinished,
    AuthRequired,
    BudgetRaised,
    BudgetReached,
    ComplianceEnforced,
    ComplianceFailed,
    ErrorRaised,
    Event,
    McpStatus,
    MessageFinished,
    ModelChosen,
    ObserverFinished,
    ObserverStarted,
    PathFellBack,
    PermissionAnswered,
    PermissionAsked,
    PipelineFailed,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    ServerTrustAnswered,
    ServerTrustAsked,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentProgress,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    TokensSpent,
    ToolCallFinished,
    ToolCallStarted,
    TracingFailed,
    UnknownEvent,
)

__all__ = ["EVENT_TYPES", "AnyEvent", "decode_event", "encode_event"]

AnyEvent = (
    SessionStarted
    | QueryReceived
    | QuerySteered
    | QueryClassified
    | PathFellBack
    | TextDelta
    | ThinkingDelta
    | MessageFinished
    | TokensSpent
    | ToolCallStarted
    | ToolCallFinished
    | SubagentStarted
    | SubagentProgress
    | SubagentFinished
    | PipelineFailed
    | ComplianceFailed
    | ComplianceEnforced
    | ObserverStarted
    | ObserverFinished
    | ArtifactSaved
    | PermissionAsked
    | PermissionAnswered
    | AuthRequired
    | AuthFinished
    | ServerTrustAsked
    | ServerTrustAnswered
    | ApiRetry
    | McpStatus
    | ModelChosen
    | QueryFinished
    | BudgetReached
    | BudgetRaised
    | TracingFailed
    | ErrorRaised
    | SessionFinished
)
EVENT_TYPES: tuple[type[Event], ...] = AnyEvent.__args__

_NAMES = frozenset(str(kind.__struct_config__.tag) for kind in EVENT_TYPES)
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(AnyEvent)


def encode_event(event: Event) -> bytes:
    """Encode an event as one JSON object, without a line break."""
    return _ENCODER.encode(event)


def decode_event(line: bytes | str) -> Event:
    """Decode one journal line; an event of a later version comes back as `UnknownEvent`.

    Raises:
        ValueError: the line is not JSON, or not an event.
    """
    try:
        event: Event = _DECODER.decode(line)
        return event
    except (msgspec.DecodeError, RecursionError) as error:
        try:
            raw = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            raise ValueError(f"not an event: {error}") from error
        name = raw.pop("event", None) if isinstance(raw, dict) else None
        if not isinstance(name, str) or name in _NAMES:
            raise ValueError(f"not an event: {error}") from error
        seq = raw.pop("seq", 0)
        return UnknownEvent(seq=seq if isinstance(seq, int) else 0, original_name=name, fields=raw)
