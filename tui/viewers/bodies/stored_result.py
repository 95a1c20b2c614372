"""The whole of a tool result that was too large for its event, read back from its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from core.errors import UniversalAgentError
from core.events.types import ToolCallFinished
from core.events.units import size
from core.observation import ImageContent, TextContent
from core.text import clean_line

__all__ = ["WholeResult", "is_stored", "whole_result"]

_LARGEST = 128 << 20
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class WholeResult:
    """The end of a call with all of its content, and how many bytes that is.

    `problem` says why it is only what came with the event; empty when it is whole.
    """

    finished: ToolCallFinished
    size: int
    problem: str = ""


def is_stored(finished: ToolCallFinished | None) -> bool:
    """Whether the event has only a part of the result, and a file the rest."""
    return finished is not None and finished.observation is not None and bool(finished.observation.stored_at)


def whole_result(finished: ToolCallFinished, folder: Path | None) -> WholeResult:
    """Read what is stored in the session's `folder`, in whichever form it is there. Runs in a thread.

    Never raises: what cannot be read is told in `problem`. The path is as untrusted as the journal it may
    come from; none that leads out of the folder is followed.
    """
    observation = finished.observation
    if observation is None:
        return WholeResult(finished, 0)
    if not observation.stored_at:
        return WholeResult(finished, observation.size)
    part = WholeResult(finished, observation.size)
    told = clean_line(observation.stored_at, 200)
    if folder is None:
        return _only(part, f"the whole of it is in {told}")
    try:
        data = _read(folder, observation.stored_at)
        if data is None:
            return _only(part, f"{told} is no longer there")
        if len(data) > _LARGEST:
            return _only(part, f"{told} holds more than {size(_LARGEST)}")
        content = tuple(_block(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw]))
    except UniversalAgentError as error:
        return _only(part, clean_line(str(error), 400))
    except (ValueError, RecursionError):
        return _only(part, f"{told} is damaged")
    whole = msgspec.structs.replace(observation, content=content)
    return WholeResult(msgspec.structs.replace(finished, observation=whole), whole.size)


def _read(folder: Path, relative: str) -> bytes | None:
    from core.storage.workspace import Workspace

    workspace = Workspace(folder, folder)
    path = workspace.artifact_path(relative)
    return workspace.read_artifact(path, _LARGEST + 1) if workspace.exists(path) else None


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
    """A JSON string piece by piece: the loop cannot run while one is decoded.

    A space is never part of an escape, nor of a character of several bytes, so the string may be cut before it.
    """
    inside = bytes(written[1:-1])
    start = 0
    while start < len(inside):
        end = inside.find(b" ", start + _STEP)
        end = len(inside) if end < 0 else end
        yield msgspec.json.decode(b'"' + inside[start:end] + b'"', type=str)
        start = end


def _only(part: WholeResult, why: str) -> WholeResult:
    return WholeResult(part.finished, part.size, f"Only a part of the result is shown: {why}.")
