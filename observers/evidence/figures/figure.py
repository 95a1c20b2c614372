"""A figure in a text: a number with its unit, or a date."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

FigureKind = Literal["number", "share", "money", "measure", "date", "multiple", "ordinal"]
"""`number` counts something or has no unit, `share` is of a whole (percent, a third), `measure` has a physical unit,
`multiple` compares ("twice", "2.7 times"), `ordinal` is a rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure: `text[start:end]` of the text it was found in, without the words around it.

    Attributes:
        value: the number in the base unit of its family ("2.1 TB/s" is 2.1e12 B/s, "9 percent" is 9 %); of a date
            the ordinal of its first day, 0 if its year is not written.
        unit: the base unit: "%", "pp" (percentage points), "USD", "B/s", "W", "m", "s", "clock" (a time of day, in
            seconds since midnight)…; the noun that is counted is no unit: "" then.
        written: the unit as it stands in the text, such as "TB/s"; "".
        step: the size of the last written digit in the base unit, such as 1e11 for 2.1 TB/s; 0 for exact figures.
        low, high: the lowest and the highest value of the range that the figure is an end of; equal to `value` if
            there is no range. Each end of a range ("58 to 71 percent") is a figure of its own with the unit of the
            range. "12 ± 0.5" is one figure.
        date: (year, month, day) of a date as far as it is written, 0 for what is not; a quarter has the month 100 + n,
            a half-year 200 + n, a season 300 + n (1 is spring), a decade 500.
        other: the value of the other reading of an ambiguous form, else None: "1.234" with the other decimal mark,
            "3/12/2026" with day and month exchanged, a bare year as a number, "5m" as five million, "2" of
            "2 to 5 million" without the scale.
        is_approximate: "about", "more than", "nearly", "±".
        is_word: written in words ("nine", "a third", "twice").
        remarks: sentences that say what is suspicious, such as that there are invisible characters.
    """

    start: int
    end: int
    text: str
    kind: FigureKind
    value: Decimal
    unit: str = ""
    written: str = ""
    step: Decimal = Decimal(0)
    low: Decimal = Decimal(0)
    high: Decimal = Decimal(0)
    date: tuple[int, int, int] = (0, 0, 0)
    other: Decimal | None = None
    is_approximate: bool = False
    is_word: bool = False
    remarks: tuple[str, ...] = ()
