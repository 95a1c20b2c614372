"""Writes an export as Markdown: the report with marks after doubtful claims, its evidence, and the session."""

from __future__ import annotations

import re

from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.records.formats import fenced
from ua_tui.tui.export.convert import harmless_markdown, speakers_apart
from ua_tui.tui.export.evidence import Evidence
from ua_tui.tui.export.marks import mark_markdown
from ua_tui.tui.export.records import Export, ReportText
from ua_tui.tui.export.redaction import Redaction
from ua_tui.tui.export.templates import demoted, plain, template
from ua_tui.tui.viewers.claims.marks import SIGNS
from ua_tui.tui.viewers.safe_html import convert_to_markdown

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# The converter makes one block of them.
_QUOTATIONS = re.compile(r"(</blockquote>)\s*+(?=<blockquote\b)", re.IGNORECASE)


def markdown_text(export: Export, redaction: Redaction) -> str:
    """Write the Markdown.

    Raises:
        Stopped: the result is no longer needed.
    """
    evidence = Evidence(export)
    texts = [message.text for query in export.queries for message in query.messages]
    try:
        messages = iter(harmless_markdown(texts) if texts else ())
    except ConversionFailed:
        messages = map(fenced, texts)
    return template("session.md.jinja").render(
        export=export,
        evidence=evidence,
        mark=lambda number: _mark(evidence, number),
        report=_report(export.report, evidence, redaction) if export.report is not None else "",
        next_message=messages.__next__,
    )


def _report(report: ReportText, evidence: Evidence, redaction: Redaction) -> str:
    """The report with its marks."""
    text = report.source
    try:
        if report.format == "html":
            text = convert_to_markdown(_QUOTATIONS.sub(r"\1<br>", speakers_apart(text)))
        if report.format != "text":
            (text,) = harmless_markdown([text])
    except ConversionFailed as error:
        return f"*The report is too complex to be converted: {plain(str(error))}.*"
    text = demoted(redaction.text(text), 2)
    text = mark_markdown(text, evidence.claims, lambda number: _mark(evidence, number))
    return fenced(text) if report.format == "text" else text


def _mark(evidence: Evidence, number: int) -> str:
    """The sign of a claim, and the number of its row if it is doubtful."""
    place = evidence.places[number]
    return SIGNS[evidence.claims[number].state].character + (str(place).translate(_RAISED) if place else "")
