"""Files that a tool call wrote under `work_products/`: which one, and what the call wrote into it."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import BinaryIO

from ua_tui.core.errors import ObserverError
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import input_text, texts_of
from ua_tui.observers.decoding.decode import decode_texts
from ua_tui.observers.search.tool_names import short_name

FOLDER = "work_products"
_OWN_WRITERS = frozenset({"write_local_file"})
_NATIVE_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_QUIET = 0.75


def writes_work_product(call: ToolCall) -> bool:
    """Whether a call of the local toolkit or the agent itself seems to write under `work_products/`."""
    writer = call.name in _NATIVE_WRITERS or short_name(call.name) in _OWN_WRITERS
    return writer and FOLDER in (input_text(call.input, "path", "file_path") or "")


def written_path(call: ToolCall, workspace: Workspace) -> str | None:
    """The path of the written file relative to the workspace; None if it is not under `work_products/`.

    Files of its folder `media` are no documents, and do not count.
    """
    pure = Path(input_text(call.input, "path", "file_path") or "")
    if pure.is_absolute():
        if not pure.is_relative_to(workspace.path):
            # The way to the workspace may have links in it, which the workspace's own path has not.
            pure = Path(os.path.realpath(pure.parent), pure.name)
        if not pure.is_relative_to(workspace.path):
            return None
        pure = pure.relative_to(workspace.path)
    parts = [part for part in pure.parts if part != "."]
    if len(parts) < 2 or parts[0] != FOLDER or ".." in parts or parts[1] == "media":
        return None
    return "/".join(parts)


def read_written(result: ToolResult, workspace: Workspace, path: str, largest: int) -> bytes:
    """What the call wrote, up to one byte more than `largest`; of the agent's own tools once it no longer changes.

    The toolkit's files are whole from the first moment. When one has been replaced since, what this call wrote is
    taken from its arguments, so that no version is lost.

    Raises:
        ObserverError: the file is still being written after ten seconds.
        WorkspaceError: it cannot be read.
    """
    if result.call.name in _NATIVE_WRITERS:
        return _read_when_complete(workspace, path, largest)
    data = workspace.read(path, largest + 1)
    content = result.call.input.get("content")
    answer = next(iter(decode_texts(texts_of(result, workspace)).values), None)
    if isinstance(answer, dict) and isinstance(content, str):
        content_bytes = content.encode("utf-8", "replace")
        if answer.get("sha256") == hashlib.sha256(content_bytes).hexdigest():
            return content_bytes
    return data


def _read_when_complete(workspace: Workspace, path: str, largest: int) -> bytes:
    end = time.monotonic() + 10.0
    seen = None
    while time.monotonic() < end:
        with workspace.root.opened(path) as file:
            state = _state(file)
            # By its own clock, which may be ahead of this one, a file at rest has not changed since the last look.
            if state == seen or time.time() - state[2] / 1e9 >= _QUIET:
                data = file.read(largest + 1)
                if _state(file) == state:
                    return data
        seen = state
        time.sleep(_QUIET)
    raise ObserverError(f"cannot read {path}: it is still being written; write it again when it is complete")


def _state(file: BinaryIO) -> tuple[int, int, int]:
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns
