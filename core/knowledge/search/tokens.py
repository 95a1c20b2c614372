"""The words of the full-text index: how texts are prepared for it, and how it splits them.

It knows words only where spaces or punctuation separate them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import cached_property

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""How FTS5 makes words of a text. When it changes, the index of existing files must be made again."""
UNSPACED = "぀-ヿ㐀-䶿一-鿿"
"""The characters that are words, as ranges. When they change, the index of existing files must be made again."""

# Compiled when it is used first, which `re` remembers: a set of so many characters takes milliseconds.
_RUN = f"[{UNSPACED}]+"


def indexed(text: str) -> str:
    """Return the text as it is indexed and as queries must be: each Chinese or Japanese character is a word."""
    return text if text.isascii() else re.sub(_RUN, lambda found: f" {' '.join(found[0])} ", text)


class Tokenizer:
    """A full-text index in memory, for the few texts of one query; use it in one thread at a time.

    It is made when it is first needed, and again after `close`.
    """

    def close(self) -> None:
        """Release the memory."""
        if "_db" in vars(self):
            self._db.close()
            del self._db

    @cached_property
    def _db(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        db.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='{TOKENIZER}')")
        db.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, instance)")
        return db

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
