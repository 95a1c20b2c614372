"""Finds the searches that led to a page: their words, and the provider's title, are often not in its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import ArtifactSaved
from ua_tui.core.storage.files import Root
from ua_tui.observers.decoding.urls import is_web_url, normal_form
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_title
from ua_tui.observers.knowledge.contents import read_content
from ua_tui.observers.knowledge.json_items import read_object

_KIND = "search_results"
_MOST = 3
_MOST_FILES = 200
_MOST_ROWS = 1_000


class _Search(msgspec.Struct, frozen=True):
    """The query of a search, and the titles of the pages that it found by the normal forms of their addresses."""

    query: str
    titles: Mapping[str, str]


class Searches:
    """The searches of a session.

    Args:
        folder: the session's folder.
        saved: gives the files that the session saved, in order; called when the first page is looked up.
    """

    def __init__(self, folder: Path, saved: Callable[[], Iterable[ArtifactSaved]], cleaner: Cleaner) -> None:
        self._folder = folder
        self._list = saved
        self._cleaner = cleaner

    def words_for(self, url: str, before: int) -> list[str]:
        """Return the queries that found a page before the event `before`, and the titles that it had there."""
        form = normal_form(url)
        found: dict[str, None] = {}
        for seq, search in self._searches:
            if seq >= before or len(found) >= _MOST:
                break
            if form in search.titles:
                texts = self._cleaner.value([search.query, search.titles[form]])
                found |= dict.fromkeys(clean_title(text) for text in texts if text)
        return list(found)

    @cached_property
    def _searches(self) -> list[tuple[int, _Search]]:
        saved = [event for event in self._list() if event.kind == _KIND]
        return [(each.seq, _read(self._folder, each.path, each.sha256)) for each in saved[:_MOST_FILES]]


@lru_cache(maxsize=_MOST_FILES)
def _read(folder: Path, path: str, _sha256: str) -> _Search:
    """Read a file of search results; one that cannot be read has no rows."""
    try:
        content = read_content(Root(folder), path)
    except (UniversalAgentError, OSError, ValueError):
        content = None
    members, rows = read_object(content.text if content is not None else "", "results")
    titles: dict[str, str] = {}
    for row in rows:
        url, title = (row.get("url"), row.get("title")) if isinstance(row, dict) else (None, None)
        if isinstance(url, str) and is_web_url(url) and len(titles) < _MOST_ROWS:
            titles[normal_form(url)] = title[:1_000] if isinstance(title, str) else ""
    query = members.get("query")
    return _Search(query[:1_000] if isinstance(query, str) else "", titles)
