"""The line above a report with what its check found."""

from __future__ import annotations

from collections import Counter

from textual.content import Content, Span

from ua_tui.core.events.units import quantity
from ua_tui.core.evidence.records import Level, ReportCheck
from ua_tui.core.evidence.wording import NAMES, summary
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.evidence.signs import SUSPICIOUS, severity, sign_of


def _summary_sign(check: ReportCheck) -> tuple[str, str]:
    """A sign for the result of a check, and its colour."""
    if check.unsupported:
        return "?", "$error"
    if any(claim.level is Level.LOOK and claim.kind != "name" for claim in check.claims):
        return "◌", "$warning"
    return "✓", "$success"


def summary_body(check: ReportCheck) -> TextBody:
    """The line as the beginning of a document, with an empty line below it."""
    _, colour = _summary_sign(check)
    role = {"$error": "bad", "$warning": "warn"}.get(colour, "good")
    text = summary_line(check).plain
    return TextBody(f"{text}\n\n", style=lambda number, line: [Span(0, 1, role), Span(1, len(line), "dim")])


def summary_line(check: ReportCheck, *, brief: bool = False) -> Content:
    """Say what a check found, on which subjects sources disagree, and what limits the check.

    If `brief`, only doubtful claims are broken down.
    """
    sign, colour = _summary_sign(check)
    parts: list[tuple[str, str]] = [
        (f"{sign} ", f"bold {colour}"),
        (_brief(check) if brief else summary(check), ""),
    ]
    if check.disagreements:
        subjects = [clean_line(each.subject, 60) for each in check.disagreements[:3]]
        more = len(check.disagreements) - len(subjects)
        listed = ", ".join(subjects) + (f" and {more:,} more" if more else "")
        parts.append((f" · sources disagree on {listed}", "$warning"))
    notes = [clean_line(notice, 200).rstrip(".") for notice in check.notices[:2]]
    parts += [(f" · {note}", "$text-muted") for note in notes]
    return Content.assemble(*parts)


def _brief(check: ReportCheck) -> str:
    doubtful = [claim for claim in check.claims if claim.is_doubtful]
    if not doubtful:
        return summary(check)
    counts = Counter(
        "suspicious" if sign_of(claim) == SUSPICIOUS else NAMES[claim.verdict]
        for claim in sorted(doubtful, key=severity)
    )
    named = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"{len(doubtful):,} of {quantity(len(check.claims), 'claim')} doubtful: {named}"
