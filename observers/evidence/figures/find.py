"""Finds the figures of a text."""

from __future__ import annotations

import re

from ua_tui.observers.evidence.figures.anchors import ANCHOR
from ua_tui.observers.evidence.figures.context import Before, is_identifier, skip_identifier
from ua_tui.observers.evidence.figures.dates import make_date, read_date, read_period
from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.figures.headers import HeaderUnit, header_unit, read_header_unit
from ua_tui.observers.evidence.figures.language.languages import languages, word_set
from ua_tui.observers.evidence.figures.language.wordings import read_wording
from ua_tui.observers.evidence.figures.look_alikes import fold
from ua_tui.observers.evidence.figures.money import BEFORE, CURRENCY_SYMBOLS, currency
from ua_tui.observers.evidence.figures.numbers import FRACTIONS, Number, decimal_mark, read_number
from ua_tui.observers.evidence.figures.ranges import join
from ua_tui.observers.evidence.figures.reading import ONE, ZERO, Reading, to_figure
from ua_tui.observers.evidence.figures.suffix import add_half, read_rate, read_suffix
from ua_tui.observers.evidence.figures.units import Unit

_PIECE = 48 << 10
_MARGIN = 256
_DATE = re.compile(
    r"[0-9]{1,4}(?:[-/:][0-9]|\.[ ]?[0-9]{1,2}\.|\.?(?:st|nd|rd|th|er|º)?[ \u00a0-]?(?:of |de |the )?[A-Za-zé]|[’']s"
    r"|\.? ?[-–—]|\. (?:bis|und) |[ ](?:to|and|et|au|al|y|a|or|bis|und)[ ][0-9])"
)
_TO_YEAR = re.compile(r"[ \u00a0]?[–-][ \u00a0]?(?:[0-9]{4}|[0-9]{2}|present)(?![0-9.,])")
_GLUED = re.compile(r"[A-Z][a-zà-ÿ]{2}")
_MINUS = re.compile(r"minus[ \u00a0]\Z")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|ère|e|ème|º|ª)(?![^\W_])")
_PLUS_MINUS = re.compile(r"[ \u00a0]?(?:±|\+/[-−])[ \u00a0]?(?=[0-9])")
_YEARS = range(1600, 2101)
_EARLY_YEARS = range(1000, 2101)
_YEAR_WORDS = word_set(
    "in since by until till from during of before after around circa year mid early late through to im "
    "jahr jahre seit bis ab von vor nach ende anfang mitte en depuis avant après dès année vers desde "
    "hasta año antes para"
)


