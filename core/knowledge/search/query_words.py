"""The words of a query as the index has them, and what its unfinished last word may become."""

from __future__ import annotations

from collections.abc import Sequence

from ua_tui.core.knowledge.search.query import SearchQuery, Term
from ua_tui.core.knowledge.search.tokens import Tokenizer, quoted

_SHORTEST_BEGINNING = 3
"""Letters; fewer are the beginning of so many words that their search takes too long and cannot be stopped."""
_SHORTEST = 5
_ENDINGS = (
    *("e", "n", "on", "ion", "y", "ty", "ity", "s", "es", "ss", "ess", "ness", "d", "ed", "g", "ng", "ing", "t", "nt"),
    *("ent", "ment", "l", "al", "ly", "lly", "ally", "r", "er", "or", "ive", "ous", "able", "ble", "le"),
)  # fmt: skip
"""What may be missing of a word that is not complete."""


class QueryWords:
    """The terms of a query that have words; a term without any, such as a dash, is left out.

    Attributes:
        terms: the words and phrases of the query.
        words: the words of each of them.
        without: the terms that must be missing, with their words.
        typing: whether the last word is the beginning of one.
        is_short: whether it has too few letters for that.
        stems: words of the index that the last word may become: "generation" is "gener", which "generatio" is not.
    """

    def __init__(self, query: SearchQuery, tokenizer: Tokenizer, *, typing: bool) -> None:
        words = tokenizer.words([term.text for term in (*query.terms, *query.without)])
        pairs = list(zip(query.terms, words[: len(query.terms)], strict=True))
        is_unfinished = typing and query.unfinished and bool(pairs[-1][1])
        self.terms = [term for term, found in pairs if found]
        self.words = [found for _, found in pairs if found]
        self.without = [
            (term, found)
            for term, found in zip(query.without, words[len(query.terms) :], strict=True)
            if found
        ]
        self.stems: list[str] = []
        self.is_short = is_unfinished and len(self.words[-1][-1]) < _SHORTEST_BEGINNING
        self.typing = is_unfinished and not self.is_short
        if is_unfinished:
            self.stems = self._stems_of(self.terms[-1], tokenizer)

    def is_unfinished(self, term: Term) -> bool:
        """Whether a term is the one that the person may still be typing."""
        return (self.typing or self.is_short) and term is self.terms[-1]

    def expression(self, terms: Sequence[Term], operator: str = " AND ") -> str:
        """Terms as an expression of FTS5."""
        return operator.join(map(self._string, terms))

    def _string(self, term: Term) -> str:
        if not self.is_unfinished(term):
            return quoted(term.text)
        choices = [quoted(term.text) + " *" * self.typing, *map(quoted, self.stems)]
        return f"({' OR '.join(choices)})" if self.stems else choices[0]

    def _stems_of(self, term: Term, tokenizer: Tokenizer) -> list[str]:
        if term.phrase or len(term.text) < _SHORTEST or not (term.text.isascii() and term.text.isalpha()):
            return []
        start = self.words[-1][-1]
        endings = tokenizer.words([term.text + ending for ending in _ENDINGS])
        return sorted({word for (word,) in endings if start.startswith(word) and word != start})
