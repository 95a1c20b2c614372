"""Reads files of unknown origin: regular files only, and never more than requested."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.errors import UniversalAgentError, WorkspaceError
from ua_tui.core.storage import regular_file
from ua_tui.core.storage.compression import LARGEST, SUFFIX, SUFFIXES, Unpacked, inner_name
from ua_tui.core.text import SOFT_HYPHEN, as_sentence, clean, clean_line

BINARY_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".ico"}
    | {".mp4", ".webm", ".mkv", ".mov", ".avi", ".mp3", ".ogg", ".opus", ".wav", ".flac", ".m4a"}
    | {".pdf", ".epub", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp"}
)
"""The suffixes of common formats that are not text, in lower case."""
_BOMS = (("utf-8-sig", b"\xef\xbb\xbf"), ("utf-16", b"\xff\xfe"), ("utf-16", b"\xfe\xff"))
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x08\x1b")
_NO_FILES = {
    stat.S_IFLNK: "This is a link. Links are not followed, because they may lead out of the workspace.",
    stat.S_IFDIR: "This is a folder, not a file.",
    stat.S_IFIFO: "This is a pipe. It is not opened, because reading it would wait for another program.",
    stat.S_IFSOCK: "This is a socket, not a file.",
}
_STEP = 4 * 1024 * 1024
_CLEANED_AT_ONCE = 64 * 1024


class FileUnviewable(WorkspaceError):
    """A file cannot be shown; the message says why and is shown in place of the file."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of bytes of a file: `data` from `offset`; the file was `size` bytes long when it was opened.

    For a compressed file, all three refer to its content; `packed` is its own size, None for any other file.
    """

    path: Path
    data: bytes
    offset: int
    size: int
    packed: int | None = None

    @property
    def name(self) -> str:
        """The name of the content, without the suffix of a compression."""
        return self.path.name if self.packed is None else inner_name(self.path.name)

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + len(self.data)

    @property
    def complete(self) -> bool:
        """Whether the piece is the complete file."""
        return self.offset == 0 and self.end >= self.size

    def cut_to_lines(self) -> Piece:
        """Remove an incomplete last line, or at least an incomplete last character, from a piece of text."""
        if self.end >= self.size or looks_binary(self.data):
            return self
        end = self.data.rfind(b"\n") + 1
        if not end:
            end = len(self.data)
            while end > len(self.data) - 4 and end > 1 and self.data[end - 1] & 0xC0 == 0x80:
                end -= 1
            if self.data[end - 1] >= 0xC0:
                end -= 1
        return replace(self, data=self.data[: end or len(self.data)])


def missing_reason(folder: Path, path: str) -> str:
    """Return why a file of the session in `folder` cannot be shown, as a sentence; empty if it can. Blocks."""
    from ua_tui.core.storage.workspace import Workspace

    name = clean_line(path, 200)
    try:
        workspace = Workspace(folder, folder)
        if workspace.exists(workspace.artifact_path(path)):
            return ""
    except UniversalAgentError as error:
        return f"{name} cannot be opened: {clean_line(str(error), 400)}"
    return f"{name} no longer exists. It was deleted or moved after the call."


def open_regular(path: Path) -> int:
    """Open a regular file for reading and return its descriptor, without following links.

    Raises:
        FileUnviewable: the path does not exist, is not readable, or is not a regular file.
    """
    try:
        return regular_file.open_regular(path)
    except regular_file.NotRegular as error:
        raise FileUnviewable(_kind_message(error.mode)) from error
    except OSError as error:
        raise FileUnviewable(_explain(path, error)) from error
    except ValueError as error:
        raise FileUnviewable("This name cannot be opened.") from error


def read_piece(path: Path, limit: int, offset: int = 0) -> Piece:
    """Read at most `limit` bytes from `offset`; of a `.zst` or `.gz` file, from its uncompressed content.

    An artifact may have been compressed or uncompressed since its name was recorded: if the file does not exist, the
    other form is read.

    Raises:
        FileUnviewable: the path does not exist, is not readable, is not a regular file, or is damaged.
        Stopped: the result is no longer needed.
    """
    path = _existing_form(path)
    if inner_name(path.name) != path.name:
        return _read_unpacked(path, limit, offset)
    try:
        with os.fdopen(open_regular(path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            # Read all at once if possible, as joining many parts would block every other thread.
            data = b"".join(_parts(file, limit, max(size - offset, 1 << 20)))
    except OSError as error:
        raise FileUnviewable(_explain(path, error)) from error
    # Sizes under /proc are zero, and files grow, so the number of bytes read takes precedence.
    return Piece(path, data, offset, max(size, offset + len(data)))


def _read_unpacked(path: Path, limit: int, offset: int) -> Piece:
    suffix = next(suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix))
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            packed = os.fstat(file.fileno()).st_size
            if not packed:
                return Piece(path, b"", offset, 0)
            unpacked = Unpacked(file, suffix)
            sum(map(len, _parts(unpacked, offset)))
            data = b"".join(_parts(unpacked, limit))
            end = offset + len(data)
            if unpacked.more:
                known = unpacked.size
                rest = sum(map(len, _parts(unpacked, LARGEST))) if known is None else 1
                size = max(known or 0, end + rest)
            else:
                size = end
    except OSError as error:
        raise FileUnviewable(_explain(path, error)) from error
    except FileUnviewable:
        raise
    except WorkspaceError as error:
        raise FileUnviewable(as_sentence(str(error).partition(";")[0])) from error
    return Piece(path, data, offset, size, packed)


def _parts(file: Unpacked | BinaryIO, count: int, step: int = _STEP) -> Iterator[bytes]:
    """Read so many bytes, or what there is, in parts; the flag is looked at before each."""
    while count > 0:
        check_stopped()
        part = file.read(min(step, count))
        if not part:
            return
        count -= len(part)
        yield part


def _existing_form(path: Path) -> Path:
    if os.path.lexists(path):
        return path
    name = path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else f"{path.name}{SUFFIX}"
    other = path.with_name(name) if name else path
    return other if os.path.lexists(other) else path


def looks_binary(data: bytes) -> bool:
    """Judge by the first 8 KB whether bytes are not text."""
    head = data[:8192]
    if any(head.startswith(bom) for _, bom in _BOMS):
        return False
    if b"\0" in head:
        return True
    odd = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS)
    if odd > len(head) // 20:
        return True
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 3:
            return False
        high = sum(1 for byte in head if byte >= 128)
        return high > len(head) // 3
    return False


def decode(data: bytes) -> str:
    """Decode bytes as text for the screen: UTF-8, or UTF-16 with a byte order mark; cleaned, tabs as spaces.

    Soft hyphens are left out: no line is broken at them.
    """
    encoding = next((name for name, bom in _BOMS if data.startswith(bom)), "utf-8")
    text = data.decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n").replace(SOFT_HYPHEN, "")
    return clean_in_steps(text).expandtabs(4)


def clean_in_steps(text: str) -> str:
    """Clean a text; a long one at once would block every other thread, including the event loop."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + _CLEANED_AT_ONCE
        # A line break of two characters is one.
        end += text[end - 1 : end] == "\r"
        parts.append(clean(text[start:end]))
        start = end
    return "".join(parts)


def _explain(path: Path, error: OSError) -> str:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return "This file no longer exists."
    except OSError:
        mode = 0
    if mode and not stat.S_ISREG(mode):
        return _kind_message(mode)
    if isinstance(error, PermissionError):
        return "You do not have permission to read this file."
    return f"This file cannot be read: {error.strerror or type(error).__name__}."


def _kind_message(mode: int) -> str:
    return _NO_FILES.get(stat.S_IFMT(mode), "This is a device, not a file.")
