"""Makes vectors and queries of PostgreSQL of the words that the index of the SQLite file has.

PostgreSQL is given finished words: its own parser and dictionaries are never used, so that both find the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ua_tui.core.knowledge.search.database import Term
from ua_tui.core.knowledge.search.tokens import Tokenizer

_LONGEST_WORD = 500
"""Characters: a word of PostgreSQL has at most 2 KiB."""
_GAP = 10
"""Places between title, text and context, which no phrase crosses."""


def vectors_of(fields: Sequence[tuple[str, str, str]], tokenizer: Tokenizer) -> Iterator[tuple[str, int]]:
    """Give the `tsvector` of each title, text and context, as a text, and how many words it has."""
    words = iter(tokenizer.words([text for each in fields for text in each]))
    for each in zip(words, words, words, strict=True):
        places: dict[str, list[str]] = {}
        at = 0
        for found, weight in zip(each, ("A", "", "B"), strict=True):
            for word in _cut(found):
                at += 1
                places.setdefault(word, []).append(f"{min(at, 16_383)}{weight}")
            at += _GAP
        vector = " ".join([f"'{word}':{','.join(found)}" for word, found in places.items()])
        yield vector, sum(map(len, each))


def phrase(words: Sequence[str], *, prefix: bool = False) -> str:
    """Words that must follow each other, as the text of a `tsquery`; with `prefix` the last may be a beginning."""
    found = [f"'{word}'" for word in _cut(words)]
    return f"({' <-> '.join(found)}{':*' * prefix})"


def term_query(term: Term) -> str:
    """A term of a query as the text of a `tsquery`: one of its choices."""
    return " | ".join(
        phrase(choice.words, prefix=term.prefix and not number) for number, choice in enumerate(term.choices)
    )


def _cut(words: Sequence[str]) -> list[str]:
    return [word[:_LONGEST_WORD] for word in words]
