"""What the search asks any knowledge base, in a file or in a database, and the passages that it gets to rank."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

import msgspec

from ua_tui.core.concurrency.cancellation import stop_flag
from ua_tui.core.knowledge.records import Hit

MOST_CANDIDATES = 120
"""The most passages that a database gives for a query: the best ones by its own order."""
Filters = Sequence[tuple[str, Sequence[object]]]
"""Conditions that must all hold for a document, of each of which one value must; `[where]` in `statements.toml`.

A value may be a `Term`.
"""


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
        passages: in how many passages it is, at most; it may be an estimate, but 0 means that there is none.
    """

    choices: tuple[Choice, ...]
    prefix: bool = False
    phrase: bool = False
    times: int = 1
    passages: int = 0

    @property
    def typed(self) -> str:
        """What was typed; the text of an unfinished word is one that becomes it."""
        return self.choices[0].words[-1] if self.prefix else self.choices[0].text

    def words(self) -> Iterator[list[tuple[str, bool]]]:
        """The words of each choice, and whether each may be only the beginning of a word."""
        for number, choice in enumerate(self.choices):
            last = len(choice.words) - 1 if self.prefix and not number else -1
            yield [(word, place == last) for place, word in enumerate(choice.words)]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What candidates are looked for.

    Attributes:
        any_of: a passage must have one of these, unless there are some that it must have; they count for its relevance.
        all_of: a passage must have each of these; without these and those above the newest documents are meant.
        filters: what else must hold for the document.
        total: how many passages there are.
    """

    any_of: Sequence[Term] = ()
    all_of: Sequence[Term] = ()
    filters: Filters = ()
    total: int = 0

    def required(self) -> Filters:
        """The filters, and that a passage must have what it must have."""
        return [*self.filters, *(("has", [term]) for term in self.all_of)]


class Found(Hit, frozen=True, kw_only=True):
    """A passage of the index, with its document; what depends on the query is found out later.

    Attributes:
        chunk: its number.
        text: its text; empty for a document without one.
        context: the words that led to the document.
        body: what equal texts have in common, such as their hash; None for a document without words.
    """

    chunk: int
    text: str
    context: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a search ends with what it has: at a time of the clock, or when nobody waits for it any more."""

    at: float
    clock: Callable[[], float] = time.monotonic
    stop: Event = field(default_factory=stop_flag)

    @property
    def seconds(self) -> float:
        """How long it is until then; 0 if it is over."""
        return 0.0 if self.stop.is_set() else max(self.at - self.clock(), 0.0)
