"""Asks the knowledge base for a screen: in threads, one question at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ua_tui.core.concurrency.cancellation import Stop, in_thread
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.place import is_made
from ua_tui.core.knowledge.records import KINDS, FoundDocument, Results

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

T = TypeVar("T")

_OFF = "The knowledge base is off. `ua-tui config set knowledge on` turns it on for the next session."
_MISSING = (
    "Nothing is indexed yet. What a session finds appears here as it is saved; "
    "`ua-tui knowledge update` indexes past sessions."
)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The results of a search; `problem` is a sentence that says why there can be none, and what to do.

    It `failed` if there is a knowledge base, which cannot be read.
    """

    results: Results = field(default_factory=Results)
    problem: str = ""
    failed: bool = False


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
        if self._place is None or not is_made(self._place):
            return SearchAnswer(problem=_OFF if self._place is None else _MISSING)
        given = narrowing or {}

        def find(search: KnowledgeSearch, stop: Stop) -> Results:
            from ua_tui.core.knowledge.search.search import BUDGET, PATIENT

            return search.search(
                text,
                limit=limit,
                typing=True,
                budget=PATIENT if patient else BUDGET,
                kinds=[each for each in KINDS if each == given.get("kind")],
                sites=[each for each in (given.get("site"),) if each],
                session=given.get("session", ""),
                stopped=lambda: stop.is_set,
            )

        try:
            return SearchAnswer(await self._ask(find) or Results())
        except KnowledgeError as error:
            reason = str(error)
            return SearchAnswer(problem=f"{reason[:1].upper()}{reason[1:].rstrip('.')}.", failed=True)

    async def read(self, number: int) -> FoundDocument | None:
        """Return a document; None if it is not there any more.

        Raises:
            KnowledgeError: the knowledge base cannot be read.
        """
        return await self._ask(lambda search, _stop: search.document(number))

    async def changed(self) -> bool:
        """Whether something was stored since the last question."""
        is_new = self._search is None
        try:
            return bool(await self._ask(lambda search, _stop: is_new or search.changed()))
        except KnowledgeError:
            return True

    def close(self) -> None:
        """Close the file. Blocks until a running question has stopped."""
        with self._turn:
            self._closed = True
            self._close()

    async def _ask(self, work: Callable[[KnowledgeSearch, Stop], T]) -> T | None:
        """Do some work in a thread; gives None if there is no knowledge base, and after the end."""

        def ask(stop: Stop) -> T | None:
            with self._turn:
                # The question may have been cancelled while it waited for its turn.
                stop.check()
                if self._closed or self._place is None or not is_made(self._place):
                    return None
                try:
                    if self._search is None:
                        from ua_tui.core.knowledge.access import open_search

                        self._search = open_search(self._place)
                        # What is stored from here on is reported.
                        self._search.changed()
                    return work(self._search, stop)
                except KnowledgeError:
                    self._close()
                    raise

        return await in_thread(ask)

    def _close(self) -> None:
        if self._search is not None:
            self._search.close()
            self._search = None
