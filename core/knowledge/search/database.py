"""Reads a knowledge base for the search: the statements of `statements.toml` give what is stored, whatever has it.

The stores are such databases: `ua_tui.core.knowledge.index.sqlite_store` has what differs for the file of this machine,
and `ua_tui.core.knowledge.postgres.store` for the database of a team. The search ranks the passages that they give.
"""

from __future__ import annotations

import re
import time
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.knowledge.records import FoundDocument, Hit

MOST_CANDIDATES = 120
"""The most passages that a database gives for a query: the best ones by its own order."""
LARGEST = (1 << 63) - 1
"""The largest number of a document, and the largest of all in SQLite."""
_MOST_SPACE = 10_000
"""Characters between two passages; a file of somebody else may say anything."""

_STATEMENTS = Path(__file__).parent.with_name("index") / "statements.toml"
_AMONG = re.compile(r"IN \(:(\w+)\)")
_PARAMETER = re.compile(r"(?<![\w:]):(\w+)")

Filters = Sequence[tuple[str, Sequence[object]]]
"""Conditions that must all hold for a document, of each of which one value must; `[where]` in `statements.toml`."""
Statements = Mapping[str, Any]


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
        without: no passage of the document may have one of these.
        lacks: the passage itself must not have one of these.
        filters: what else must hold for the document.
        total: how many passages there are.
    """

    any_of: tuple[Term, ...] = ()
    all_of: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    lacks: tuple[Term, ...] = ()
    filters: Filters = ()
    total: int = 0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A passage of the index.

    Attributes:
        chunk: its number.
        start: where it begins in the text of the document, in characters.
        text: its text; empty for a document without one.
        context: the words that led to the document.
        body: what equal texts have in common, such as their hash; None for a document without words.
        hit: everything of the document that does not depend on the query.
    """

    chunk: int
    start: int
    text: str
    context: str
    body: bytes | None
    hit: Hit


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


