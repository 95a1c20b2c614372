"""Searches the knowledge base: words and filters in, documents with their best passages out.

A database gives the passages with any of the rarest words, and they are ranked here.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ua_tui.core.concurrency.cancellation import stop_flag
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key
from ua_tui.core.knowledge.records import FoundDocument, Hit, Results
from ua_tui.core.knowledge.search.candidates import MOST_CANDIDATES, Ask, Deadline, Filters, Found, Term
from ua_tui.core.knowledge.search.copies import FoundPage, pages_of
from ua_tui.core.knowledge.search.embeddings import Embedder, similarities
from ua_tui.core.knowledge.search.passages import cut_passage
from ua_tui.core.knowledge.search.query import SearchQuery, conditions, parse_query, timed
from ua_tui.core.knowledge.search.ranking import Matches, fused, rank
from ua_tui.core.knowledge.search.terms import corrected, make_terms, rarest
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.log import log
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.postgres.address import Address
from ua_tui.core.text import without_surrogates

BUDGET = 1.0
"""Seconds after which a search answers with what it has."""
MOST_WORDS = 12
"""Words of a query for which candidates are looked for: the rarest. All words count in the ranking."""
_LARGEST = (1 << 63) - 1
"""The largest number of a document, and the largest of all in SQLite."""
_MOST_SPACE = 10_000
"""Characters between two passages; a file of somebody else may say anything."""
_MOST_PASSAGES = 15_000
"""Passages with these words, taken together; a word with more is only looked for with the others."""
_NO_WORDS = "there is no word to search for: only letters and digits are searched."
_MISSING = (
    "nothing is indexed yet: sessions add what they find; `ua-tui knowledge update` reads past sessions."
)
_NONE_THEN = (
    "nothing was found from that time: all times were searched, with the words for it as ordinary words."
)


class Passages(NamedTuple):
    """Passages, the best first, with what `Results` says of a search.

    `matches` finds the words that were searched, and `within` is what had to hold beside the query.
    """

    ranked: list[Found]
    matches: Matches
    notices: tuple[str, ...]
    partial: bool = False
    within: Filters = ()


class KnowledgeSearch:
    """Answers queries from a knowledge base, of which nothing is read before the first one.

    All methods block. They may be called in any thread; a call waits until the one before it has ended. Each raises
    `KnowledgeError` if there is a knowledge base that cannot be read; where there is none, nothing is found.

    A search answers with what it has after `budget` seconds of the `clock`. `scope` is what must hold for every found
    document, as `conditions` of the queries takes it. With an `embedder`, which makes the vector of a query, texts with
    a similar meaning are found. Only one that `stays_open` is open between two questions.

    Raises:
        KnowledgeError: the packages for a team's database are missing.
    """

    def __init__(
        self,
        place: KnowledgePlace,
        *,
        budget: float = BUDGET,
        clock: Callable[[], float] = time.monotonic,
        embedder: Embedder | None = None,
        stays_open: bool = True,
        **scope: Any,
    ) -> None:
        self.place = place
        self._database = open_store(place, read_only=True)
        self._stays_open = stays_open
        self._scope = conditions(**scope)
        self._budget = budget
        self._clock = clock
        self._embedder = embedder
        self._lock = threading.Lock()
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

        With `typing` the last word may be incomplete, if no space follows it. `budget` is the time of this search in
        seconds, if it has another one, and `scope` what else must hold for a document, as `conditions` of the queries
        takes it. If the work in a thread is stopped, the search ends with an empty, partial answer.
        """
        began = time.perf_counter()
        with self.passages(text, budget=budget, typing=typing, **scope) as answer:
            hits = self._hits(pages_of(answer.ranked)[: max(limit, 0)], answer)
        if stop_flag().is_set():
            return Results(partial=True)
        return Results(
            hits=hits,
            partial=answer.partial,
            relaxed=bool(hits) and not any(each.full for each in answer.ranked),
            notices=answer.notices,
            ms=(time.perf_counter() - began) * 1_000,
        )

    @contextmanager
    def passages(
        self, text: str, *, budget: float | None = None, typing: bool = False, **scope: Any
    ) -> Iterator[Passages]:
        """Find passages as `search` finds documents; what the block reads is read as it was when they were found."""
        now = datetime.now().astimezone()
        query = parse_query(text, now)
        within = [*self._scope, *conditions(**scope)]
        with self._reading() as notices:
            if notices is None:
                answer = Passages([], Matches((), self._tokenizer), (*query.notices, _MISSING))
            else:
                # Of the time that its words mean, or of all times if there are none.
                only = timed(query, now)
                answer = self._ranked(only or query, within, budget, typing=typing)
                if only is not None and not (answer.ranked or answer.partial):
                    answer = self._ranked(query, within, budget, typing=typing)
                    answer = answer._replace(notices=(*answer.notices, _NONE_THEN))
            yield answer._replace(within=within, notices=(*answer.notices, *(notices or ())))

    def document(self, number: int) -> FoundDocument | None:
        """Read a document by its number; None if there is none."""
        with self._reading() as notices:
            if notices is None or abs(number) > _LARGEST:
                return None
            for row in self._database.records("document", self._scope, id=number):
                parts: list[str] = []
                at = 0
                for start, end, text in self._database.rows("pieces", id=number):
                    # Between two passages is only white space, which was not stored.
                    parts += ["\n" * min(max(start - at, 0), _MOST_SPACE), text]
                    at = end
                return FoundDocument(**row, text="".join(parts))
        return None

    def sources(self, url: str) -> list[FoundDocument]:
        """List the copies of a page that sessions fetched, the newest first, at most 200."""
        with self._reading() as notices:
            if notices is None:
                return []
            key = canonical_url(without_surrogates(url))
            return [FoundDocument(**row) for row in self._database.records("copies", self._scope, url=key)]

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

        def similar(word: str) -> list[str]:
            return [found for (found,) in self._database.rows("similar", word=word)]

        for term in terms:
            other = None if term.passages else corrected(term, similar, self._tokenizer)
            if other is not None:
                typed, searched = term.typed, other.choices[0].text
                notices.append(f"no text contains “{typed}”: “{searched}” was searched for instead.")
            words.append(term if other is None else self._database.counted([other])[1][0])
        return tuple(words), notices

    def _near(self, model: str, vector: bytes, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """The passages whose meaning is nearest, the nearest first; of the newest ones, if the time is too short."""
        near: list[tuple[float, int]] = []
        is_late, last = False, _LARGEST
        # The newest come first. Words that need not be there are not looked at.
        while batch := self._database.rows("vectors_of", ask.required(), model=model, last=last):
            last = batch[-1][0] - 1
            values = similarities(vector, [data for _, data in batch])
            near += zip(values, (chunk for chunk, _ in batch), strict=True)
            near = heapq.nlargest(MOST_CANDIDATES, near)
            if is_late := not deadline.seconds:
                break
        order = {chunk: place for place, (_, chunk) in enumerate(near)}
        return sorted(self._database.passages([*order]), key=lambda each: order[each.chunk]), is_late

    def _hits(self, pages: Sequence[FoundPage], answer: Passages) -> tuple[Hit, ...]:
        """The hits of pages, each with its best passage, and what newer versions of a page say."""
        chosen = [page.first for page in pages]
        ids = [found.id for found in chosen if found.kind == "article" and found.url]
        newer = self._database.rows("later", answer.within, ids=ids) if ids else []
        later = self._database.passages([chunk for (chunk,) in newer]) if newer else []
        places = answer.matches.marks([found.text for found in chosen])
        hits = []
        for page, found, marked in zip(pages, chosen, places, strict=True):
            offset, passage, marks = cut_passage(found.text, marked)
            hits.append(page.hit(later, start=found.start + offset, passage=passage, marks=marks))
        return tuple(hits)


def open_earlier(
    place: KnowledgePlace,
    *,
    session: Path,
    demo: bool,
    embeddings_file: Path | None = None,
    add_secret: Callable[[str], object] = lambda _secret: None,
) -> KnowledgeSearch:
    """Open what answers the agent of a session: what sessions of its kind, of the demo or not, found before it.

    What this `session` read is in its workspace, and an address that its agent wrote there must not come back as one
    that was found. `embeddings_file` is the private file with the server for the search by meaning (an `Embedder` as
    JSON), and `add_secret` is called with the key of that server, to have it masked.
    """
    embedder = None
    if embeddings_file is not None:
        try:
            embedder = msgspec.json.decode(embeddings_file.read_bytes(), type=Embedder)
            if embedder.key:
                add_secret(embedder.key)
        except (OSError, msgspec.MsgspecError) as error:
            # The search for words does not depend on it.
            log.warning("no search by meaning: %s", type(error).__name__)
    return KnowledgeSearch(
        place,
        embedder=embedder,
        # Connections are what a server has few of, and sessions many.
        stays_open=not isinstance(place, Address),
        demo=demo,
        without_session=folder_key(place, session),
    )
