"""A figure while it is read: its number as written, its scale and its unit, before they are multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal

from ua_tui.observers.evidence.figures.figure import Figure, FigureKind
from ua_tui.observers.evidence.figures.units import CONTEXT, Unit

ZERO, ONE = Decimal(0), Decimal(1)
_ROUNDED = Context(prec=28, Emax=10_000, Emin=-10_000, traps=[])


@dataclass(slots=True)
class Reading:
    """A figure of a text, as far as it has been read; dates have their ordinal as `number`.

    `low` and `high` are None if there is no range; they are numbers like `number`, with the same scale and unit.
    `is_listed` says that the unit is that of the next member of a list.
    """

    start: int
    end: int
    number: Decimal
    step: Decimal = ZERO
    kind: FigureKind = "number"
    scale: Decimal = ONE
    unit: Unit | None = None
    unit_start: int = -1
    other: Decimal | None = None
    other_scale: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    date: tuple[int, int, int] = (0, 0, 0)
    is_approximate: bool = False
    is_word: bool = False
    is_listed: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it is a number without a scale or unit."""
        return self.kind == "number" and self.unit is None and self.scale == 1


def to_figure(reading: Reading, start: int, text: str, unit_text: str, remarks: tuple[str, ...]) -> Figure:
    """Multiply the number by its scale and unit; `text` begins at `start`, `unit_text` is the unit as written."""
    if reading.kind == "date":
        return Figure(
            start=start,
            end=start + len(text),
            text=text,
            kind="date",
            value=reading.number,
            low=reading.number if reading.low is None else reading.low,
            high=reading.number if reading.high is None else reading.high,
            date=reading.date,
            other=reading.other,
            is_approximate=reading.is_approximate,
            is_word=reading.is_word,
            remarks=remarks,
        )
    unit = reading.unit
    multiply = CONTEXT.multiply
    scale = reading.scale
    factor = multiply(scale, unit.factor) if unit else scale
    offset = unit.offset if unit else ZERO

    def convert(number: Decimal) -> Decimal:
        product = multiply(number, factor) if factor != 1 else number
        return _ROUNDED.add(product, offset) if offset else _ROUNDED.plus(product)

    value = convert(reading.number)
    other = None
    if reading.other is not None:
        other = convert(reading.other)
    elif reading.other_scale is not None:
        other = multiply(reading.number, reading.other_scale)
    return Figure(
        start=start,
        end=start + len(text),
        text=text,
        kind=reading.kind,
        value=value,
        unit=unit.base if unit else "",
        written=unit_text,
        step=multiply(reading.step, factor) if factor != 1 else reading.step,
        low=value if reading.low is None else convert(reading.low),
        high=value if reading.high is None else convert(reading.high),
        other=other,
        is_approximate=reading.is_approximate,
        is_word=reading.is_word,
        remarks=remarks,
    )
