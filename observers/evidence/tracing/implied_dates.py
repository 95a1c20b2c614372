"""Dates that a source does not write: its publication, "on Tuesday", "last year", "in October" without the year."""

from __future__ import annotations

from collections.abc import Iterator

from ua_tui.core.evidence.records import Evidence
from ua_tui.observers.evidence.passages import passage
from ua_tui.observers.evidence.sources import SourceText
from ua_tui.observers.evidence.tracing.dates import (
    Parts,
    month_named,
    published_on,
    readings,
    relative_day,
    relative_year,
)
from ua_tui.observers.evidence.tracing.places import Tracer
from ua_tui.observers.evidence.tracing.selection import Checked
from ua_tui.observers.evidence.tracing.words import stems_around

_HEAD = 1_500
"""Characters of a source in which a full date may be that of its publication."""
_SEASON = 300
_MONTHS = 40

Implied = tuple[bool, str, Evidence]
"""Whether it was computed, what to say about it, and the passage."""


def implied_date(each: Checked, text: SourceText, tracer: Tracer) -> Implied | None:
    """Find out whether a source means a date that it does not write; None if nothing in it says so."""
    parts = each.figure.date
    published = list(_published(text))
    stated = published_on(text.record.published)
    if stated and any(_is_part(read, stated) for read in readings(each.figure)):
        shown = text.record.published[:10]
        evidence = Evidence(source=text.number, passage=f"Published: {shown}", marks=((11, 11 + len(shown)),))
        return False, "It is the date on which the source was published.", evidence
    for issued in published:
        day = relative_day(parts, issued, text.text)
        place = day or (relative_year(parts[0], issued, text.text) if not any(parts[1:]) else None)
        if place:
            shown = "-".join(f"{part:02}" for part in issued if part)
            note = f"“{text.text[slice(*place)]}” in a source that was published on {shown}."
            return True, note, passage(text, *place)
    return _month(each, text, tracer)


def _month(each: Checked, text: SourceText, tracer: Tracer) -> Implied | None:
    """A month, a quarter or a season whose year stands elsewhere in the source."""
    year, month, day = each.figure.date
    if day or not year or not month:
        return None
    issued = published_on(text.record.published)
    if not tracer.has_year(text, each.figure) and not (issued and abs(issued[0] - year) == 1):
        return None
    for number, place in enumerate(month_named(each.figure.date, text.text)):
        if number == _MONTHS:
            break
        if each.context.near & stems_around(text.text, *place):
            return False, "The year stands elsewhere in the source.", passage(text, *place)
    if month > _SEASON:
        for dated in tracer.index.dates((year, 0, 0), (text.number,)):
            if dated.source is text and each.context.near & tracer.stems_at(dated):
                evidence = passage(text, dated.figure.start, dated.figure.end)
                return False, "The source has the year, and not the season.", evidence
    return None


def _published(text: SourceText) -> Iterator[Parts]:
    """When a source was published: as it is known, and the full dates in its beginning."""
    if stated := published_on(text.record.published):
        yield stated
    for figure in text.figures:
        if figure.start > _HEAD:
            break
        if figure.kind == "date" and all(figure.date):
            yield figure.date


def _is_part(parts: Parts, published: Parts) -> bool:
    return any(parts) and all(part in (0, known) for part, known in zip(parts, published, strict=True))
