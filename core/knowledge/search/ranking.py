"""Orders the passages that a database gave for a query: the one ranking, whatever the database."""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from ua_tui.core.knowledge.search.candidates import Found, Term
from ua_tui.core.knowledge.search.tokens import UNSPACED, Tokenizer, indexed

HALF_LIFE = 180 * 86_400
"""Seconds after which the bonus for recency is half."""

_SATURATION, _LENGTH = 1.2, 0.6
"""The constants k1 and b of BM25."""
_WEIGHTS = (1.0, 3.0, 2.0)
"""How many times a word of the text, the title and the context counts."""
_ALL_WORDS = 1.0
"""The part of the rarities of all words that a passage with all of them gains."""
_NEAR = 0.5
"""The part of the rarity of two words that they gain if they are next to each other."""
_FAR = 8
"""Words between two words of the query beyond which they are not near."""
_NAMED = 1.0
"""The part of the rarities of words that a title gains that consists of them, if it has all of them."""
_RECENCY = 0.3
_KINDS = {"report": 1.2, "article": 1.25, "answer": 1.1, "note": 1.1, "search_row": 1.0, "file": 0.9,
          "workbench": 0.75, "query": 0.6}  # fmt: skip
_EXACT = 3
"""Letters of words that stay as they are in the index."""
_MOST = 20
"""Places of a word that are looked at for what is near."""
_SMOOTHING = 20
"""Added to a place before its reciprocal is taken, so that the first places do not decide alone."""

_BETWEEN = re.compile(r"[\W_]*")

Span = tuple[int, int]
Places = list[list[Span]]


def rank(found: Sequence[Found], matches: Matches, total: int, now: float) -> list[Found]:
    """Order passages by BM25 with weights of fields, by words that are near each other, by recency and kind.

    `total` is how many passages there are.
    """
    texts = [text for each in found for text in (each.text, each.title, each.context)]
    places = matches.places(texts)
    lengths = [text.count(" ") + 1 if text else 0 for text in texts]
    scoring = _Scoring(matches.terms, total, sum(lengths) / len(found) if found else 1.0)
    ranked = []
    for number, each in enumerate(found):
        fields = slice(3 * number, 3 * number + 3)
        relevance, full = scoring.relevance(texts[fields], sum(lengths[fields]), places[fields])
        recency = math.exp2(-max(now - each.made_at, 0.0) / HALF_LIFE)
        score = relevance * (1 + _RECENCY * recency) * _KINDS.get(each.kind, 1.0)
        ranked.append(replace(each, score=score, full=full))
    return sorted(ranked, key=lambda each: (each.score, each.made_at, -each.chunk), reverse=True)


def fused(by_words: Sequence[Found], by_meaning: Sequence[Found]) -> list[Found]:
    """Join two lists by their places: the score becomes the sum of the reciprocals of both."""
    scores: defaultdict[int, float] = defaultdict(float)
    for found in (by_words, by_meaning):
        for place, each in enumerate(found):
            scores[each.chunk] += 1 / (_SMOOTHING + place)
    # What is known of the words is only in the first list.
    every = {each.chunk: each for each in (*by_words, *by_meaning, *by_words)}
    return [
        replace(every[chunk], score=scores[chunk]) for chunk in sorted(every, key=lambda each: -scores[each])
    ]


class _Folding(dict[int, str]):
    """Gives each character in lower case and without accents; if only ASCII is looked for, a mark for all else."""

    def __init__(self, is_ascii: bool) -> None:
        self._is_ascii = is_ascii

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        parts = unicodedata.normalize("NFD", letter)
        letter = (parts[0] if unicodedata.combining(parts[-1]) else letter).lower()[0]
        self[code] = letter if letter.isascii() or not self._is_ascii else "?"
        return self[code]


