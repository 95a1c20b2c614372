"""Asks the knowledge base for a screen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from ua_tui.core.concurrency.cancellation import check_stopped, in_thread
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.records import Results
from ua_tui.core.text import as_sentence

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

T = TypeVar("T")

_OFF = "The knowledge base is off. `ua-tui config set knowledge on` turns it on for the next session."
TYPING_BUDGET = 0.04
"""Seconds of a search while a person types: a quick answer is worth more than a complete one."""


class KnowledgeReader:
    """Reads one knowledge base, one question at a time; a question that is cancelled is stopped in its thread, too.

    `place` is None if the settings turn the knowledge base off.
    """

    def __init__(self, place: KnowledgePlace | None) -> None:
        self._place = place
        self._turn = threading.Lock()
        self._closed = place is None

    @cached_property
    def _search(self) -> KnowledgeSearch:
        from ua_tui.core.knowledge.search.search import KnowledgeSearch

        assert self._place is not None
        return KnowledgeSearch(self._place)

    async def search(self, text: str, *, limit: int, patient: bool = False) -> Results:
        """Return the hits for a text that a person types, at most `limit`; the newest documents for an empty one.

        A search that is not `patient` may give a part of them, while the person types on.
        """
        if self._place is None:
            return Results(problem=_OFF)
        budget = None if patient else TYPING_BUDGET
        try:
            found = await self.ask(
                lambda search: search.search(text, limit=limit, typing=True, budget=budget)
            )
            return found or Results()
        except KnowledgeError as error:
            return Results(problem=as_sentence(str(error)), failed=True)

    def close(self) -> None:
        """Close the file. Blocks until a running question has stopped."""
        with self._turn:
            self._closed = True
            if "_search" in vars(self):
                self._search.close()

    async def ask(self, work: Callable[[KnowledgeSearch], T]) -> T | None:
        """Do some work in a thread; gives None after the end, and if the knowledge base is off.

        Raises:
            KnowledgeError: the knowledge base cannot be read.
        """

        def ask() -> T | None:
            with self._turn:
                # The question may have been cancelled while it waited for its turn.
                check_stopped()
                return None if self._closed else work(self._search)

        return await in_thread(ask)
