"""Turns what was typed into the terms to look up in the index, and leaves out stop words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache

import msgspec

from ua_tui.core.json_values import table_of
from ua_tui.core.knowledge.search.candidates import Choice, Term
from ua_tui.core.knowledge.search.query import SearchQuery, Typed
from ua_tui.core.knowledge.search.tokens import Tokenizer

_SHORTEST_BEGINNING = 3
"""Letters; fewer are the beginning of so many words that their search takes too long and cannot be stopped."""
_SHORTEST = 5
_ENDINGS = (
    *("e", "n", "on", "ion", "y", "ty", "ity", "s", "es", "ss", "ess", "ness", "d", "ed", "g", "ng", "ing", "t", "nt"),
    *("ent", "ment", "l", "al", "ly", "lly", "ally", "r", "er", "or", "ive", "ous", "able", "ble", "le"),
)  # fmt: skip
"""What may be missing of a word that is not complete."""
_LONG_ENDINGS = ("s", "ed", "ing", "er", "al", "ment", "ness", "ion", "ions", "ation", "ations", "ity")
_OF_ANOTHER_LANGUAGE = 2
"""Words that say nothing, from which on a query is taken to be in a language other than English."""
_MISSPELT, _ALIKE = 4, 0.75
"""The letters of a word that may be misspelt, and how alike what was meant is: one wrong letter of 4, two of 8."""

_GROUPED = re.compile(r"\b[1-9]\d{0,2}(?: \d{3})+\b", re.ASCII)
_LONG = re.compile(r"\b[1-9]\d{3,14}\b", re.ASCII)
"""Numbers among words, with their thousands apart and together."""


def make_terms(
    query: SearchQuery, tokenizer: Tokenizer, *, typing: bool
) -> tuple[list[Term], tuple[Term, ...]]:
    """Make the terms of a query; with `typing` its last word may be the beginning of one.

    Returns:
        What a document should have, in the order in which it was typed, and what it must not have.
    """
    typed = _without_stop_words(query.terms)
    if not typed and not query.is_timed:
        typed = [*query.terms]
    every = tokenizer.words([each.text for each in (*typed, *query.without)])
    words: list[Term] = []
    for each, found in zip(typed, every, strict=False):
        if not found:
            continue
        letters = len(each.text if len(found) == 1 else found[-1])
        is_last = typing and query.unfinished and each is query.terms[-1]
        if is_last and letters >= _SHORTEST_BEGINNING:
            words.append(_unfinished(each, found, tokenizer))
        elif each.phrase or not _is_compound(each.text, found):
            words.append(Term(tuple(_spellings(each.text, found)), phrase=each.phrase))
        else:
            words += [
                Term((Choice(text, (word,)),)) for text, word in zip(_pieces(each.text), found, strict=True)
            ]
    without = tuple(
        Term((Choice(each.text, tuple(found)),))
        for each, found in zip(query.without, every[len(typed) :], strict=True)
        if found
    )
    times = Counter(term.choices[0].words for term in words)
    # Of words that are equal the last one stays, which may be unfinished.
    unique = {term.choices[0].words: term for term in words}
    counted = [msgspec.structs.replace(term, times=times[key]) for key, term in unique.items()]
    return counted, without


def rarest(terms: Iterable[Term], most: int, passages: int) -> list[Term]:
    """The terms that are in the fewest passages: at most so many, and in at most so many passages together."""
    chosen: list[Term] = []
    for term in sorted(terms, key=lambda term: term.passages):
        passages -= term.passages
        if len(chosen) == most or (passages < 0 and chosen):
            break
        if term.passages:
            chosen.append(term)
    return chosen


def corrected(term: Term, similar: Callable[[str], Sequence[str]], tokenizer: Tokenizer) -> Term | None:
    """The term with a word of the index instead of one that no passage has; None if none is spelt like it."""
    typed, words = term.typed.lower(), term.choices[0].words
    if term.phrase or len(words) > 1 or len(typed) < _MISSPELT or not typed.isalpha():
        return None
    # With a mistake, the word may have kept an ending that it does not have in the index.
    forms = dict.fromkeys(
        [words[0], *(typed.removesuffix(ending) for ending in _LONG_ENDINGS if typed.endswith(ending))]
    )
    close = dict.fromkeys(
        word
        for form in forms
        if len(form) >= _MISSPELT
        for word in get_close_matches(form, similar(form), cutoff=_ALIKE)
    )
    for other in close:
        # The tokenizer makes a word of the index of its own words: it is given one that becomes this one.
        texts = [other, *(other + ending for ending in _ENDINGS)]
        for text, (word, *_rest) in zip(texts, tokenizer.words(texts), strict=True):
            if word == other:
                return Term((Choice(text, (other,)),))
    return None


def _unfinished(typed: Typed, found: list[str], tokenizer: Tokenizer) -> Term:
    """A term whose last word may become any word of the index that begins so, or a shorter one.

    "generation" is "gener" in the index, which "generatio" is not; and "kes", which becomes "kestrel", is no plural.
    "memory" is "memori" there, and also the beginning of "memorymarkets".
    """
    choices = [*_spellings(typed.text, found)]
    text = typed.text.lower()
    if not typed.phrase and len(found) == 1 and text.isascii() and text.isalpha():
        texts = [text, *(text + ending for ending in _ENDINGS)]
        stems = {words[0]: text for text, words in zip(texts, tokenizer.words(texts), strict=True)}
        # What becomes the typed letters themselves in the index stands for them.
        choices[0] = Choice(stems.get(text, text), (text,) if text in stems else tuple(found))
        choices += [
            Choice(stems[word], (word,))
            for word in sorted(stems)
            if word != text and ([word] == found or (text.startswith(word) and len(text) >= _SHORTEST))
        ]
    return Term(tuple(choices), prefix=True, phrase=typed.phrase)


def _spellings(text: str, words: Sequence[str]) -> Iterator[Choice]:
    """The words as they are, and a number with or without separators between its thousands."""
    yield Choice(text, tuple(words))
    plain = " ".join(words)
    other = _GROUPED.sub(lambda found: found[0].replace(" ", ""), plain)
    if other == plain:
        other = _LONG.sub(lambda found: f"{int(found[0]):,}".replace(",", " "), plain)
    if other != plain:
        yield Choice(other, tuple(other.split()))


def _is_compound(text: str, found: Sequence[str]) -> bool:
    """Whether words with hyphens or other signs between them are searched one by one."""
    pieces = _pieces(text)
    return len(pieces) > 1 and len(pieces) == len(found) and all(map(str.isalpha, pieces)) and text.isascii()


def _pieces(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() else " " for sign in text).split()


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    data = table_of(__file__, "stop_words.toml")
    return {language: frozenset(words.split()) for language, words in data.items()}


def _without_stop_words(typed: Sequence[Typed]) -> list[Typed]:
    """Leave out what says nothing in English, and in another language if the query seems to be in it."""
    pieces = [set() if each.phrase else set(_pieces(each.text.lower())) for each in typed]
    dropped = set(_stop_words()["en"])
    for words in _stop_words().values():
        if sum(bool(each & words) for each in pieces) >= _OF_ANOTHER_LANGUAGE:
            dropped |= words
    return [each for each, found in zip(typed, pieces, strict=True) if not found or not found <= dropped]
