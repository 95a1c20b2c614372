"""How similar two places are in subject, by the words around figures and the words of sentences and passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ua_tui.observers.check.blocks import Cell, label_of
from ua_tui.observers.check.figures.context import CLAUSE, Context
from ua_tui.observers.check.figures.figure import Figure, Role
from ua_tui.observers.check.figures.vocabulary import YEAR, Vocabulary, root

_TOKEN = re.compile(r"[^\W\d_]{2,}|(?<![\d.,])(?:19|20)\d\d(?![\d%])|[;:()|—]|[.,](?!\d)")
"""Words, years and marks between clauses; other numbers would say that exchanged ones are in their places."""
_STOPS = frozenset(".|")
_REACH = 60
"""Characters around a figure that are checked."""
_BOUNDARY = 10
"""Words that a comma or "and" counts for; a full stop counts twice."""

Profile = Mapping[str, float]
"""The roots around a figure; the nearer one is, the more it counts, up to 1."""
ROLES: Mapping[Role, int] = {"past": -1, "present": 1, "": 0}
Moment = tuple[int, int]
"""-1 for a former value, 1 for the present one, 0 if that is unknown; and the year that a value belongs to, or 0."""


def moment(text: str, figure: Figure, words: Vocabulary, cells: Sequence[Cell] = ()) -> Moment:
    """What the words beside a figure, or the heading of its cell, say of its time."""
    clause, former = Context(text, words).clause(figure.start, figure.end), words.calculation["former"]
    near = [*clause.before[:4], *clause.behind[:40].casefold().split()[:5]]
    role: Role = "past" if any(root(word) in former for word in near) else clause.role(4)
    header = next((each.header for each in cells if each.start <= figure.start < each.end), "")
    # The year of the column, of the row, or of the clause: "(2031: 402)" is the value of 2031.
    before = text[max(0, figure.start - 60) : figure.start].rstrip(": \u00a0")
    around = CLAUSE.split(before)[-1]
    around += CLAUSE.split(text[figure.end : figure.end + 60])[0]
    named = YEAR.findall(header) or YEAR.findall(text if cells else around)
    return ROLES[figure.role or role], int(named[0]) if len(named) == 1 else 0


def order_of(one: Moment, other: Moment) -> int:
    """1 if the first value is the later one or the thing itself, -1 if it is the other way round, 0 if unknown."""
    by_role = one[0] - other[0]
    by_year = one[1] - other[1] if one[1] and other[1] else 0
    return (by_role > 0) - (by_role < 0) or (by_year > 0) - (by_year < 0)


def profile(text: str, figure: Figure, words: Vocabulary, cells: Sequence[Cell] = ()) -> Profile:
    """The words around a figure; of a table's cell those of its row's name and of its column."""
    if cells:
        own = next((cell for cell in cells if cell.start <= figure.start < cell.end), cells[0])
        label = label_of(text, cells)
        label = "" if label == text[own.start : own.end] else label
        found = dict.fromkeys(_roots(own.header, words), 1.0) | dict.fromkeys(_roots(label, words), 1.0)
        inside = text[own.start : figure.start] + " " + text[figure.end : own.end]
        return found | dict.fromkeys(_roots(inside, words), 1.0)
    weights: dict[str, float] = {}
    before = _TOKEN.findall(text[max(0, figure.start - _REACH) : figure.start].casefold())
    after = _TOKEN.findall(text[figure.end : figure.end + _REACH].casefold())
    for tokens, factor in ((reversed(before), 1.0), (after, 1.0)):
        distance = 0
        for token in tokens:
            if not token[0].isalnum():
                distance += _BOUNDARY * (2 if token in _STOPS else 1)
                continue
            if token in words.joining:
                distance += _BOUNDARY
            elif token not in words.common:
                key = root(token)
                weights[key] = max(weights.get(key, 0.0), factor / (1 + distance / 4))
            distance += 1
    return weights


def alike(one: Profile, other: Profile, idf: Callable[[str], float]) -> float:
    """The share of the first profile's weight that the second has, too."""
    whole = sum(weight * idf(word) for word, weight in one.items())
    shared = sum(min(weight, other[word]) * idf(word) for word, weight in one.items() if word in other)
    return shared / whole if whole else 0.0


def _roots(text: str, words: Vocabulary) -> list[str]:
    return [
        root(token)
        for token in _TOKEN.findall(text.casefold())
        if token[0].isalnum() and token not in words.common
    ]
