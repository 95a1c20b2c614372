"""Orders the candidates of a search and joins those with the same text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ua_tui.core.knowledge.index.fingerprints import are_near
from ua_tui.core.knowledge.records import Facet

HALF_LIFE = 180 * 86_400
"""Seconds after which the bonus for recency is half."""

_RECENCY = 0.3
_KINDS = {"report": 1.2, "article": 1.25, "answer": 1.1, "note": 1.1, "search_row": 1.0, "file": 0.9,
          "workbench": 0.75, "query": 0.6}  # fmt: skip
_COMPARED = 60
_SMOOTHING = 20
"""Added to a place before its reciprocal is taken, so that the first places do not decide alone."""


@dataclass(slots=True, kw_only=True, eq=False)
class Candidate:
    """A chunk that matches, with what its rank depends on.

    Attributes:
        relevance: the negative bm25; a higher one is better.
        full: whether it has all words of the query.
        body: the number of the document's text; None if it has no words.
        source: the number of the address of an article or a search row; None for others.
        copies: how many other documents have the same text or nearly the same.
        same_address: how many other documents with its address match.
    """

    chunk: int
    relevance: float
    full: bool
    document: int
    body: int | None
    simhash: int
    kind: str
    made_at: float
    site: str
    session: str
    source: int | None = None
    score: float = 0.0
    copies: int = 0
    same_address: int = 0


def rank(candidates: Iterable[Candidate], now: float, *, newest_first: bool = False) -> list[Candidate]:
    """Give the best chunk of each text and address, the best first; nearly equal texts are joined among the first."""
    candidates = list(candidates)
    for candidate in candidates:
        candidate.score = _score(candidate, now)
    if newest_first:
        return joined(sorted(candidates, key=lambda each: (each.made_at, -each.chunk), reverse=True))
    return joined(in_order(candidates))


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates by their scores, and those with all words first."""
    return sorted(
        candidates, key=lambda each: (each.full, each.score, each.made_at, -each.chunk), reverse=True
    )


def joined(ordered: Sequence[Candidate]) -> list[Candidate]:
    """Keep the best chunk of each text and address."""
    return one_per_address(group(ordered), ordered)


def order_by_meaning(ordered: Sequence[Candidate], near: Mapping[int, float]) -> list[Candidate]:
    """Order candidates by their places in two lists: by their words, as given, and by their meaning.

    The score becomes the sum of the reciprocals of both places. One without a vector keeps the place of its words.

    Args:
        ordered: the candidates, the best by their words first.
        near: how near the vector of a chunk is to that of the query.
    """
    known = sorted((each.chunk for each in ordered if each.chunk in near), key=lambda chunk: -near[chunk])
    places = {chunk: place for place, chunk in enumerate(known)}
    for place, candidate in enumerate(ordered):
        other = places.get(candidate.chunk, place)
        candidate.score = 1 / (_SMOOTHING + place) + 1 / (_SMOOTHING + other)
    return sorted(ordered, key=lambda each: -each.score)


def group(ordered: Iterable[Candidate]) -> list[Candidate]:
    """Keep the first chunk of each text, and count the other documents that have it."""
    kept: dict[object, Candidate] = {}
    documents: dict[object, set[int]] = {}
    places: dict[int, object] = {}
    for candidate in ordered:
        key = places.get(candidate.document) or _key(candidate, kept)
        kept.setdefault(key, candidate)
        documents.setdefault(key, set()).add(candidate.document)
        places[candidate.document] = key
    for key, candidate in kept.items():
        candidate.copies = len(documents[key]) - 1
    return list(kept.values())


def one_per_address(texts: Sequence[Candidate], ordered: Iterable[Candidate]) -> list[Candidate]:
    """Keep one of the texts with the same address, at the place of the best; an article if it has all words.

    `ordered` are all chunks that match, which are counted.
    """
    documents: dict[int, set[int]] = {}
    for candidate in ordered:
        if candidate.source is not None:
            documents.setdefault(candidate.source, set()).add(candidate.document)
    kept: dict[object, Candidate] = {}
    for candidate in texts:
        key: object = ("source", candidate.source) if candidate.source else candidate
        first = kept.setdefault(key, candidate)
        # A row may have words that the article does not have.
        if first.kind != "article" and candidate.kind == "article" and candidate.full:
            candidate.score = first.score
            kept[key] = candidate
    for candidate in kept.values():
        if candidate.source is not None:
            candidate.same_address = len(documents[candidate.source]) - 1
    return list(kept.values())


def count_facets(values: Iterable[str], most: int = 12) -> tuple[Facet, ...]:
    """Count the values, the most frequent first; empty ones do not count."""
    return tuple(Facet(value, count) for value, count in Counter(filter(None, values)).most_common(most))


def _key(candidate: Candidate, kept: dict[object, Candidate]) -> object:
    if candidate.body is None:
        return ("document", candidate.document)
    key = ("body", candidate.body)
    if key in kept or len(kept) > _COMPARED:
        return key
    for other, first in kept.items():
        if first.body is not None and are_near(candidate.simhash, first.simhash):
            return other
    return key


def _score(candidate: Candidate, now: float) -> float:
    recency = math.exp2(-max(now - candidate.made_at, 0.0) / HALF_LIFE)
    return candidate.relevance * (1 + _RECENCY * recency) * _KINDS.get(candidate.kind, 1.0)
