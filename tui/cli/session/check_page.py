"""A check as lines of text: wrapped for a terminal, in lines of any length for everything else."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Self

from ua_tui.core.events.units import quantity
from ua_tui.core.evidence.records import Claim, Disagreement, Evidence, Level, ReportCheck
from ua_tui.core.evidence.wording import NAMES, finding, summary
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.output import page_width, wrapped
from ua_tui.tui.viewers.evidence.signs import sign_of

_INDENT = "    "
_LONGEST_TEXT, _LONGEST_SENTENCE, _LONGEST_NOTE = 300, 800, 600
_MOST_NAMES = 50


class CheckPage:
    """Writes a check for a terminal of `width` cells, or without a width in lines of any length."""

    def __init__(self, width: int | None) -> None:
        self._width = width

    @classmethod
    def of_output(cls) -> Self:
        """Return a page for standard output."""
        return cls(page_width(100))

    def lines(
        self, check: ReportCheck, session: str, starts: Sequence[int], *, everything: bool = False
    ) -> Iterator[str]:
        """Give the lines of a check: the summary, and each claim that a person should look at, the worst first.

        Args:
            check: what is written.
            session: the name of the session with whose sources the report was compared.
            starts: where each line of the report begins, in characters.
            everything: list supported claims, too.
        """
        yield from self._paragraph(summary(check), "")
        sources = quantity(len(check.sources), "source")
        yield from self._paragraph(f"Compared with {sources} of {clean_line(session, 200)}.", "")
        for notice in check.notices:
            yield from self._paragraph(clean_line(notice, _LONGEST_NOTE), "")
        looked_at = [
            claim for claim in check.claims if claim.is_doubtful and claim.level is not Level.UNSUPPORTED
        ]
        yield from self._unsupported(check, starts)
        yield from self._short("To look at", looked_at, starts)
        yield from self._disagreements(check)
        if everything:
            supported = [claim for claim in check.claims if not claim.is_doubtful]
            yield from self._short("Supported", supported, starts)

    def _unsupported(self, check: ReportCheck, starts: Sequence[int]) -> Iterator[str]:
        claims = check.unsupported
        if claims:
            yield from ("", f"Not supported: {len(claims):,}")
        width = _verdict_width(claims)
        for claim in claims:
            yield ""
            yield from self._head(claim, width)
            is_more = claim.sentence.strip() != claim.text.strip()
            sentence = clean_line(claim.sentence, _LONGEST_SENTENCE) if is_more else ""
            if where := ": ".join(filter(None, (_place(claim, starts), sentence))):
                yield from self._paragraph(where)
            if claim.kind == "link" and (address := _address(claim)):
                yield from self._paragraph(address)
            for note in (finding(claim), *claim.remarks):
                yield from self._paragraph(clean_line(note, _LONGEST_NOTE))
            if claim.evidence and claim.evidence[0].passage:
                passage = clean_line(claim.evidence[0].passage, _LONGEST_SENTENCE)
                yield from self._paragraph(f"Nearest: “{passage}” ({_source(check, claim.evidence[0])})")

    def _short(self, title: str, claims: Sequence[Claim], starts: Sequence[int]) -> Iterator[str]:
        if not claims:
            return
        yield from ("", f"{title}: {len(claims):,}")
        others = [claim for claim in claims if claim.kind != "name"]
        width = _verdict_width(others)
        for claim in others:
            address = _address(claim) if claim.kind == "link" else ""
            notes = [clean_line(note, _LONGEST_NOTE) for note in (claim.note, *claim.remarks)]
            more = " · ".join(filter(None, (_place(claim, starts), address, *notes)))
            yield from self._head(claim, width, more)
        names = [clean_line(claim.text, 80) for claim in claims if claim.kind == "name"]
        if names:
            more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
            sign = sign_of(next(claim for claim in claims if claim.kind == "name"))
            yield from self._paragraph(
                f"{sign} names in no source: {', '.join(names[:_MOST_NAMES])}{more}", "", _INDENT
            )

    def _disagreements(self, check: ReportCheck) -> Iterator[str]:
        if check.disagreements:
            yield from ("", f"Sources disagree: {len(check.disagreements):,}")
        for each in check.disagreements:
            yield from self._paragraph(clean_line(each.subject, _LONGEST_TEXT), "")
            yield from self._values(check, each)

    def _values(self, check: ReportCheck, disagreement: Disagreement) -> Iterator[str]:
        values = [clean_line(value, 80) for value in disagreement.values]
        width = max(map(_cells, values), default=0)
        for value, evidence in zip(values, disagreement.evidence, strict=False):
            start = _INDENT + _padded(value, width)
            yield from self._paragraph(
                f"{start}  {_source(check, evidence)}", "", " " * (len(_INDENT) + width + 2)
            )

    def _head(self, claim: Claim, width: int, more: str = "") -> Iterator[str]:
        """The line of a claim: its sign, its verdict and its text, and more about it."""
        start = f"{sign_of(claim)} {_padded(NAMES[claim.verdict], width)}  "
        text = clean_line(claim.text, _LONGEST_TEXT)
        yield from self._paragraph(f"{start}{text}{f'  {more}' if more else ''}", "", " " * (width + 4))

    def _paragraph(self, text: str, indent: str = _INDENT, later: str | None = None) -> Iterator[str]:
        """The lines of a text with an indent, or another one from the second line on."""
        return wrapped([(text, False)], self._width, indent, later)


def _place(claim: Claim, starts: Sequence[int]) -> str:
    """Where a claim is in the report: its section and its line."""
    line = f"line {bisect_right(starts, claim.start):,}" if claim.end and len(starts) > 1 else ""
    return ", ".join(filter(None, (clean_line(claim.section, 120), line)))


def _address(claim: Claim) -> str:
    """The address of a link, unless that is what a reader sees of it."""
    address = clean_line(claim.url, 400)
    return "" if address == clean_line(claim.text, 400) else address


def _source(check: ReportCheck, evidence: Evidence) -> str:
    """The title and the address of the source of a passage."""
    if not 0 <= evidence.source < len(check.sources):
        return "a source"
    source = check.sources[evidence.source]
    named = [clean_line(source.title, 120), clean_line(source.url or source.path, 400)]
    return ", ".join(filter(None, named)) or source.kind.replace("_", " ")


def _verdict_width(claims: Sequence[Claim]) -> int:
    return max((_cells(NAMES[claim.verdict]) for claim in claims), default=0)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cells(text: str) -> int:
    """The width of a text on the screen."""
    from ua_tui.tui.render.layout import width_of

    return width_of(text)
