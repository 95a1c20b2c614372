"""Doubts about values that the sources have, but for something else or in another order; and what they have instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ua_tui.observers.check.comparison.compare import EXACT
from ua_tui.observers.check.comparison.matching import (
    Look,
    Match,
    change_of,
    digits_of,
    is_same,
    is_slip,
    is_unscaled,
    may_stand_for,
)
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.vocabulary import YEAR
from ua_tui.observers.check.passages import Moment, order_of

_RIVAL, _LONE_RIVAL = 0.36, 0.5
"""How much more alike the place of another value must be than that of the claim's value for amber: 1.5 percent of 982
true figures and 50 percent of 1,448 that were replaced by others of the passages; and for red, if the words around the
claim's value are not taken into account: no true figure of 3,816 and seven wrong ones more than 0.6 shows."""
_SWAPPED, _SURELY_SWAPPED = 0.05, 0.5
"""How much more alike two places must be the other way round for amber, and for red: 6 of 252 true pairs and 65
percent of exchanged ones; in 23 new reports 0.35 made one true pair red and 17 exchanged ones, 0.5 none and 11."""
_INSTEAD = 1.15
"""How alike the place of another value must be for red: 3 percent of 982 true figures whose own value was hidden, 2
percent of those that were calculated, and 50 to 80 percent of 3,800 wrong values; at 1.1 three more of 1,707 true
figures and two more of 342 errors are red. The weights are those of a regression on the same values, rounded."""
_OTHER_DATE = 0.25
"""How alike the place of another date must be in a passage that has nothing else of the sentence, if no source has the
claim's: seven more of 52 wrong dates are red, and one of 3,816 true places."""
_BESIDE, _SLIP, _OTHER_ROLE = 0.4, 1.0, 0.3
_RESCALED = 0.1
"""How near a passage must be that has two or three digits of a claim with another scale: with `altered` 70 of 79
planted wrong scales are red, without it 53."""
_SCALES = (1e3, 1e-3, 1e6, 1e-6)
_BELOW_TITLE, _SHORT = 2, 12
"""Blocks below the title of a report that may say when it was written, and the words of such a line: in 11 of 76 true
reports such a date was red, and no wrong date of 764 planted errors stands there."""
_MOST = 40
"""Figures of a passage that are compared: a paragraph of 700 characters has fewer."""
_WINDOW = 12
"""Passages in which what stands instead is looked for."""


def instead_of(look: Look, at: int) -> Match | None:
    """The figure that near passages have in a claim's place."""
    figure = look.figures[at]
    near = [*(match.passage for match in look.found), *look.near[:_WINDOW]]
    scored = [(_score(look, at, other), other) for other in others(look, at, near)]
    if not scored:
        return None
    score, best = max(scored, key=lambda each: each[0])
    is_sure = score >= _INSTEAD and figure.bound != "about" and not _is_own_date(look, figure)
    if figure.kind == "amount" and figure.digits == best.figure.digits:
        is_sure &= not (is_unscaled(figure) or is_unscaled(best.figure))
    is_sure |= figure.kind == "name" and is_slip(figure, best.figure)
    return replace(best, is_sure=is_sure)


def altered(look: Look, at: int) -> Match | None:
    """The figure of near passages that a claim is with another scale, unit or order of digits, if no source has it."""
    figure = look.figures[at]
    if figure.kind != "amount" or look.places[at]:
        return None
    if len(figure.digits) < 2 and not figure.readings[0].shown % 1:
        return None
    size, units = abs(figure.value), (figure.unit,) if figure.unit else ("", "plain")
    spans = [(unit, size * scale * 0.95, size * scale * 1.05) for unit in units for scale in _SCALES]
    spans.append((figure.shuffled, size * 0.3, size * 3.4))
    far = [passage for span in spans for passage, _ in look.corpus.having(*span)]
    near = [*(match.passage for match in look.found), *look.near[:_WINDOW], *far]
    changed = [
        replace(each, problem=change_of(figure, each.figure), is_sure=True)
        for each in others(look, at, near, lambda *pair: bool(change_of(*pair)))
    ]
    best = max(changed, key=lambda each: (each.problem == "scale", each.rank), default=None)
    if best is None or best.problem == "scale":
        return best if best is not None and (best.nearness >= _RESCALED or digits_of(figure) > 3) else None
    # It is the number of something else: that it is rare does not make its passage a nearer one.
    is_meant = look.is_near(figure, best, _WINDOW)
    if best.problem == "digits":
        is_meant |= abs(figure.value) >= 1_000 * figure.readings[0].step
        is_meant &= not (figure.bound or _is_elsewhere(look, figure))
    return best if is_meant else None


