"""Recomputes a figure from others: sum, difference, share, growth, multiple and mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from observers.evidence.figures.figure import Figure

__all__ = ["Derivation", "Operand", "derive", "derive_total"]

_MOST = 8
"""Operands of one search: what is near is written first."""
_CHANCE = 0.2
"""The most computations, each weighted by the chance that a random figure equals it."""
_YEAR = 31_557_600.0
_AFTER = 60
_AROUND = 400
"""Characters before and after a figure in which words say how it was computed."""
_FLAGS = re.IGNORECASE
_GROWTH = re.compile(
    r"\b(?:rose|ris(?:e|es|en|ing)|gr[eo]w\w*|increas\w+|up|gain\w*|climb\w*|jump\w*|fell|fall\w*|down|declin\w+|drop\w*"
    r"|decreas\w+|lower|higher|growth|shr[aiu]nk\w*|surg\w+|expan\w+|reduc\w+|slump\w*|less|more|fewer|chang\w+|cut\w*"
    r"|faster|slower|gestiegen|stieg\w*|steig\w*|wuchs\w*|wachs\w*|gewachsen|sank\w*|gesunken|rückgang|zunahme|plus"
    r"|minus|zuwachs|fiel\w*|gefallen|verändert\w*|veränderung|hausse|baisse|augment\w*|progress\w+|recul\w*|diminu\w*"
    r"|croissance|crec\w*|aument\w*|sub(?:ió|ida|e)|baj[aóo]\w*|caíd\w*|cay\w+|desc\w+|increment\w*|disminu\w*"
    r"|variation|variación|change|évolution|accru\w*)\b|[+Δ]|%\s*$",
    _FLAGS,
)
_SHARE = re.compile(
    r"\b(?:shares?|portion|proportion|accounts?|represents?|ma(?:k|d)e|fraction|out of|anteil\w*|entfall\w*|entfiel\w*"
    r"|entspr\w+|quote|représent\w*|proporción|represent\w*|cuota|supone\w*|parts?)\b",
    _FLAGS,
)
_SHARE_AFTER = re.compile(
    r"\W{0,3}(?:of|der|des|von|davon|du|de|del|d'|are|were|sind|waren|sont|son)\b", _FLAGS
)
_MEAN = re.compile(
    r"\b(?:averag\w+|mean|durchschnitt\w*|mittel\w*|moyenne?\w*|promedio|media|per|pro|par|por|each|je)\b",
    _FLAGS,
)
_DIFFERENCE = re.compile(
    r"\b(?:differ\w+|gap|more|fewer|less|lead\w*|higher|lower|ahead|by|of|added|between|remain\w*|left|rest\w*|lost|net"
    r"|change|unterschied|differenz|mehr|weniger|um|abstand|übrig\w*|écart|différence|de plus|de moins|diferencia"
    r"|variation|más|menos|span\w*|later|earlier|after|spread|points?|punkte?n?|margin|abgeb\w*|growth|increase\w*)\b",
    _FLAGS,
)
_SUM = re.compile(
    r"\b(?:total\w*|together|combined|altogether|sum|overall|in all|both|across|zusammen|insgesamt|gesamt\w*|summe"
    r"|ensemble|somme|cumul\w*|conjunto|juntos|suma\w*|entre|en tout|plus|including|joint\w*)\b",
    _FLAGS,
)
_MULTIPLE = re.compile(
    r"\b(?:times|twice|double|tripl\w+|fold|mal|fois|veces|doppelt|ratio|factor|[0-9.,]+\s?[x×])", _FLAGS
)


@dataclass(frozen=True)
class Operand:
    """A figure that is traced, with the number by which the caller knows where, and with what it was rounded from."""

    figure: Figure
    key: int
    exact: Figure | None = None

    @property
    def value(self) -> float:
        """The value, as exact as the source has it; of a date its year."""
        figure = self.exact or self.figure
        return float(figure.date[0] if figure.kind == "date" else figure.value)

    @property
    def text(self) -> str:
        """The figure as written, with its unit."""
        return " ".join((self.exact or self.figure).text.split())


@dataclass(frozen=True)
class Derivation:
    """A computation, such as "41 + 17 = 58", and the figures in it."""

    note: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class _Result:
    value: float
    note: str
    operands: tuple[Operand, ...]


def derive(
    figure: Figure, operands: Sequence[Operand], sentence: str, at: int, *, is_same_sentence: bool = False
) -> Derivation | None:
    """Find a computation with two or three figures whose rounded result is a figure.

    Args:
        figure: a figure of the report.
        operands: figures near it, the nearest first.
        sentence: what it stands in; its words say which computations are likely.
        at: where the figure begins in it.
        is_same_sentence: whether the operands are of the same sentence, so that a sum needs no word for it.

    Returns:
        The first computation; None if there is none, or so many were possible that one would be found by accident.
    """
    value, tolerance = _written(figure)
    if not value or not operands:
        return None
    first = max(at - _AROUND, 0)
    sentence, at = sentence[first : at + len(figure.text) + _AROUND], at - first
    results = list(_results(figure, operands[:_MOST], sentence, at, is_same_sentence))
    chance = len(results) * 2 * tolerance / abs(value)
    if chance > _CHANCE:
        return None
    for result in results:
        if abs(abs(result.value) - abs(value)) <= tolerance * (1 + 1e-9):
            shown = " ".join(figure.text.split())
            sign = "=" if abs(abs(result.value) - abs(value)) <= 1e-9 * abs(value) else "≈"
            return Derivation(f"{result.note} {sign} {shown}", result.operands)
    return None


def derive_total(figure: Figure, column: Sequence[Operand]) -> Derivation | None:
    """Find out whether a cell is the sum or the mean of all other cells of its column or row."""
    same = [each for each in column if _is_alike(each.figure, figure)]
    value, tolerance = _written(figure)
    if len(same) < 2 or not value:
        return None
    total = sum(each.value for each in same)
    shown = " ".join(figure.text.split())
    # Each of the summands may be rounded.
    slack = tolerance + sum(float(each.figure.step) / 2 for each in same) * 0.5
    if abs(total - value) <= min(slack, 0.01 * abs(value) + 1e-9):
        parts = " + ".join(each.text for each in same[:12]) + (" + …" if len(same) > 12 else "")
        return Derivation(f"{parts} = {shown}", tuple(same))
    if len(same) > 2 and abs(total / len(same) - value) <= tolerance:
        return Derivation(f"the mean of {len(same)} figures is {shown}", tuple(same))
    return None


def _written(figure: Figure) -> tuple[float, float]:
    """The value of a figure, and by how much a result may differ from it."""
    value, step = float(figure.value), float(figure.step)
    tolerance = step / 2 if step else 1e-9 * abs(value)
    if figure.is_word and figure.kind in {"share", "multiple"}:
        tolerance = max(tolerance, 0.02 * abs(value))
    if figure.is_approximate:
        tolerance = max(tolerance, 0.03 * abs(value))
    return value, min(tolerance, 0.05 * abs(value)) if abs(value) >= 10 else tolerance


def _is_alike(one: Figure, other: Figure) -> bool:
    return one.kind != "date" and other.kind != "date" and one.unit == other.unit


def _results(
    figure: Figure, operands: Sequence[Operand], sentence: str, at: int, is_same_sentence: bool
) -> Iterator[_Result]:
    after = sentence[at + len(figure.text) : at + len(figure.text) + _AFTER]
    if figure.unit in {"%", "pp"}:
        yield from _percentages(figure, operands, sentence, after)
    if figure.kind == "multiple" or (figure.unit == "" and _MULTIPLE.search(sentence)):
        for one, other in permutations([each for each in operands if each.figure.kind != "date"], 2):
            if one.figure.unit == other.figure.unit and other.value and abs(one.value) > abs(other.value):
                yield _Result(one.value / other.value, f"{one.text} / {other.text}", (one, other))
    if figure.unit == "s":
        for one, other in combinations([each for each in operands if each.figure.kind == "date"], 2):
            years = abs(one.value - other.value)
            if years and one.figure.date[0] and other.figure.date[0]:
                later, earlier = (one, other) if one.value > other.value else (other, one)
                yield _Result(years * _YEAR, f"{later.text} − {earlier.text}", (later, earlier))
    alike = [each for each in operands if _is_alike(each.figure, figure)]
    if figure.unit in {"%", "pp"}:
        alike = [each for each in operands if each.figure.unit in {"%", "pp"}]
    yield from _sums(alike, sentence, is_same_sentence)


def _sums(alike: Sequence[Operand], sentence: str, is_same_sentence: bool) -> Iterator[_Result]:
    is_sum, is_mean = bool(_SUM.search(sentence)), bool(_MEAN.search(sentence))
    if is_sum or (is_same_sentence and len(alike) == 2):
        for one, other in combinations(alike, 2):
            yield _Result(one.value + other.value, f"{one.text} + {other.text}", (one, other))
    if _DIFFERENCE.search(sentence) or _GROWTH.search(sentence):
        for one, other in combinations(alike, 2):
            more, less = (one, other) if one.value >= other.value else (other, one)
            if more.value != less.value:
                yield _Result(more.value - less.value, f"{more.text} − {less.text}", (more, less))
    if is_sum:
        for count in range(3, min(len(alike), 6) + 1):
            for some in combinations(alike, count) if count == 3 else [tuple(alike[:count])]:
                yield _Result(sum(each.value for each in some), " + ".join(each.text for each in some), some)
    if is_mean and len(alike) > 1:
        groups = [tuple(alike), *(combinations(alike, 2) if len(alike) > 2 else ())]
        for some in groups:
            mean = sum(each.value for each in some) / len(some)
            yield _Result(mean, f"({' + '.join(each.text for each in some)}) / {len(some)}", some)


def _percentages(figure: Figure, operands: Sequence[Operand], sentence: str, after: str) -> Iterator[_Result]:
    counts = [each for each in operands if each.figure.unit not in {"%", "pp"}]
    amounts = [each for each in counts if each.figure.kind != "date"]
    if len(amounts) == 1:
        # "1703 desarrollan" has the form of a year, beside a count.
        amounts = [each for each in counts if each.figure.kind != "date" or each.figure.other is not None]
    is_growth = bool(_GROWTH.search(sentence))
    is_share = bool(_SHARE.search(sentence) or _SHARE_AFTER.match(after))
    for one, other in permutations(amounts, 2):
        if one.figure.unit != other.figure.unit or not one.value or not other.value:
            continue
        if is_growth and 0.001 < abs(one.value / other.value) < 100:
            growth = (one.value - other.value) / other.value * 100
            yield _Result(growth, f"({one.text} − {other.text}) / {other.text}", (one, other))
        if is_share and 0 < one.value < other.value:
            yield _Result(one.value / other.value * 100, f"{one.text} / {other.text}", (one, other))
    if is_share:
        for one in operands:
            if one.figure.unit == "%" and 0 < one.value < 100:
                yield _Result(100 - one.value, f"100 − {one.text}", (one,))
