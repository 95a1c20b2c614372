"""Units that stand in the header of a table or the name of a field, and not beside the number."""

from __future__ import annotations

import re

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.tracing.index import Place

_BEFORE = 500
_HEADER = 400
_ALIASES = {
    "%": r"%|percent|per cent|prozent|pour ?cent|por ?ciento|pct|share|rate|anteil|part\b|cuota",
    "pp": r"%|percent|points?|pp|punkte?",
    "USD": r"\$|usd|dollars?",
    "EUR": r"€|eur(?:os?)?\b",
    "GBP": r"£|gbp|pounds?",
    "JPY": r"¥|jpy|yen",
    "s": r"years?|jahre?n?|ans?\b|años?|months?|monate?|days?|tage?|hours?|stunden?|minutes?|seconds?|sec\b|min\b|ms\b",
}
_SCALES = {
    3: r"thousands?|tausend|milliers?|miles\b|'000|000s|\bk\b|k\$|tsd",
    6: r"millions?|mio|mill?(?:ones)?\b|mn\b|\bm\b|\$m|€m|£m|m\$|m€|mln",
    9: r"billions?|mrd|milliarden?|milliards?|bn\b|\$bn|€bn|£bn|miles de millones",
}
_NEAR, _NEIGHBOURS = 100, 2
"""Characters and figures between a number without its unit and one that has it."""
_FLAGS = re.IGNORECASE
_AGE = re.compile(r"\b(?:aged?|ages|alter|âge|edad)\b", _FLAGS)


def is_unit_left_out(figure: Figure, place: Place) -> bool:
    """Whether a source has a number without the unit of a report's figure because it has just been said.

    So are "4.4" in "3.1 weeks, down from 4.4", and often the currency of "a valuation of 5.2 billion".
    """
    found = place.figure
    if found.unit or not figure.unit:
        return False
    if figure.kind == "money" and found.text[-1:].isalpha() and not found.is_word:
        return True
    figures = place.source.figures
    return any(
        other.unit == figure.unit and other.start - _NEAR < found.end and found.start - _NEAR < other.end
        for other in figures[max(place.number - _NEIGHBOURS, 0) : place.number + _NEIGHBOURS + 1]
    )


def is_unit_near(figure: Figure, place: Place) -> bool:
    """Whether a number without unit or scale has those of a report's figure in the header that it stands under."""
    found = place.figure
    value, original = float(figure.value), float(found.value)
    if not original or not value:
        return bool(value == original)
    text = place.source.text
    if figure.unit == "s" and _AGE.search(text[max(found.start - 24, 0) : found.start]):
        return True
    line_start = text.rfind("\n", max(found.start - _BEFORE, 0), found.start) + 1
    line_end = text.find("\n", found.end, found.end + _BEFORE)
    line = text[line_start : line_end if line_end >= 0 else found.end + _BEFORE]
    header = f"{text[:_HEADER]}\n{text[max(found.start - _BEFORE, 0) : found.start]}"
    ratio = value / original
    exponent = next((power for power in _SCALES if abs(ratio / 10**power - 1) < 0.1), 0)
    if exponent:
        if not (_is_tabular(line) and re.search(_SCALES[exponent], header, _FLAGS)):
            return False
    elif figure.unit == "%" and abs(ratio / 100 - 1) < 0.1:
        return abs(original) < 2
    if not figure.unit or figure.unit == found.unit:
        return bool(exponent) or not figure.unit
    written = re.escape(figure.written.strip()) if figure.written.strip() else re.escape(figure.unit)
    aliases = _ALIASES.get(figure.unit, written)
    return _is_tabular(line) and bool(re.search(f"{aliases}|{written}", header, _FLAGS))


def _is_tabular(line: str) -> bool:
    """Whether a line is a row of a table, a field with its value, or a short text such as one cell."""
    marks = line.count("|") + line.count("\t") + line.count(";") + line.count('":')
    return marks >= 1 or len(line) < 60 or line.count(",") > len(line) / 25
