"""A figure as it is compared: readings of its value, and what belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

FigureKind = Literal["amount", "date", "name"]
Bound = Literal["", "about", "over", "under"]
SHARE_STEP = 4.0
"""Points of percent that a fraction in words covers: "a third" is written for 31 to 35 percent."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One value that the written form can have.

    Attributes:
        value: in the base of the unit's class, with its scale.
        step: the size of the last written digit.
        coarse: the size of the last digit that is not a final zero.
        unit: the class of the unit; "" for a count.
        written: which of the units of the class is written: its factor.
        decimal: the decimal mark that was assumed; "" if the form is clear.
        delta: the value as a difference, for units with another zero (degrees).
        scale: the scale that is written, such as a million.
    """

    value: float
    step: float
    coarse: float
    unit: str = ""
    written: float = 1.0
    decimal: str = ""
    delta: float = 0.0
    scale: float = 1.0

    @property
    def plain(self) -> float:
        """The value as it is written with its scale, whatever its unit."""
        return (self.delta or self.value) / self.written

    @property
    def shown(self) -> float:
        """The number that is written before the scale and the unit."""
        return self.plain / self.scale

    def in_unit_of(self, other: Reading, *, with_scale: bool) -> Reading:
        """The number that is written, in the unit of another value, and in its scale if that is meant, too."""
        scale = other.scale if with_scale else self.scale
        size = scale * other.written / (self.scale * self.written)
        return replace(
            self, value=self.value * size, step=self.step * size, coarse=self.coarse * size, unit=other.unit,
            written=other.written, delta=self.delta * size, scale=scale,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with all that belongs to it, a date, or an identifier: `text[start:end]` of what was read.

    Attributes:
        kind: `amount`, `date` or `name` (an identifier, which is compared as a string).
        readings: the possible values of an amount, the likeliest first.
        date: year, month and day, 0 for what is not written; a quarter is the month 100 + n.
        name: the identifier in its folded form.
        noun: the stem of what is counted; "" if none is written behind the number.
        rate: what it is per, such as "week"; "".
        sign: 1 for more, -1 for less, 0 if neither a sign nor a word near it says so.
        has_sign: the sign is written, or a direct neighbour says so.
        is_level: the word that says so compares with a level: "above", "behind".
        is_negated: the sentence has a word such as "not", "without" or "would" near it.
        role: -1 or 1 if the word before says that it is the former or the present value: "from", "to"; else 0.
        bound: "about", "over" or "under" if it is no exact value.
        is_bare: without a unit, a scale and decimals.
        is_small: bare and at most twenty, or a multiple in words: only counted with its noun.
        is_word: written in words.
        is_cell: a table's cell has nothing but the number, whose unit is at most in a heading.
    """

    start: int
    end: int
    text: str
    kind: FigureKind = "amount"
    readings: tuple[Reading, ...] = ()
    date: tuple[int, int, int] = (0, 0, 0)
    name: str = ""
    noun: str = ""
    rate: str = ""
    sign: int = 0
    has_sign: bool = False
    is_level: bool = False
    is_negated: bool = False
    role: int = 0
    bound: Bound = ""
    is_bare: bool = False
    is_small: bool = False
    is_word: bool = False
    is_cell: bool = False

    @property
    def is_year(self) -> bool:
        """Whether it is a date that is written as a plain number."""
        return self.kind == "date" and bool(self.readings)

    @property
    def unit(self) -> str:
        """The class of the unit of the likeliest reading."""
        return self.readings[0].unit if self.readings else ""

    @property
    def digits(self) -> str:
        """The digits of an amount between its zeros."""
        if self.kind != "amount":
            return ""
        reading = self.readings[0]
        return str(round(abs(reading.plain) / (reading.coarse / reading.written)))

    @property
    def shuffled(self) -> str:
        """The same for amounts of the same digits in any order."""
        return f"digits {''.join(sorted(self.digits))}"

    @property
    def value(self) -> float:
        """The likeliest value."""
        return self.readings[0].value if self.readings else 0.0

    def entries(self) -> Iterator[tuple[str, float]]:
        """What it is found by: its values in the classes of their units, its digits, its name, its year and its day."""
        if len(self.digits) > 2:
            yield self.shuffled, self.value
        for reading in self.readings:
            yield reading.unit, reading.value
            if reading.unit:
                yield "plain", reading.plain
            if self.is_cell:
                yield "cell", reading.shown
        year, month, day = self.date
        for key, is_there in ((self.name, self.name), (f"year {year}", year), (f"day {month} {day}", month)):
            if is_there:
                yield key, 0.0
