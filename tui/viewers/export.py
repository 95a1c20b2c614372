"""Decides which files are passed to a browser, to another program or to the clipboard, and in which form."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePath

from textual.widget import Widget

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.errors import UniversalAgentError, WorkspaceError
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.text import clean_line
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.reader import (
    BINARY_SUFFIXES,
    FileUnviewable,
    decode,
    looks_binary,
    open_regular,
    read_piece,
)
from ua_tui.tui.viewers.safe_html import LARGEST, write_browser_copy


async def open_outside(owner: Widget, path: Path) -> bool:
    """Open a file by the rules of `ua_tui.tui.viewers.export`, and say so on `owner`; True if it was opened."""
    from ua_tui.tui.terminal import desktop

    try:
        target = await in_thread(outside_target, path)
        if target.sanitised:
            _check_browser(target.path)
            owner.app.open_url(target.path.as_uri())
        else:
            await asyncio.to_thread(desktop.start, target.path, os.environ)
    except UniversalAgentError as error:
        owner.notify(str(error), severity="warning")
        return False
    if target.sanitised:
        message = "Opening a copy without scripts and remote content in the browser."
    else:
        message = f"Opening {clean_line(path.name, 120)} in another program."
    owner.notify(message)
    return True


def _check_browser(path: Path) -> None:
    """Raise if there is no desktop session, or if the browser would run in this terminal."""
    from ua_tui.tui.terminal.desktop import NoDesktop
    from ua_tui.tui.terminal.links import why_no_browser

    if (why := why_no_browser(os.environ)) is not None:
        raise NoDesktop(
            f"{why.rstrip('.')}: a copy without scripts is at {clean_line(os.fspath(path), 1000)}"
        )


_MAX_COPIED = 1 << 20
_NAME = 120
_HTML = frozenset({".html", ".htm"})
# Formats that other programs show and do not run. SVG is missing, as a browser runs its scripts.
_HARMLESS = BINARY_SUFFIXES | frozenset(
    {".rtf"} | {".txt", ".log", ".md", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml"}
)


class NotExportable(WorkspaceError):
    """A file is not passed to another program or to the clipboard; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """The file that another program opens; `sanitised` says that it is a copy that cannot run or load anything."""

    path: Path
    sanitised: bool


def why_not_edited(path: Path) -> str | None:
    """Return why a file cannot be edited, in a sentence; None if it can. An editor destroys what is not text."""
    name = clean_line(path.name, _NAME)
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return f"{name} cannot be opened: {error.strerror}."
    if stat.S_ISDIR(mode):
        return "A folder cannot be edited: choose a file in it."
    if not stat.S_ISREG(mode):
        return f"{name} is not a regular file and cannot be edited."
    if inner_name(path.name) != path.name:
        return f"{name} is compressed and cannot be edited. Press Enter to view it."
    try:
        head = read_piece(path, 8192).data
    except FileUnviewable as error:
        return str(error)
    if looks_binary(head) or head.startswith(b"%PDF-"):
        return f"{name} is not text and cannot be edited. Press o to open it in another program."
    return None


def text_of(path: Path) -> str:
    """Read a file's text for the clipboard.

    Raises:
        FileUnviewable: the file cannot be read.
        NotExportable: it is not text, it is empty, or it is larger than 1 MiB.
    """
    piece = read_piece(path, _MAX_COPIED + 1)
    if looks_binary(piece.data):
        raise NotExportable("This file is not text. Press y to copy its path.")
    if len(piece.data) > _MAX_COPIED:
        raise NotExportable("This file is too long for the clipboard. Press y to copy its path.")
    if not piece.data:
        raise NotExportable("This file is empty.")
    return decode(piece.data)


async def copy_file(owner: Widget, path: Path) -> None:
    """Copy the text of a file, or notify the user why that is not possible."""
    try:
        text = await asyncio.to_thread(text_of, path)
    except UniversalAgentError as error:
        owner.notify(str(error), severity="warning")
    else:
        copy_text(owner, text, "Text")


def outside_target(path: Path) -> Target:
    """Prepare a file for the browser, or for the desktop's program for its format. Runs in a thread.

    Raises:
        FileUnviewable: the file does not exist, is not readable, or is not a regular file.
        NotExportable: its content would be run, or cannot be made safe.
        Stopped: the result is no longer needed.
    """
    name = inner_name(path.name)
    suffix = PurePath(name).suffix.lower()
    if suffix in _HTML:
        return Target(_sanitised(path), sanitised=True)
    if suffix not in _HARMLESS:
        raise NotExportable(
            "Only HTML, pictures, audio, video, PDF, text and office documents can be opened in other programs."
        )
    if name != path.name:
        raise NotExportable("Other programs cannot open compressed text. Press Y to copy the text.")
    descriptor = open_regular(path)
    try:
        executable = os.fstat(descriptor).st_mode & 0o111
    finally:
        os.close(descriptor)
    if executable:
        raise NotExportable("This file is executable, so it is not opened in another program.")
    return Target(path.absolute(), sanitised=False)


def _sanitised(path: Path) -> Path:
    piece = read_piece(path, LARGEST + 1)
    if len(piece.data) > LARGEST:
        raise NotExportable("This page is too large to be made safe for a browser.")
    from platformdirs import user_cache_path

    copies = user_cache_path("ua-tui") / "opened"
    try:
        return write_browser_copy(decode(piece.data), path.absolute(), copies)
    except ConversionFailed as error:
        raise NotExportable(
            f"This page is too complex to be made safe for a browser: {error}. Press y to copy its path."
        ) from error
    except OSError as error:
        raise NotExportable(f"The copy for the browser cannot be written: {error.strerror}.") from error
