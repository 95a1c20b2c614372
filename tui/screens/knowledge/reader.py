"""Asks the knowledge base for a screen: in threads, one question at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.cancellation import Stop, in_thread
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.records import KINDS, FoundDocument, Results

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

_OFF = 'The knowledge base is off. Write knowledge = "on" into your settings to find what sessions found.'
_MISSING = (
    "Nothing is indexed yet. What a session finds appears here as it is saved; "
    "`ua-tui knowledge rebuild` indexes past sessions."
)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The results of a search; `problem` is a sentence that says why there can be none, and what to do."""

    results: Results = field(default_factory=Results)
    problem: str = ""


class KnowledgeReader:
    """Reads one knowledge base; a question that is cancelled is stopped in its thread, too.

    Args:
        place: the file, or the database of a team; None if the settings turn the knowledge base off.
    """

    def __init__(self, place: KnowledgePlace | None) -> None:
        self._place = place
        self._search: KnowledgeSearch | None = None
        self._turn = threading.Lock()
        self._closed = False

    async def search(
        self, text: str, narrowing: Mapping[str, str] | None = None, *, limit: int, patient: bool = False
    ) -> SearchAnswer:
        """Return the hits for a text that a person types, at most `limit`; the newest documents for an empty one.

        They have the `kind`, `site` and `session` that `narrowing` has. A search that is not `patient` may give a part
        of them, while the person types on.
        """
        given = narrowing or {}

        def find(stop: Stop) -> SearchAnswer:
            from ua_tui.core.knowledge.search.search import BUDGET, PATIENT

            with self._turn:
                # The question may have been cancelled while it waited for its turn.
                stop.check()
                try:
                    if (search := self._opened()) is None:
                        return SearchAnswer(problem=_MISSING if self._place is not None else _OFF)
                    results = search.search(
                        text,
                        limit=limit,
                        typing=True,
                        budget=PATIENT if patient else BUDGET,
                        kinds=[each for each in KINDS if each == given.get("kind")],
                        sites=[each for each in (given.get("site"),) if each],
                        session=given.get("session", ""),
                        stopped=lambda: stop.is_set,
                    )
                except KnowledgeError as error:
                    self._close()
                    reason = str(error)
                    return SearchAnswer(problem=f"{reason[:1].upper()}{reason[1:].rstrip('.')}.")
                return SearchAnswer(results)

        return await in_thread(find)

    async def read(self, number: int) -> tuple[FoundDocument, str] | None:
        """Return a document and its text; None if it is not there any more.

        Raises:
            KnowledgeError: the knowledge base cannot be read.
        """

        def read(_stop: Stop) -> tuple[FoundDocument, str] | None:
            with self._turn:
                search = self._opened()
                document = search.document(number) if search is not None else None
                if search is None or document is None:
                    return None
                return document, search.text(number, limit=document.length)

        return await in_thread(read)

    async def changed(self) -> bool:
        """Whether something was stored since the last question."""

        def check(_stop: Stop) -> bool:
            with self._turn:
                is_new = self._search is None
                try:
                    search = self._opened()
                    return search is not None and (is_new or search.changed())
                except KnowledgeError:
                    self._close()
                    return True

        return await in_thread(check)

    def close(self) -> None:
        """Close the file. Blocks until a running question has stopped."""
        with self._turn:
            self._closed = True
            self._close()

    def _opened(self) -> KnowledgeSearch | None:
        """The knowledge base; None if it is off or not made yet, and after the end."""
        from ua_tui.core.knowledge.place import is_made

        if self._search is None and self._place is not None and not self._closed and is_made(self._place):
            from ua_tui.core.knowledge.access import open_search

            self._search = open_search(self._place)
            # What is stored from here on is reported.
            self._search.changed()
        return self._search

    def _close(self) -> None:
        if self._search is not None:
            self._search.close()
            self._search = None
