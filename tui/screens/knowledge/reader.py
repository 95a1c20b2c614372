"""Asks the knowledge base for a screen: in threads, one question at a time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.cancellation import Stop, in_thread
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.records import KINDS, Kind, Results

if TYPE_CHECKING:
    from ua_tui.core.knowledge.access import AnySearch
    from ua_tui.core.knowledge.place import KnowledgePlace

OFF = 'The knowledge base is off. Write knowledge = "on" into your settings to find what sessions found.'
MISSING = (
    "Nothing is indexed yet. What a session finds appears here as it is saved; "
    "`ua-tui knowledge rebuild` indexes past sessions."
)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The facets that hits must have; an empty one does not matter."""

    kind: str = ""
    site: str = ""
    session: str = ""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind, as the search wants it."""
        return tuple(kind for kind in KINDS if kind == self.kind)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The results of a search; `problem` is a sentence that says why there can be none, and what to do."""

    results: Results = field(default_factory=Results)
    problem: str = ""


class KnowledgeReader:
    """Reads one knowledge base; a question that is cancelled is stopped in its thread, too.

    Args:
        database: the file, or the database of a team; None if the settings turn the knowledge base off.
    """

    def __init__(self, database: KnowledgePlace | None) -> None:
        self.database = database
        self._search: AnySearch | None = None
        self._turn = threading.Lock()
        self._closed = False

    async def search(
        self, text: str, narrowing: Narrowing | None = None, *, limit: int, patient: bool = False
    ) -> SearchAnswer:
        """Return the hits for a text that a person types, at most `limit`; the newest documents for an empty one.

        A search that is not `patient` may give a part of them, while the person types on.
        """
        return await in_thread(partial(self._find, text, narrowing or Narrowing(), limit, patient))

    async def changed(self) -> bool:
        """Whether something was stored since the last question."""
        return await in_thread(self._check)

    def close(self) -> None:
        """Close the file. Blocks until a running question has stopped."""
        with self._turn:
            self._closed = True
            self._close()

    def _find(self, text: str, narrowing: Narrowing, limit: int, patient: bool, stop: Stop) -> SearchAnswer:
        with self._turn:
            # The question may have been cancelled while it waited for its turn.
            stop.check()
            if self._closed:
                return SearchAnswer()
            if self.database is None:
                return SearchAnswer(problem=OFF)
            from ua_tui.core.knowledge.place import is_made

            if self._search is None and not is_made(self.database):
                return SearchAnswer(problem=MISSING)
            from ua_tui.core.knowledge.search.search import BUDGET, PATIENT

            try:
                results = self._opened(self.database).search(
                    text,
                    limit=limit,
                    typing=True,
                    budget=PATIENT if patient else BUDGET,
                    kinds=narrowing.kinds,
                    sites=(narrowing.site,) if narrowing.site else (),
                    session=narrowing.session,
                    stopped=lambda: stop.is_set,
                )
            except KnowledgeError as error:
                self._close()
                return SearchAnswer(problem=_sentence(str(error)))
            return SearchAnswer(results)

    def _check(self, _stop: Stop) -> bool:
        with self._turn:
            if self._closed or self.database is None:
                return False
            if self._search is None:
                from ua_tui.core.knowledge.place import is_made

                return is_made(self.database)
            try:
                return self._search.changed()
            except KnowledgeError:
                self._close()
                return True

    def _opened(self, database: KnowledgePlace) -> AnySearch:
        if self._search is None:
            from ua_tui.core.knowledge.access import open_search

            self._search = open_search(database)
            # What is stored from here on is reported.
            self._search.changed()
        return self._search

    def _close(self) -> None:
        if self._search is not None:
            self._search.close()
            self._search = None


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
