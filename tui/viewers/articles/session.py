"""Finds the file of an article in the folder of a session: by the path that a row names, or by its address."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.paths import split_path
from ua_tui.core.toolkit.articles import article_path as crawled_path
from ua_tui.tui.viewers.reader import FileUnviewable, read_piece

_FOLDER = "extracted_articles"
_URL = re.compile(rb'"url"\s*:\s*("(?:[^"\\]|\\.)*")')


def session_of(artifact: Path, root: Path | None) -> Path | None:
    """Return the folder of the session that an artifact belongs to."""
    return artifact.parent.parent if artifact.parent.name == "search_results" else root


def find_article(session: Path | None, relative: str, url: str) -> Path | None:
    """Return the file of an article: the one that is named, or one with this address; None if there is none.

    Reads the beginnings of the session's articles: call it in a thread.
    """
    if session is None:
        return None
    named = article_path(session, relative)
    if named is not None or not url:
        return named
    crawled = article_path(session, crawled_path(url))
    if crawled is not None:
        return crawled
    wanted = canonical_url(url)
    return next((path for path in _articles(session) if _address_in(path) == wanted), None)


def article_path(session: Path, relative: str) -> Path | None:
    """Return the file of a session that a row names; None if there is no such file in the session's folder.

    An artifact is as untrusted as the pages it comes from, so its paths may lead anywhere.
    """
    if not relative:
        return None
    try:
        parts = split_path(relative)
        path = session.joinpath(*parts)
        inside = path.parent.resolve().is_relative_to(session.resolve())
        exists = any(os.path.lexists(path.with_name(name)) for name in (path.name, f"{path.name}.zst"))
    except (WorkspaceError, OSError, ValueError):
        return None
    return path if inside and exists else None


def _articles(session: Path) -> Iterator[Path]:
    """Yield the newest articles of a session."""
    folder = session / _FOLDER
    try:
        if folder.is_symlink():
            return
        found = sorted(os.scandir(folder), key=lambda entry: -entry.stat(follow_symlinks=False).st_mtime)
    except OSError:
        return
    yield from (Path(entry.path) for entry in found[:2_000])


def _address_in(path: Path) -> str | None:
    try:
        found = _URL.search(read_piece(path, 8 * 1024).data)
        return canonical_url(msgspec.json.decode(found[1], type=str)) if found is not None else None
    except (FileUnviewable, ValueError):
        return None