def misdated(look: Look, at: int) -> Match | None:
    """The date that a passage has in the place of a claim's, which no source has."""
    figure, passages = look.figures[at], look.corpus.passages
    if figure.kind != "date" or look.places[at]:
        return None
    _, month, day = figure.date
    beside = [match.passage for match in look.found]
    # "On 12 and 13 January" has the day of the first one apart.
    near = [
        each
        for each in (*beside, *(look.near[:_WINDOW] if 0 < month <= 12 else ()))
        if not any(other.is_bare and other.value == day for other in passages[each].figures)
    ]
    found = [
        # Another year of one month and day is meant wherever it is.
        (_place(look, at, each) + _OTHER_DATE * is_slip(figure, each.figure), each)
        for each in others(look, at, near)
        if [*map(bool, each.figure.date[1:])] == [bool(month), bool(day)]
        or (each.figure.date[1] == month and not day)
    ]
    place, best = max(found, key=lambda each: each[0], default=(0.0, None))
    if best is None or (place < _OTHER_DATE and best.passage not in beside):
        return None
    # "Until 31 December" does not contradict "from 1 January".
    days = (day, best.figure.date[2])
    is_meant = 1 not in days or max(days) < 28
    return replace(best, problem="date", is_sure=not _is_own_date(look, figure)) if is_meant else None


def _is_own_date(look: Look, figure: Figure) -> bool:
    """Whether a date may be that of the report, in a line below its title, or names a row of a table."""
    own = look.passage
    if figure.kind != "date":
        return False
    if own.cells:
        return figure.end <= own.cells[0].end
    return 0 < own.number <= _BELOW_TITLE and not own.start and len(own.sentence.split()) <= _SHORT


def _is_elsewhere(look: Look, figure: Figure) -> bool:
    """Whether a source has the number of a claim without its unit, as in "410 million litres, against 530 million"."""
    if figure.kind != "amount" or not figure.unit:
        return False
    number = figure.readings[0].plain
    slack = abs(number) * EXACT
    return any(look.corpus.having("", number - slack, number + slack))


def _score(look: Look, at: int, other: Match) -> float:
    """How likely another value is what a claim should say."""
    figure = look.figures[at]
    score = _place(look, at, other)
    if is_slip(figure, other.figure) and not _is_elsewhere(look, figure):
        score += _SLIP
    # "7.40 more" is a difference and no price.
    return score - _OTHER_ROLE * (figure.has_sign and not other.figure.has_sign)


def others(
    look: Look, at: int, passages: list[int], is_meant: Callable[[Figure, Figure], bool] | None = None
) -> Iterator[Match]:
    """The figures of passages that may be meant, which are of a claim's kind, and are none of the sentence's."""
    figure = look.figures[at]
    for passage in dict.fromkeys(passages):
        for source in look.corpus.passages[passage].figures[:_MOST]:
            if (passage, source.start) not in look.stated and (is_meant or look.is_of_kind)(figure, source):
                yield look.compare(at, passage, source, company=look.company[passage])


def rival_of(look: Look, at: int, match: Match) -> Match | None:
    """Another value whose place is more like the claim's than that of its own value; a sure one is much more."""
    if (own := _of_own_cell(look, at, match)) is not None:
        return replace(own, problem="elsewhere", is_sure=True)
    figure = look.figures[at]
    pairs = zip(look.figures, look.matches, strict=True)
    if len({own.text for own, each in pairs if each is not None and each.figure is match.figure}) > 1:
        # "2,600 km² (about 1,000 square miles)" is one value.
        return None
    found = (
        (_place(look, at, each), each)
        for each in others(look, at, [match.passage, *look.near[:3]])
        if may_stand_for(figure, each.figure)
    )
    place, best = max(found, key=lambda each: each[0], default=(0.0, match))
    gain = place - _place(look, at, match)
    is_strong = gain - match.likeness >= _LONE_RIVAL and figure.kind != "date" and not figure.is_word
    # "Dropped 14 percent" is no "dropped to 46 percent".
    is_strong &= not best.figure.has_sign or bool(best.figure.role) or figure.has_sign
    return replace(best, problem="elsewhere", is_sure=is_strong) if gain >= _RIVAL else None


