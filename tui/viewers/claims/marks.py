"""A body with the claims of a report, and the sign of each: one cell wide, and recognisable without colour."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ua_tui.core.claims.places import Place, find_quotes
from ua_tui.core.claims.records import RISK, Claim, State, counted_state
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.markdown import MAX_TEXT_WIDTH
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.document import Body, Row, Rows, ShiftedRows, row_text, shifted


class Sign(NamedTuple):
    """How a state is shown: a character, the style of the claim, and the role of the sign in a text."""

    character: str
    style: str
    role: str


SIGNS: Mapping[State, Sign] = {
    "differs": Sign("✗", "wrong", "bad"),
    "never seen": Sign("✗", "wrong", "bad"),
    "not found": Sign("?", "doubtful", "warn"),
    "calculated": Sign("=", "found", "dim"),
    "found": Sign("·", "found", "dim"),
    "not looked at": Sign("–", "found", "dim"),
}
STYLES = ("wrong", "doubtful", "found")


def sign_of(claim: Claim) -> Sign:
    """The sign of a claim."""
    return SIGNS[claim.state]


def risk_of(claim: Claim) -> int:
    """The rank of a claim among others: the riskiest has the lowest."""
    return RISK.index(claim.state)


def count_states(claims: Iterable[Claim]) -> str:
    """How many claims have each state, in the order of the claims: "1 differs, 2 not found"."""
    return ", ".join(
        counted_state(count, state) for state, count in Counter(each.state for each in claims).items()
    )


_MARGIN = 2
"""Columns at the left of the text: the sign, and a space."""
_LEAST_TEXT = 20


class Decoration(NamedTuple):
    """A range of characters of a row that belongs to a claim, its style, and the number of the claim."""

    start: int
    end: int
    style: str
    claim: int


@dataclass(slots=True)
class MarkedBody(Body):
    """A body with marks of claims.

    Args:
        body: the report, rendered or raw.
        claims: the claims, in the order of the report.
    """

    body: Body
    claims: Sequence[Claim]

    def lay_out(self, width: int, theme: MarkdownTheme) -> MarkedRows:
        """Lay out the report with its marks, unless the flag is set.

        Raises:
            Stopped: the result is no longer needed.
        """
        is_page = isinstance(self.body, PageBody)
        body = self.body.body if isinstance(self.body, PageBody) else self.body
        room = width - _MARGIN if width >= _LEAST_TEXT + _MARGIN else width
        text_width = min(room, MAX_TEXT_WIDTH) if is_page else room
        rows = body.lay_out(text_width, theme)
        margin = min(max((width - text_width) // 2 if is_page else 0, _MARGIN), width - text_width)
        lines = (row_text(rows.row(y)) for y in range(len(rows)))
        places = find_quotes(lines, [claim.quote for claim in self.claims])
        return MarkedRows(rows, self.claims, places, margin)


class MarkedRows(ShiftedRows):
    """Rows with the signs and the words of claims; a claim that no row has is in none."""

    def __init__(
        self, rows: Rows, claims: Sequence[Claim], places: Sequence[Sequence[Place]], margin: int
    ) -> None:
        super().__init__(rows, margin)
        self._claims = claims
        self._places = places
        self._by_row: dict[int, list[tuple[int, Place]]] = defaultdict(list)
        for number in sorted(range(len(claims)), key=lambda number: -risk_of(claims[number])):
            for place in places[number]:
                self._by_row[place.row].append((number, place))

    def row(self, y: int) -> Row:
        """Row `y` with its sign."""
        begun = [number for number, place in self._by_row.get(y, ()) if place is self._places[number][0]]
        # That of the riskiest claim that begins in the row.
        sign = sign_of(self._claims[begun[-1]]).character if begun else ""
        return shifted(self._rows.row(y), f"{sign:>{self._cells - 1}} " if self._cells else "")

    def claim_rows(self, claim: int) -> set[int]:
        """The rows in which a claim is."""
        return {place.row for place in self._places[claim]} if claim < len(self._places) else set()

    def decorations(self, y: int) -> list[Decoration]:
        """The ranges of row `y` that belong to claims, the riskiest last."""
        found: list[Decoration] = []
        for number, place in self._by_row.get(y, ()):
            style, shift = sign_of(self._claims[number]).style, self._cells
            found.append(Decoration(place.start + shift, place.end + shift, style, number))
            if shift and place is self._places[number][0]:
                found.append(Decoration(shift - 2, shift - 1, f"sign-{style}", number))
        return found