class Database(ABC):
    """Reads a knowledge base. Each method but `reading`, `changed` and `close` is called within `reading`.

    Every method may be called in any thread, one at a time, blocks, and raises `KnowledgeError` where it cannot read.

    Attributes:
        statements: the SQL of this database by names.
        is_own: whether the user's own program made it; what another one says about who wrote a text does not count.
    """

    statements: Statements
    is_own = True

    def reading(self) -> AbstractContextManager[Sequence[str] | None]:
        """Have all calls in the block see the same rows, where that is possible.

        Gives notices about the knowledge base, such as that it is somebody else's; None if there is none yet.
        """
        return nullcontext(())

    @abstractmethod
    def execute(
        self, statement: str, values: Mapping[str, object]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement; gives the names of the columns, and the rows."""

    @abstractmethod
    def expression(self, term: Term) -> str:
        """A term in the language of this database's full-text index."""

    @abstractmethod
    def counts(self, words: Collection[tuple[str, bool]]) -> tuple[int, Mapping[tuple[str, bool], int]]:
        """Count all passages, and those that have each word, or one that begins so."""

    @abstractmethod
    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """Find the best passages by the database's own relevance, at most `MOST_CANDIDATES`, in any order.

        Without `any_of` and `all_of` they are the first passages of the newest documents.

        Returns:
            The passages, and whether it was stopped before it had seen all: then they are those that it has.
        """

    @abstractmethod
    def changed(self) -> bool:
        """Whether something was stored or removed since the last call; the first call returns False."""

    @abstractmethod
    def close(self) -> None:
        """Close it; the next call opens it again."""

    def counted(self, terms: Sequence[Term]) -> tuple[int, list[Term]]:
        """How many passages there are, and the terms with the passages that have the rarest word of each choice."""
        words = {word for term in terms for choice in term.words() for word in choice}
        total, of = self.counts(words)
        return total, [
            msgspec.structs.replace(
                term, passages=sum(min(map(of.__getitem__, each)) for each in term.words())
            )
            for term in terms
        ]

    def similar(self, word: str) -> list[str]:
        """Words with the same first letter and almost the same length, the most frequent first.

        All words of the index that differ in one letter should be there; none where there is no list of words.
        """
        return [found for (found,) in self.rows("similar", word=word)]

    def passages(self, chunks: Sequence[int]) -> list[Found]:
        """The passages with these numbers, in any order; a number that is not there is left out."""
        return self.found(*self.execute(*self.statement("passages", (), {"ids": [*chunks]})))

    def later_versions(self, documents: Sequence[int], filters: Filters) -> list[Found]:
        """The passages of the pages that were fetched later from the addresses of documents."""
        found = self.rows("later", filters, ids=[*documents])
        return self.passages([chunk for (chunk,) in found]) if found else []

    def found(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[Found]:
        """The passages in rows of the statement `passages`."""
        names = ("chunk", "start", "text", "context", "body")
        return [
            Found(**{name: row.pop(name) for name in names}, hit=Hit(**row))
            for row in self._records_of(columns, rows)
        ]

    def vectors(self, model: str, ask: Ask) -> Iterator[Sequence[tuple[int, bytes]]]:
        """Give the vectors of a model in batches, as numbers of passages with their vectors, the newest first.

        Words that need not be there are not looked at. An empty vector is left out.
        """
        pairs = [*self.filters(ask), *self._of_passages(ask)]
        last = LARGEST
        while batch := self.rows("vectors_of", pairs, model=model, last=last):
            yield batch
            last = batch[-1][0] - 1

    def document(self, number: int) -> FoundDocument | None:
        """The document with this number and its text; None if there is none."""
        for row in self._records("document", id=number) if abs(number) <= LARGEST else ():
            parts: list[str] = []
            at = 0
            for start, end, text in self.rows("pieces", id=number):
                # Between two passages is only white space, which was not stored.
                parts += ["\n" * min(max(start - at, 0), _MOST_SPACE), text]
                at = end
            return FoundDocument(**row, text="".join(parts))
        return None

    def sources(self, url: str) -> list[FoundDocument]:
        """The copies of a page that sessions fetched, the newest first, at most 200; `url` is canonical."""
        return [FoundDocument(**row) for row in self._records("copies", url=url)]

    def matching(self, ask: Ask) -> list[int]:
        """The numbers of all documents that have everything that an `Ask` wants."""
        pairs = [*self.filters(ask), *(("having", [self.expression(term)]) for term in ask.all_of)]
        return [number for (number,) in self.rows("matching", pairs)]

    def filters(self, ask: Ask) -> Filters:
        """The conditions on documents, with the words that they must not have."""
        return [*ask.filters, *(("without", [self.expression(term)]) for term in ask.without)]

    def rows(self, name: str, where: Filters = (), **values: object) -> list[Any]:
        """Run one of the statements, with conditions."""
        return self.execute(*self.statement(name, where, values))[1]

    def statement(
        self, name: str, where: Filters, values: Mapping[str, object], **parts: str
    ) -> tuple[str, dict[str, object]]:
        """The text of a statement with conditions and other parts, and all its values."""
        given = {**values}
        clauses = []
        for condition, choices in where:
            around, each = self.statements["where"][condition]
            keys = [f"v{len(given) + number}" for number in range(len(choices))]
            given.update(zip(keys, choices, strict=True))
            clauses.append(
                around.format(
                    " OR ".join(each.format(self.statements["parameter"].format(key)) for key in keys)
                )
            )
        text = self.statements[name]
        for part, replacement in parts.items():
            text = text.replace(f"{{{part}}}", replacement)
        return text.replace("{where}", "".join(f" AND ({clause})" for clause in clauses)), given

    def _of_passages(self, ask: Ask) -> Filters:
        """The conditions on passages."""
        return [
            (name, [self.expression(term)])
            for name, terms in (("has", ask.all_of), ("lacks", ask.lacks))
            for term in terms
        ]

    def _records(self, name: str, **values: object) -> Iterator[dict[str, Any]]:
        return self._records_of(*self.execute(*self.statement(name, (), values)))

    def _records_of(
        self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> Iterator[dict[str, Any]]:
        """Give rows as keyword arguments of a record."""
        for row in rows:
            found = dict(zip(columns, row, strict=True))
            found |= {key: bool(found[key]) for key in ("demo", "partial") if key in found}
            found |= {"hash": found["hash"].hex()} if "hash" in found else {}
            yield found if self.is_own or "trust" not in found else found | {"trust": "unknown"}


def read_statements(file: str) -> Statements:
    """The statements of every database, with those of a file of its own and in its words.

    Of a parameter `:name` and of `IN (:name)`, for a list, the file says how they are written.
    """
    own = tomllib.loads(Path(file).read_text("utf-8"))
    every = tomllib.loads(_STATEMENTS.read_text("utf-8"))
    parts = own.pop("parts")
    where = every.pop("where") | own.pop("where")
    every |= own
    parts = (
        {name: every[name] for name in ("hit", "of_hit", "dated")} | parts | {"most": str(MOST_CANDIDATES)}
    )

    def written(text: str) -> str:
        for part, replacement in parts.items():
            text = text.replace(f"{{{part}}}", replacement)
        text = _AMONG.sub(lambda found: parts["among"].format(found[1]), text)
        return _PARAMETER.sub(lambda found: parts["parameter"].format(found[1]), text)

    written_where = {name: [*map(written, texts)] for name, texts in where.items()}
    return {**parts, **{name: written(text) for name, text in every.items()}, "where": written_where}
