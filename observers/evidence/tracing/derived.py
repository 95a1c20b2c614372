"""Recomputes a figure from others: sum, difference, share, growth, multiple, mean, product and quotient."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, permutations

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.tracing.computed import is_said_to_be_computed
from ua_tui.observers.evidence.tracing.rounding import bounds, in_unit, unit_factor

_SIZES = (2, 3, 8)
"""With so many of the nearest operands a computation is tried, the fewest first."""
_CHANCE, _CHANCE_SAID = 0.2, 0.4
"""The most computations, each weighted by the chance that a random figure equals it; more if the report computes."""
_RESTATED = 0.02
"""How far rounding changes a figure that the sentence gives in two units."""
_WIDEST = 0.1
"""How wide "more than" counts among these, as a share of the figure."""
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
    r"|subid\w*|abarat\w*|encarec\w*|pass[ée]\w*|variation|variación|change|évolution|accru\w*)\b|[+Δ]|%\s*$",
    _FLAGS,
)
_SHARE = re.compile(
    r"\b(?:shares?|portion|proportion|accounts?|represents?|ma(?:k|d)e|fraction|out of|anteil\w*|entfall\w*|entfiel\w*"
    r"|entspr\w+|quote|margin\w*|marge\w*|equals?|leav\w+|remain\w*|rest\w*|représent\w*|proporción|represent\w*|cuota|supone\w*|parts?)\b",
    _FLAGS,
)
_SHARE_AFTER = re.compile(
    r"\W{0,3}(?:of|der|des|von|davon|du|de|del|d'|are|were|sind|waren|sont|son)\b", _FLAGS
)
_MEAN = re.compile(
    r"\b(?:averag\w+|mean|durchschnitt\w*|mittel\w*|moyenne?\w*|promedio|media|per|pro|par|por|each|apiece|je|jeweils|chac\w+|cada)\b",
    _FLAGS,
)
_DIFFERENCE = re.compile(
    r"\b(?:differ\w+|gap|more|fewer|less|lead\w*|higher|lower|ahead|by|of|added|between|remain\w*|left|rest\w*|lost|net"
    r"|change|unterschied|differenz|mehr|weniger|um|abstand|übrig\w*|écart|différence|de plus|de moins|diferencia"
    r"|variation|más|menos|other|otr[oa]s?|autres?|übrig\w*|over|above|below|über|dépass\w*|retard|plan|debajo|encima"
    r"|super\w*|behind|trail\w*|hinter|derrière|detrás|span\w*|later|earlier|after|spread|points?|punkte?n?|margin|abgeb\w*|growth|increase\w*)\b",
    _FLAGS,
)
_SUM = re.compile(
    r"\b(?:total\w*|together|combined|altogether|sum|overall|in all|both|across|zusammen|insgesamt|gesamt\w*|summe"
    r"|ensemble|somme|cumul\w*|conjunto|juntos|suma\w*|entre|en tout|plus|including|joint\w*)\b",
    _FLAGS,
)
_POINTS = re.compile(r"\s(?:points?|punkte?n?|puntos?)\b", _FLAGS)
_FROM = re.compile(
    r"\b(?:from|was|were|von|vom|waren?|de|du|était|desde|frente a|statt|instead of|to|auf|contre)\s(?:\w{1,12}\s)?\Z",
    _FLAGS,
)
_DOUBLED = re.compile(
    r"\b(?:doubl\w+|twice|half (?:of|as)|by half|halv\w+|halbiert\w*|verdoppel\w+|moitié|dupli\w+|mitad|doble)\b",
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
    value = float(figure.value)
    if not value or not operands:
        return None
    if is_same_sentence and (restated := _restated(figure, operands)):
        return restated
    low, high = result_range(figure, sentence, at)
    first = max(at - _AROUND, 0)
    sentence, at = sentence[first : at + len(figure.text) + _AROUND], at - first
    width = min((high - low) / abs(value), _WIDEST)
    most = _CHANCE_SAID if is_said_to_be_computed(sentence, at, len(figure.text)) else _CHANCE
    slack = 1e-9 * abs(value)
    if figure.unit not in {"s", "%"}:
        operands = [each for each in operands if each.figure.kind != "date" and each.figure.unit != "s"]
    for size in _SIZES:
        results = list(_results(figure, operands[:size], sentence, at, is_same_sentence))
        if len(results) * width > most:
            break
        for result in results:
            if low - slack <= abs(result.value) <= high + slack:
                return _derivation(figure, result)
        if size >= len(operands):
            break
    return None


def _derivation(figure: Figure, result: _Result) -> Derivation:
    sign = "=" if abs(abs(result.value) - abs(float(figure.value))) <= 1e-9 * abs(result.value) else "≈"
    return Derivation(f"{result.note} {sign} {' '.join(figure.text.split())}", result.operands)


def _restated(figure: Figure, operands: Sequence[Operand]) -> Derivation | None:
    """Another figure of the sentence in another unit: "250 miles (400 km)"."""
    if figure.kind != "measure":
        return None
    for each in operands:
        is_other = each.figure.unit == figure.unit and each.figure.written != figure.written
        if is_other and abs(each.value - float(figure.value)) <= _RESTATED * abs(each.value):
            return _derivation(figure, _Result(each.value, each.text, (each,)))
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
    if figure.unit == "%" and abs(100 - total - value) <= slack:
        parts = " − ".join(each.text for each in same)
        return Derivation(f"100 − {parts} = {shown}", tuple(same))
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


def result_range(figure: Figure, sentence: str, at: int) -> tuple[float, float]:
    """The lowest and the highest result, without their sign, for which a person would write a figure at a place."""
    before = sentence[max(at - _AFTER, 0) : at]
    value, tolerance = _written(figure)
    size = abs(value)
    low, high = bounds(replace(figure, value=abs(figure.value)), before) if value else (0.0, 0.0)
    return min(low, size - tolerance), max(high, size + tolerance)


def is_computing(figure: Figure, sentence: str, at: int) -> bool:
    """Whether the words of a sentence are of shares and changes, or say that a figure was computed."""
    sentence, at = sentence[max(at - _AROUND, 0) : at + len(figure.text) + _AROUND], min(at, _AROUND)
    if is_said_to_be_computed(sentence, at, len(figure.text)):
        return True
    after = sentence[at + len(figure.text) :]
    if figure.unit in {"%", "pp"} or figure.kind == "multiple":
        return bool(_GROWTH.search(sentence) or _SHARE.search(sentence) or _SHARE_AFTER.match(after))
    return bool(_MEAN.search(sentence) or _SUM.search(sentence) or _GROWTH.search(sentence))


def _is_alike(one: Figure, other: Figure) -> bool:
    return one.kind != "date" and other.kind != "date" and one.unit == other.unit


def _results(
    figure: Figure, operands: Sequence[Operand], sentence: str, at: int, is_same_sentence: bool
) -> Iterator[_Result]:
    after = sentence[at + len(figure.text) : at + len(figure.text) + _AFTER]
    if figure.unit in {"%", "pp"}:
        yield from _percentages(figure, operands, sentence, at, after)
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
    if is_said_to_be_computed(sentence, at, len(figure.text)) or _MEAN.search(sentence):
        yield from _products(figure, operands)
    alike = _alike(figure, operands, after)
    if _DOUBLED.search(sentence):
        for each in alike:
            yield _Result(each.value / 2, f"{each.text} / 2", (each,))
            yield _Result(each.value * 2, f"{each.text} × 2", (each,))
    is_before = _FROM.search(sentence[:at]) is not None
    yield from _sums(alike, sentence, is_same_sentence, is_before)


def _alike(figure: Figure, operands: Sequence[Operand], after: str) -> Sequence[Operand]:
    """The operands of the same unit, also those that leave it out."""
    if figure.unit in {"%", "pp"}:
        return [each for each in operands if each.figure.unit in {"%", "pp"}]
    if not figure.unit and _POINTS.match(after):
        # "72 percent; with another one it keeps 85".
        shares = {"%", "pp", ""}
        return [each for each in operands if each.figure.unit in shares and each.figure.kind != "date"]
    found = [each for each in operands if _is_alike(each.figure, figure)]
    if len(found) > 1:
        return found
    found = []
    for each in operands:
        if (
            _is_alike(each.figure, figure)
            or _is_amount(figure, each.figure)
            or _is_amount(each.figure, figure)
        ):
            found.append(each)
        elif each.figure.kind == "number" and is_bare(each.figure) and (factor := unit_factor(figure)):
            value = each.figure.value * Decimal(factor)
            near = replace(each, figure=replace(each.figure, value=value), exact=None)
            if 0.1 < abs(near.value / float(figure.value)) < 10:
                found.append(near)
    return found


def is_bare(figure: Figure) -> bool:
    """Whether a number has neither a unit nor a scale such as "million"."""
    return not figure.unit and (figure.is_word or not figure.text[-1:].isalpha())


def _is_amount(bare: Figure, full: Figure) -> bool:
    """Whether "2.5 billion" may be an amount of money, beside one with its currency."""
    return full.kind == "money" and bare.kind == "number" and not bare.unit and not is_bare(bare)


def _products(figure: Figure, operands: Sequence[Operand]) -> Iterator[_Result]:
    """What so many times an amount is, and what is left of it for each."""
    amounts = [each for each in operands if each.figure.kind != "date" and each.figure.unit == figure.unit]
    counts = [each for each in operands if each.figure.kind in {"number", "measure"}]
    for amount in amounts:
        for count in counts:
            number = float(in_unit(count.exact or count.figure).value)
            if count is amount or number <= 1 or (count.figure.unit and count.figure.unit == figure.unit):
                continue
            yield _Result(amount.value / number, f"{amount.text} / {count.text}", (amount, count))
            yield _Result(amount.value * number, f"{amount.text} × {count.text}", (amount, count))


def _sums(
    alike: Sequence[Operand], sentence: str, is_same_sentence: bool, is_before: bool
) -> Iterator[_Result]:
    is_sum, is_mean = bool(_SUM.search(sentence)), bool(_MEAN.search(sentence))
    # What it was before it fell "by 1.9 to 9.6" is a sum, too.
    if is_sum or (is_before and _GROWTH.search(sentence)) or (is_same_sentence and len(alike) == 2):
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


def _may_be_compared(one: Operand, other: Operand) -> bool:
    """Whether two amounts have the same unit, or one has left it out beside the other."""
    if one.figure.unit == other.figure.unit:
        return True
    bare, full = (one, other) if not one.figure.unit else (other, one)
    if not bare.figure.unit and full.figure.kind == "money" and bare.figure.kind == "number":
        return 0.1 < abs(bare.value / full.value) < 10
    return False


def _percentages(
    figure: Figure, operands: Sequence[Operand], sentence: str, at: int, after: str
) -> Iterator[_Result]:
    counts = [each for each in operands if each.figure.unit not in {"%", "pp"}]
    amounts = [each for each in counts if each.figure.kind != "date"]
    if len(amounts) == 1:
        # "1703 desarrollan" has the form of a year, beside a count.
        amounts = [each for each in counts if each.figure.kind != "date" or each.figure.other is not None]
    is_computed = is_said_to_be_computed(sentence, at, len(figure.text))
    is_growth = bool(_GROWTH.search(sentence)) or is_computed
    is_share = bool(_SHARE.search(sentence) or _SHARE_AFTER.match(after)) or is_computed
    for one, other in permutations(amounts, 2):
        if not one.value or not other.value or not _may_be_compared(one, other):
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
