"""Splits texts into the words of the full-text index, with the same tokenizer, and finds the matches in a passage."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from ua_tui.core.knowledge.index.segments import TOKENIZER, indexed
from ua_tui.core.knowledge.search.database import Term

_OPEN, _CLOSE = "\x02", "\x03"
_MARKERS = re.compile(f"[{_OPEN}{_CLOSE}]")


def quoted(text: str) -> str:
    """Write a text as a string of the query language of FTS5, in which nothing has a special meaning."""
    return '"{}"'.format(indexed(_MARKERS.sub(" ", text)).replace('"', " ").replace("\0", " "))


def expression(terms: Sequence[Term], operator: str) -> str:
    """Write terms in the query language of FTS5, with an operator between them."""
    return operator.join(
        "({})".format(
            " OR ".join(
                quoted(choice.text) + " *" * (term.prefix and not number)
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
        self._fill(texts)
        try:
            for number, place, word in self._db.execute('SELECT doc, "offset", term FROM words'):
                found[number].append((place, word))
        finally:
            self._db.execute("ROLLBACK")
        return [[word for _, word in sorted(places)] for places in found]

    def marks(self, texts: Sequence[str], terms: Sequence[Term]) -> list[list[tuple[int, int]]]:
        """Find the places of each text, in characters, that have one of the terms."""
        found: list[list[tuple[int, int]]] = [[] for _ in texts]
        self._fill(texts)
        try:
            for number, marked in self._db.execute(
                "SELECT rowid, highlight(texts, 0, ?, ?) FROM texts WHERE texts MATCH ?",
                (_OPEN, _CLOSE, expression(terms, " OR ")),
            ):
                found[number] = _places(marked, texts[number])
        finally:
            self._db.execute("ROLLBACK")
        return found

    def _fill(self, texts: Sequence[str]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO texts(rowid, text) VALUES (?, ?)",
            ((number, indexed(_MARKERS.sub(" ", text))) for number, text in enumerate(texts)),
        )


def _places(marked: str, text: str) -> list[tuple[int, int]]:
    """The ranges between markers, in characters of the text before `indexed` added spaces."""
    pieces = _MARKERS.split(marked)
    spaced = sum(map(len, pieces)) != len(text)
    places, at = [], 0
    for number, piece in enumerate(pieces):
        start = at
        if spaced:
            for character in piece:
                at += at < len(text) and _same(character, text[at])
        else:
            at += len(piece)
        if number % 2:
            while start < at and text[start] == " ":
                start += 1
            places.append((start, at))
    return places


def _same(character: str, original: str) -> bool:
    return character == original or (character == " " and original in _OPEN + _CLOSE)
