"""Finds the figures of a text: dates, identifiers, and numbers in digits or words with what belongs to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ua_tui.observers.check.figures.context import Context
from ua_tui.observers.check.figures.figure import Figure, Reading
from ua_tui.observers.check.figures.joined import joined
from ua_tui.observers.check.figures.numbers import Style, read_digits
from ua_tui.observers.check.figures.spelled import find_spelled
from ua_tui.observers.check.figures.suffix import CURRENCY, Suffix, read_header, read_suffix
from ua_tui.observers.check.figures.vocabulary import WORD, Unit, units

# What looks like a number and is an address, an identifier, a time, a score or a telephone number. The named ones are
# compared as strings, or as durations.
_OTHER = re.compile(
    r"(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w-]+\.\w+"
    r"|(?P<doi>\b10\.\d{4,}/[^\s\"<>]+[^\s\"<>.,;)])"
    r"|(?P<name>\b[A-Z]{2,}[A-Za-z]*-\d{3,}(?:-\d+)+)"
    r"|(?P<version>\bv?\d+(?:\.\d+){2,}(?:[-+.]?(?:rc|alpha|beta|b|a)\.?\d+)?\b|\bv\d+\.\d+\b)"
    r"|(?P<time>(?<![\d.,])\d{1,3}:[0-5]\d(?::[0-5]\d)?(?:[.,]\d+)?(?![\d:])|\d{1,2}\.[0-5]\d(?=\s?[ap]\.?m\b))"
    r"|(?P<code>\b\d{1,4}/\d{2,}(?:/\d+)*\b|\b(?:0\d{2,5}|1-\d{3})[ /-]?\d[\d -]{4,}\d)"
    r"|(?P<score>(?<![\w.,–-])(?<!\d )\d{1,3}[–-]\d{1,3}(?:, ?\d{1,2}[–-]\d{1,2})*"
    r"(?![\w%–-]|[.,]\d| ?(?:%|percent|million|billion)))"
    r"|\[\^?[\w-]{1,12}\]|\+\d[\d ()/-]{7,}\d|#\d+"
    # "mid-2024" is a year, and "EUR5m" money.
    r"|(?<=[^\W\d_])(?<![Mm]id)(?<!pre)(?<!post)(?<!early)(?<!late)(?<!EUR)(?<!USD)(?<!GBP)(?<!CHF)[-_/]?\d[\w-]*"
)
# Without one of these a text has nothing of the above.
_MAY_HAVE_OTHER = re.compile(
    r"://|www\.|@|\d[:/.–-]\d|[^\W_][-_/–]\d|[^\W\d_]\d|[#+\[]\^?[\w-]|\b0\d\d|\d\s?[ap]\.?m\b"
)
_DIGITS = re.compile(
    r"(?<![\w.,])(?P<word>minus )?(?P<sign>[-−–+±])?"
    rf"(?P<before>{CURRENCY}|Rs\.?|Fr\.)?"
    r"[ \u00a0\u202f]?(?P<inner>[-−]|(?<=[$€£¥])\()?"
    r"(?P<run>\d{1,3}(?:[\u00a0\u202f\u2009]\d{3})+(?!\d)(?:[.,]\d+)?|\d{1,3}(?:[’']\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?: \d{3}){1,30}+(?! *\d)(?:,\d+)?|\d{1,18}(?:[.,]\d{1,12})*|\.\d{1,9})"
    r"(?P<fraction>[ ]?[½¼¾⅓⅔]|[ ]\d/\d(?![\d/]))?(?(inner)\)?)"
)
_SEASON = re.compile(r"(?<![\w/–-])((?:19|20)\d\d)[/–-](\d\d)(?![\w/–-]|[.,]\d)")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b|(?:er|ère|ème|e|º|ª)(?![\w-])|\.º")
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_YEARS = range(1500, 2101)
_SMALL = 20
"""The largest bare number that says nothing without its noun: smaller ones are on most pages."""
_MOST_TIMES = 100
_MOST_BEFORE = 80
"""Characters before a number that are read: a paragraph may be a document."""


def find_figures(text: str, style: Style, headings: Sequence[str] = ()) -> list[Figure]:
    """Find the figures of a passage, in order.

    The first scale and unit in the headings of a table's cell, that of its column first, are those of numbers without
    any.
    """
    if not text.isprintable():
        text = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    return _Finder(text, style, headings).find()


class _Finder:
    def __init__(self, text: str, style: Style, headings: Sequence[str]) -> None:
        self.text = text
        self.style = style
        self.words = style.words
        self.found: list[Figure] = []
        self.taken = bytearray(len(text))
        read = [read_header(each, style.words) for each in headings]
        self.may_be_year = not read or read[0].is_empty
        self.header = next((each for each in read if not each.is_empty), Suffix(1.0, None, 0))
        self.is_million = any("(m)" in each for each in headings)

    def find(self) -> list[Figure]:
        text = self.text
        if any(map(str.isdigit, text)):
            if self.words.dated.search(text):
                self._find_dates()
            self._find_names()
            for match in _DIGITS.finditer(text):
                if self._is_free(match.start("run"), match.end()):
                    self._number(match)
        if self.words.words and not self.words.counting.isdisjoint(WORD.findall(text.casefold())):
            for start, end, number in find_spelled(text, self.words):
                if self._is_free(start, end):
                    self._spelled(start, end, number)
        return joined(text, sorted(self.found, key=lambda figure: figure.start))

    # Dates and identifiers

    def _find_dates(self) -> None:
        for match in self.words.dates.finditer(self.text):
            found = match.groupdict()
            parts = {name[0]: value for name, value in found.items() if value and name not in {"d2", "d4"}}
            month = self.words.months.get(parts.get("m", "")) or int(parts.get("m", 0))
            if "q" in parts:
                month = 100 + (self.words.quarters.get(parts["q"]) or int(parts["q"]))
            year, day = int(parts.get("y", 0)), int(parts.get("d", 0))
            is_date = day <= 31 and (month > 100 or 1 <= month <= 12)
            for each in (day, found["d2"] or found["d4"]) if is_date else ():
                if each is not None:
                    self._keep(*match.span(), kind="date", date=(year, month, int(each)))

    def _keep(self, start: int, end: int, **more: Any) -> None:
        """Keep a date or an identifier; `more` is what it says."""
        self._take(start, end)
        end -= len(self.text[start:end]) - len(self.text[start:end].rstrip(". "))
        self.found.append(Figure(start=start, end=end, text=self.text[start:end], **more))

    def _find_names(self) -> None:
        """Read what looks like a number and is none, and seasons such as "2030/31" as their first year."""
        for match in _SEASON.finditer(self.text):
            year, last = int(match[1]), int(match[2])
            if last == (year + 1) % 100 or (match[0][4] != "/" and last > year % 100):
                self._keep(*match.span(), kind="date", date=(year, 0, 0))
        for match in _OTHER.finditer(self.text) if _MAY_HAVE_OTHER.search(self.text) else ():
            kind, (start, end) = match.lastgroup, match.span()
            is_number = bool(kind == "version" and read_digits(match[0], self.style))
            if is_number or not self._is_free(start, end) or (kind == "score" and self._is_range(end)):
                continue
            self._take(start, end)
            if kind == "time":
                self._time(match)
            elif kind is not None:
                name = match[0].lower().lstrip("v").replace("–", "-")
                name = name.replace(" ", "").replace("-", "") if kind == "code" else name
                self._keep(start, end, kind="name", name=f"{kind} {name}")

    def _is_range(self, end: int) -> bool:
        """Whether two small numbers are a range with a unit or a noun, and no score."""
        suffix = read_suffix(self.text, end, self.words)
        return suffix.unit is not None or (suffix.end == end and bool(self._around(end, end).noun))

    def _time(self, match: re.Match[str]) -> None:
        """Read a time of day, or how long something took: both are seconds, "38:52" may also be minutes."""
        parts = match[0].replace(",", ".").replace(".", ":", ":" not in match[0]).split(":")
        first, *rest = map(float, parts)
        half = self.text[match.end() : match.end() + 5].replace(".", "").strip()[:2]
        first += 12 if half == "pm" and first < 12 else 0
        seconds = 3600 * first + 60 * rest[0] + (rest[1] if len(rest) > 1 else 0)
        values = [seconds] if half in ("am", "pm") or len(rest) > 1 else [seconds, 60 * first + rest[0]]
        self._add(match.start(), match.end(), [Reading(value, 1, 1, "time", 1.0) for value in values])

    # Numbers

    def _number(self, match: re.Match[str]) -> None:
        start, end, run = match.start("run"), match.end(), match["run"]
        numbers = read_digits(run, self.style)
        if not numbers:
            return
        if fraction := (match["fraction"] or "").strip():
            top, _, bottom = fraction.partition("/")
            part = _FRACTIONS.get(fraction) or int(top) / max(int(bottom), 1)
            numbers = [Reading(each.value + part, 0.1, 0.25) for each in numbers]
        if ordinal := _ORDINAL.match(self.text, end):
            self._add(start, ordinal.end(), [Reading(numbers[0].value, 1, 1, "ordinal")])
            return
        money = units().before.get(match["before"] or "")
        suffix = read_suffix(self.text, end, self.words, is_money=money is not None)
        if suffix.is_empty and self.text[end : end + 1].isalpha():
            return
        scale, unit = suffix.scale, money or suffix.unit
        if unit is not None and unit.name == "×" and numbers[0].value * scale > _MOST_TIMES:
            # "9.871-mal angemeldet" counts.
            suffix, unit = Suffix(scale, None, suffix.end if scale > 1 else end), None
        is_plain, is_million = money is None and suffix.is_empty, self.text[end : suffix.end].strip() == "m"
        if is_plain and (self._year(match) or self._is_reference(match)):
            return
        if is_plain and not self.header.is_empty:
            scale, unit, is_plain = self.header.scale, self.header.unit, False
            is_million = self.is_million
        readings = _readings(numbers, scale, unit)
        if is_million and money is None:
            readings += _readings(numbers, 1e6, None)
        sign = self._sign(match)
        first = match.start("before") if money is not None else start
        for group in ("sign", "word"):
            first = match.start(group) if match[group] else first
        self._add(first, suffix.end, readings, sign=sign, is_bare=is_plain and numbers[0].step >= 1)

    def _year(self, match: re.Match[str]) -> bool:
        """Read a number of four digits as a year, if it may be one."""
        run, start, end = match["run"], match.start("run"), match.end()
        is_year = run.isdigit() and int(run) in _YEARS and match["sign"] not in ("+", "−", "±")
        if not is_year or not self.may_be_year:
            return False
        around = self._around(start, end)
        noun = around.noun
        before = WORD.findall(self.text[max(0, start - 24) : start].casefold())
        is_counted = before and before[-1] not in self.words.common
        if noun and (is_counted or around.bound):
            # "It carries 1800 passengers" has no year, "in 2034 sales" has one.
            return False
        plain = (Reading(float(run), 1, 1),)
        self._keep(start, end, kind="date", date=(int(run), 0, 0), readings=plain, noun=noun)
        return True

    def _is_reference(self, match: re.Match[str]) -> bool:
        """Whether a number is that of a table, a page or a product, and measures nothing."""
        before = self.text[max(0, match.start() - 30) : match.start("run")].rstrip(" \u00a0(#")
        last = (before.split() or [""])[-1]
        if last.strip("(.").casefold() in self.words.identifiers:
            return True
        is_name = last[:1].isupper() and not last.isupper() and last.isalpha() and self.words.language == "en"
        if not is_name or "," in match["run"] or last.casefold() in self.words.common:
            return False
        begins = self.text[max(0, match.start() - _MOST_BEFORE) : match.start()].rstrip()
        begins = begins[: -len(last)].rstrip()
        if not begins or begins[-1] in '.!?:;•|“"(' or self._around(match.start(), match.end()).noun:
            return False
        if "." in match["run"]:
            readings = tuple(read_digits(match["run"], self.style))
            self._keep(*match.span("run"), kind="name", name=f"version {match['run']}", readings=readings)
        return True

    def _sign(self, match: re.Match[str]) -> int:
        sign = match["sign"] or match["inner"] or ("−" if match["word"] else "")
        if sign in "±+":
            return int(sign == "+")
        before = self.text[max(0, match.start() - _MOST_BEFORE) : match.start()]
        is_apart = before[-1:] == " " == self.text[match.end("sign") :][:1]
        # "2 – 3 hours" is a range.
        return 0 if is_apart and before.rstrip()[-1:].isdigit() else -1

    def _spelled(self, start: int, end: int, number: Reading) -> None:
        is_share, is_multiple = number.unit == "%", number.unit == "×"
        suffix = Suffix(1.0, None, end)
        if not number.unit or (is_share and self.text[end : end + 3] in (" a ", " an")):
            suffix = read_suffix(self.text, end + 2 * is_share, self.words)
        is_measured = suffix.unit is not None and suffix.unit.name != "time"
        if is_share and is_measured:
            # "half a tonne" is no share.
            number = Reading(number.value / 100, 0.1, 0.1)
        elif is_share:
            suffix = Suffix(1.0, None, end)
        readings = [number] if number.unit else _readings([number], suffix.scale, suffix.unit)
        self._add(
            start, suffix.end, readings, is_word=True, is_small=is_multiple,
            is_bare=suffix.is_empty and not number.unit,
        )  # fmt: skip

    def _add(
        self, start: int, end: int, readings: list[Reading], *, sign: int = 0, is_bare: bool = False,
        is_word: bool = False, is_small: bool = False,
    ) -> None:  # fmt: skip
        """Keep a number with what the words around it say."""
        self._take(start, end)
        around = self._around(start, end)
        noun = "" if readings[0].unit else around.noun
        rate = around.rate(readings[0].unit)
        unit, is_rate, _ = readings[0].unit.partition("/s")
        if is_rate:
            readings, rate = [replace(each, unit=unit) for each in readings], "second"
        direction, has_sign, is_level = (sign, True, False) if sign else around.direction
        self.found.append(Figure(
            start=start, end=end, text=self.text[start:end], readings=tuple(readings), noun=noun,
            rate=rate, sign=direction, has_sign=has_sign, is_level=is_level,
            is_negated=bool(direction) and around.is_negated, role=around.role(), bound=around.bound,
            is_bare=is_bare, is_small=is_small or (is_bare and abs(readings[0].value) <= _SMALL), is_word=is_word,
        ))  # fmt: skip

    def _around(self, start: int, end: int) -> Context:
        return Context(self.text, self.words, start, end)

    def _is_free(self, start: int, end: int) -> bool:
        # A report may be one paragraph, so that there is no list to go through.
        return 1 not in self.taken[start:end]

    def _take(self, start: int, end: int) -> None:
        self.taken[start:end] = b"\1" * (end - start)


def _readings(numbers: list[Reading], scale: float, unit: Unit | None) -> list[Reading]:
    size, offset = (unit.factor, unit.offset) if unit else (1.0, 0.0)
    factor = scale * size
    return [
        Reading(
            each.value * factor + offset, each.step * factor, each.coarse * factor, unit.name if unit else "",
            size, each.decimal, each.value * factor, scale,
        )
        for each in numbers
    ]  # fmt: skip
