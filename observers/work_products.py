"""Copies finished work products to a folder that outlives the session."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path, PurePosixPath

import msgspec

from core.errors import PathRefused, UniversalAgentError, WorkspaceError
from core.files import AlreadyThere, Root, Written
from core.names import safe_name
from core.observation import ToolCall, ToolResult
from core.workspace import Workspace
from observers.base import ObserverContext, Outcome, Saved, input_text, moment_of
from observers.search.names import short_name

__all__ = ["FOLDER", "INDEX", "WorkProducts", "is_draft"]

FOLDER = "work_products"
INDEX = "index.jsonl"
_OWN_WRITERS = frozenset({"write_local_file"})
_NATIVE_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_MAX_SIZE = 256 << 20
_MAX_INDEX = 64 << 20
_QUIET = 0.25
_PATIENCE = 10.0
_DRAFT_WORDS = frozenset(
    {"draft", "drafts", "outline", "working", "wip", "tmp", "temp", "scratch", "partial"}
)


class WorkProducts:
    """Observer of writes under `work_products/`."""

    name = "work_products"

    def wants(self, call: ToolCall) -> bool:
        """Writes of the local toolkit or of the agent itself that name the folder."""
        writer = call.name in _NATIVE_WRITERS or short_name(call.name) in _OWN_WRITERS
        return writer and FOLDER in (input_text(call.input, "path", "file_path") or "")

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Copy the written file to `SAVED_REPORTS/{name}_{YYYYMMDD_HHMMSS}{ext}`, once for each content."""
        if result.observation.has_error:
            return Outcome(note="the write failed")
        workspace = context.workspace
        path = _inside(input_text(result.call.input, "path", "file_path") or "", workspace)
        if path is None:
            return Outcome(note=f"not a file under {FOLDER}/")
        if is_draft(path):
            return Outcome(note="a draft or working file, which is not kept")
        if workspace.root.size(path) > _MAX_SIZE:
            return Outcome(note=f"larger than {_MAX_SIZE >> 20} MiB, which is not copied")
        data = _settled(workspace, path, patient=result.call.name in _NATIVE_WRITERS)
        if not data:
            return Outcome(note="the file is empty")
        digest = hashlib.sha256(data).hexdigest()
        with context.ledger.editing:
            kept = _kept_before(workspace, path, digest)
            if kept is not None:
                return Outcome(duplicates=1, note=f"saved before as {kept}")
            return self._copy(path, data, result, context)

    def _copy(self, path: str, data: bytes, result: ToolResult, context: ObserverContext) -> Outcome:
        workspace, moment = context.workspace, moment_of(result, context)
        source = PurePosixPath(path)
        suffix = source.suffix if len(source.suffix) <= 16 else ""
        stem = source.name.removesuffix(suffix)
        name = safe_name(f"{safe_name(stem, 80)}_{moment:%Y%m%d_%H%M%S}{suffix.lower()}", 110)
        written = _write_new(workspace.saved_reports, name, data)
        entry = {
            "saved_as": written.path,
            "source": path,
            "session": workspace.session_id,
            "sha256": written.sha256,
            "size": written.size,
            "at": moment.isoformat(timespec="seconds"),
            "tool_use_id": result.call.tool_use_id,
        }
        workspace.saved_reports.append_line(INDEX, msgspec.json.encode(entry))
        copied_to = str(workspace.saved_reports.path / written.path)
        return Outcome((Saved(path, "work_product", written.size, written.sha256, copied_to),), items=1)


def is_draft(path: str) -> bool:
    """Whether a file's name says that it is not meant to be kept."""
    name = PurePosixPath(path).name.lower()
    words = name.replace("-", "_").replace(".", "_").replace(" ", "_").split("_")
    return (
        name.startswith((".", "_", "~"))
        or name.endswith(("~", ".bak", ".swp"))
        or bool(_DRAFT_WORDS & set(words))
    )


def _inside(path: str, workspace: Workspace) -> str | None:
    """The path relative to the workspace, when it is one of a file under `work_products/` but not a copy there."""
    pure = Path(path)
    if pure.is_absolute():
        try:
            pure = pure.relative_to(workspace.path)
        except ValueError:
            return None
    parts = [part for part in pure.parts if part != "."]
    if len(parts) < 2 or parts[0] != FOLDER or ".." in parts or parts[1] == "media":
        return None
    return "/".join(parts)


def _settled(workspace: Workspace, path: str, *, patient: bool) -> bytes:
    """Read a file once nobody writes to it any more; the toolkit's own files are whole from the first moment."""
    data = workspace.read(path)
    if not patient:
        return data
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(_QUIET)
        again = workspace.read(path)
        if again == data:
            return data
        data = again
    raise UniversalAgentError(
        f"cannot copy {path}: it is still being written; write it again when it is complete"
    )


def _write_new(root: Root, name: str, data: bytes) -> Written:
    """Write under `name` or the first free of `-2`, `-3` and on; a link in the way is left alone."""
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        stem, suffix = name, ""
    for number in range(1, 1_000):
        try:
            return root.write(name if number == 1 else f"{stem}-{number}{dot}{suffix}", data, replace=False)
        except (AlreadyThere, PathRefused):
            continue
    raise WorkspaceError(f"cannot save {name}: too many files of that name in {root.path}; remove some")


def _kept_before(workspace: Workspace, path: str, digest: str) -> str | None:
    """The name under which this content of this file was copied before, if it was."""
    if not workspace.saved_reports.exists(INDEX):
        return None
    for line in workspace.saved_reports.read(INDEX, _MAX_INDEX).splitlines():
        if digest.encode() not in line:
            continue
        try:
            entry = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        match entry:
            case {"sha256": found, "source": source, "session": session, "saved_as": str(name)}:
                if (found, source, session) == (digest, path, workspace.session_id):
                    return name
            case _:
                pass
    return None
