"""Pictures, sounds and other files in results of MCP servers: moved from the command line's folder to the workspace.

The command line writes each to a file beside its transcript and names that to the model, which may not read there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from core.errors import WorkspaceError
from core.observation import ReturnedFile
from core.storage.files import AlreadyThere
from core.storage.media_types import HEAD_SIZE, media_suffix, media_type
from core.storage.names import numbered, safe_name
from core.storage.regular_file import open_regular
from core.storage.workspace import Workspace

__all__ = ["LARGEST", "move_to_workspace"]

LARGEST = 64 << 20
_MEDIA = "work_products/media"
_OTHERS = "downloads"
_LONGEST_TEXT = 8 << 20
_CHUNK = 1 << 20
_LONGEST_STEM = 80


def move_to_workspace(workspace: Workspace, path: Path, name: str) -> ReturnedFile:
    """Move a file that the command line wrote to the workspace, under a name made of `name`, which nobody vouches for.

    Its bytes decide whether it is a media file; secrets in a text are masked. If a file with the same content exists in
    the folder, that is the result.

    Raises:
        WorkspaceError: it is too large, or cannot be read or written.
        OSError: the file is none, or is gone.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise WorkspaceError(f"the file has more than {LARGEST >> 20} MB and is not kept")
        head = file.read(HEAD_SIZE)
        file.seek(0)
        is_media = media_type(head) is not None
        folder = _MEDIA if is_media else _OTHERS
        suffix = media_suffix(head) if is_media else _suffix(head, path)
        data = None if is_media else _masked(workspace, file, size)
        kept = _kept(workspace, folder, _stem(workspace, name) + suffix, file, data)
    path.unlink(missing_ok=True)
    return kept


def _kept(
    workspace: Workspace, folder: str, name: str, file: BufferedReader, data: bytes | None
) -> ReturnedFile:
    if data is None:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
    else:
        digest, size = hashlib.sha256(data).hexdigest(), len(data)
    for entry in workspace.list(folder) if workspace.exists(folder) else ():
        # One that is gone meanwhile is none.
        with suppress(WorkspaceError):
            if not entry.is_dir and entry.size == size:
                with workspace.root.opened(f"{folder}/{entry.name}") as other:
                    if hashlib.file_digest(other, "sha256").hexdigest() == digest:
                        return ReturnedFile(f"{folder}/{entry.name}", is_new=False)
    for path in numbered(f"{folder}/{name}"):
        if workspace.exists(path):
            continue
        try:
            written = workspace.root.write_chunks(path, _pieces(file, data), replace=False)
        except AlreadyThere:
            continue
        return ReturnedFile(written.path)
    raise WorkspaceError(f"there are too many files named {name} in {folder}")


def _pieces(file: BufferedReader, data: bytes | None) -> Iterator[bytes]:
    if data is not None:
        yield data
        return
    file.seek(0)
    while piece := file.read(_CHUNK):
        yield piece


def _stem(workspace: Workspace, name: str) -> str:
    """The name without folders and suffix; of an address, its last part without its query."""
    path = name
    if "://" in name:
        with suppress(ValueError):
            parts = urlsplit(name)
            path = parts.path.strip("/") or parts.netloc.rpartition("@")[2]
    stem = PurePosixPath(unquote(path).replace("\\", "/")).stem
    return safe_name(workspace.redactor.redact(stem) or "file", _LONGEST_STEM)


def _suffix(head: bytes, path: Path) -> str:
    """The suffix of a file that is no media file: by its bytes, or the one that the command line chose by its type."""
    if head.startswith(b"%PDF-"):
        return ".pdf"
    if head.startswith((b"\x7fELF", b"MZ", b"#!", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe")):
        return ".bin"
    return path.suffix.lower() if len(path.suffix) <= 8 else ".bin"


def _masked(workspace: Workspace, file: BufferedReader, size: int) -> bytes | None:
    """The text of a file with its secrets masked; None if it is no text, or too long to be searched."""
    if size > _LONGEST_TEXT:
        return None
    data = file.read()
    file.seek(0)
    try:
        text = data.decode() if b"\0" not in data else None
    except UnicodeDecodeError:
        return None
    return None if text is None else workspace.redactor.redact(text).encode()
