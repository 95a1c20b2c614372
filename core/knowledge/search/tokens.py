"""Splits texts into the words of the full-text index, with the same tokenizer."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ua_tui.core.knowledge.index.segments import TOKENIZER, indexed
from ua_tui.core.knowledge.search.database import Term

_SPECIAL = str.maketrans('"\0', "  ")


def expression(terms: Sequence[Term], operator: str) -> str:
    """Write terms as strings of the query language of FTS5, with an operator between them."""
    return operator.join(
        "({})".format(
            " OR ".join(
                f'"{indexed(choice.text).translate(_SPECIAL)}"' + " *" * (term.prefix and not number)
                for number, choice in enumerate(term.choices)
            )
        )
        for term in terms
    )


class Tokenizer:
    """A full-text index in memory, for the few texts of one query; use it in one thread at a time."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='{TOKENIZER}')")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, instance)")

    def close(self) -> None:
        """Release the memory."""
        self._db.close()

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Give the words of each text as the index has them: in lower case, without accents, stemmed."""
        found: list[list[tuple[int, str]]] = [[] for _ in texts]
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO texts(rowid, text) VALUES (?, ?)",
            ((number, indexed(text)) for number, text in enumerate(texts)),
        )
        try:
            for number, place, word in self._db.execute('SELECT doc, "offset", term FROM words'):
                found[number].append((place, word))
        finally:
            self._db.execute("ROLLBACK")
        return [[word for _, word in sorted(places)] for places in found]
