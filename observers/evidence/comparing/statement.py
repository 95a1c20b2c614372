"""The statement of a source around a figure: its sentence, what the figure is of, and what limits it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from ua_tui.observers.evidence.comparing.wordings import (
    AND,
    APART,
    ATTRIBUTION,
    CHANGE_AFTER,
    COUNTER,
    DOWN,
    EARLIER,
    LABELS,
    LEVEL,
    NEUTRAL,
    NO_QUANTITY,
    NO_QUANTITY_AFTER,
    UP,
)
from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.quoting.language import language_of
from ua_tui.observers.evidence.sources import SourceText
from ua_tui.observers.evidence.tracing.words import stems

Period = tuple[int, int]
"""A year and a month as `Figure.date` has them, 0 for what is not written."""

_LONGEST = 260
"""Characters of a sentence before and after a figure."""
_NEAREST = 3
"""Words before and after a figure that say what it is of."""
_FEWEST = 2
_TOKENS = 9
_AROUND = 120
_ELIDED = 2
_SAMPLE = 4_000
_CHANGE = 45
_KINDS = frozenset({"number", "share", "money", "measure"})
_YEARS = range(1900, 2101)
_BOUNDARY = re.compile(r"[.!?…][\"”’»)\]]?\s|\n(?:[ \t]{0,8}\n|(?=[ \t]{0,8}[-*#|>•]))|\||\t| {4}")
_ENDING = re.compile(r"(?:[a-zà-ÿß]{3}|\d{4}|[%)”»’\"\]])\Z")
_SHORTENED = ("Mrd", "Mio", "Inc", "Ltd", "Corp", "approx", "ungef", "resp")
_TOKEN = re.compile(r"\w+(?:[.,’']\w+)*|[|]")
_CAPITAL = re.compile(r"(?<![\w@#/.])[A-ZÀ-Þ][^\W\d_]*(?:[’'][^\W\d_]+)?")
_MODEL = re.compile(r"(?<![\w@#/.])[A-Za-zÀ-ÿ]{1,12}-?\d{1,5}[A-Za-z]{0,3}(?!\w)")
_PERIOD_NAME = re.compile(r"(?:[QH]|FY|CY)\d", re.IGNORECASE)
_FIRST = re.compile(r"[\"“„«‹(\s¿¡*#>-]*")
_HOST = re.compile(r"https?://(?:(?:www|m|amp|mobile)\.)?([^/:?#\s]{1,253})", re.IGNORECASE)


def site_of(url: str) -> str:
    """The host of an address without "www."; empty if it is none of the web."""
    found = _HOST.match(url)
    return found[1].lower() if found else ""


def sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of the sentence, or of the cell or line, around a range of a text."""
    first, last = max(start - _LONGEST, 0), min(end + _LONGEST, len(text))
    for found in _BOUNDARY.finditer(text, first, start):
        if _is_boundary(text, found):
            first = found.end()
    for found in _BOUNDARY.finditer(text, end, last):
        if _is_boundary(text, found):
            return first, found.start()
    return first, last


