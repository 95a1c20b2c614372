"""Reads the knowledge base of a team for the search: what differs from other databases.

Row-level security decides what a role reads. It does not apply to a worker, who may read for another role: every
statement has the condition `readable`, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from ua_tui.core.knowledge.postgres.connection import Connection, Link, cancelled_when, run
from ua_tui.core.knowledge.postgres.lexemes import phrase, term_query
from ua_tui.core.knowledge.search.database import Ask, Database, Deadline, Found, Term, read_statements
from ua_tui.core.postgres.address import Address

_LONG_SECONDS = 0.1
"""A search that may take longer is cancelled when nobody waits for it."""
_GRACE_SECONDS = 0.02
"""The time for passages with the rarest word, if the best were not found before the deadline."""
_MOST_MATCHES = 8_000
"""Passages with the words by which they are found, taken together; more frequent words only count for the order."""
_LOOKED_AT = 5_000
"""Of these, passages that are compared with filters and phrases."""
_COMMON = 10_000
"""Passages with a word, from which on only the newest are found: they differ little."""
_ESTIMATED = 1_000
"""Passages with a word, from which on their number is an estimate, which is not asked for again."""


class PostgresReader(Database):
    """A `Database` over the database of a team, with a connection that is opened when it is first needed.

    Args:
        address: the database of the team.
    """

    statements = read_statements(__file__)
    parameter = "%({})s"

    def __init__(self, address: Address) -> None:
        self._link = Link(address)
        self._state: tuple[Any, ...] | None = None
        self._frequent: dict[str, int] = {}
        self._total = 0

    def execute(
        self, statement: str, values: Mapping[str, object]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement; once more if the connection was lost."""

        def read(db: Connection) -> tuple[list[str], list[tuple[Any, ...]]]:
            cursor = run(db, statement, values)
            return [column.name for column in cursor.description or ()], cursor.fetchall()

        return self._link.read(read)

    def expression(self, term: Term) -> str:
        """A term as the text of a `tsquery`."""
        return term_query(term)

    def counts(self, words: Collection[tuple[str, bool]]) -> tuple[int, Mapping[tuple[str, bool], int]]:
        """Count the passages with words; the numbers of frequent ones are estimates."""
        queries = {each: phrase([each[0]], prefix=each[1]) for each in words}
        new = [query for query in queries.values() if query not in self._frequent]
        of = {**self._frequent}
        if new or not self._total:
            ((self._total, counts),) = self.rows("counts", words=new)
            of.update(zip(new, counts, strict=True))
            self._frequent = {query: count for query, count in of.items() if count >= _ESTIMATED}
        return self._total, {each: of[query] for each, query in queries.items()}

    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """Find the best passages by their words, or the newest documents."""
        if not ask.any_of and not ask.all_of:
            found = self._until(deadline, *self.statement("newest", self.filters(ask), {}))
            return found or [], found is None
        words = sorted(ask.any_of, key=lambda term: term.passages)
        if words[0].passages >= _COMMON and not (ask.all_of or ask.filters or ask.without or ask.lacks):
            every = " | ".join(map(term_query, words))
            return self._until(deadline, *self.statement("newest_passages", (), {"words": every})) or [], True
        found = self._until(deadline, *self._best(ask, words))
        if found is None and not deadline.stopped():
            late = Deadline(deadline.clock() + _GRACE_SECONDS, deadline.clock, deadline.stopped)
            return self._until(late, *self._best(ask, words[:1])) or [], True
        return found or [], found is None or min(each.passages for each in ask.all_of or words) > _LOOKED_AT

    def changed(self) -> bool:
        """Whether something was stored or forgotten since the last call."""
        (state,) = self.rows("changed")
        before, self._state = self._state, state
        return before is not None and before != state

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def _best(self, ask: Ask, words: Sequence[Term]) -> tuple[str, dict[str, object]]:
        """The query for the passages with words that are rare, often there, in a title, and in a short text."""
        every = {term_query(term): math.log1p(ask.total / (term.passages + 0.5)) for term in words}
        few = sum(total <= _MOST_MATCHES for total in accumulate(term.passages for term in words))
        # A phrase is looked for in passages that have its words, as that takes longer.
        all_words = [_all_words(term) for term in ask.all_of]
        required = " & ".join([*all_words, *(f"!({term_query(term)})" for term in ask.lacks)])
        chosen = {
            (f"({query}) & {required}" if required else query): rarity
            for (query, rarity), term in zip([*every.items()][: few or 1], words, strict=False)
            if term not in ask.all_of
        }
        if ask.all_of:
            chosen[required] = 1.0
        where = [*self.filters(ask), *(("has", [term_query(term)]) for term in ask.all_of)]
        of_chunk = self.statements["of_chunk"] if ask.all_of else ""
        checked = self.statements["checked"].replace("{of_chunk}", of_chunk) if where else ""
        values = {
            "words": [*chosen], "weights": [*chosen.values()], "ranked": [*every], "rarities": [*every.values()],
        }  # fmt: skip
        return self.statement("best", where, values, checked=checked)

    def _until(self, deadline: Deadline, statement: str, values: Mapping[str, object]) -> list[Found] | None:
        """The passages with the numbers that a query gives; None if it was not answered before the deadline."""
        passages = self.statements["passages"].replace("ANY(%(ids)s::bigint[])", f"ANY(ARRAY({statement}))")
        milliseconds = str(max(round(deadline.seconds * 1_000), 1))

        def read(db: Connection) -> list[Found]:
            with ExitStack() as stack:
                if deadline.seconds > _LONG_SECONDS:
                    stack.enter_context(cancelled_when(deadline.is_over, db))
                stack.enter_context(db.transaction())
                stack.enter_context(db.pipeline())
                db.execute("SELECT set_config('statement_timeout', %s, true)", (milliseconds,))
                cursor = run(db, passages, values)
            return self.found([column.name for column in cursor.description or ()], cursor.fetchall())

        def read_in_time(db: Connection) -> list[Found] | None:
            try:
                return read(db)
            except psycopg.errors.QueryCanceled:
                return None
            finally:
                if db.info.transaction_status is TransactionStatus.INERROR:
                    # What was cancelled was the end of the transaction.
                    db.rollback()

        return self._link.read(read_in_time)


def _all_words(term: Term) -> str:
    """The text of a `tsquery` for all words of one of the choices of a term, wherever they are."""
    choices = (" & ".join(phrase([word], prefix=start) for word, start in choice) for choice in term.words())
    return f"({' | '.join(choices)})"
