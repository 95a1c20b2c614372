"""Reads the full content of a tool result that was too large for its event from its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import size
from ua_tui.core.observation import ImageContent, Observation, TextContent
from ua_tui.core.text import clean_line

_MAX_BYTES = 128 << 20
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The result of a call with its full content, and the size of that in bytes.

    `problem` says why only the part that came with the event is available; empty if the content is complete.
    """

    observation: Observation
    size: int
    problem: str = ""


def read_stored_result(observation: Observation, folder: Path | None) -> StoredResult:
    """Read the stored result from the session's `folder`, compressed or not. Runs in a thread.

    Never raises: `problem` says what cannot be read. The path is as untrusted as the journal; a path that leads out of
    the folder is not followed.
    """
    part = StoredResult(observation, observation.size)
    if not observation.stored_at:
        return part
    name = clean_line(observation.stored_at, 200)
    if folder is None:
        return _only(part, f"the full result is in {name}")
    try:
        data = _read(folder, observation.stored_at)
        if data is None:
            return _only(part, f"{name} no longer exists")
        if len(data) > _MAX_BYTES:
            return _only(part, f"{name} is larger than {size(_MAX_BYTES)}")
        content = tuple(_block(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw]))
    except UniversalAgentError as error:
        return _only(part, clean_line(str(error), 400))
    except (ValueError, RecursionError):
        return _only(part, f"{name} is damaged")
    full = msgspec.structs.replace(observation, content=content)
    return StoredResult(full, full.size)


def _read(folder: Path, relative: str) -> bytes | None:
    from ua_tui.core.storage.workspace import Workspace

    workspace = Workspace(folder, folder)
    path = workspace.artifact_path(relative)
    return workspace.read_artifact(path, _MAX_BYTES + 1) if workspace.exists(path) else None


class _Block(msgspec.Struct):
    type: Literal["text", "image"]
    text: msgspec.Raw = msgspec.Raw(b'""')
    data: str = ""
    mime_type: str = "image/png"


def _block(raw: msgspec.Raw) -> TextContent | ImageContent:
    if len(memoryview(raw)) <= _STEP:
        return msgspec.json.decode(raw, type=TextContent | ImageContent)
    block = msgspec.json.decode(raw, type=_Block)
    if block.type == "image":
        return ImageContent(block.data, block.mime_type)
    return TextContent("".join(_pieces(memoryview(block.text))))


def _pieces(written: memoryview) -> Iterator[str]:
    """Decode a JSON string piece by piece, as the event loop is blocked while a piece is decoded.

    A space is never part of an escape sequence or of a multi-byte character, so the string may be cut before it.
    """
    inside = bytes(written[1:-1])
    start = 0
    while start < len(inside):
        end = inside.find(b" ", start + _STEP)
        end = len(inside) if end < 0 else end
        yield msgspec.json.decode(b'"' + inside[start:end] + b'"', type=str)
        start = end


def _only(part: StoredResult, reason: str) -> StoredResult:
    return StoredResult(part.observation, part.size, f"Only a part of the result is shown: {reason}.")
