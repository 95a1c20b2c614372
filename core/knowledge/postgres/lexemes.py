"""Makes vectors and queries of PostgreSQL of the words that the index of the SQLite file has.

PostgreSQL is given finished words: its own parser and dictionaries are never used, so that both find the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ua_tui.core.knowledge.index.segments import indexed
from ua_tui.core.knowledge.search.tokens import Tokenizer

# ASCII characters that are neither letters nor digits separate words for the tokenizer, too.
_PIECE = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_MOST_PIECES = 200_000
_LONGEST_PIECE = 64
_LONGEST_WORD = 500
"""Characters: a word of PostgreSQL has at most 2 KiB."""
_GAP = 10
"""Places between title, text and context, which no phrase crosses."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The words of a chunk: as the text of a `tsvector`, how many they are, and each once."""

    text: str
    length: int
    words: Sequence[str]


class Lexemes:
    """Splits texts into words, and remembers what it has split; use it in one thread at a time."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()
        self._known: dict[str, tuple[str, ...]] = {}

    def close(self) -> None:
        """Release the memory."""
        self._tokenizer.close()
        self._known.clear()

    def learn(self, texts: Iterable[str]) -> None:
        """Split the words of several texts at once, which is quicker than one text after the other."""
        pieces = {piece for text in texts for piece in _PIECE.findall(indexed(text))}
        new = [piece for piece in pieces if piece not in self._known and len(piece) <= _LONGEST_PIECE]
        if len(self._known) + len(new) > _MOST_PIECES:
            self._known.clear()
            new = [piece for piece in pieces if len(piece) <= _LONGEST_PIECE]
        for piece, words in zip(new, self._tokenizer.words(new), strict=True):
            self._known[piece] = _cut(words)

    def words(self, text: str) -> list[str]:
        """The words of a text, in their order."""
        words: list[str] = []
        known = self._known
        for piece in _PIECE.findall(indexed(text)):
            found = known.get(piece)
            words += self._split(piece) if found is None else found
        return words

    def vector(self, title: Sequence[str], text: Sequence[str], context: Sequence[str]) -> Vector:
        """Make the vector of a chunk from the words of its document's title, of its own text, and of the context."""
        places: dict[str, list[str]] = {}
        at = 0
        for words, weight in ((title, "A"), (text, ""), (context, "B")):
            for word in words:
                at += 1
                places.setdefault(word, []).append(f"{min(at, 16_383)}{weight}")
            at += _GAP
        return Vector(
            " ".join([f"'{word}':{','.join(found)}" for word, found in places.items()]),
            len(title) + len(text) + len(context),
            list(places),
        )

    def _split(self, piece: str) -> tuple[str, ...]:
        (words,) = self._tokenizer.words([piece])
        found = _cut(words)
        if len(piece) <= _LONGEST_PIECE and len(self._known) < _MOST_PIECES:
            self._known[piece] = found
        return found


def phrase(words: Sequence[str], *, prefix: bool = False) -> str:
    """Words that must follow each other, as the text of a `tsquery`; with `prefix` the last may be a beginning."""
    found = [f"'{word}'" for word in _cut(words)]
    return f"({' <-> '.join(found)}{':*' * prefix})"


def count_words(vectors: Iterable[Vector]) -> tuple[list[str], list[int]]:
    """In how many of the chunks each word is; the empty word stands for all chunks, a space for all words."""
    counts: Counter[str] = Counter()
    for vector in vectors:
        counts.update(vector.words)
        counts[""] += 1
        counts[" "] += vector.length
    words = sorted(counts)
    return words, [counts[word] for word in words]


def _cut(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word[:_LONGEST_WORD] for word in words)