def _of_own_cell(look: Look, at: int, match: Match) -> Match | None:
    """What a table has in the row with the name and the column with the years of a claim's cell, if it is another."""
    row, passages = look.passage, look.corpus.passages
    known, name = passages[match.passage], row.name
    if not (known.cells and name):
        return None
    years = YEAR.findall(row.header(look.figures[at]))
    number, own = match.passage, known.column(match.figure)
    columns = [n for n, cell in enumerate(known.cells) if years and YEAR.findall(cell.header) == years]
    column = columns[0] if len(columns) == 1 else own
    if known.name != name:
        rows = (each for each in look.near if passages[each].group == known.group)
        number = next((each for each in rows if passages[each].name == name), number)
    there = passages[number]
    if (number, column) == (match.passage, own):
        return None
    values = (each for each in there.figures if there.column(each) == column)
    return next((look.compare(at, number, each) for each in values if not is_same(match.figure, each)), None)


def swapped(look: Look) -> dict[int, Match]:
    """The figures that a passage has the other way round, with what it has instead."""
    found: dict[int, Match] = {}
    passages = look.corpus.passages
    for one, first in enumerate(look.matches):
        for other in range(one + 1, min(one + 4, len(look.matches))):
            second = look.matches[other]
            if first is None or second is None or one in found:
                continue
            is_of_one = passages[first.passage].group == passages[second.passage].group
            a, b = look.figures[one], look.figures[other]
            if not is_of_one or (a.kind, a.rate, a.unit) != (b.kind, b.rate, b.unit) or is_same(a, b):
                continue
            if a.has_sign != b.has_sign and not (a.role or b.role):
                # "Lost seven and has 19": a change is no level.
                continue
            own = look.passage.moments
            order = _order(a, b, own[a.start], own[b.start])
            times = [passages[each.passage].moments[each.figure.start] for each in (first, second)]
            there = _order(first.figure, second.figure, *times)
            if order * there > 0:
                # "From 512 to 640" in another order.
                continue
            gain = look.likeness(one, second.passage, second.figure.start)
            gain += look.likeness(other, first.passage, first.figure.start) - first.likeness - second.likeness
            # "Against 46 percent for Corvane" says of no time, unless the other value is beside it.
            starts = [each.start for each in passages[first.passage].figures]
            own_starts = (each.figure.start for each in (first, second))
            places = [starts.index(each) for each in own_starts if each in starts]
            is_timed = all(year for _, year in times) or abs(places[0] - places[-1]) == 1
            gain += order * there < 0 and is_timed
            if gain > _SWAPPED:
                is_sure = gain > _SURELY_SWAPPED
                found[one], found[other] = replace(second, is_sure=is_sure), replace(first, is_sure=is_sure)
    return found


def _order(one: Figure, other: Figure, first: Moment, second: Moment) -> int:
    """1 if the first value is the later one, -1 if the second one is: beside "up from 58", 71 is present; or 0."""
    return order_of((one.role, first[1]), (other.role, second[1]))


def is_contrary(look: Look, at: int) -> bool:
    """Whether a sentence says that a value rose from one beside it, which is larger, or fell from a smaller one."""
    figures, figure = look.figures, look.figures[at]
    return figure.role > 0 and any(
        former.role < 0 and figure.unit == former.unit and (figure.value - former.value) * figure.sign < 0
        for former in (*figures[max(at - 1, 0) : at], *figures[at + 1 : at + 2])
    )


def _place(look: Look, at: int, match: Match) -> float:
    """How alike the places of a claim and of a figure of a source are: words around them, and figures beside them."""
    return match.rank + _BESIDE * _beside(look, at, match)


def _beside(look: Look, at: int, match: Match) -> float:
    """1 for each figure next to the claim that is next to the other value, too; half in another order; 0 in tables."""
    starts = [each.start for each in look.corpus.passages[match.passage].figures]
    found = 0.0
    for step in () if look.passage.cells else (-1, 1):
        beside = look.matches[at + step] if 0 <= at + step < len(look.matches) else None
        if beside is not None and beside.passage == match.passage:
            away = starts.index(beside.figure.start) - starts.index(match.figure.start)
            found += 1.0 if away == step else 0.5 if away == -step else 0.0
    return found
