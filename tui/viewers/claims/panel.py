"""What is said of a check in a line, and of a claim in the panel: the report beside its sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import zip_longest

from textual.content import Content, Span

from ua_tui.core.claims.checked_report import NOUNS, CheckedReport
from ua_tui.core.claims.difference import Piece, passage_pieces, sentence_pieces
from ua_tui.core.claims.records import Claim, Passage, Source
from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.claims.signs import SIGNS, count_states, sign_of
from ua_tui.tui.viewers.document import Body, JoinedBody, ListRows, Rows, joined

_MOST_PASSAGES = 6
_BESIDE_FROM = 96
"""Columns from which on sources are beside what the report says: those of a screen of 100 columns."""
_COLOURS = {"wrong": "$error", "doubtful": "$warning", "found": "$text-muted"}
_KINDS = {
    **{kind: noun for kind, (noun, _) in NOUNS.items()},
    "search_row": "search result",
    "query": "what you wrote",
}

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
    decision, opinion, sign = claim.decision, claim.opinion, sign_of(claim)
    state = (f"{sign.character} {claim.state}", f"{sign.role} strong")
    head = [[state, (f" · {claim.kind}  ", "dim"), (clean_line(claim.meaning, 600), "")]]
    if claim.formula:
        head.append([(clean_line(claim.formula, 300), "strong")])
    if decision is not None:
        who = f"{decision.answer or 'note'} by {clean_line(decision.by, 60)}, {_when(decision.at)}"
        role = {"accepted": "good", "rejected": "bad"}.get(decision.answer or "", "dim")
        head.append([(who, role), (f"  {clean_line(decision.note, 300)}".rstrip(), "")])
    if opinion is not None:
        head.append([("Second opinion: ", "dim"), (opinion.text, "")])
    return _Evidence(_body(head), _body([*_report(claim)]), _body([*_sources(report, claim)]))


def opened_source(report: CheckedReport, claim: Claim) -> tuple[Source, Passage] | None:
    """The source that is opened for a claim, and its passage: the first that has a file; None if there is none."""
    found = ((report.sources[passage.source], passage) for passage in claim.passages)
    return next(((source, passage) for source, passage in found if source.path), None)


class _Evidence:
    """A head, what the report says, and what the sources have: in columns, or below each other without room."""

    def __init__(self, *parts: TextBody) -> None:
        self._parts = parts

    def lay_out(self, width: int, theme: MarkdownTheme, stop: Stop = NEVER) -> Rows:
        """Lay out the parts."""
        if width < _BESIDE_FROM:
            return JoinedBody(self._parts).lay_out(width, theme, stop)
        half = (width - 3) // 2
        widths = (width, half, half)
        head, left, right = (
            each.lay_out(own, theme, stop) for each, own in zip(self._parts, widths, strict=True)
        )
        rows = [*map(head.row, range(len(head))), Content("")]
        columns = (map(each.row, range(len(each))) for each in (left, right))
        for first, second in zip_longest(*columns, fillvalue=Content("")):
            gap = Content.styled(" │ ", "dim")
            rows.append(first.pad_right(half - first.cell_length) + gap + second)
        return ListRows(rows)


def _body(lines: Sequence[Sequence[Styled]]) -> TextBody:
    """Lines of texts in roles as a body."""
    rows = [joined(line) for line in lines]
    spans = [
        [Span(each.start, each.end, role) for each in row.spans for role in str(each.style).split()]
        for row in rows
    ]
    return TextBody("\n".join(row.plain for row in rows), style=lambda number, line: spans[number])


def _report(claim: Claim) -> Iterator[list[Styled]]:
    section = clean_line(claim.section, 120)
    yield [("In the report", "heading"), (f"  {section}" if section else "", "dim")]
    role = "removed-words" if claim.state == "differs" else f"{sign_of(claim).role} strong"
    yield _in_roles(sentence_pieces(claim), role)
    if claim.url:
        yield [(clean_line(claim.url, 400), "link")]


def _sources(report: CheckedReport, claim: Claim) -> Iterator[list[Styled]]:
    passages = claim.passages[:_MOST_PASSAGES]
    for count, passage in enumerate(passages):
        source = report.sources[passage.source]
        if count:
            yield []
        heading = "Nearest passage" if claim.state == "not found" else "In the source"
        of = f" {count + 1} of {len(passages)}" if len(passages) > 1 else ""
        title = clean_line(source.name, 300)
        yield [(heading + of, "heading"), ("  ", ""), (title, "strong")]
        if passage.headers:
            yield [(clean_line(passage.headers, 300), "dim")]
        role = "strong" if claim.state == "not found" else "added-words"
        yield [("“", "dim"), *_in_roles(passage_pieces(claim, passage), role), ("”", "dim")]
        yield [(_facts(source), "dim")]
        if source.url and source.title:
            yield [(clean_line(source.url, 400), "link")]
    if not passages:
        yield [("In the sources", "heading")]
    if not passages and claim.state == "not looked at":
        yield [("It was not looked for.", "dim")]
    elif not passages:
        what = clean_line(claim.url if claim.kind == "link" else claim.quote.exact, 200)
        verb = "has the address" if claim.kind == "link" else "mentions"
        yield [(f"No page that was read {verb} ", "dim"), (what, "strong"), (".", "dim")]


def _in_roles(pieces: Sequence[Piece], role: str) -> list[Styled]:
    return [(each.text, role if each.is_marked else "") for each in pieces]


def _facts(source: Source) -> str:
    facts = [_KINDS[source.kind]]
    if source.published:
        facts.append(f"published {clean_line(source.published, 40).partition('T')[0]}")
    if source.read_at is not None:
        verb = {"search_row": "found", "run": "made", "file": "made"}.get(source.kind, "read")
        facts.append(f"{verb} {_when(source.read_at)}")
    if source.session:
        facts.append(clean_line(source.session, 80))
    return " · ".join(facts)


def _when(at: datetime) -> str:
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    days = (datetime.now(UTC) - at).days
    age = f" ({days:,} {'day' if days == 1 else 'days'} ago)" if days > 0 else ""
    # The first and the last day that there are may have no time of this place.
    with suppress(OverflowError, OSError, ValueError):
        at = at.astimezone()
    return f"{at:%Y-%m-%d %H:%M}{age}"