class _Finder:
    """Reads a piece of a text; what is common to the piece is decided once."""

    def __init__(self, text: str, header: HeaderUnit | None, around: str) -> None:
        self.text = text
        self.header = header
        self.around = around
        self.found: list[Reading] = []
        self.last_end = 0

    def prepare(self, start: int, end: int) -> None:
        """Find out the languages and the decimal mark of a piece."""
        sample = self.text[start:end]
        self.languages = languages(sample) or languages(self.around)
        self.language = self.languages[0] if self.languages else ""
        hint = "" if not self.languages else ("." if self.language == "en" else ",")
        self.mark = decimal_mark(sample[:4_000], hint=hint)
        self.joins_spaces = self.language != "en"
        self.is_day_first = self.language not in {"", "en"}

    def add(self, reading: Reading) -> int:
        """Keep a figure; returns where it ends."""
        self.found.append(reading)
        self.last_end = reading.end
        return reading.end

    def at_digit(self, start: int) -> int:
        """Read the figure at a digit; returns where to look next."""
        text = self.text
        before = text[start - 1 : start] if start else ""
        currency_start, money = start, None
        may_be_money = before and (before in "$€£¥₹₩₽₺₪₴₦₫฿₱ \u00a0." or before.isalpha())
        if may_be_money and (match := BEFORE.search(text, max(self.last_end, start - 6), start)):
            symbol = match[0].strip()
            money = currency(
                CURRENCY_SYMBOLS.get(symbol) or CURRENCY_SYMBOLS.get(symbol.capitalize(), symbol)
            )
            currency_start = match.start()
        if money is None:
            may_be_date = _DATE.match(text, start) and not (
                before.isalnum() or (before and before in "_/\\#@.")
            )
            if may_be_date and before == "-":
                is_word = text[start - 2 : start - 1].isalpha()
                may_be_date = is_word and not is_identifier(text, start, self.last_end)
            if may_be_date and (found := read_date(text, start, is_day_first=self.is_day_first)):
                return self.at_dates(found)
            if before == "." and not text[start - 2 : start - 1].isalnum() and start > 1:
                start -= 1
            elif end := is_identifier(text, start, self.last_end):
                return end
        number = self.fraction(start) or read_number(
            text, start, mark=self.mark, joins_spaces=self.joins_spaces
        )
        if number is None:
            return skip_identifier(text, start)
        return self.at_number(start, number, currency_start, money)

    def fraction(self, start: int) -> Number | None:
        """Read a fraction that is one character."""
        value = FRACTIONS.get(self.text[start])
        return None if value is None else Number(start + 1, value, ZERO)

    def at_dates(self, found: list[Reading]) -> int:
        """Keep the dates that were read."""
        words = Before(self.text, found[0].start)
        found[0].is_approximate = words.is_approximate
        for reading in found:
            # The full stop of "20 July." ends the sentence.
            if reading.kind == "date" and self.text[reading.end - 1] == ".":
                reading.end -= 1
            self.add(reading)
        return self.last_end

    def at_number(self, start: int, number: Number, currency_start: int, money: Unit | None) -> int:
        """Read what belongs to a number in digits."""
        text, end = self.text, number.end
        following = text[end : end + 1]
        suffix = read_suffix(text, end, is_money=money is not None, language=self.language)
        if suffix is None and following and (following.isalpha() or following == "_"):
            if match := _ORDINAL.match(text, end):
                return self.add(Reading(start, match.end(), number.value, ONE, "ordinal"))
            # Texts of web pages often lose the space before the next line.
            if not _GLUED.match(text, end):
                return skip_identifier(text, end)
        reading = Reading(start, end, number.value, number.step, other=number.other)
        if suffix and text[end : suffix.end] == "s" and _is_plural(text, number):
            # "1,000s of people" and "the mid-2000s", no seconds.
            reading.end, reading.is_approximate = suffix.end, True
        elif suffix:
            reading.end, reading.scale, reading.unit = suffix.end, suffix.scale, suffix.unit
            reading.unit_start, reading.other_scale = suffix.unit_start, suffix.other_scale
            if suffix.unit:
                reading.kind = suffix.unit.kind
        if money is not None:
            reading.start = currency_start
            reading.end, reading.unit = read_rate(text, reading.end, money)
            reading.kind = "money"
        add_half(self.text, reading)
        self.sign(reading)
        words = Before(text, reading.start)
        if words.is_name and reading.is_bare:
            return skip_identifier(text, end)
        reading.is_approximate |= words.is_approximate or text[reading.end : reading.end + 1] == "+"
        if number.is_plain and reading.is_bare and end - start == 4 and reading.number > 0:
            reading = self.year(reading, words)
        if reading.is_bare and self.header:
            self.header.apply(reading)
        self.plus_minus(reading)
        return self.add(reading)

    def sign(self, reading: Reading) -> None:
        """Read the sign before a figure."""
        text, start = self.text, reading.start
        sign = text[start - 1 : start] if start else ""
        if sign and sign in " \u00a0" and (match := _MINUS.search(text, max(0, start - 6), start)):
            reading.start, reading.number = match.start(), -reading.number
            return
        if not sign or sign not in "-−–+":
            return
        earlier = text[start - 2 : start - 1] if start > 1 else ""
        if sign == "+":
            if not earlier or earlier in " (\u00a0":
                reading.start -= 1
        elif (sign == "−" and not earlier.isalnum()) or (
            (not earlier or earlier in " (\n\t\u00a0[|")
            and not text[max(0, start - 4) : start - 1].rstrip()[-1:].isdigit()
        ):
            reading.start -= 1
            reading.number = -reading.number
            reading.other = -reading.other if reading.other is not None else None

    def year(self, reading: Reading, words: Before) -> Reading:
        """The number as a year if it may be one."""
        year = int(reading.number)
        is_early = words.last.lstrip("(") in _YEAR_WORDS
        if self.header:
            return reading
        is_round = year % 100 == 0 and year < 1900
        if is_early or _TO_YEAR.match(self.text, reading.end):
            is_round = False
            years = _EARLY_YEARS
        else:
            years = _YEARS
        if is_round or year not in years:
            return reading
        date = make_date(reading.start, reading.end, year)
        if date is None:
            return reading
        date.other = reading.number
        date.is_approximate = reading.is_approximate
        return date

    def plus_minus(self, reading: Reading) -> None:
        """Read the tolerance after a figure."""
        if not (match := _PLUS_MINUS.match(self.text, reading.end)):
            return
        number = read_number(self.text, match.end(), mark=self.mark, joins_spaces=False)
        if number is None or reading.kind == "date":
            return
        end = number.end
        suffix = read_suffix(self.text, end, is_money=False, language=self.language)
        if suffix:
            if reading.unit is None:
                reading.unit, reading.scale, reading.unit_start = suffix.unit, suffix.scale, suffix.unit_start
                reading.kind = suffix.unit.kind if suffix.unit else reading.kind
            end = suffix.end
        reading.low, reading.high = reading.number - number.value, reading.number + number.value
        reading.end, reading.is_approximate = end, True

    def at_word(self, start: int) -> int:
        """Read the figure at a word; returns where to look next."""
        before = self.found[-1] if self.found else None
        result = read_wording(self.text, start, self.languages, before)
        if result.replaces and self.found:
            self.found.pop()
        if result.reading is not None:
            if result.reading.kind != "date":
                result.reading.is_approximate = Before(self.text, result.reading.start).is_approximate
            self.add(result.reading)
        return max(result.end, start + 1)

    def at_period(self, start: int, end: int) -> int:
        """Read the date at a word."""
        found = read_period(self.text, start)
        return self.at_dates(found) if found else max(end, start + 1)

    def scan(self) -> None:
        """Read the whole text, in pieces."""
        text, length, at, prepared = self.text, len(self.text), 0, 0
        search = ANCHOR.search
        while at < length:
            if at >= prepared:
                prepared = min(length, at + _PIECE)
                self.prepare(at, prepared)
            limit = min(length, prepared + _MARGIN)
            match = search(text, at, limit)
            if match is None or match.start() >= prepared:
                at = prepared
                continue
            start = match.start()
            kind = match.lastgroup
            if kind == "digit":
                at = self.at_digit(start)
            elif kind == "word":
                at = self.at_word(start)
            elif kind == "period":
                at = self.at_period(start, match.end())
            else:
                at = match.end()
            at = max(at, start + 1)


