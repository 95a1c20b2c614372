"""Finds figures near words, such as those on the price of copper, with the page and the day of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec

from ua_tui.core.knowledge.records import Hit, Results
from ua_tui.core.knowledge.search.candidates import Found
from ua_tui.core.knowledge.search.passages import on_one_line
from ua_tui.core.knowledge.search.ranking import Places
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.observers.check.figures.find import find_figures
from ua_tui.observers.check.figures.numbers import style_of

_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]|\n")
_DAY = re.compile(r"[12]\d{3}-\d\d(?:-\d\d)?")


def day_of_figure(hit: Hit) -> str:
    """The day of publication, if the source states it; otherwise that on which it was found."""
    if _DAY.match(hit.date):
        return hit.date[:10]
    return f"{datetime.fromtimestamp(hit.made_at).astimezone():%Y-%m-%d}"


def figures_near(search: KnowledgeSearch, text: str, *, limit: int = 20, **filters: Any) -> Results:
    """List figures in sentences with the words of a query: those of sources, then what agent and person wrote.

    Each group is listed newest first. The passage of a hit is the sentence.

    A sentence must have one of the words, and together with its title as many as any other has: at least half of them.
    A notice says that none has all. Of equal sentences only the first is listed.

    Raises:
        KnowledgeError: the knowledge base cannot be read.
    """
    with search.passages(text, **filters) as answer:
        passages = [each for each in answer.ranked if each.kind != "query"]
        texts = answer.matches.places([each.text for each in passages])
        titles = answer.matches.places([each.title for each in passages])
    found: list[tuple[int, Hit]] = []
    for passage, in_text, in_title in zip(passages, texts, titles, strict=True):
        found += _figures(passage, in_text, {number for number, places in enumerate(in_title) if places})
    most, notices = max((words for words, _ in found), default=0), answer.notices
    if 2 * most < len(answer.matches.terms):
        found = []
    elif most < len(answer.matches.terms):
        notices = (*notices, "no sentence with a figure has all of the words: these have some of them.")
    ordered = sorted(
        (each for words, each in found if words == most),
        key=lambda each: (each.trust != "own", day_of_figure(each), each.made_at),
        reverse=True,
    )
    unique: dict[tuple[str, str], Hit] = {}
    for each in ordered:
        unique.setdefault((each.figure, each.passage), each)
    hits = tuple([*unique.values()][:limit])
    return Results(hits=hits, notices=notices, partial=answer.partial)


def _figures(found: Found, words: Places, named: set[int]) -> Iterator[tuple[int, Hit]]:
    """The figures of a passage, and how many words of the query are in the sentence of each or in the title."""
    text, style = found.text, style_of(found.text)
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    for first, last in pairwise(ends):
        inside = [
            (number, span) for number, spans in enumerate(words) for span in spans if first <= span[0] < last
        ]
        if not inside:
            continue
        known = {number for number, _ in inside}
        spans = [span for _, span in inside]
        looked_for = [(a, b) for a, b in spans if any(map(str.isdigit, text[a:b]))]
        start = last - len(text[first:last].lstrip())
        for each in find_figures(text[first:last], style):
            at, until = first + each.start, first + each.end
            # A figure that was looked for is none that is near.
            if each.kind != "amount" or each.is_word or any(a < until and at < b for a, b in looked_for):
                continue
            # A phrase may go on in the next sentence.
            places = [(at, until), *(span for span in spans if span[1] <= last)]
            passage, (place, *marks) = on_one_line(
                text[start:last].rstrip(), [(a - start, b - start) for a, b in places]
            )
            yield len(known | named), msgspec.structs.replace(
                found, figure=passage[slice(*place)], passage=passage, place=place,
                marks=tuple(sorted(marks)), start=found.start + start,
            )  # fmt: skip
