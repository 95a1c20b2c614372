"""Masks the secrets in an entry of a transcript, so that the agent can still resume the conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from core.redaction.redactor import REDACTED, Redactor, seal_json

__all__ = ["sealed_entry"]

_SIGNED = {"thinking", "redacted_thinking"}


def sealed_entry(entry: Mapping[str, Any], redactor: Redactor) -> bytes:
    """Encode an entry of a transcript as one line without secrets.

    The model's service refuses a block of thinking that was changed, as its signature is wrong then: where there is a
    secret in one, a text takes its place.
    """
    encoded = _encoded(entry)
    line = seal_json(encoded, redactor)
    if "thinking" not in encoded:
        return line
    before, after = _blocks(entry), _blocks(msgspec.json.decode(line))
    changed = {number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
    signed = {number for number in changed if _is_signed(before[number])}
    if not signed:
        return line
    content = [{"type": "text", "text": REDACTED} if at in signed else each for at, each in enumerate(before)]
    return seal_json(_encoded({**entry, "message": {**entry["message"], "content": content}}), redactor)


def _encoded(entry: Mapping[str, Any]) -> str:
    try:
        return msgspec.json.encode(entry).decode()
    except (UnicodeEncodeError, RecursionError, TypeError):
        return json.dumps(entry)


def _blocks(entry: Any) -> list[Any]:
    message = entry.get("message") if isinstance(entry, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _is_signed(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _SIGNED
