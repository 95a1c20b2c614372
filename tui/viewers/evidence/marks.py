"""A body with the claims of a report: signs in a margin beside the rows, or in the text where there is no room."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.markdown import MAX_TEXT_WIDTH
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.document import (
    Body,
    Landmark,
    Match,
    Row,
    Rows,
    find_in,
    landmarks_in,
    styled,
)
from ua_tui.tui.viewers.evidence.alignment import align
from ua_tui.tui.viewers.evidence.signs import role_of, severity, sign_of
from ua_tui.tui.viewers.evidence.words import ClaimWords, RowWords, row_text

_SIGNS = 3
_MARGIN = _SIGNS + 2
"""Columns at the left of the text: the signs with a space on each side."""
_LEAST_TEXT = 20
_NEAR = 40
"""How many words away from a claim that is in no row its row is looked for."""
_APART = 3
"""How many other words may be between two words of a claim in a row."""
_FEW = 2
"""Rows; so few are not hidden."""
_AROUND = 3
"""Rows above and below a doubtful one that are shown with it."""


class Decoration(NamedTuple):
    """A range of characters of a row that belongs to a claim, its style, and the number of the claim."""

    start: int
    end: int
    role: str
    claim: int


class _Part(NamedTuple):
    """The part of a claim in one row."""

    row: int
    start: int
    end: int


@dataclass(slots=True)
class MarkedBody:
    """A body with marks of claims.

    Args:
        body: the report, rendered or raw.
        claims: the claims, in the order of the report.
        words: the words of the report, as far as `body` shows them.
        inline: whether signs are in the text instead of a margin.
        only_doubtful: whether only what is around doubtful claims is shown.
        may_be_inline: whether signs are in the text on a narrow screen.
    """

    body: Body
    claims: Sequence[Claim]
    words: ClaimWords
    inline: bool = False
    only_doubtful: bool = False
    may_be_inline: bool = True

    def lay_out(self, width: int, theme: MarkdownTheme, stop: Stop = NEVER) -> MarkedRows:
        """Lay out the report with its marks, unless the flag is set.

        Raises:
            Stopped: the flag was set.
        """
        is_page = isinstance(self.body, PageBody)
        body = self.body.body if isinstance(self.body, PageBody) else self.body
        taken = _SIGNS if self.inline else _MARGIN
        room = width - taken if width >= _LEAST_TEXT + taken else width
        text_width = min(room, MAX_TEXT_WIDTH) if is_page else room
        rows = body.lay_out(text_width, theme, stop)
        centred = (width - text_width) // 2 if is_page else 0
        margin = max(0, centred - taken) if self.inline else min(max(centred, taken), width - text_width)
        parts = _find_parts(rows, self.claims, self.words, stop)
        return MarkedRows(rows, self, parts, margin, width - margin)


def _find_parts(
    rows: Rows, claims: Sequence[Claim], words: ClaimWords, stop: Stop
) -> list[tuple[_Part, ...]]:
    """The parts of every claim; a claim that is in no row has an empty part in a row near to it."""
    shown = RowWords.read(rows, stop)
    found = align(words.words, shown.words, stop)
    parts: list[tuple[_Part, ...]] = []
    for number, claim in enumerate(claims):
        if not number & 255:
            stop.check()
        first, last = words.ranges[number]
        places = _together([found[at] for at in range(first, last) if found[at] >= 0])
        if places:
            parts.append(tuple(_parts_of(rows, claim, shown, places)))
        else:
            parts.append((_Part(_row_near(found, first, shown), 0, 0),))
    return parts


def _together(places: Sequence[int]) -> list[int]:
    """The first of the places that follow each other closely."""
    kept = list(places[:1])
    for place in places[1:]:
        if not 0 < place - kept[-1] <= _APART:
            break
        kept.append(place)
    return kept


def _row_near(found: Sequence[int], at: int, shown: RowWords) -> int:
    for distance in range(_NEAR):
        for near in (at - distance, at + distance):
            if 0 <= near < len(found) and found[near] >= 0:
                return shown.rows[found[near]]
    return 0


def _parts_of(rows: Rows, claim: Claim, shown: RowWords, places: Sequence[int]) -> Iterable[_Part]:
    at = 0
    while at < len(places):
        row = shown.rows[places[at]]
        last = at
        while last + 1 < len(places) and shown.rows[places[last + 1]] == row:
            last += 1
        start, end = shown.starts[places[at]], shown.ends[places[last]]
        text = row_text(rows.row(row))
        if at == 0:
            before = claim.text[: _first_word(claim.text)]
            start -= len(before) if before and text[:start].endswith(before) else 0
        if last + 1 == len(places):
            after = claim.text[_last_word(claim.text) :]
            end += len(after) if after and text[end:].startswith(after) else 0
        yield _Part(row, start, end)
        at = last + 1


def _first_word(text: str) -> int:
    return next((at for at, character in enumerate(text) if character.isalnum()), 0)


def _last_word(text: str) -> int:
    return next((at + 1 for at in range(len(text) - 1, -1, -1) if text[at].isalnum()), len(text))


@dataclass(slots=True)
class _RowMarks:
    """What belongs to a row: the claims that begin in it, the signs in the text, and the parts of claims."""

    claims: list[int] = field(default_factory=list)
    signs: list[tuple[int, int]] = field(default_factory=list)
    parts: list[tuple[int, int, int]] = field(default_factory=list)


class _Edit(NamedTuple):
    """A sign that is put into a row: where, how many characters it replaces, and its claim."""

    at: int
    removed: int
    text: str
    claim: int


class MarkedRows:
    """Rows with the signs and the words of claims."""

    def __init__(
        self,
        rows: Rows,
        body: MarkedBody,
        parts: Sequence[tuple[_Part, ...]],
        margin: int,
        width: int,
    ) -> None:
        self._rows = rows
        self._claims = body.claims
        self._parts = parts
        self._inline = body.inline
        self._only_doubtful = body.only_doubtful
        self._margin = margin
        self._width = width
        self._marks: dict[int, _RowMarks] = {}
        for number, of_claim in enumerate(parts):
            if self._only_doubtful and not body.claims[number].is_doubtful:
                continue
            self._of(of_claim[0].row).claims.append(number)
            for part in of_claim:
                if part.end > part.start:
                    self._of(part.row).parts.append((part.start, part.end, number))
            if of_claim[-1].end > of_claim[-1].start:
                self._of(of_claim[-1].row).signs.append((of_claim[-1].end, number))
        self._shown: list[tuple[int, int]] | None = self._fold() if self._only_doubtful else None
        """The inner row of each row and 1, or a place where rows are hidden and their negative number, 0 for blank."""

    def _of(self, row: int) -> _RowMarks:
        return self._marks.setdefault(row, _RowMarks())

    def _fold(self) -> list[tuple[int, int]]:
        """The rows around doubtful claims with their headings, and a line for those between."""
        count = len(self._rows)
        blank = [not row_text(self._rows.row(y)).strip() for y in range(count)]
        headings = [landmark.row for landmark in landmarks_in(self._rows)]
        kept: set[int] = set()
        for row in sorted(self._marks):
            for step in (-1, 1):
                y = row
                while 0 <= y < count and abs(y - row) <= _AROUND and not blank[y]:
                    kept.add(y)
                    y += step
            above = bisect_right(headings, row)
            kept.update(headings[max(0, above - 1) : above])
        shown: list[tuple[int, int]] = []
        y = 0
        while y < count:
            if y in kept:
                shown.append((y, 1))
                y += 1
                continue
            end = y
            while end < count and end not in kept:
                end += 1
            hidden = sum(not blank[at] for at in range(y, end))
            if hidden <= _FEW:
                shown += ((at, 1) for at in range(y, end))
            else:
                shown += ((y, 0), (y, -hidden), (y, 0))
            y = end
        return shown

    # -- rows ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._rows) if self._shown is None else len(self._shown)

    def row(self, y: int) -> Row:
        """Row `y` with its signs."""
        inner = self._inner(y)
        if inner < 0:
            return self._hidden(y)
        row = self._rows.row(inner)
        return _edited(row, [*self._margin_edit(inner), *self._edits(inner, row)])

    def _inner(self, y: int) -> int:
        if self._shown is None:
            return y
        inner, count = self._shown[y]
        return inner if count > 0 else -1

    def _hidden(self, y: int) -> Row:
        assert self._shown is not None
        hidden = -self._shown[y][1]
        if not hidden:
            return Content("")
        return styled(f"{' ' * self._margin}⋯ {hidden:,} {'line' if hidden == 1 else 'lines'}", "dim")

    def claim_row(self, claim: int) -> int:
        """The row in which a claim begins."""
        return min(self.claim_rows(claim), default=0)

    def claim_rows(self, claim: int) -> set[int]:
        """The rows in which a claim and its signs are; none if the rows are not those of its check."""
        return {self._outer(part.row) for part in (self._parts[claim] if claim < len(self._parts) else ())}

    def _outer(self, inner: int) -> int:
        return inner if self._shown is None else max(0, bisect_right(self._shown, (inner, 1)) - 1)

    def decorations(self, y: int) -> list[Decoration]:
        """The ranges of row `y` that belong to claims, the worst last."""
        inner = self._inner(y)
        marks = self._marks.get(inner)
        if marks is None:
            return []
        edits = self._edits(inner, self._rows.row(inner))
        found: list[Decoration] = []
        for start, end, claim in marks.parts:
            role = role_of(self._claims[claim])
            found.append(Decoration(self._shift(start, edits), self._shift(end, edits), role, claim))
        found.sort(key=lambda each: severity(self._claims[each.claim]), reverse=True)
        if not self._inline and self._margin:
            signs = self._signs(marks)
            at = self._margin - 1 - len(signs)
            for number, (_, claim) in enumerate(signs):
                role = f"sign-{role_of(self._claims[claim])}"
                found.append(Decoration(at + number, at + number + 1, role, claim))
        added = 0
        for edit in edits:
            if edit.claim >= 0:
                start = self._margin + edit.at + added
                role = f"sign-{role_of(self._claims[edit.claim])}"
                found.append(Decoration(start, start + 1, role, edit.claim))
            added += len(edit.text) - edit.removed
        return found

    def _signs(self, marks: _RowMarks) -> list[tuple[str, int]]:
        """The signs of a row for its margin, the worst first: each supported one once."""
        signs: list[tuple[str, int]] = []
        for claim in sorted(marks.claims, key=lambda number: (severity(self._claims[number]), number)):
            sign = sign_of(self._claims[claim])
            if self._claims[claim].is_doubtful or all(sign != known for known, _ in signs):
                signs.append((sign, claim))
        return signs[:_SIGNS]

    def _margin_edit(self, inner: int) -> list[_Edit]:
        if not self._margin:
            return []
        marks = self._marks.get(inner)
        signs = "" if self._inline or marks is None else "".join(sign for sign, _ in self._signs(marks))
        return [_Edit(0, 0, f"{signs:>{self._margin - 1}} ", -1)]

    def _edits(self, inner: int, row: Row) -> list[_Edit]:
        """The signs in the text of a row, as many as there is room for, the worst first."""
        marks = self._marks.get(inner)
        if not self._inline or marks is None or not marks.signs:
            return []
        text = row_text(row)
        spare = self._width - cell_len(text)
        worst: dict[int, int] = {}
        for at, claim in marks.signs:
            if at not in worst or severity(self._claims[claim]) < severity(self._claims[worst[at]]):
                worst[at] = claim
        edits: list[_Edit] = []
        for at, claim in sorted(worst.items(), key=lambda item: (severity(self._claims[item[1]]), item[0])):
            sign = sign_of(self._claims[claim])
            if text[at : at + 2] == "  ":
                # A column of a table: its gap takes the sign.
                edits.append(_Edit(at, 1, sign, claim))
            elif "  " in (gap := text[at:]) and gap.strip():
                edits += (_Edit(at, 0, sign, claim), _Edit(at + gap.index("  "), 1, "", -1))
            elif spare > 0:
                edits.append(_Edit(at, 0, sign, claim))
                spare -= 1
        return _without_overlaps(sorted(edits, key=lambda edit: (edit.at, edit.removed, edit.claim < 0)))

    def _shift(self, at: int, edits: Sequence[_Edit]) -> int:
        """The place of a character of the text in the row with its signs."""
        added = sum(len(edit.text) - edit.removed for edit in edits if edit.at < at)
        return self._margin + at + added

    # -- searching -------------------------------------------------------------------------------------

    def find(self, needle: str) -> list[Match]:
        """Every occurrence of `needle` in the text; signs do not interrupt it."""
        places = None
        if self._shown is not None:
            places = {inner: y for y, (inner, count) in enumerate(self._shown) if count > 0}
        found: list[Match] = []
        for match in find_in(self._rows, needle):
            y = match.row if places is None else places.get(match.row, -1)
            if y >= 0:
                edits = self._edits(match.row, self._rows.row(match.row))
                found.append(Match(y, self._shift(match.start, edits), self._shift(match.end, edits)))
        return found

    @property
    def landmarks(self) -> Sequence[Landmark]:
        """The headings."""
        landmarks = landmarks_in(self._rows)
        if self._shown is None:
            return landmarks
        places = {inner: y for y, (inner, count) in enumerate(self._shown) if count > 0}
        return [replace(each, row=places[each.row]) for each in landmarks if each.row in places]


def _without_overlaps(edits: Sequence[_Edit]) -> list[_Edit]:
    """Drop an edit that would remove what another one does."""
    kept: list[_Edit] = []
    for edit in edits:
        if kept and edit.removed and kept[-1].removed and kept[-1].at == edit.at:
            continue
        kept.append(edit)
    return kept


def _edited(row: Row, edits: Sequence[_Edit]) -> Row:
    """A row with signs put in."""
    if not edits:
        return row
    if isinstance(row, Content):
        parts: list[Content] = []
        at = 0
        for edit in edits:
            parts += (row[at : edit.at], Content(edit.text))
            at = edit.at + edit.removed
        return Content("").join([*parts, row[at:]])
    text = row.text
    strips: list[Strip] = []
    at = 0
    for edit in edits:
        strips += (_cut(row, text, at, edit.at), Strip([Segment(edit.text)]))
        at = edit.at + edit.removed
    return Strip.join([*strips, _cut(row, text, at, len(text))])


def _cut(strip: Strip, text: str, start: int, end: int) -> Strip:
    return strip.crop(cell_len(text[:start]), cell_len(text[:end]))
