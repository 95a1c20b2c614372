"""What is said about a check in a line, and about a claim in the panel: the report beside its sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from textual.content import Content, Span

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.description import ClaimDescription, TextPart, describe_claim
from ua_tui.core.claims.records import Claim, Passage, Source
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.claims.marks import SIGNS, count_states
from ua_tui.tui.viewers.document import Body, JoinedBody, ListRows, Rows, joined

_BESIDE_FROM = 96
"""Columns from which on sources are beside what the report says: those of a screen of 100 columns."""
_COLOURS = {"wrong": "$error", "doubtful": "$warning", "found": "$text-muted"}

Styled = tuple[str, str]
"""A text and its roles, separated by spaces."""


def summary_body(report: CheckedReport) -> TextBody:
    """The line as the beginning of a document, with an empty line below it."""
    doubtful = report.doubtful
    role = SIGNS[doubtful[0].state].role if doubtful else "dim"
    text = summary_line(report).plain
    return TextBody(f"{text}\n\n", style=lambda number, line: [Span(0, 1, role), Span(1, len(line), "dim")])


def summary_line(report: CheckedReport, *, brief: bool = False) -> Content:
    """Say what a check found, how many claims are decided, and what limits the check or the decisions.

    If `brief`, only doubtful claims are broken down.
    """
    doubtful = report.doubtful
    sign = SIGNS[doubtful[0].state if doubtful else "found"]
    short = f"{len(doubtful):,} of {quantity(len(report.claims), 'claim')} doubtful: {count_states(doubtful)}"
    parts: list[tuple[str, str]] = [
        (f"{sign.character} ", f"bold {_COLOURS[sign.style]}"),
        (short if brief and doubtful else report.summary, ""),
    ]
    if report.signed:
        # The summary ends with a full stop, the short one without.
        parts.append((f"{' · ' if brief and doubtful else '  '}{report.signed}", "$accent"))
    notes = [clean_line(notice, 200).rstrip(".") for notice in report.notices[:2]]
    parts += [(f" · {note}", "$text-muted") for note in notes]
    if report.unsigned:
        parts.append((f"\n{clean_line(report.unsigned, 1_000)}", "$warning"))
    return Content.assemble(*parts)


def claim_body(report: CheckedReport, number: int) -> Body:
    """Describe the claim of this number, from 0; where there is room the sources are beside the report."""
    claim = report.claims[number]
    told, sign = describe_claim(claim, report.sources), SIGNS[claim.state]
    state = (f"{sign.character} {told.state}", f"{sign.role} strong")
    answered = {"accepted": "good", "rejected": "bad"}.get(claim.answer or "", "dim")
    head = [[state, (f" · {claim.kind}  ", "dim"), (told.why, "")]]
    head += [[(each, answered)] for each in told.judged]
    removed = "removed-words" if claim.state == "differs" else f"{sign.role} strong"
    said = [
        [("In the report", "heading"), (f"  {told.section}" if told.section else "", "dim")],
        _in_roles(told.said, removed),
        [(told.address, "link")],
    ]
    return _Evidence(_body(head), _body(said), _body([*_sources(told)]))


def opened_source(report: CheckedReport, claim: Claim) -> tuple[Source, Passage] | None:
    """The source that is opened for a claim, and its passage: the first that has a file; None if there is none."""
    found = ((report.sources[passage.source], passage) for passage in claim.passages)
    return next(((source, passage) for source, passage in found if source.path), None)


class _Evidence(Body):
    """A head, what the report says, and what the sources have: in columns, or below each other without room."""

    def __init__(self, *parts: TextBody) -> None:
        self._parts = parts

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Lay out the parts."""
        if width < _BESIDE_FROM:
            return JoinedBody(self._parts).lay_out(width, theme)
        half = (width - 3) // 2
        widths = (width, half, half)
        head, left, right = (each.lay_out(own, theme) for each, own in zip(self._parts, widths, strict=True))
        rows = [*map(head.row, range(len(head))), Content("")]
        columns = (map(each.row, range(len(each))) for each in (left, right))
        for first, second in zip_longest(*columns, fillvalue=Content("")):
            gap = Content.styled(" │ ", "dim")
            rows.append(first.pad_right(half - first.cell_length) + gap + second)
        return ListRows(rows)


def _body(lines: Sequence[Sequence[Styled]]) -> TextBody:
    """Lines of texts in roles as a body."""
    rows = [joined(line) for line in lines]
    return TextBody("\n".join(row.plain for row in rows), style=lambda number, _: rows[number].spans)


def _sources(told: ClaimDescription) -> Iterator[list[Styled]]:
    role = "strong" if told.state == "not found" else "added-words"
    for count, passage in enumerate(told.passages, 1):
        if count > 1:
            yield []
        of = f" {count} of {len(told.passages)}" if len(told.passages) > 1 else ""
        yield [(told.heading + of, "heading"), ("  ", ""), (passage.title, "strong")]
        if passage.headers:
            yield [(passage.headers, "dim")]
        yield [("“", "dim"), *_in_roles(passage.pieces, role), ("”", "dim")]
        yield [(" · ".join(passage.facts), "dim")]
        if passage.url != passage.title:
            yield [(passage.url, "link")]
    if not told.passages:
        yield [("In the sources", "heading")]
        yield [(told.absent, "dim")]


def _in_roles(pieces: Sequence[TextPart], role: str) -> list[Styled]:
    return [(each.text, role if each.is_marked else "") for each in pieces]