class _Scoring:
    def __init__(self, terms: Sequence[Term], total: int, mean_length: float) -> None:
        self._mean = mean_length
        # What is typed several times counts more.
        self._rarities = [
            math.sqrt(term.times)
            * math.log(1 + (max(total - term.passages, 0) + 0.5) / (term.passages + 0.5))
            for term in terms
        ]
        self._sum = sum(self._rarities)

    def relevance(self, texts: Sequence[str], length: int, places: Sequence[Places]) -> tuple[float, bool]:
        """How well a passage answers, and whether it has all words; its text, title and context are given."""
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / self._mean)
        score, full = 0.0, True
        for rarity, *found in zip(self._rarities, *places, strict=True):
            weight = sum(map(operator.mul, _WEIGHTS, map(len, found)))
            score += rarity * weight * (_SATURATION + 1) / (weight + norm)
            full = full and weight > 0
        near = max(map(self._nearness, texts[:2], places))
        named = sum(rarity for rarity, found in zip(self._rarities, places[1], strict=True) if found)
        share = named / (self._sum or 1.0)
        return score + _NEAR * near + _ALL_WORDS * self._sum * full + _NAMED * named * share, full

    def _nearness(self, text: str, places: Places) -> float:
        """How near terms that follow each other in the query are to each other."""
        total = 0.0
        for number, (first, second) in enumerate(pairwise(places)):
            if first and second:
                # Characters first: to count words takes longer.
                _, start, end = min(
                    (max(a - y, x - b), min(b, y), max(a, x))
                    for a, b in first[:_MOST]
                    for x, y in second[:_MOST]
                )
                apart = text.count(" ", start, end)
                if start < end and apart <= _FAR:
                    total += min(self._rarities[number : number + 2]) / max(apart, 1)
        return total


class Matches:
    """Finds the `terms` of a query in texts, by the words that they are in the index."""

    def __init__(self, terms: Sequence[Term], tokenizer: Tokenizer) -> None:
        self.terms = terms
        self._tokenizer = tokenizer
        self._beginning = next((term.choices[0].words[-1] for term in terms if term.prefix), "")
        words = {word for term in terms for choice in term.choices for word in choice.words}
        # A word of the index is the beginning of all words that become it, but for its last letter.
        starts = sorted({word[:-1] if len(word) > _EXACT else word for word in words}, reverse=True)
        is_ascii = all(map(str.isascii, words))
        self._folding = _Folding(is_ascii)
        # Chinese and Japanese characters are words, whatever is beside them.
        letters = "[a-z0-9]" if is_ascii else rf"[^\W_{UNSPACED}]"
        alone = [] if is_ascii else [start for start in starts if indexed(start) != start]
        begins = "|".join(map(re.escape, (start for start in starts if start not in alone)))
        every = [rf"(?<!{letters})(?:{begins}){letters}*"] * bool(begins) + [*map(re.escape, alone)]
        self._pattern = re.compile("|".join(every) or "(?!)")
        self._known = dict(zip(words, words, strict=True))

    def places(self, texts: Sequence[str]) -> list[Places]:
        """Where each text has each term, in characters."""
        folded = [text.lower() if text.isascii() else text.translate(self._folding) for text in texts]
        found = [[match.span() for match in self._pattern.finditer(text)] for text in folded]
        new = {text[a:b] for text, spans in zip(folded, found, strict=True) for a, b in spans}
        new.difference_update(self._known)
        for piece, words in zip(new, self._tokenizer.words([*new]), strict=True):
            self._known[piece] = words[0] if words else ""
        return [self._of_terms(text, spans) for text, spans in zip(folded, found, strict=True)]

    def marks(self, texts: Sequence[str]) -> list[list[Span]]:
        """Where each text has any of the terms, in characters and in order."""
        found = []
        for places in self.places(texts):
            marks: list[Span] = []
            for span in sorted(span for each in places for span in each):
                if not marks or span[0] >= marks[-1][1]:
                    marks.append(span)
            found.append(marks)
        return found

    def _of_terms(self, text: str, spans: Sequence[Span]) -> Places:
        if not spans:
            return [[]] * len(self.terms)
        at: dict[str, list[Span]] = {}
        for start, end in spans:
            word = self._known[text[start:end]]
            at.setdefault(word, []).append((start, end))
            if self._beginning and word != self._beginning and word.startswith(self._beginning):
                at.setdefault(self._beginning, []).append((start, end))
        return [
            [
                span
                for choice in term.choices
                for span in _of_phrase(text, [at.get(word, []) for word in choice.words])
            ]
            for term in self.terms
        ]


def _of_phrase(text: str, words: Sequence[list[Span]]) -> list[Span]:
    """Where words follow each other, of each of which the places are given."""
    found = words[0]
    for following in words[1:]:
        ends = dict(following)
        found = [
            (start, ends[place])
            for start, end in found
            for between in [_BETWEEN.match(text, end)]
            if between and (place := between.end()) in ends
        ]
    return found
