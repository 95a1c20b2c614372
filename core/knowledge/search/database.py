"""What the search asks of a database: candidates for words, and what is stored. It ranks them itself.

`ua_tui.core.knowledge.index.reader` answers for the file of this machine, and `ua_tui.core.knowledge.postgres.reader`
for the database of a team.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import msgspec

from ua_tui.core.knowledge.records import FoundDocument, FoundPage, Hit, Kind

MOST_CANDIDATES = 120
"""The most passages that a database gives for a query: the best ones by its own order."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """What documents are searched; everything that is given must hold.

    Attributes:
        kinds: lists of kinds; the kind of a document must be in each of them.
        sites: lists of hosts between full stops, as `.reuters.com.`; one of each list must be in the document's host,
            which has a full stop before and behind it.
        sessions: texts of which one must be in the folder or the title of the session; case does not count.
        tools: texts of which one must be in the name of the tool or its slug.
        session: only the session with this folder.
        without_session: all sessions but the one with this folder.
        demo: only sessions of the demo, or only others; None for all.
        since, until: the first and the last moment at which it was found or made, in seconds since the epoch.
        published: pairs of days as `2026-10-01`, of which each may be empty: the document must have a date that begins
            with a year, and its first ten characters must not be before the first day or after the second.
    """

    kinds: tuple[tuple[Kind, ...], ...] = ()
    sites: tuple[tuple[str, ...], ...] = ()
    sessions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    session: str = ""
    without_session: str = ""
    demo: bool | None = None
    since: float | None = None
    until: float | None = None
    published: tuple[tuple[str, str], ...] = ()


class Choice(msgspec.Struct, frozen=True):
    """Words that must follow each other: `text` as FTS5 is given it, and its words as they are in the index."""

    text: str
    words: tuple[str, ...]


class Term(msgspec.Struct, frozen=True):
    """A word or phrase of a query.

    Attributes:
        choices: one of them must be there; the first is what was typed.
        prefix: whether the last word of the first choice may be only the beginning of a word.
        phrase: whether it was typed in quotation marks, and must be there.
        times: how often it was typed.
    """

    choices: tuple[Choice, ...]
    prefix: bool = False
    phrase: bool = False
    times: int = 1


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What candidates are looked for.

    Attributes:
        any_of: a passage must have one of these, unless there are some that it must have; they count for its relevance.
        all_of: a passage must have each of these; without these and those above the newest documents are meant.
        without: no passage of the document may have one of these.
        filters: what else must hold for the document.
    """

    any_of: tuple[Term, ...] = ()
    all_of: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    filters: Filters = Filters()


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A passage of the index.

    Attributes:
        chunk: its number.
        start: where it begins in the text of the document, in characters.
        text: its text; empty for a document without one.
        context: the words that led to the document.
        body: what equal texts have in common, such as their hash; None for a document without words.
        simhash: the fingerprint of the passage.
        hit: everything of the document that does not depend on the query.
    """

    chunk: int
    start: int
    text: str
    context: str
    body: int | bytes | None
    simhash: int
    hit: Hit


class Frequencies(msgspec.Struct, frozen=True):
    """How many passages there are, how many words each has on average, and in how many each asked term is.

    The numbers may be estimates, but 0 means that there is none.
    """

    passages: int
    mean_length: float
    of: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a search ends with what it has: at a time of the clock, or when nobody waits for it any more."""

    at: float
    clock: Callable[[], float] = time.monotonic
    stopped: Callable[[], bool] = lambda: False

    @property
    def seconds(self) -> float:
        """How long it is until then; 0 if it is over."""
        return 0.0 if self.stopped() else max(self.at - self.clock(), 0.0)

    def is_over(self) -> bool:
        """Whether the search has to end."""
        return self.seconds <= 0


class Database(Protocol):
    """Reads a knowledge base. Each method but `reading`, `changed` and `close` is called within `reading`.

    Every method may be called in any thread, one at a time, blocks, and raises `KnowledgeError` where it cannot read.
    """

    def reading(self) -> AbstractContextManager[Sequence[str] | None]:
        """Have all calls in the block see the same rows.

        Gives notices about the knowledge base, such as that it is somebody else's; None if there is none yet.
        """

    def frequencies(self, terms: Sequence[Term]) -> Frequencies:
        """Count the passages that have a term: those with the rarest word of a choice, added up over its choices."""

    def similar(self, word: str) -> Sequence[str]:
        """Words of the index that are spelt like one that is in no passage, the most frequent first.

        All words of the index that differ in one letter should be there; none where there is no list of words.
        """

    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[Sequence[Found], bool]:
        """Find the best passages by the database's own relevance, at most `MOST_CANDIDATES`, in any order.

        Without `any_of` and `all_of` they are the first passages of the newest documents, the newest first.

        Returns:
            The passages, and whether it was stopped before it had seen all: then they are those that it has.
        """

    def passages(self, chunks: Sequence[int]) -> Sequence[Found]:
        """The passages with these numbers, in any order; a number that is not there is left out."""

    def vectors(self, model: str, ask: Ask) -> Iterator[Sequence[tuple[int, bytes]]]:
        """Give the vectors of a model in batches, as numbers of passages with their vectors, the newest first.

        Words that need not be there are not looked at. An empty vector is left out.
        """

    def document(self, number: int) -> FoundDocument | None:
        """The document with this number; None if there is none."""

    def pieces(self, number: int, first: int, last: int) -> Sequence[tuple[int, int, str]]:
        """The passages of a document that lie between two places of its text, in order: start, end and text."""

    def sources(self, url: str) -> Sequence[FoundPage]:
        """The copies of a page that sessions fetched, the newest first, at most 200; `url` is canonical."""

    def cited_by(self, url: str) -> Sequence[Hit]:
        """The reports that link to an address, the newest first, at most 200, without passages."""

    def changed(self) -> bool:
        """Whether something was stored or removed since the last call; the first call returns False."""

    def close(self) -> None:
        """Close it; the next call opens it again."""
