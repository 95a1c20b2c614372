"""Writes an export as Markdown: the report with marks behind doubtful claims, its evidence, and the session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ua_tui.core.claims.description import Piece, source_facts
from ua_tui.core.claims.records import Source
from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.events.units import money, size
from ua_tui.core.text import clean, clean_line
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.export.convert import harmless_markdown, speakers_apart
from ua_tui.tui.export.evidence import Evidence, state_of
from ua_tui.tui.export.marks import mark_markdown
from ua_tui.tui.export.markup import spoken
from ua_tui.tui.export.records import Export, Query
from ua_tui.tui.export.redaction import Redaction
from ua_tui.tui.viewers.claims.marks import sign_of
from ua_tui.tui.viewers.safe_html import convert_to_markdown

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_PASSAGES = 4
# The converter makes one block of them.
_QUOTATIONS = re.compile(r"(</blockquote>)\s*+(?=<blockquote\b)", re.IGNORECASE)
_FENCE = re.compile(r"`+|~+")
_FENCED = re.compile(r" {0,3}(`{3,}|~{3,})")


def markdown_text(export: Export, redaction: Redaction, stop: Stop = NEVER) -> str:
    """Write the Markdown.

    Raises:
        Stopped: the flag was set.
    """
    return "\n\n".join(part for part in _parts(export, redaction, stop) if part) + "\n"


def _parts(export: Export, redaction: Redaction, stop: Stop) -> Iterator[str]:
    session = export.session
    title = export.report.title if export.report is not None else ""
    yield f"# {_plain(title or session.title or session.id)}"
    evidence = Evidence(export)
    if evidence.notices:
        yield _list(evidence.notices)
    if export.report is not None:
        yield f"## Report\n\n{_report(export, evidence, redaction, stop)}"
    yield from _evidence(export, evidence)
    if export.references:
        yield "## References"
        yield "\n".join(f"{number}. {_reference(each)}" for number, each in enumerate(export.references, 1))
    yield "## Conversation"
    texts = [message.text for query in export.queries for message in query.messages]
    try:
        messages = iter(harmless_markdown(texts, stop) if texts else ())
    except ConversionFailed:
        messages = map(_fenced, texts)
    for query in export.queries:
        yield from _query(query, messages)
    yield from _tables(export)


def _report(export: Export, evidence: Evidence, redaction: Redaction, stop: Stop) -> str:
    """The report with its marks."""
    report = export.report
    assert report is not None
    text = report.source
    try:
        if report.format == "html":
            text = convert_to_markdown(_QUOTATIONS.sub(r"\1<br>", speakers_apart(text)), stop)
        elif report.format == "markdown":
            (text,) = harmless_markdown([text], stop)
    except ConversionFailed as error:
        return f"*The report is too complex to be converted: {_plain(str(error))}.*"
    text = _demoted(redaction.text(text), 2)
    text = mark_markdown(text, evidence.claims, lambda number: _mark(evidence, number), stop)
    return _fenced(text) if report.format == "text" else text


def _mark(evidence: Evidence, number: int) -> str:
    """The sign of a claim, and the number of its row if it is doubtful."""
    place = evidence.places[number]
    return sign_of(evidence.claims[number]).character + (str(place).translate(_RAISED) if place else "")


def _evidence(export: Export, evidence: Evidence) -> Iterator[str]:
    """What the check found, and a row for each claim that a person should look at, or has rejected or noted."""
    check = export.check
    if check is None:
        return
    yield "## Evidence"
    yield _plain(check.summary)
    if check.signed:
        yield f"**{_plain(check.signed)}**, {_plain(evidence.signers())}"
    if check.second_opinion:
        yield f"{_plain(check.second_opinion)}. Opinions change no state."
    if not evidence.listed:
        yield "No claim is doubtful."
        return
    rows = []
    for number in evidence.listed:
        told = evidence.told(number)
        found = "; ".join(
            f"{_pieces(each.pieces)} ({', '.join([_linked(each.url, _plain(each.title)), *map(_plain, each.facts)])})"
            for each in told.passages[:_PASSAGES]
        )
        said = _pieces(told.said) + (f" ({_plain(told.address)})" if told.address else "")
        judged = _plain(". ".join(told.judged))
        rows.append((f"{_mark(evidence, number)} {_plain(state_of(told))}", said, found, judged))
    yield _table(("Claim", "In the report", "In the source", "Decision"), rows)


def _pieces(pieces: Sequence[Piece]) -> str:
    """Pieces of a text on one line, the marked ones bold."""
    return "".join(
        f"**{_plain(each.text)}**" if each.is_marked and each.text.strip() else _inside(each.text)
        for each in pieces
    )


def _reference(reference: Source) -> str:
    parts = [
        _linked(reference.url, _plain(reference.title or reference.url)),
        *map(_plain, (host_of(reference.url), *source_facts(reference))),
    ]
    parts += [_plain(reference.url)] if reference.title else []
    parts += [f"SHA-256 {_plain(reference.sha256)}"] if reference.sha256 else []
    return ", ".join(parts)


def _linked(url: str, title: str) -> str:
    is_link = re.match(r"https?://[^\s<>]+\Z", url) is not None
    return f"[{title}](<{url}>)" if is_link else title


def _query(query: Query, messages: Iterator[str]) -> Iterator[str]:
    yield f"### Query {query.number}, {query.at:%Y-%m-%d %H:%M} UTC{', undone' if query.undone else ''}"
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
                _linked(each.url, _plain(each.name)),
                each.kind.replace("_", " "),
                f"{each.read_at:%Y-%m-%d}" if each.read_at else "",
                _plain(each.sha256),
            )
            for each in export.sources
            if each.sha256
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
        "Cost": money(costs.cost_usd, is_estimated=costs.cost_is_estimated),
        "Tokens": f"{costs.tokens:,}",
        "Time": spoken(costs.seconds),
        "Program": session.version,
        "Exported by": f"{export.program}, {export.exported_at:%Y-%m-%d %H:%M} UTC",
    }
    yield _list(f"{name}: {value}" for name, value in facts.items() if value)


def _plain(text: str) -> str:
    """Write a text on one line, so that it is only text in Markdown."""
    return _inside(clean_line(text, 1_000))


def _inside(text: str) -> str:
    """Write a part of a line, so that it is only text in Markdown."""
    return _SPECIAL.sub(r"\\\1", clean(text).replace("\n", " "))


def _list(items: Iterable[str]) -> str:
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
