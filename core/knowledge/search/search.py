"""Searches the knowledge base: words and filters in, documents with their best passages out.

A database gives the passages with any of the rarest words, and they are ranked here. The search ends with what it has
when its time is used up.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from ua_tui.core.concurrency.cancellation import stop_flag
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.records import FoundDocument, Hit, Results
from ua_tui.core.knowledge.search.candidates import (
    MOST_CANDIDATES,
    Ask,
    Deadline,
    Filters,
    Found,
    Term,
)
from ua_tui.core.knowledge.search.copies import Page, pages_of
from ua_tui.core.knowledge.search.embeddings import Embedder, similarities
from ua_tui.core.knowledge.search.passages import cut_passage
from ua_tui.core.knowledge.search.query import SearchQuery, conditions, parse_query, timed
from ua_tui.core.knowledge.search.ranking import Matches, fused, rank
from ua_tui.core.knowledge.search.terms import corrected, make_terms, rarest
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.text import without_surrogates

BUDGET = 1.0
"""Seconds after which a search answers with what it has."""
TYPING_BUDGET = 0.04
"""The same while a person types: a quick answer is worth more than a complete one."""
MOST_WORDS = 12
"""Words of a query for which candidates are looked for: the rarest. All words count in the ranking."""
_MOST_PASSAGES = 15_000
"""Passages with these words, taken together; a word with more is only looked for with the others."""
_NO_WORDS = "there is no word to search for: only letters and digits are searched."
_MISSING = "there is no knowledge base yet: it is created when a session runs."
_NONE_THEN = (
    "nothing was found from that time: all times were searched, with the words for it as ordinary words."
)


class Passages(NamedTuple):
    """Passages, the best first, with what `Results` says of a search; `matches` finds the words that were searched."""

    ranked: list[Found]
    matches: Matches
    notices: tuple[str, ...]
    partial: bool = False


class KnowledgeSearch:
    """Answers queries from a database.

    All methods block. They may be called in any thread; a call waits until the one before it has ended. Each raises
    `KnowledgeError` if there is a knowledge base that cannot be read; where there is none, nothing is found.

    Args:
        database: what has the documents.
        budget: the seconds after which a search answers with what it has.
        clock: gives the time in seconds, for the budget.
        embedder: makes the vector of a query, so that texts with a similar meaning are found; None for no such search.
        stays_open: whether it is open between two questions.
        scope: what must hold for every document that is found, as `conditions` of the queries takes it.
    """

    def __init__(
        self,
        database: KnowledgeStore,
        *,
        budget: float = BUDGET,
        clock: Callable[[], float] = time.monotonic,
        embedder: Embedder | None = None,
        stays_open: bool = True,
        **scope: Any,
    ) -> None:
        self.place = database.path
        self._database = database
        self._stays_open = stays_open
        self._scope = conditions(**scope)
        self._budget = budget
        self._clock = clock
        self._embedder = embedder
        self._lock = threading.Lock()
        self._state: object = None
        self._tokenizer = Tokenizer()

    def search(
        self,
        text: str,
        *,
        limit: int = 20,
        typing: bool = False,
        budget: float | None = None,
        **scope: Any,
    ) -> Results:
        """Find documents; any text is a query, and one without words finds the newest documents.

        If the work in a thread is stopped, the search ends with an empty, partial answer.

        Args:
            text: words, "phrases", -exclusions and filters, as in `ua_tui.core.knowledge.search.query`.
            limit: the most hits.
            typing: whether the last word may be incomplete, if no space follows it.
            budget: the seconds for this search, if it has others.
            scope: what else must hold for a document, as `ua_tui.core.knowledge.search.query.conditions` takes it.
        """
        began = time.perf_counter()
        within = [*self._scope, *conditions(**scope)]
        with self._reading() as notices:
            if notices is None:
                return Results(notices=(*parse_query(text, _now()).notices, _MISSING))
            answer = self._answer(text, within, budget, typing=typing)
            pages = pages_of(answer.ranked)
            hits = self._hits(pages[: max(limit, 0)], answer.matches, within)
        if stop_flag().is_set():
            return Results(partial=True)
        has_all = any(each.full for each in answer.ranked)
        return Results(
            hits=hits,
            partial=answer.partial,
            relaxed=bool(hits) and not has_all,
            notices=(*answer.notices, *notices),
            ms=(time.perf_counter() - began) * 1_000,
        )

    def passages(self, text: str, **scope: Any) -> Passages:
        """Find passages; the filters are those of `search`."""
        within = [*self._scope, *conditions(**scope)]
        with self._reading() as notices:
            if notices is None:
                return Passages([], Matches((), self._tokenizer), (_MISSING,))
            answer = self._answer(text, within)
        return answer._replace(notices=(*answer.notices, *notices))

    def document(self, number: int) -> FoundDocument | None:
        """Read a document by its number; None if there is none."""
        with self._reading() as notices:
            return None if notices is None else self._database.document(number, self._scope)

    def sources(self, url: str) -> list[FoundDocument]:
        """List the copies of a page that sessions fetched, the newest first."""
        with self._reading() as notices:
            key = canonical_url(without_surrogates(url))
            return [] if notices is None else self._database.sources(key, self._scope)

    def changed(self) -> bool:
        """Whether something was stored or removed since the last call; the first call returns False."""
        with self._lock:
            before, self._state = self._state, self._database.state()
            return before is not None and before != self._state

    @contextmanager
    def _reading(self) -> Iterator[Sequence[str] | None]:
        with self._lock:
            try:
                with self._database.reading() as notices:
                    yield notices
            finally:
                if not self._stays_open:
                    self._database.close()

    def close(self) -> None:
        """Close the database; the next call opens it again."""
        with self._lock:
            self._database.close()
            self._tokenizer.close()

    def _answer(
        self, text: str, within: Filters, budget: float | None = None, *, typing: bool = False
    ) -> Passages:
        """Find passages for a text: of the time that its words mean, or of all times if there are none."""
        now = _now()
        query = parse_query(text, now)
        only = timed(query, now)
        answer = self._ranked(only or query, within, budget, typing=typing)
        if only is None or answer.ranked or answer.partial:
            return answer
        answer = self._ranked(query, within, budget, typing=typing)
        return answer._replace(notices=(*answer.notices, _NONE_THEN))

    def _ranked(self, query: SearchQuery, within: Filters, budget: float | None, *, typing: bool) -> Passages:
        terms, without = make_terms(query, self._tokenizer, typing=typing)
        if query.terms and not terms:
            return Passages([], Matches((), self._tokenizer), (*query.notices, _NO_WORDS))
        deadline = self._deadline(budget)
        total, counted = self._database.counted(terms)
        words, corrections = self._corrected(counted)
        ask = Ask(
            any_of=rarest(words, MOST_WORDS, _MOST_PASSAGES),
            all_of=[term for term in words if term.phrase],
            filters=[*query.filters, *within, *(("without", [term]) for term in without)],
            total=total,
        )
        found: list[Found] = []
        partial = False
        # Without words the newest are found; with words that no passage has, none.
        if ask.any_of or not words:
            found, partial = self._database.candidates(ask, deadline)
        matches = Matches(words, self._tokenizer)
        ranked = rank(found, matches, total, time.time())
        if self._embedder is not None and words:
            try:
                vector = self._embedder.embed_query(" ".join(each.text for each in query.terms))
            except KnowledgeError as error:
                corrections.append(f"only the words were searched, not the meaning: {error}.")
            else:
                near, is_late = self._near(self._embedder.model, vector, ask, self._deadline(budget))
                ranked, partial = fused(ranked, near), partial or is_late
        return Passages(ranked, matches, (*query.notices, *corrections), partial)

    def _deadline(self, budget: float | None) -> Deadline:
        """The end of a time that begins now: of so many seconds, or by default those of every search."""
        return Deadline(self._clock() + (self._budget if budget is None else budget), self._clock)

    def _corrected(self, terms: Sequence[Term]) -> tuple[tuple[Term, ...], list[str]]:
        """The terms; for a word that no passage has, one that is spelt like it."""
        words, notices = [], []
        for term in terms:
            other = None if term.passages else corrected(term, self._similar, self._tokenizer)
            if other is not None:
                typed, searched = term.typed, other.choices[0].text
                notices.append(f"no text contains “{typed}”: “{searched}” was searched for instead.")
            words.append(term if other is None else self._database.counted([other])[1][0])
        return tuple(words), notices

    def _similar(self, word: str) -> list[str]:
        return [found for (found,) in self._database.rows("similar", word=word)]

    def _near(self, model: str, vector: bytes, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """The passages whose meaning is nearest, the nearest first; of the newest ones, if the time is too short."""
        near: list[tuple[float, int]] = []
        is_late = False
        for batch in self._database.vectors(model, ask):
            values = similarities(vector, [data for _, data in batch])
            near += zip(values, (chunk for chunk, _ in batch), strict=True)
            near = heapq.nlargest(MOST_CANDIDATES, near)
            if is_late := deadline.is_over():
                break
        order = {chunk: place for place, (_, chunk) in enumerate(near)}
        return sorted(self._database.passages([*order]), key=lambda each: order[each.chunk]), is_late

    def _hits(self, pages: Sequence[Page], matches: Matches, within: Filters) -> tuple[Hit, ...]:
        """The hits of pages, each with its best passage, and what newer versions of a page say."""
        chosen = [page.first for page in pages]
        ids = [found.id for found in chosen if found.kind == "article" and found.url]
        later = self._database.later_versions(ids, within) if ids else []
        places = matches.marks([found.text for found in chosen])
        hits = []
        for page, found, marked in zip(pages, chosen, places, strict=True):
            offset, passage, marks = cut_passage(found.text, marked)
            facts = {"start": found.start + offset, "passage": passage, "marks": marks}
            hits.append(page.hit(later, **facts))
        return tuple(hits)


def _now() -> datetime:
    return datetime.now().astimezone()