def find_figures(text: str, *, unit: str = "", around: str = "") -> list[Figure]:
    """Find the figures of a text, in order.

    `unit` is the text of a table's header, or only its unit (`headers.header_unit`), for numbers without one.
    `around` is some of the text around a short one, which tells its language if its own words do not.
    The time is linear in the length of the text, and texts of any size are read in pieces that give other threads
    their turn.
    """
    folded, marks = fold(text)
    finder = _Finder(folded, read_header_unit(header_unit(unit)) if unit else None, around)
    finder.scan()
    figures = []
    for reading in join(folded, finder.found):
        start, end = reading.start, reading.end
        written = (
            folded[reading.unit_start : end].strip() if reading.unit and reading.unit_start >= start else ""
        )
        if reading.kind == "money" and not written and not reading.is_word:
            written = _currency_of(folded, start)
        remarks: tuple[str, ...] = ()
        if marks:
            start, end = marks.range(start, end)
            remarks = marks.remarks(start, end)
        figures.append(to_figure(reading, start, text[start:end], written, remarks))
    return figures


def _is_plural(text: str, number: Number) -> bool:
    return number.value >= 1000 and text[number.end - 2 : number.end] == "00"


def _currency_of(text: str, start: int) -> str:
    """The currency that a figure begins with."""
    written = ""
    for character in text[start : start + 5]:
        if character.isdigit():
            break
        written += character
    return written.strip("+-− \u00a0")
