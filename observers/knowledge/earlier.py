"""What the journal of a session says before a place: who made a file, and which query or search led to a text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from ua_tui.core.errors import JournalError, UniversalAgentError
from ua_tui.core.events.types import ArtifactSaved, Event, QueryReceived
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.observers.decoding.urls import is_web_url, normal_form
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_title
from ua_tui.observers.knowledge.contents import read_content, read_object

_MOST = 3
_MOST_FILES = 200
_MOST_ROWS = 1_000


class _Search(msgspec.Struct, frozen=True):
    """The query of a search, and the titles of the pages that it found by the normal forms of their addresses."""

    query: str
    titles: Mapping[str, str]


class Earlier:
    """Reads the journal of the session in `folder` up to the place `end`, when it is first asked."""

    def __init__(self, folder: Path, end: int, cleaner: Cleaner) -> None:
        self._folder = folder
        self._end = end
        self._cleaner = cleaner

    def query(self, query_id: str) -> str:
        """The text of a query; empty if it is not known."""
        queries = (each for each in self._events if isinstance(each, QueryReceived))
        return next((each.text for each in queries if each.query_id == query_id), "")

    def maker_of(self, path: str) -> str:
        """The last call that saved a file; empty if it is not known."""
        saved = (each for each in reversed(self._events) if isinstance(each, ArtifactSaved))
        return next((each.tool_use_id for each in saved if each.path == path and each.tool_use_id), "")

    def words_for(self, url: str, before: int) -> list[str]:
        """The queries that found a page before the event `before`, and the titles that it had there.

        They are often not in its text.
        """
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
        saved = [
            each for each in self._events if isinstance(each, ArtifactSaved) and each.kind == "search_results"
        ]
        return [(each.seq, _read(self._folder, each.path, each.sha256)) for each in saved[:_MOST_FILES]]

    @cached_property
    def _events(self) -> list[Event]:
        with suppress(JournalError), closing(PastJournal(self._folder / JOURNAL)) as journal:
            return list(journal.find(QueryReceived, ArtifactSaved, end=self._end))
        return []


@lru_cache(maxsize=_MOST_FILES)
def _read(folder: Path, path: str, _sha256: str) -> _Search:
    """Read a file of search results; one that cannot be read has no rows."""
    try:
        content = read_content(Root(folder), path)
    except (UniversalAgentError, OSError, ValueError):
        content = None
    members, rows = read_object(content.text if content is not None else "", "results")
    titles: dict[str, str] = {}
    for row in rows[:_MOST_ROWS]:
        url, title = (row.get("url"), row.get("title")) if isinstance(row, dict) else (None, None)
        if isinstance(url, str) and is_web_url(url):
            titles[normal_form(url)] = title[:1_000] if isinstance(title, str) else ""
    query = members.get("query")
    return _Search(query[:1_000] if isinstance(query, str) else "", titles)
