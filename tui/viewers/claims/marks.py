"""A body with the claims of a report, and the sign of each: one cell wide, and recognisable without colour."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ua_tui.core.claims.places import find_quotes
from ua_tui.core.claims.records import Claim, State, counted_state
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


def count_states(claims: Iterable[Claim]) -> str:
    """How many claims have each state, in the order of the claims: "1 differs, 2 not found"."""
    counts = Counter(each.state for each in claims)
    return ", ".join(counted_state(count, state) for state, count in counts.items())


_MARGIN = 2
"""Columns at the left of the text: the sign, and a space."""
_LEAST_TEXT = 20


Decoration = tuple[int, int, str, int]
"""Where a range of a row begins and ends, its style, and the number of its claim."""


@dataclass(slots=True)
class MarkedBody(Body):
    """A report, rendered or raw, with marks of its claims, which are in its order."""

    body: Body
    claims: Sequence[Claim]

    def lay_out(self, width: int, theme: MarkdownTheme) -> MarkedRows:
        """Lay out the report with its marks.

        Raises:
            Stopped: the result is no longer needed.
        """
        is_page = isinstance(self.body, PageBody)
        body = self.body.body if isinstance(self.body, PageBody) else self.body
        room = width - _MARGIN if width >= _LEAST_TEXT + _MARGIN else width
        text_width = min(room, MAX_TEXT_WIDTH) if is_page else room
        rows = body.lay_out(text_width, theme)
        margin = min(max((width - text_width) // 2 if is_page else 0, _MARGIN), width - text_width)
        return MarkedRows(rows, self.claims, margin)


class MarkedRows(ShiftedRows):
    """Rows with the signs and the words of claims; a claim that no row has is in none."""

    def __init__(self, rows: Rows, claims: Sequence[Claim], margin: int) -> None:
        super().__init__(rows, margin)
        lines = (row_text(rows.row(y)) for y in range(len(rows)))
        self._places = find_quotes(lines, [claim.quote for claim in claims])
        self._signs: dict[int, str] = {}
        self.decorations: dict[int, list[Decoration]] = defaultdict(list)
        """The ranges of each row that belong to claims, the riskiest last."""
        for number in sorted(range(len(claims)), key=lambda number: -claims[number].risk):
            sign = SIGNS[claims[number].state]
            for at, (y, start, end) in enumerate(self._places[number]):
                self.decorations[y].append((start + margin, end + margin, sign.style, number))
                if margin and not at:
                    # That of the riskiest claim that begins in the row.
                    self._signs[y] = sign.character
                    self.decorations[y].append((margin - 2, margin - 1, f"sign-{sign.style}", number))

    def row(self, y: int) -> Row:
        """Row `y` with its sign."""
        sign = self._signs.get(y, "")
        return shifted(self._rows.row(y), f"{sign:>{self._cells - 1}} " if self._cells else "")

    def claim_rows(self, claim: int) -> set[int]:
        """The rows in which a claim is."""
        return {place.row for place in self._places[claim]} if 0 <= claim < len(self._places) else set()
