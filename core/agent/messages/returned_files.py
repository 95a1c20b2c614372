"""Pictures, sounds and other files in results of MCP servers: moved from the command line's folder to the workspace.

The command line writes each to a file beside its transcript and names that to the model, which may not read there.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote, urlsplit

from ua_tui.core.agent.bounds import LARGEST_FILE, PIECE
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.media_types import HEAD_SIZE, media_suffix, media_type
from ua_tui.core.observation import ReturnedFile
from ua_tui.core.redaction.files import masked_file
from ua_tui.core.storage.files import AlreadyThere
from ua_tui.core.storage.kinds import check_writable
from ua_tui.core.storage.names import numbered, safe_name
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import Workspace

_MEDIA = "work_products/media"
_OTHERS = "downloads"


def move_to_workspace(workspace: Workspace, path: Path, name: str) -> ReturnedFile:
    """Move a file that the command line wrote to the workspace; `name` is untrusted, and a safe one is made of it.

    Its bytes decide whether it is a media file; secrets in a text are masked. If a file with the same content exists in
    the folder, that is the result.

    Raises:
        WorkspaceError: it is too large, or cannot be read or written.
        OSError: it is not a regular file, or is gone.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise WorkspaceError(f"the file has more than {LARGEST_FILE >> 20} MB and is not kept")
        head = file.read(HEAD_SIZE)
        file.seek(0)
        is_media = media_type(head) is not None
        folder = _MEDIA if is_media else _OTHERS
        suffix = (
            media_suffix(head) if is_media else (".pdf" if head.startswith(b"%PDF-") else path.suffix.lower())
        )
        kept_file = file if is_media else masked_file(file, workspace.redactor)
        kept = _kept(workspace, folder, _allowed(_stem(workspace, name), suffix, head), kept_file)
    path.unlink(missing_ok=True)
    return kept


def _kept(workspace: Workspace, folder: str, name: str, file: IO[bytes]) -> ReturnedFile:
    digest = _digest(file)
    size = file.tell()
    for entry in workspace.list(folder) if workspace.exists(folder) else ():
        # It can be gone meanwhile.
        with suppress(WorkspaceError):
            if not entry.is_dir and entry.size == size:
                with workspace.root.opened(f"{folder}/{entry.name}") as other:
                    if _digest(other) == digest:
                        return ReturnedFile(f"{folder}/{entry.name}", is_new=False)
    for path in numbered(f"{folder}/{name}"):
        if workspace.exists(path):
            continue
        try:
            file.seek(0)
            written = workspace.root.write_chunks(path, iter(partial(file.read, PIECE), b""), replace=False)
        except AlreadyThere:
            continue
        return ReturnedFile(written.path)
    raise WorkspaceError(f"there are too many files named {name} in {folder}")


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _stem(workspace: Workspace, name: str) -> str:
    """The name without folders and suffix; of an address, its last part without its query."""
    path = name
    if "://" in name:
        with suppress(ValueError):
            parts = urlsplit(name)
            path = parts.path.strip("/") or parts.netloc.rpartition("@")[2]
    stem = PurePosixPath(unquote(path).replace("\\", "/")).stem
    return safe_name(workspace.redactor.redact(stem) or "file", 80)


def _allowed(stem: str, suffix: str, head: bytes) -> str:
    """A name of a kind that no other program obeys; a file of another kind is opaque data."""
    for name in (f"{stem}{suffix}", f"{stem}_data{suffix}"):
        with suppress(PathRefused):
            check_writable(name, head)
            return name
    return f"{stem}.bin"
