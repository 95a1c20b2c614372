"""Saves artifacts: without duplicates and secrets, in a form that people can read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from ua_tui.core.json_values import JsonMapping, table_of
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.files import Written
from ua_tui.core.storage.paths import artifact_name
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import escape_unsafe
from ua_tui.observers.base import ObserverContext, Saved, moment_of

_ENCODER = msgspec.json.Encoder()
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')


@cache
def artifact_schemas() -> JsonMapping:
    """The JSON Schema (draft 2020-12) of each kind of artifact with a documented format."""
    found: JsonMapping = table_of(__file__, "formats.json")
    return found


def unique_id(context: ObserverContext, tool_use_id: str, *content: Any) -> str:
    """An id of 13 characters computed from the content (45 bits) and the tool call (20 bits).

    Secrets are masked first, so that a result read back from the journal gets the name it had.
    """
    redactor = context.workspace.redactor
    try:
        data = _ENCODER.encode(content)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        data = repr(content).encode("utf-8", "backslashreplace")
    if not redactor.finds_nothing(data):
        data = redactor.redact(data.decode()).encode("utf-8", "backslashreplace")
    return _digest(data)[:9] + _digest(tool_use_id.encode("utf-8", "backslashreplace"))[:4]


def _digest(data: bytes) -> str:
    return base64.b32encode(hashlib.blake2b(data, digest_size=16).digest()).decode().lower()


def save_once(
    result: ToolResult,
    context: ObserverContext,
    content: JsonMapping | Callable[[str], Written],
    *said: Any,
    folder: str,
    stem: str,
    suffix: str = ".json",
    kind: str,
    run: int | None = None,
) -> tuple[Saved | None, str]:
    """Write an artifact to a unique path, unless the session has it already: what is its JSON, or writes it.

    It is the same as one that `said` the same, whichever call that is from; with the number of a `run` in the call only
    as one of this run. Returns what was saved, or None, and the path of the artifact in either case.
    """
    call = result.call.tool_use_id
    unique = unique_id(context, call if run is None else f"{call} {run}", *said)
    name = artifact_name(stem, suffix, moment_of(result, context), unique)
    with context.ledger.turn():
        existing = context.ledger.claim(folder, unique, name, by_content=run is None)
        if existing is not None:
            return None, existing
        try:
            path = f"{folder}/{name}"
            written = content(path) if callable(content) else write_json(context.workspace, path, content)
        except BaseException:
            context.ledger.release(folder, unique)
            raise
        context.ledger.set_path(folder, unique, written.path)
    return Saved(written.path, kind, written.size, written.sha256), written.path


def write_json(workspace: Workspace, path: str, value: JsonMapping, exact: Sequence[str] = ()) -> Written:
    """Write JSON with a line per field and per item of a list, redacted; the texts of `exact` are not masked."""
    data = _laid_out(value)
    if data is None:
        return workspace.write_json_artifact(path, value)
    text = data.decode()
    if workspace.redactor.finds_nothing(data):
        return workspace.write_artifact(path, escape_unsafe(text).encode(), redacted=True)
    if exact:
        # One pass puts marks in their places and one takes them out again, however many there are.
        token = _digest(data)[:12]
        parts = [json.dumps(part, ensure_ascii=False) for part in exact]
        marks = {part: f'"exact_{number}_{token}"' for number, part in enumerate(parts)}
        text = _STRING.sub(lambda found: marks.get(found[0], found[0]), text)
    text = workspace.redactor.redact_json(text)
    if exact:
        text = re.sub(f'"exact_(\\d+)_{token}"', lambda found: parts[int(found[1])], text)
    return workspace.write_artifact(path, escape_unsafe(text).encode(), redacted=True)


def _laid_out(value: JsonMapping) -> bytes | None:
    """A value as JSON with one line per field and per item of a list; None if it cannot be encoded so.

    So it can be read and searched line by line, and is made as quickly as JSON without any lines.
    """
    pieces: list[bytes | memoryview] = [b"{\n"]
    try:
        for key, item in value.items():
            pieces += (b",\n" if len(pieces) > 1 else b"", _ENCODER.encode(key), b":")
            if isinstance(item, list) and item and isinstance(item[0], dict):
                # JSON has no line breaks of its own: these are the ends of the items.
                rows = _ENCODER.encode_lines(item).replace(b"\n", b",\n")
                pieces += (b"[\n", memoryview(rows)[:-2], b"\n]")
            else:
                pieces.append(_ENCODER.encode(item))
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return None
    return b"".join((*pieces, b"\n}\n"))
