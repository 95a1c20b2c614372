"""Writes an export as Markdown, with a footnote for each claim of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.events.units import money, size
from ua_tui.core.evidence.records import Claim, Source
from ua_tui.core.evidence.wording import NAMES, summary
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.export.convert import harmless_markdown
from ua_tui.tui.export.evidence import noted_claims
from ua_tui.tui.export.marks import mark_claims, marked_ids, replace_marks, without_marks
from ua_tui.tui.export.markup import spoken
from ua_tui.tui.export.records import Export, Query
from ua_tui.tui.export.redaction import Redaction
from ua_tui.tui.viewers.safe_html import convert_to_markdown

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_FENCE = re.compile(r"`+|~+")
_FENCED = re.compile(r" {0,3}(`{3,}|~{3,})")
_ADDRESS = re.compile(r"((?<![(<])\bhttps?://[^\s<>()\[\]]++)(\[\^c)?")


def markdown_text(export: Export, redaction: Redaction, stop: Stop = NEVER) -> str:
    """Write the Markdown.

    Raises:
        Stopped: the flag was set.
    """
    return "\n\n".join(part for part in _parts(export, redaction, stop) if part) + "\n"


def _parts(export: Export, redaction: Redaction, stop: Stop) -> Iterator[str]:
    session, check = export.session, export.check
    title = export.report.title if export.report is not None else ""
    yield f"# {_plain(title or session.title or session.id)}"
    if check is not None:
        yield _plain(summary(check))
    if export.notices:
        yield _list(export.notices)
    if export.report is not None:
        text, noted = _report(export, redaction, stop)
        yield f"## Report\n\n{text}"
        yield "\n".join(_footnote(claim, export.sources) for claim in noted)
    if check is not None and check.disagreements:
        yield "## Sources that disagree"
        yield _list(f"{each.subject}: {', '.join(each.values)}" for each in check.disagreements)
    yield "## Conversation"
    texts = [message.text for query in export.queries for message in query.messages]
    try:
        messages = iter(harmless_markdown(texts, stop) if texts else ())
    except ConversionFailed:
        messages = map(_fenced, texts)
    for query in export.queries:
        yield from _query(query, messages)
    yield from _tables(export)


def _report(export: Export, redaction: Redaction, stop: Stop) -> tuple[str, list[Claim]]:
    """The report with the marks of footnotes, and the claims that have one."""
    report = export.report
    assert report is not None
    claims = noted_claims(export.check)
    marked = mark_claims(report.source, report.format, claims)
    try:
        if report.format == "html":
            marked = convert_to_markdown(marked, stop)
        elif report.format == "markdown":
            (marked,) = harmless_markdown([marked], stop)
    except ConversionFailed as error:
        return f"*The report is too complex to be converted: {_plain(str(error))}.*", []
    plain = without_marks(marked)
    if redaction.without_secrets(plain) != plain:
        marked = redaction.text(plain)
    placed = marked_ids(marked)
    text = replace_marks(marked, lambda number: f"[^c{number}]")
    if report.format == "text":
        text = _fenced(text)
    # Without the space the footnote would become a part of a bare address.
    text = _ADDRESS.sub(lambda found: f"{found[1]} {found[2]}" if found[2] else found[1], text)
    return clean(_demoted(text, 2)), [claim for claim in claims if claim.id in placed]


def _footnote(claim: Claim, sources: Sequence[Source]) -> str:
    parts = [f"{claim.kind.capitalize()} {claim.id}: **{NAMES[claim.verdict]}**.", _plain(claim.note)]
    parts += [_plain(remark) for remark in claim.remarks]
    if claim.evidence:
        first = claim.evidence[0]
        if first.passage:
            parts.append(f"“{_plain(first.passage)}”")
        if 0 <= first.source < len(sources):
            parts.append(_named(sources[first.source]))
    return f"[^c{claim.id}]: " + " ".join(part for part in parts if part)


def _named(source: Source) -> str:
    title = _plain(source.title or source.url or source.path or source.kind)
    dated = f", published {_plain(source.published[:10])}" if source.published else ""
    return f"{_linked(source.url, title)}{dated}"


def _linked(url: str, title: str) -> str:
    is_link = re.match(r"https?://[^\s<>]+\Z", url) is not None
    return f"[{title}](<{url}>)" if is_link else title


def _query(query: Query, messages: Iterator[str]) -> Iterator[str]:
    yield f"### Query {query.number}, {query.at:%Y-%m-%d %H:%M} UTC"
    yield _fenced(query.text)
    for message, text in zip(query.messages, messages, strict=False):
        yield _fenced(message.text) if message.by == "person" else _demoted(text.strip(), 3)
    if query.status:
        facts = [
            query.status,
            spoken(query.seconds),
            f"{query.calls} tool calls",
            money(query.cost_usd),
        ]
        yield f"*{_plain(', '.join(fact for fact in facts if fact))}*"
    if query.error:
        yield _fenced(query.error)


def _tables(export: Export) -> Iterator[str]:
    if export.calls:
        yield "## Trace"
        rows = [
            (
                f"{call.query}",
                "↳ " * call.depth + _plain(call.label or call.name),
                _plain(call.about),
                f"{call.offset:.2f} s",
                f"{call.seconds:.2f} s",
                call.status or "no end",
            )
            for call in export.calls
        ]
        yield _table(("Query", "Call", "About", "Start", "Duration", "Status"), rows)
    if export.sources:
        yield "## Sources"
        listed = [
            (
                _named(each),
                each.kind.replace("_", " "),
                f"{each.read_at:%Y-%m-%d}" if each.read_at else "",
                _plain(each.sha256),
            )
            for each in export.sources
        ]
        yield _table(("Source", "Kind", "Read", "SHA-256"), listed)
    if export.artifacts:
        yield "## Saved files"
        files = [
            (_plain(each.path), _plain(each.kind), size(each.size), _plain(each.sha256))
            for each in export.artifacts
        ]
        yield _table(("File", "Kind", "Size", "SHA-256"), files)
    costs, session = export.costs, export.session
    yield "## Session"
    started = f"{session.started:%Y-%m-%d %H:%M} UTC" if session.started else ""
    facts = {
        "Session": session.id,
        "State": session.state,
        "Started": started,
        "Model": session.model,
        "Cost": money(costs.cost_usd),
        "Tokens": f"{costs.tokens:,}",
        "Time": spoken(costs.seconds),
        "Program": session.version,
        "Exported by": f"{export.program}, {export.exported_at:%Y-%m-%d %H:%M} UTC",
    }
    yield _list(f"{name}: {value}" for name, value in facts.items() if value)


def _plain(text: str) -> str:
    """Write a text on one line, so that it is only text in Markdown."""
    return _SPECIAL.sub(r"\\\1", clean_line(text, 500))


def _list(items: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(f"- {_plain(item)}" for item in items)


def _demoted(text: str, levels: int) -> str:
    """Put the headings of a text so many levels down; those in blocks of code stay."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if found := _FENCED.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        marks = 0 if fence else len(line) - len(line.lstrip("#"))
        is_heading = 0 < marks <= 6 and line[marks : marks + 1] == " "
        lines.append("#" * min(levels, 6 - marks) + line if is_heading else line)
    return "\n".join(lines)


def _fenced(text: str) -> str:
    fence = "`" * max(3, max((len(run) for run in _FENCE.findall(text)), default=0) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
