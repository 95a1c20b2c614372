"""Masks the secrets in an entry of a transcript, so that the agent can still resume the conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

import msgspec

from ua_tui.core.redaction.redactor import REDACTED, Redactor, seal_json

_SIGNED = {"thinking", "redacted_thinking"}
_BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")


def sealed_entry(entry: Mapping[str, Any], redactor: Redactor) -> bytes:
    """Encode an entry of a transcript as one line without secrets.

    The model's service refuses a block of thinking that was changed, as its signature is wrong then: where there is a
    secret in one, a text takes its place. It refuses a damaged picture, too: in the data of one, only known secrets are
    masked, and not what looks like one.
    """
    data: dict[str, str] = {}
    # Nothing that is nested so deeply has a picture that the model was sent.
    with suppress(RecursionError):
        entry = _without_data(entry, redactor, data)
    encoded = _encoded(entry)
    line = seal_json(encoded, redactor)
    if "thinking" in encoded and (content := _without_changed_thinking(entry, line)) is not None:
        line = seal_json(_encoded({**entry, "message": {**entry["message"], "content": content}}), redactor)
    for name, value in data.items():
        line = line.replace(name.encode(), value.encode())
    return line


def _without_data(value: Any, redactor: Redactor, data: dict[str, str]) -> Any:
    """Copy a value with a name in place of the data of each picture and PDF file, which is added to `data`."""
    if isinstance(value, list):
        return [_without_data(each, redactor, data) for each in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("type") == "base64" and isinstance(found := value.get("data"), str):
        if _BASE64.fullmatch(found) is None or any(secret in found for secret in redactor.values):
            return value
        name = f"data {uuid4()}"
        data[name] = found
        return {**value, "data": name}
    return {key: _without_data(each, redactor, data) for key, each in value.items()}


def _without_changed_thinking(entry: Mapping[str, Any], line: bytes) -> list[Any] | None:
    """The content of a message with a text for each block of thinking that `line` changes; None if it changes none."""
    before, after = _blocks(entry), _blocks(msgspec.json.decode(line))
    changed = {at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
    signed = {at for at in changed if isinstance(before[at], dict) and before[at].get("type") in _SIGNED}
    if not signed:
        return None
    return [{"type": "text", "text": REDACTED} if at in signed else each for at, each in enumerate(before)]


def _encoded(entry: Mapping[str, Any]) -> str:
    try:
        return msgspec.json.encode(entry).decode()
    except (UnicodeEncodeError, RecursionError, TypeError):
        return json.dumps(entry)


def _blocks(entry: Any) -> list[Any]:
    message = entry.get("message") if isinstance(entry, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    return content if isinstance(content, list) else []
