"""Finds the calculation that gives a figure from two or more values of one kind and one subject."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ua_tui.observers.check.comparison.compare import RATES, is_mistyped, is_same_value, same_noun
from ua_tui.observers.check.figures.figure import Figure, Reading
from ua_tui.observers.check.figures.vocabulary import Vocabulary, root
from ua_tui.observers.check.passages import Moment, order_of

_MOST = 28
"""Values that are combined for a claim: of 254 true calculations 20 values gave 167, 28 or 40 values 173."""
_CHANCE = 0.5
"""How many of the calculations that were tried may meet a claim by chance: 0.3 gave 163 of 254 true ones, 0.5 gave 173
and 6 of figures that were not known to be calculated, 0.8 gave 177 and 9."""
_UNSAID = 5.0
"""How much likelier chance is if no word names the calculation: 10 gave four of 183 true ones less."""
_FAR = 3.0
"""How many times the claim, or what part of it, a result may be to count as one that might have met it."""
_LONG = 100
"""The fewest values that a claim must be one of if the report names no operand, so three digits; 50 gave one more true
one."""
_BESIDE = 90
"""Characters between two values whose difference no word need name: eight more true figures of 2,734, no wrong one."""
_MINUS = ("-", "−", "–", "minus")
_OFTEN_UNSAID = frozenset({"difference", "points", "share", "sum"})
"""Calculations that no word need announce."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value of a source that a calculation may use.

    Attributes:
        passage: where it is.
        figure: as the source has it.
        group: the same for values that speak of one thing: those of a passage or of a table.
        level: 1 if the claim's sentence has the value, less if the report has it shortly before, 0 if it has not.
        nearness: how near the passage and the words around the value are to the claim.
        moment: 1 for the thing itself or the present value, -1 for what it is compared with, 0 if that is unknown; and
            its year.
        at: which figure of the sentence it is; -1 for others.
        column: of a table that it is in.
        behind: what it was calculated from itself.
    """

    passage: int
    figure: Figure
    group: str = ""
    level: float = 0.0
    nearness: float = 1.0
    moment: Moment = (0, 0)
    at: int = -1
    column: str = ""
    behind: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Task:
    """A claim that may be calculated, and the values that may give it.

    `announced` are the names of the calculations that words near it announce, `sentence` the roots of all words,
    `nearest` the passage that is the most like the sentence.
    """

    claim: Figure
    announced: frozenset[str]
    known: Vocabulary
    sentence: frozenset[str] = frozenset()
    operands: Sequence[Operand] = ()
    nearest: int = -1


@dataclass(frozen=True, slots=True)
class Calculation:
    """What gives a figure: its name, the claim as it is compared, the result, the formula and its operands.

    `is_opposed` says that it goes in the other direction than the claim, `is_wrong` that it gives another value.
    """

    name: str
    claim: Figure
    value: float
    form: str
    operands: tuple[Operand, ...]
    is_opposed: bool = False
    is_wrong: bool = False

    @property
    def likelihood(self) -> float:
        """How likely it is meant: the report has the operands, they are of one thing, and they are near."""
        count = len(self.operands)
        near = sum(2 * each.level + each.nearness for each in self.operands) / count
        near += 0.5 * (self.claim.has_sign and bool(self.order) and not self.is_opposed)
        return near + self.is_of_one - 0.1 * count

    @property
    def order(self) -> int:
        """1 if its first operand is the later one or the thing itself, -1 if the second one is, 0 if unknown."""
        return order_of(self.operands[0].moment, self.operands[1].moment)

    @property
    def is_dated(self) -> bool:
        """Whether words or years say of both operands which one is the former value."""
        (role, year), (other, before) = (each.moment for each in self.operands[:2])
        return role * other < 0 or bool(year and before)

    def is_change_of(self, problem: str) -> bool:
        """Whether it gives a claim whose value a source has for something else, and has its direction, too."""
        is_ordered = bool(self.order) and self.name in ("difference", "change")
        return problem not in ("direction", "comparison") or (is_ordered and not self.is_opposed)

    @property
    def is_of_one(self) -> bool:
        """Whether all operands are of one passage, or of one column of a table."""
        return _are_of_one(self.operands)

    @property
    def is_met(self) -> bool:
        """Whether its result is the claim, rounded to what the claim shows."""
        own = self.claim.readings[0]
        written = self.operands[0].figure.readings[0].written if own.unit not in ("%", "×") else own.written
        result = Reading(self.value, 0.0, 0.0, own.unit, written, "", self.value)
        return is_same_value(self.claim, Figure(start=0, end=0, text="", readings=(result,)))

    @property
    def is_exact(self) -> bool:
        """Whether its result is the claim to the last digit."""
        return abs(self.value - self.claim.value) < 1e-6 * abs(self.value)

    @property
    def level(self) -> float:
        """How much of it the report has near the claim."""
        return sum(each.level for each in self.operands)

    @property
    def size(self) -> float:
        """Among how many values the claim is met by chance: as many as the claim, or its operands, are exact to."""
        reading = self.claim.readings[0]
        is_rounded = bool(self.claim.bound) or reading.coarse >= 100 * reading.step
        window = reading.coarse if is_rounded else reading.step
        if self.is_exact and self.name in ("difference", "sum"):
            window = min(each.figure.readings[0].coarse for each in self.operands)
        return max(1.0, abs(reading.value) / window)

    @property
    def formula(self) -> str:
        """The operands and the result as they are written."""
        left = self.form.format(*(each.figure.text for each in self.operands))
        return f"{left} {'=' if self.is_exact else '≈'} {self.claim.text}"


def calculate(task: Task) -> Calculation | None:
    """The likeliest calculation whose result is the claim; None if there is none or if it may be chance.

    One that goes in the other direction is given only if there is no other, and if both values have a time; one that
    gives another value only if there is none that gives the claim's.
    """
    tried, doubtful, found = {True: 0, False: 0}, list[Calculation](), _tried(task)
    for made in found:
        is_said = _is_said(task, made)
        tried[is_said] += 1 / _FAR < made.value / task.claim.value < _FAR
        chance = tried[is_said] / made.size * (1.0 if is_said else _UNSAID)
        if chance <= _CHANCE and made.is_met and _is_named(task, made):
            if not (made.is_opposed or made.is_wrong):
                return made
            doubtful += [made] if made.is_wrong or made.is_dated else []
    return doubtful[0] if doubtful else _miscalculated(task, found)


def _miscalculated(task: Task, found: Sequence[Calculation]) -> Calculation | None:
    """The likeliest calculation that the report announces and has a value of, if the claim has one digit wrong.

    It shows 15 of 48 wrong results, and takes one of 127 true ones that no calculation gives for wrong. Two values give
    no change a year.
    """
    claim = task.claim
    if claim.is_small or claim.is_word or claim.bound or claim.rate or len(claim.digits) < 2:
        return None
    said = (each for each in found if _is_said(task, each) and 0.3 < each.value / each.claim.value < 3.4)
    made = next(said, None)
    if made is None or made.level < 1 or not made.is_of_one:
        return None
    if made.name == "difference" and not claim.is_bare and any(each.figure.is_bare for each in made.operands):
        # "At polling station 34" says of no percentage.
        return None
    own = made.claim.readings[0]
    one, other = (f"{abs(each) / own.step:.0f}" for each in (own.value, made.value))
    shown = made.value / own.written / own.scale
    text = f"{shown:,.0f}" if shown >= 1_000 else f"{shown:.3g}"
    if not is_mistyped(one, other):
        return None
    return replace(made, claim=replace(task.claim, text=text), is_wrong=True)


def _is_said(task: Task, made: Calculation) -> bool:
    """Whether a word announces a calculation, or its sentence has all that it is made of."""
    return made.name in task.announced or made.level >= 2


def _is_named(task: Task, made: Calculation) -> bool:
    """Whether the report names enough of a calculation for a result of so few digits."""
    level, claim = made.level, made.claim
    if claim.is_small:
        return level >= 2
    is_ordered = bool(claim.sign) and bool(made.order) and made.is_of_one
    is_said = made.name in task.announced
    is_long = claim.unit != "%" and (made.name != "sum" or is_said) and made.size >= _LONG
    is_nearest = is_said and {each.passage for each in made.operands} == {task.nearest}
    one, other, *_ = made.operands
    # "96 euros, in a group 58": what stands beside each other is compared.
    is_beside = made.name == "difference" and one.passage == other.passage and bool(claim.unit or is_said)
    is_beside &= abs(one.figure.start - other.figure.start) < _BESIDE
    return level > 0 or is_ordered or is_long or is_nearest or is_beside


def _tried(task: Task) -> list[Calculation]:
    """All calculations that may be meant, the likeliest first."""
    claim = task.claim
    if claim.kind != "amount" or not claim.value:
        return []
    if claim.bound != "about" and not claim.is_word:
        # A bound is kept for what a source says, not for what is calculated.
        task = replace(task, claim=replace(claim, bound=""))
    distinct = _distinct(task.operands, task.sentence)
    amounts = sorted(distinct, key=lambda each: (-each.level, -each.nearness))[:_MOST]
    found = [
        made
        for pair in combinations(amounts, 2)
        if pair[0].level + pair[1].level >= 0.5 or _are_of_one(pair)
        for made in _of_two(task, *_alike(*pair))
        if (_is_said(task, made) or made.name in _OFTEN_UNSAID)
        and (made.is_of_one or made.level >= (0.5 if made.size >= 10 * _LONG else 1.0))
    ]
    if "sum" in task.announced:
        found += _sums(task, amounts)
    return sorted(found, key=lambda made: -made.likelihood)


def _are_of_one(operands: Sequence[Operand]) -> bool:
    first, *others = operands
    return all(first.group == each.group for each in others) and (
        all(first.passage == each.passage for each in others)
        or all(first.column == each.column for each in others)
    )


def _of_two(task: Task, one: Operand, other: Operand) -> Iterator[Calculation]:
    if one.figure.value < other.figure.value:
        one, other = other, one
    first, second, known = one.figure, other.figure, task.known
    a, b = first.value, second.value
    claim = _like(task.claim, first)
    if claim.unit == "%" and {first.unit, second.unit} in ({"%", "pp"}, {"%", "point"}):
        # "18.2 percent, 3.1 points more than required"
        yield Calculation("difference", claim, a - b, "{} − {}", (one, other))
    yield from _mean(task, one, other)
    yield from _mean(task, other, one)
    are_alike = _fit(first, second, claim, known)
    # "498 of 612 patients" may be nurses.
    is_part = are_alike or (first.unit == second.unit == "" and one.group == other.group)
    is_relative = claim.unit == "%" != first.unit
    if is_relative and is_part and not claim.has_sign:
        yield Calculation("share", claim, 100 * b / a, "{} / {}", (other, one))
    if not are_alike:
        return
    if is_relative:
        order, sign = order_of(one.moment, other.moment), claim.sign if claim.has_sign else 0
        for direction, base, pair in ((1, b, (one, other)), (-1, a, (other, one))):
            if (order or sign or direction) == direction:
                is_opposed = sign * direction < 0
                change = 100 * (a - b) / base
                yield Calculation("change", claim, change, "({0} − {1}) / {1}", pair, is_opposed)
    elif claim.unit == "×":
        yield Calculation("ratio", claim, a / b, "{} / {}", (one, other))
    elif claim.unit == first.unit or (claim.unit in ("pp", "point") and first.unit in ("%", "")):
        reading = claim.readings[0]
        if abs(b) < max(reading.coarse if claim.bound == "about" else reading.step, 0.002 * a):
            # The smaller operand is lost in the rounding of the claim, so that it explains nothing.
            return
        if claim.unit != "%":
            # A minus sign belongs to a value, and says nothing of a change.
            is_signed = claim.has_sign and not claim.text.startswith(_MINUS)
            is_opposed = is_signed and claim.sign * order_of(one.moment, other.moment) < 0
            yield Calculation("difference", claim, a - b, "{} − {}", (one, other), is_opposed)
        elif claim.has_sign:
            yield Calculation("points", claim, a - b, "{} − {}", (one, other), is_wrong=True)
        # "By 14 percent, from 9.1 to 7.8 percent" is a change.
        if claim.unit == first.unit and (claim.unit != "%" or "sum" in task.announced):
            yield Calculation("sum", claim, a + b, "{} + {}", (one, other))


def _mean(task: Task, one: Operand, other: Operand) -> Iterator[Calculation]:
    """A value for each of a number of things, or for each unit of a measure."""
    claim, second = _like(task.claim, one.figure), other.figure
    count, written = second.readings[0].plain, second.readings[0].written if second.unit == "time" else 0.0
    if claim.unit != one.figure.unit or count <= 1 or second.has_sign:
        return
    if abs(RATES.get(claim.rate, 0.0) - written) > 1:
        return
    yield Calculation("mean", claim, one.figure.value / count, "{} / {}", (one, other))


def _sums(task: Task, amounts: Sequence[Operand]) -> Iterator[Calculation]:
    """The sums of three or four values of one thing."""
    claim = task.claim
    fit = (each for each in amounts if each.figure.unit == _like(claim, each.figure).unit)
    some = [each for each in fit if 0.002 < each.figure.value / claim.value < 1.01]
    for values in (each for count in (3, 4) for each in combinations(some[:8], count)):
        each = sorted(values, key=lambda one: (one.passage, one.figure.start))
        first = each[0].figure
        if len({one.group for one in each}) == 1:
            total = math.fsum(one.figure.value for one in each)
            yield Calculation("sum", _like(claim, first), total, " + ".join(["{}"] * len(each)), tuple(each))


def _alike(one: Operand, other: Operand) -> tuple[Operand, Operand]:
    """Two operands of which one leaves out the unit, as in "from 310 to 385 euros", both with it."""
    if one.figure.is_cell and other.figure.is_cell:
        # The headings of a table have its units.
        return one, other
    first, second = _like(one.figure, other.figure), _like(other.figure, one.figure)
    return (
        one if first is one.figure else replace(one, figure=first),
        other if second is other.figure else replace(other, figure=second),
    )


def _like(figure: Figure, other: Figure) -> Figure:
    """A figure that is written without a unit, and that counts nothing, in the unit and the scale of another one."""
    own, there = figure.readings[0], other.readings[0]
    if own.unit or figure.noun or figure.is_small:
        return figure
    if (part := next((each for each in figure.readings if each.unit == there.unit != ""), None)) is not None:
        return replace(figure, readings=(part,))
    # "54.6 more than the 93.4 million"
    is_scaled = there.scale > 1 and own.value < 1_000
    if not (there.unit or is_scaled):
        return figure
    return replace(figure, readings=(own.in_unit_of(there, with_scale=is_scaled),))


def _fit(first: Figure, second: Figure, claim: Figure, known: Vocabulary) -> bool:
    """Whether two values are of one kind: the same unit, rate and noun, as far as they are written."""
    if first.unit != second.unit or (first.rate and second.rate and first.rate != second.rate):
        return False
    # A result of four digits is hardly met by chance, whatever the nouns.
    is_sure = not first.noun or not second.noun or claim.value >= 1_000 * claim.readings[0].coarse
    return is_sure or same_noun(first, second, known)


def _distinct(operands: Sequence[Operand], sentence: frozenset[str]) -> Iterator[Operand]:
    """The amounts among operands, each once; small numbers only if the sentence has what they count."""
    seen = set()
    for each in sorted(operands, key=lambda each: -each.level):
        figure = each.figure
        key = (figure.value, figure.unit, figure.noun, each.group)
        is_amount = figure.kind == "amount" and figure.unit not in ("ordinal", "×") and figure.value
        is_amount = is_amount and (each.level or not figure.is_small or root(figure.noun) in sentence)
        if is_amount and key not in seen:
            seen.add(key)
            yield each
