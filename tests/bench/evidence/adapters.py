"""The check of reports as `true_scores` asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.evidence.true_reports import SourceText
from tests.bench.evidence.true_scores import Mark
from ua_tui.core.claims.records import Check, Source
from ua_tui.observers.check.check import check_document
from ua_tui.observers.check.reading import read_document


def full_check(text: str, media_type: str, sources: Sequence[SourceText]) -> Check:
    """The check of a case."""
    return check_document(read_document(text, media_type), [
        Source(kind="article", text=each.text, title=each.title, url=each.url, media_type=each.media_type)
        for each in sources
    ])  # fmt: skip


def new(text: str, media_type: str, sources: Sequence[SourceText]) -> list[Mark]:
    """The marks of the check."""
    return marks_of(full_check(text, media_type, sources))


def marks_of(check: Check) -> list[Mark]:
    """The claims of a check as marks."""
    return [
        (
            claim.url if claim.kind == "link" else claim.quote.exact,
            claim.state,
            claim.quote.prefix,
            claim.quote.suffix,
        )
        for claim in check.claims
    ]
