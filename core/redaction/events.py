"""Masks secrets in events before anybody receives them, so that whoever cuts a text later cuts no secret."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import AuthRequired, ElicitationAsked, Event
from ua_tui.core.redaction.redactor import Redactor

_Value = TypeVar("_Value")


def mask_event(event: Event, redactor: Redactor) -> Event:
    """Return an event without secrets; a link that a person is to open stays, and is masked everywhere else."""
    if isinstance(event, AuthRequired):
        redactor.add(event.url)
        return event
    if isinstance(event, ElicitationAsked) and event.url:
        redactor.add_link(event.url)
        return msgspec.structs.replace(event, message=redactor.redact(event.message))
    try:
        if redactor.finds_nothing(encode_event(event)):
            return event
    except (TypeError, ValueError, RecursionError):
        # It is not plain JSON, such as half a character: each of its texts is searched.
        pass
    return _masked(event, redactor)


def _masked(value: _Value, redactor: Redactor) -> _Value:
    match value:
        case str() | dict():
            return redactor.redact_value(value)  # type: ignore[no-any-return]
        case list() | tuple():
            return type(value)(_masked(each, redactor) for each in value)
        case msgspec.Struct():
            fields = {name: _masked(getattr(value, name), redactor) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
        case _:
            return value
