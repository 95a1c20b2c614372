"""Checked reports as lines of text: wrapped for a terminal, in lines of any length for everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.description import Description, describe_claim
from ua_tui.core.claims.ledger import ListedClaim
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.output import wrapped
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.render.layout import width_of
from ua_tui.tui.viewers.claims.signs import risk_of, sign_of

_INDENT = "    "
_TEXT, _SENTENCE, _ADDRESS, _CELL = 300, 800, 400, 40
"""The longest ones, in characters."""
_WIDE = 100


class CheckPage(msgspec.Struct, eq=False):
    """Writes checked reports for a terminal of `width` cells, or without a width in lines of any length."""

    width: int | None

    def lines(self, report: CheckedReport, *, is_table: bool = False) -> Iterator[str]:
        """Give the lines of a report: what was found, then its doubtful claims, or all of them as a table."""
        title, file = clean_line(report.title, 200), clean_line(report.file, _ADDRESS)
        of_session = f" of {clean_line(report.session, 200)}" if report.session else ""
        facts = [f"{fact.rstrip('.')}." for fact in (report.signed, report.second_opinion) if fact]
        for text in (
            f"{title} ({file})" if title else file,
            report.summary,
            f"Compared with {report.compared_with or 'nothing'}{of_session}.",
            *facts,
            *(clean_line(each, _SENTENCE) for each in (*report.notices, report.unsigned) if each),
        ):
            yield from self._paragraph(text)
        claims = sorted(report.claims, key=risk_of)
        if is_table:
            yield from self._table(report, claims)
            return
        for claim in claims:
            if claim.is_doubtful:
                decided = f" · {_decision(claim)}" if claim.decision is not None else ""
                told = describe_claim(claim, report.sources)
                yield from ("", *self._paragraph(f"{_state(claim)}  {told.words}{decided}", later=_INDENT))
                for text, is_address in _details(told):
                    # An address in one piece can be clicked and copied.
                    yield from [_INDENT + text] if is_address else self._paragraph(text, _INDENT)

    def _table(self, report: CheckedReport, claims: Sequence[ListedClaim]) -> Iterator[str]:
        width = self.width or 0
        is_wide = not width or width >= _WIDE
        columns = [
            ("state", [_state(claim) for claim in claims]),
            ("claim", [clean_line(claim.quote.exact, _CELL) for claim in claims]),
            ("decision", [_decision(claim) for claim in claims]),
        ]
        if is_wide:
            columns.insert(1, ("kind", [claim.kind for claim in claims]))
            columns.append(("source", [_source_of(report, claim) for claim in claims]))
        if is_wide and report.second_opinion:
            columns.append(("opinion", [claim.opinion.verdict if claim.opinion else "" for claim in claims]))
        columns.append(("sentence", [clean_line(claim.sentence, _SENTENCE) for claim in claims]))
        yield from ("", *_rows(columns, width))

    def _paragraph(self, text: str, indent: str = "", later: str | None = None) -> Iterator[str]:
        return wrapped([(text, False)], self.width, indent, later)


def _rows(columns: Sequence[tuple[str, Sequence[str]]], width: int) -> Iterator[str]:
    """The rows below their header; with a `width` no cell but the last takes more than a third of the line."""
    most = max(8, width // 3) if width else _TEXT
    widths = [min(most, max(map(width_of, (title, *cells)))) for title, cells in columns[:-1]]
    for *row, last in zip(*([title.upper(), *cells] for title, cells in columns), strict=True):
        cut = [(tail_cut(cell, room), room) for cell, room in zip(row, widths, strict=True)]
        line = "".join(cell + " " * (room - width_of(cell) + 2) for cell, room in cut) + last
        yield (tail_cut(line, width) if width else line).rstrip()


def _details(told: Description) -> Iterator[tuple[str, bool]]:
    """The lines about a doubtful claim, and whether each is an address."""
    said = "".join(piece.text for piece in told.said)
    if where := ": ".join(filter(None, (told.section, said if said != told.words else ""))):
        yield where, False
    if told.address:
        yield told.address, True
    yield told.why, False
    for passage in told.passages[:1]:
        near = f"{passage.headers} {passage.text}".strip()
        yield f"{'' if told.state == 'differs' else 'Nearest: '}“{near}”", False
        yield passage.title, passage.title == passage.url
        if passage.url != passage.title:
            yield passage.url, True
    for each in told.judged:
        yield each, False


def _state(claim: ListedClaim) -> str:
    return f"{sign_of(claim).character} {claim.state}"


def _decision(claim: ListedClaim) -> str:
    return claim.answer or "open"


def _source_of(report: CheckedReport, claim: ListedClaim) -> str:
    first = next(iter(claim.passages), None)
    return clean_line(report.sources[first.source].name if first is not None else claim.url, _CELL)
