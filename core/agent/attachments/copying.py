"""Copies a file that a person adds to a query into the session's folder, where the agent may read it."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

from ua_tui.core.agent.attachments.mentions import mention_of
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.names import numbered, safe_name
from ua_tui.core.storage.regular_file import NotRegular, open_regular
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line

FOLDER = "attachments"
LARGEST = 32 << 20
"""The maximum size of an added file, in bytes."""


def attach(workspace: Workspace, file: Path) -> str:
    """Copy a file into the session's folder; returns what names it in a query. Call it in a thread.

    Secrets in a text are masked. A file that is in the folder already is named where it is, and one with the same
    content is not copied twice.

    Raises:
        WorkspaceError: it is not a regular file, is too large, or cannot be read or written.
    """
    inside = _path_inside(workspace, file)
    if inside is None:
        inside = attach_data(workspace, file.name, _read(file))
    mention = mention_of(inside)
    if mention is None:
        raise WorkspaceError(f"{_shown(file)} cannot be added: its name cannot be typed. Rename it first")
    return mention


def _path_inside(workspace: Workspace, file: Path) -> str | None:
    try:
        inside = file.resolve().relative_to(workspace.path.resolve()).as_posix()
        return inside if workspace.exists(inside) else None
    except (ValueError, OSError, RuntimeError, WorkspaceError):
        return None


def check_file(file: Path) -> None:
    """Check that a file can be added, or that it is a folder, which is only named.

    Raises:
        WorkspaceError: it is not a regular file, is too large, or cannot be read.
    """
    if not os.path.isdir(file):
        os.close(_open(file))


def _open(file: Path) -> int:
    try:
        descriptor = open_regular(file, follow=True)
    except NotRegular as error:
        why = "it is a directory" if stat.S_ISDIR(error.mode) else error.strerror
        raise WorkspaceError(f"{_shown(file)} cannot be added: {why}") from error
    except OSError as error:
        raise WorkspaceError(
            f"{_shown(file)} cannot be added: {error.strerror}. Check its path and permissions"
        ) from error
    if os.fstat(descriptor).st_size > LARGEST:
        os.close(descriptor)
        raise WorkspaceError(
            f"{_shown(file)} cannot be added: it is larger than {LARGEST >> 20} MB. "
            "Write its path without an @, and the agent reads it with its tools"
        )
    return descriptor


def _read(file: Path) -> bytes:
    try:
        with os.fdopen(_open(file), "rb") as opened:
            return opened.read(LARGEST)
    except OSError as error:
        raise WorkspaceError(f"{_shown(file)} cannot be added: {error.strerror}") from error


def attach_data(workspace: Workspace, name: str, data: bytes) -> str:
    """Write a file of this content and return its path; one that is there already with the same content is used.

    Secrets in a text are masked.

    Raises:
        WorkspaceError: it cannot be written.
    """
    content = _masked(workspace, data)
    digest = sha256(content).digest()
    for path in numbered(f"{FOLDER}/{safe_name(name)}"):
        if not workspace.exists(path):
            return workspace.write(path, content).path
        if sha256(workspace.read(path)).digest() == digest:
            return path
    raise WorkspaceError(f"{clean_line(name, 200)} cannot be added: too many files have this name")


def _masked(workspace: Workspace, data: bytes) -> bytes:
    """A text without secrets; anything else as it is."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return workspace.redactor.redact(text).encode()


def _shown(file: Path) -> str:
    return clean_line(str(file), 300)
