"""Merges hits that repeat each other: copies of a text, and versions of a page, with the newest first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import msgspec

from ua_tui.core.json_values import table_of
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.knowledge.search.candidates import Found
from ua_tui.core.knowledge.search.tokens import indexed
from ua_tui.core.text import clean_line

_WORDS = table_of(__file__, "figures.toml")
_FIGURE = re.compile(
    rf"(?:US\$|[$€£¥]|\b(?:{'|'.join(_WORDS['currencies'])})\b)? ?(?<![\w.,])\d+(?:[.,'’]\d+)*"
    rf"(?: ?%|(?:[kKmM]|bn|tn)\b| ?(?:{'|'.join(_WORDS['units'])})\b)?"
)
"""A number with its currency or unit."""

_COMPARED = 40
"""The first texts, which are compared with each other."""
_SAME, _NEARLY = 0.75, 0.95
"""The part of its words that a version of a page, or a copy of a text, has in common with another."""
_LONGER = 0.03
"""The part of its characters by which a copy may be longer or shorter."""
_CHANGED = 4
"""The most words that a figure and what was changed with it may be."""
_LONGEST = 40


class FoundPage(msgspec.Struct):
    """Everything of one page that was found: its best passages, one of each document, the best first."""

    versions: list[Found]
    copies: int = 0

    @property
    def first(self) -> Found:
        """What stands for the page: the newest version as it was fetched, if it has what the best one has."""
        best = self.versions[0]
        pages = [each for each in self.versions if each.kind == "article" and each.full >= best.full]
        return max(pages, key=lambda each: each.made_at, default=best)

    def is_copied_by(self, other: Found) -> bool:
        """Whether a passage is nearly equal to the best one, and has the same figures."""
        best, length = self.versions[0], len(other.text)
        # Most texts differ in length: to compare words takes longer.
        is_as_long = best.body is not None and abs(len(best.text) - length) <= _LONGER * length
        return is_as_long and _has_words_of(best, other, _NEARLY) and _has_same_figures(best, other)

    def hit(self, later: Iterable[Found], **facts: Any) -> Hit:
        """The hit of the page, with what other documents say; `later` are newer ones that were not found."""
        shown = self.first
        before = [
            each for each in self.versions
            if each.kind == shown.kind and each.made_at < shown.made_at
        ]  # fmt: skip
        after = [each for each in later if each.url == shown.url and _has_words_of(each, shown, _SAME)]
        return msgspec.structs.replace(
            shown,
            score=self.versions[0].score,
            copies=self.copies,
            more=len(self.versions) - 1,
            older=_difference("was", before, shown),
            newer=_difference("now", after, shown),
            **facts,
        )


def pages_of(ordered: Iterable[Found]) -> list[FoundPage]:
    """Put the passages of each page together, and of each text; those with the best passage are first."""
    pages: list[FoundPage] = []
    known: dict[object, FoundPage] = {}
    for each in ordered:
        body = each.body
        if each.id in known:
            continue
        address = (each.url,) if each.url and each.kind in ("article", "search_row") else None
        text = None if body is None else ("text", body)
        title = (each.title, each.site, each.kind) if each.title and text else None
        page = known.get(address) or known.get(text)
        if page is None and text is not None:
            titled = known.get(title)
            if titled is not None and _has_words_of(each, titled.versions[0], _SAME):
                page = titled
            elif len(pages) < _COMPARED:
                page = next((page for page in pages if page.is_copied_by(each)), None)
        if page is None:
            page = FoundPage([each])
            pages.append(page)
        elif address in known or not _has_same_figures(each, page.versions[0]):
            page.versions.append(each)
        else:
            page.copies += 1
        for key in (each.id, address, text, title):
            if key is not None:
                known.setdefault(key, page)
    return pages


def _difference(verb: str, versions: Iterable[Found], shown: Found) -> str:
    """What the newest of other versions with another figure says."""
    for other in sorted(versions, key=lambda each: -each.made_at):
        if figure := _changed_figure(other.text, shown.text):
            day = datetime.fromtimestamp(other.made_at).astimezone()
            year = f" {day:%Y}" * (day.year != datetime.now().astimezone().year)
            return f"{verb} {figure} on {day.day} {day:%b}{year}"
    return ""


def _has_words_of(found: Found, other: Found, share: float) -> bool:
    """Whether two texts have this share of their words in common."""
    words, others = _words_of(found.text), _words_of(other.text)
    return len(words & others) >= share * max(len(words), len(others))


@lru_cache(maxsize=200)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(indexed(text).lower().split())


def _has_same_figures(found: Found, other: Found) -> bool:
    return Counter(_FIGURE.findall(found.text)) == Counter(_FIGURE.findall(other.text))


def _changed_figure(old: str, new: str) -> str:
    """The first figure of an old text that is another one in the new text; empty if there is none."""
    before, after = old.split(), new.split()
    for change, a, b, x, y in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if change == "replace" and max(b - a, y - x) <= _CHANGED:
            figures = [_FIGURE.findall(" ".join(words)) for words in (before[a:b], after[x:y])]
            if all(figures) and figures[0] != figures[1]:
                return clean_line(figures[0][0].strip(), _LONGEST)
    return ""
