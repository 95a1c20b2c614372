"""Checks of short reports against short sources, for tests."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ua_tui.core.claims.records import Check, Claim, Source
from ua_tui.observers.check.check import check_document
from ua_tui.observers.check.reading import read_document

URL = "https://source.example/{}"


def check(
    report: bytes | str,
    media_type: str,
    sources: Sequence[Source],
    files: Collection[str] = (),
) -> Check:
    """The check of a report as it is stored."""
    return check_document(read_document(report, media_type), sources, files=files)


def checked(report: str, *texts: str, media_type: str = "text/markdown") -> Check:
    """The check of a report against sources, which have the addresses https://source.example/0, 1, …"""
    sources = [Source(kind="file", text=text, url=URL.format(number)) for number, text in enumerate(texts)]
    return check(report, media_type, sources)


def states(claims: Sequence[Claim]) -> dict[str, str]:
    """The states of claims by their text, with the formula or what the source has instead."""
    return {
        claim.quote.exact: " ".join(filter(None, [claim.state, claim.formula or claim.instead]))
        for claim in claims
        if claim.state != "not looked at"
    }
