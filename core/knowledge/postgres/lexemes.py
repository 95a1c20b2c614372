"""Makes vectors and queries of PostgreSQL of the words that the index of the SQLite file has.

PostgreSQL is given finished words: its own parser and dictionaries are never used, so that both find the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ua_tui.core.knowledge.index.segments import indexed
from ua_tui.core.knowledge.search.database import Term
from ua_tui.core.knowledge.search.tokens import Tokenizer

# ASCII characters that are neither letters nor digits separate words for the tokenizer, too.
_PIECE = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_MOST_PIECES = 200_000
_LONGEST_PIECE = 64
_LONGEST_WORD = 500
"""Characters: a word of PostgreSQL has at most 2 KiB."""
_GAP = 10
"""Places between title, text and context, which no phrase crosses."""


class Lexemes:
    """Splits texts into words, and remembers what it has split; use it in one thread at a time."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()
        self._known: dict[str, tuple[str, ...]] = {}

    def close(self) -> None:
        """Release the memory."""
        self._tokenizer.close()
        self._known.clear()

    def vectors(self, fields: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, int]]:
        """Give the `tsvector` of each title, text and context, as a text, and how many words it has."""
        pieces = [[_PIECE.findall(indexed(text)) for text in each] for each in fields]
        known = self._known
        if len(known) > _MOST_PIECES:
            known.clear()
        new = [*{piece for each in pieces for found in each for piece in found}.difference(known)]
        known.update(zip(new, map(_cut, self._tokenizer.words(new)), strict=True) if new else ())
        for each in pieces:
            yield _vector([[word for piece in found for word in known[piece]] for found in each])
        for piece in new:
            if len(piece) > _LONGEST_PIECE:
                del known[piece]


def _vector(fields: Sequence[Sequence[str]]) -> tuple[str, int]:
    places: dict[str, list[str]] = {}
    at = 0
    for words, weight in zip(fields, ("A", "", "B"), strict=True):
        for word in words:
            at += 1
            places.setdefault(word, []).append(f"{min(at, 16_383)}{weight}")
        at += _GAP
    return " ".join([f"'{word}':{','.join(found)}" for word, found in places.items()]), sum(map(len, fields))


def phrase(words: Sequence[str], *, prefix: bool = False) -> str:
    """Words that must follow each other, as the text of a `tsquery`; with `prefix` the last may be a beginning."""
    found = [f"'{word}'" for word in _cut(words)]
    return f"({' <-> '.join(found)}{':*' * prefix})"


def term_query(term: Term) -> str:
    """A term of a query as the text of a `tsquery`: one of its choices."""
    return " | ".join(
        phrase(choice.words, prefix=term.prefix and not number) for number, choice in enumerate(term.choices)
    )


def _cut(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word[:_LONGEST_WORD] for word in words)
