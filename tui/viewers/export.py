"""Which files a browser, another program or the clipboard may be given, and in what form."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from core.errors import WorkspaceError
from core.storage.compression import inner_name
from core.storage.paths import split_path
from tui.viewers.reader import decode, looks_binary, open_regular, read_piece
from tui.viewers.safe_html import LARGEST, TooDeep, write_browser_copy

__all__ = ["NotHandedOver", "Target", "article_path", "outside_target", "text_of"]

_MOST_COPIED = 1 << 20
_HTML = frozenset({".html", ".htm"})
# What the programs for it show, and do not run. Neither programs, scripts and links to them, nor what a browser
# would run scripts of, such as SVG.
_HARMLESS = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".ico"}
    | {".mp4", ".webm", ".mkv", ".mov", ".avi", ".mp3", ".ogg", ".opus", ".wav", ".flac", ".m4a"}
    | {".pdf", ".epub", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".rtf"}
    | {".txt", ".log", ".md", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml"}
)


class NotHandedOver(WorkspaceError):
    """A file is not given to another program or to the clipboard; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """What another program is asked to open; `sanitised` says that it is a copy that cannot run or load anything."""

    path: Path
    sanitised: bool


def text_of(path: Path) -> str:
    """Read a file's text for the clipboard.

    Raises:
        FileUnviewable: it cannot be read.
        NotHandedOver: it is no text, or more than 1 MiB.
    """
    piece = read_piece(path, _MOST_COPIED + 1)
    if looks_binary(piece.data):
        raise NotHandedOver("This file holds no text: copy its path with y.")
    if len(piece.data) > _MOST_COPIED:
        raise NotHandedOver("This file is too long for a clipboard: copy its path with y.")
    if not piece.data:
        raise NotHandedOver("This file is empty.")
    return decode(piece.data)


def outside_target(path: Path, copies: Path | None = None) -> Target:
    """Prepare a file for the browser or the desktop's program for it. Runs in a thread.

    Raises:
        FileUnviewable: the file is gone, not readable, or not a regular file.
        NotHandedOver: what is in it would be run, or it cannot be made safe.
    """
    name = inner_name(path.name)
    suffix = PurePath(name).suffix.lower()
    if suffix in _HTML:
        return Target(_sanitised(path, copies), sanitised=True)
    if suffix not in _HARMLESS:
        raise NotHandedOver(
            "Only HTML, pictures, sound, film, PDF, text and office documents are given to other programs."
        )
    if name != path.name:
        raise NotHandedOver("Other programs do not open compressed text: copy the text instead.")
    descriptor = open_regular(path)
    try:
        executable = os.fstat(descriptor).st_mode & 0o111
    finally:
        os.close(descriptor)
    if executable:
        raise NotHandedOver("This file may be run as a program, so it is not given to another one.")
    return Target(path.absolute(), sanitised=False)


def article_path(artifact: Path, root: Path | None, relative: str) -> Path | None:
    """The article that an artifact of search results names; None when there is none inside the session.

    An artifact is as untrusted as the pages it comes from: its paths may be anything.
    """
    session = artifact.parent.parent if artifact.parent.name == "search_results" else root
    if session is None or not relative:
        return None
    try:
        parts = split_path(relative)
        path = session.joinpath(*parts)
        inside = path.parent.resolve().is_relative_to(session.resolve())
        there = any(os.path.lexists(path.with_name(name)) for name in (path.name, f"{path.name}.zst"))
    except (WorkspaceError, OSError, ValueError):
        return None
    return path if inside and there else None


def _sanitised(path: Path, copies: Path | None) -> Path:
    piece = read_piece(path, LARGEST + 1)
    if len(piece.data) > LARGEST:
        raise NotHandedOver("This page is too large to be made safe for a browser.")
    if copies is None:
        from platformdirs import user_cache_path

        copies = user_cache_path("ua-tui") / "opened"
    try:
        return write_browser_copy(decode(piece.data), path.absolute(), copies)
    except TooDeep as error:
        raise NotHandedOver(str(error)) from error
    except OSError as error:
        raise NotHandedOver(f"The copy for the browser cannot be written: {error.strerror}.") from error