def _is_boundary(text: str, found: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence; everything else that was found ends one."""
    if found[0][0] not in ".!?…":
        return True
    before = text[max(found.start() - 8, 0) : found.start()]
    return _ENDING.search(before) is not None and not before.endswith(_SHORTENED)


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    return next(iter(stems(word)), "")


_language = lru_cache(maxsize=256)(language_of)
_stems_of_title = lru_cache(maxsize=256)(stems)


def _word(token: str) -> str:
    """A word without "d'" before it or "'s" after it."""
    before, _, after = token.replace("’", "'").partition("'")
    return after if after and len(before) <= _ELIDED else before


def names_in(text: str, lower: str = "") -> frozenset[str]:
    """The stems of the words with a capital letter in a sentence, and its words with digits, such as "gpt4".

    The word that begins the sentence is no name if the text `lower` has it in small letters.
    """
    begins = _FIRST.match(text)
    first = begins.end() if begins else 0
    found = set()
    for match in _CAPITAL.finditer(text):
        stem = _stem(_word(match[0]))
        if not stem or stem in NEUTRAL:
            continue
        if match.start() == first and f" {match[0].lower()}" in lower:
            continue
        found.add(stem)
    for match in _MODEL.finditer(text):
        if not _PERIOD_NAME.fullmatch(match[0][:3]):
            found.add(match[0].casefold().replace("-", ""))
    return frozenset(found)


@dataclass(frozen=True, eq=False)
class Statement:
    """A figure of a source with its sentence, which is `text[first:last]` of the source; the rest is read on demand."""

    source: SourceText
    number: int
    first: int
    last: int

    @classmethod
    def at(cls, source: SourceText, number: int) -> Statement:
        """The statement around a figure, by its number among the figures of the source."""
        figure = source.figures[number]
        return cls(source, number, *sentence_at(source.text, figure.start, figure.end))

    @property
    def figure(self) -> Figure:
        """The figure."""
        return self.source.figures[self.number]

    @property
    def before(self) -> str:
        """The sentence up to the figure."""
        return self.source.text[self.first : self.figure.start]

    @property
    def after(self) -> str:
        """The sentence from the figure on."""
        return self.source.text[self.figure.end : self.last]

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of the sentence."""
        return stems(f"{self.before} {self.after}")

    @cached_property
    def title(self) -> frozenset[str]:
        """The stems of the title of its page."""
        return _stems_of_title(self.source.record.title)

    @cached_property
    def about(self) -> frozenset[str]:
        """The stems of the sentence and of the title of its page."""
        return self.words | self.title if self.title else self.words

    @cached_property
    def clause(self) -> tuple[int, int]:
        """The range of the clause around the figure."""
        first, last = self.first, self.last
        for found in APART.finditer(self.source.text, first, self.figure.start):
            first = found.end()
        after = APART.search(self.source.text, self.figure.end, last)
        return first, after.start() if after else last

    @cached_property
    def near(self) -> frozenset[str]:
        """The stems nearest to the figure: of its clause, or of its sentence if the clause has hardly any."""
        near = self._near(*self.clause)
        return near if len(near) >= _FEWEST else self._near(self.first, self.last)

    def _near(self, first: int, last: int) -> frozenset[str]:
        text = self.source.text
        start, end = self._span
        earlier = _TOKEN.findall(text, max(first, start - _AROUND), start)
        later = _TOKEN.findall(text, end, min(last, end + _AROUND))
        return frozenset((*_nearest(reversed(earlier)), *_nearest(later)))

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The range of the figure with the other end of its range."""
        ends = [self.figure, *(each for each in self._others if self._is_other_end(each))]
        return min(each.start for each in ends), max(each.end for each in ends)

    def _is_other_end(self, other: Figure) -> bool:
        figure = self.figure
        return figure.low != figure.high and (other.low, other.high) == (figure.low, figure.high)

    @cached_property
    def counted(self) -> frozenset[str]:
        """The stems of the two words after the figure, which are what a number without a unit counts."""
        text, end = self.source.text, self._span[1]
        return frozenset(list(_nearest(_TOKEN.findall(text, end, min(self.clause[1], end + 60))))[:2])

    @cached_property
    def _others(self) -> Sequence[Figure]:
        """The other figures of the sentence."""
        figures, found = self.source.figures, []
        for step in (-1, 1):
            at = self.number + step
            while 0 <= at < len(figures) and self.first <= figures[at].start < self.last:
                found.append(figures[at])
                at += step
        return found

    @cached_property
    def scope(self) -> str:
        """The sentence without the clauses of other figures of the same kind."""
        text = self.source.text
        rivals = [each.start for each in self._others if (each.kind, each.unit) == self._sort]
        edges = [
            self.first,
            *(found.end() for found in APART.finditer(text, self.first, self.last)),
            self.last,
        ]
        own = self.clause
        parts = []
        for first, last in pairwise(edges):
            if (first < own[1] and own[0] < last) or not any(first <= at < last for at in rivals):
                parts.append(text[first:last])
        return "".join(parts)

    @property
    def _sort(self) -> tuple[str, str]:
        return self.figure.kind, self.figure.unit

    @cached_property
    def names(self) -> frozenset[str]:
        """What has a name in the sentence, without who says it."""
        said = ATTRIBUTION.sub(" ", self.source.text[self.first : self.last])
        return names_in(said, self.source.text)

    @cached_property
    def periods(self) -> frozenset[Period]:
        """The dates of the clause, else those of the sentence."""
        dates = [each for each in self._others if each.kind == "date"]
        first, last = self.clause
        own = [each for each in dates if first <= each.start < last]
        return frozenset((each.date[0], each.date[1]) for each in own or dates)

    @cached_property
    def labels(self) -> frozenset[str]:
        """What limits or changes the meaning of the figure."""
        scope = self.scope
        return frozenset(name for name, pattern in LABELS.items() if pattern.search(scope))

    @cached_property
    def change(self) -> str:
        """Whether the figure is how much something went "up" or "down"; empty if it is how much there is."""
        first, last = self.clause
        text, figure = self.source.text, self.figure
        if found := CHANGE_AFTER.match(text, figure.end, last):
            return "up" if found["up"] else "down"
        before = text[max(first, figure.start - _CHANGE) : figure.start]
        if LEVEL.search(before):
            return ""
        ups = [found.end() for found in UP.finditer(before)]
        downs = [found.end() for found in DOWN.finditer(before)]
        if not ups and not downs:
            return ""
        return "up" if max(ups, default=-1) > max(downs, default=-1) else "down"

    @cached_property
    def is_comparable(self) -> bool:
        """Whether the figure is a quantity of now, and not of a version, a row of a table or the year before."""
        figure, before, after = self.figure, self.before, self.after
        if figure.kind not in _KINDS or not figure.value or figure.unit == "clock":
            return False
        if EARLIER.search(before[-60:]) or self._is_start():
            return False
        if NO_QUANTITY_AFTER.match(after[:24]) or NO_QUANTITY.search(before[-30:]):
            return False
        if figure.kind == "number" and not figure.unit and not self._counts():
            return False
        return not self._is_listed()

    def _counts(self) -> bool:
        """Whether a number counts things, and is no time, house number or counter of a web page."""
        after = self.after
        if not self.counted or COUNTER.match(after[:24]):
            return False
        word = _TOKEN.search(after[:40])
        is_name = word is not None and word[0][0].isupper()
        return not is_name or _language(self.source.text[:_SAMPLE]) == "German"

    @cached_property
    def is_end(self) -> bool:
        """Whether the figure is the end of a change ("from 5 to 7 percent")."""
        return self.figure.low != self.figure.high and bool(self._direction())

    def _direction(self) -> bool:
        clause = self.source.text[slice(*self.clause)]
        return bool(UP.search(clause) or DOWN.search(clause))

    def _is_start(self) -> bool:
        """Whether the figure is the beginning of a change."""
        start = self.figure.start
        return self._direction() and any(
            each.start > start and self._is_other_end(each) for each in self._others
        )

    def _is_listed(self) -> bool:
        """Whether other figures of the kind are in the clause, so that it is not clear which of them is of what."""
        first, last = self.clause
        return any(
            first <= each.start < last
            and (each.kind, each.unit) == self._sort
            and not self._is_other_end(each)
            and not EARLIER.search(self.source.text[max(first, each.start - 60) : each.start])
            for each in self._others
        )


def _nearest(tokens: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """The stems of the next words that say something, up to the next figure or the next thing."""
    found = 0
    for count, token in enumerate(tokens):
        if token.isdigit() and len(token) == 4 and int(token) in _YEARS:
            continue
        if token[0].isdigit() or token.casefold() in AND or count == _TOKENS or found == _NEAREST:
            return
        stem = _stem(_word(token))
        if stem and stem not in NEUTRAL:
            found += 1
            yield stem
