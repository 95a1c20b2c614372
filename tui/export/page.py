"""Writes an export as one HTML page that loads nothing, runs nothing, and needs nothing beside it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.events.continuation import is_own
from ua_tui.core.events.units import money, quantity, size
from ua_tui.core.media_types import HEAD_SIZE, media_suffix
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.text import clean_line
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.export.convert import PICTURE, convert, plain_html
from ua_tui.tui.export.evidence import Evidence, references_list
from ua_tui.tui.export.markup import element, escaped, facts, link, moment, spoken
from ua_tui.tui.export.prose import write_prose
from ua_tui.tui.export.records import Call, Export, Message, Query, ReportText
from ua_tui.tui.export.redaction import Redaction

_UNITS = 1_000
_DEEPEST = 4
_LONGEST = 120
_STATUS = {
    "success": ("✓", "done"),
    "error": ("!", "failed"),
    "denied": ("–", "denied"),
    "cancelled": ("×", "cancelled"),
    "waiting": ("?", "waiting"),
    "blocked": ("–", "blocked"),
    "": ("…", "no end"),
}


def waterfall(export: Export) -> str:
    """The calls of each query on a scale of their own; empty if there are none."""
    queries = {query.number: query for query in export.queries}
    numbers = list(dict.fromkeys(call.query for call in export.calls))
    many = len(numbers) > 1
    return "".join(
        _query(queries.get(number), [call for call in export.calls if call.query == number], many)
        for number in numbers
    )


def _query(query: Query | None, calls: Sequence[Call], many: bool) -> str:
    whole = max([call.offset + call.seconds for call in calls] + ([query.seconds] if query else []))
    heading = ""
    if many and query is not None:
        heading = element("h3", f"{query.number}. {escaped(clean_line(query.text, _LONGEST))}")
    rows = "".join(_row(call, whole or 1.0) for call in calls)
    scale = element(
        "p",
        "<span></span><span>"
        + "".join(f"<span>{escaped(spoken(whole * part))}</span>" for part in (0, 0.25, 0.5, 0.75, 1))
        + "</span>",
        class_="scale",
        aria_hidden="true",
    )
    return f'{heading}{scale}<ol class="calls">{rows}</ol>'


def _row(call: Call, whole: float) -> str:
    glyph, status = _STATUS.get(call.status, ("?", call.status))
    start = min(call.offset / whole, 1.0) * _UNITS
    width = max(min(call.seconds / whole * _UNITS, _UNITS - start), 4.0)
    start = min(start, _UNITS - width)
    bar = (
        f'<svg viewBox="0 0 {_UNITS} 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="lane" width="{_UNITS}" height="10"/>'
        f'<rect class="bar" x="{start:.1f}" width="{width:.1f}" height="10" rx="2"/></svg>'
    )
    name = f"<b>{escaped(call.label or call.name)}</b>"
    about = element("span", escaped(call.about), class_="about") if call.about else ""
    time = element("span", escaped(spoken(call.seconds)), class_="time")
    mark = element("span", f'<span aria-hidden="true">{glyph}</span> {escaped(status)}', class_="status")
    title = element("span", f"{name} {about}", class_="name")
    summary = element("summary", f"{title}{bar}{time}{mark}")
    classes = f"d{min(call.depth, _DEEPEST)} s-{call.status or 'none'}"
    return f'<li class="{classes}"><details>{summary}{"".join(_details(call))}</details></li>'


def _details(call: Call) -> Iterator[str]:
    where = "by a sub-agent" if call.depth else ""
    began = f"began after {spoken(call.offset)}"
    yield element("p", facts([escaped(call.name), began, where]), class_="fine")
    yield f"<h4>Input</h4><pre>{escaped(_pretty(call.input))}</pre>"
    if call.result:
        yield f"<h4>Result ({escaped(size(call.result_size))})</h4><pre>{escaped(call.result)}</pre>"


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


LARGEST = 1 << 20
"""Bytes of a picture that is embedded."""
MOST = 200
_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_REFERENCE = re.compile(rf'\bsrc="{re.escape(PICTURE)}([^"]*)"')
_DATA = re.compile(r"data:image/[a-z]+;base64,([A-Za-z0-9+/=\s]+)\Z", re.IGNORECASE)


def embedded_pictures(text: str, report: str, root: Root, redactor: Redactor) -> tuple[dict[str, str], int]:
    """Read the pictures that converted HTML refers to; returns data addresses by theirs, and how many are left out."""
    found: dict[str, str] = {}
    total = left_out = 0
    for address in dict.fromkeys(unquote(match[1]) for match in _REFERENCE.finditer(text)):
        data = _data(address, report, root) if len(found) < MOST else b""
        kind = _TYPES.get(media_suffix(data[:HEAD_SIZE]), "")
        # The text in a picture, such as its description, may hold a secret.
        is_safe = kind and redactor.redact(plain := data.decode("latin-1")) == plain
        if not is_safe or total + len(data) > (3 << 20):
            left_out += 1
            continue
        total += len(data)
        found[address] = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return found, left_out


def _data(address: str, report: str, root: Root) -> bytes:
    if embedded := _DATA.match(address):
        try:
            data = base64.b64decode(embedded[1], validate=False)
        except (binascii.Error, ValueError):
            return b""
        return data if len(data) <= LARGEST else b""
    if ":" in address or address.startswith("/"):
        return b""
    path = unquote(address.partition("?")[0].partition("#")[0])
    for base in (posixpath.dirname(report), ""):
        inside = posixpath.normpath(posixpath.join(base, path))
        try:
            data = root.read(inside, LARGEST + 1)
        except (PathRefused, WorkspaceError, ValueError):
            continue
        return data if len(data) <= LARGEST else b""
    return b""


_SHORT_HASH = 16
_LONGEST_TITLE = 200
_BEGINNING = 2_000
"""Characters of a report in which its own title is, which then is that of the page."""


@dataclass(frozen=True)
class _Report:
    """The report as HTML, the claims that were found in it, and sentences about what is missing."""

    html: str = ""
    placed: frozenset[int] = frozenset()
    notices: tuple[str, ...] = ()


def html_page(export: Export, root: Root, redaction: Redaction, stop: Stop = NEVER) -> str:
    """Write the page; pictures of the report are read from `root`, the session's folder. Takes a thread a while.

    Raises:
        Stopped: the flag was set.
    """
    evidence = Evidence(export)
    report = _report(export, evidence, root, redaction, stop)
    answers = _answers(export, redaction, stop)
    sections = [each for each in _sections(export, evidence, report, answers) if each[2]]
    title = title_of_export(export)
    contents = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    body = "".join(
        f'<section id="{name}" aria-labelledby="h-{name}"><h2 id="h-{name}">{heading}</h2>{content}</section>'
        for name, heading, content in sections
    )
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="{escaped(export.program)}">\n<title>{escaped(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f"<header>{_header(export, evidence, report, title)}</header>\n"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>\n<main id="main">\n{body}\n</main>\n'
        f"<footer>{_footer(export)}</footer>\n</body>\n</html>\n"
    )


def title_of_export(export: Export) -> str:
    """The title of the report, or that of the session, on one line."""
    title = export.report.title if export.report is not None else ""
    return clean_line(title or export.session.title or export.session.id, _LONGEST_TITLE)


def _header(export: Export, evidence: Evidence, report: _Report, title: str) -> str:
    session = export.session
    line = facts(
        [
            moment(session.started),
            escaped(session.model),
            quantity(session.queries, "query", "queries"),
            quantity(session.calls, "tool call"),
            quantity(len(export.sources), "source") if export.sources else "",
            money(export.costs.cost_usd, is_estimated=export.costs.cost_is_estimated),
            "demo session" if session.demo else "",
            "session still running" if session.state == "running" else "",
        ]
    )
    kind = "Report with evidence" if export.report is not None else "Session"
    checked = ""
    if export.check is not None:
        doubts = f"To look at: {evidence.doubts}" if evidence.doubts else "No claim is doubtful"
        checked = facts([element("a", escaped(doubts), href="#evidence"), escaped(export.check.signed)])
        checked = element("p", checked, class_="facts")
    notices = dict.fromkeys((*evidence.notices, *report.notices))
    items = "".join(element("li", escaped(each)) for each in notices)
    about = element("ul", items, class_="notices") if items else ""
    has_own = "<h3" in report.html[:_BEGINNING]
    heading = element("h1", escaped(title), class_="unseen" if has_own else "")
    return f'<p class="kind">{kind}</p>{heading}<p class="facts">{line}</p>{checked}{about}'


def _footer(export: Export) -> str:
    made = f"Written by {escaped(export.program)} on {moment(export.exported_at)} from {escaped(export.session.id)}."
    return f"<p>{made} Secrets and local paths are removed. The page loads nothing from anywhere.</p>"


def _sections(
    export: Export, evidence: Evidence, report: _Report, answers: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """The name, heading and content of each section; those without content are left out."""
    if export.report is not None:
        yield "report", "Report", f'<article class="prose report">{report.html}</article>'
    yield "evidence", "Evidence", evidence.section(report.placed)
    yield "references", "References", references_list(export.references)
    yield "conversation", "Conversation", "".join(_conversation(export.queries, answers))
    yield "trace", "Trace", waterfall(export)
    yield "sources", "Sources", _sources(export)
    yield "files", "Saved files", _files(export)
    yield "costs", "Costs", _costs(export)
    yield "session", "Session", _session(export)


# -- the parts -------------------------------------------------------------------------------------


def report_html(
    report: ReportText, root: Root, redaction: Redaction, stop: Stop = NEVER
) -> tuple[str, dict[str, str], list[str]]:
    """Convert a report into sanitised HTML; with the data of its pictures, and sentences about what is missing.

    Raises:
        Stopped: the flag was set.
    """
    notices: list[str] = []
    try:
        (text,) = convert([(report.format, report.source)], "r", stop)
    except ConversionFailed as error:
        notices.append(f"The report is shown as its source, as it is too complex to be made safe: {error}.")
        text = plain_html(report.source)
    # A secret may have been in pieces, or written with entities, before.
    text = redaction.text(text)
    pictures, left_out = embedded_pictures(text, report.path, root, redaction.redactor)
    if left_out:
        notices.append(
            f"{quantity(left_out, 'picture')} of the report not included: not a file of the session, or too large."
        )
    return text, pictures, notices


def _report(export: Export, evidence: Evidence, root: Root, redaction: Redaction, stop: Stop) -> _Report:
    if export.report is None:
        return _Report()
    text, pictures, notices = report_html(export.report, root, redaction, stop)
    written, placed = write_prose(text, pictures, 2, evidence.claims, evidence.look, stop)
    return _Report(written, placed, tuple(notices))


def _answers(export: Export, redaction: Redaction, stop: Stop) -> list[str]:
    """The messages of the agent as HTML, in their order."""
    texts = [message.text for query in export.queries for message in query.messages]
    try:
        converted = convert([("markdown", text) for text in texts], "a", stop) if texts else []
    except ConversionFailed:
        converted = [plain_html(text) for text in texts]
    return [write_prose(redaction.text(each), {}, 3)[0] for each in converted]


def _conversation(queries: Sequence[Query], answers: Sequence[str]) -> Iterator[str]:
    left = iter(answers)
    for query in queries:
        by = "Sent by the program" if is_own(query.text) else "Query"
        head = element(
            "h3",
            f"{by} {query.number} <small>{moment(query.at)}{' · undone' if query.undone else ''}</small>",
        )
        yield f'{head}<div class="asked"><p class="plain">{escaped(query.text)}</p></div>'
        for message, text in zip(query.messages, left, strict=False):
            yield _message(message, text)
        yield element("p", _outcome(query), class_="fine")
        if query.error:
            yield element("p", escaped(query.error), class_="error")


def _message(message: Message, text: str) -> str:
    if message.by == "person":
        return f'<div class="asked"><p class="plain">{escaped(message.text)}</p></div>'
    unfinished = '<p class="fine">This message was cut off.</p>' if message.unfinished else ""
    return f'<div class="prose answer">{text}{unfinished}</div>'


def _outcome(query: Query) -> str:
    if not query.status:
        return "This query has no end."
    return facts(
        [
            escaped({"success": "done", "error": "failed"}.get(query.status, query.status)),
            spoken(query.seconds),
            quantity(query.calls, "tool call"),
            quantity(query.tokens, "token") if query.tokens else "",
            money(query.cost_usd),
        ]
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """A table of HTML cells, which is a list of cards on a narrow screen."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escaped(heading)}">{cell}</td>'
            for heading, cell in zip(headings, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table aria-label="{escaped(label)}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _sources(export: Export) -> str:
    rows = []
    for source in export.sources:
        if not source.sha256:
            continue
        title = source.title or source.url or source.path or source.kind
        named = link(source.url, clean_line(title, _LONGEST_TITLE))
        where = escaped(host_of(source.url) or source.path)
        dates = facts(
            [
                f"published {escaped(source.published[:10])}" if source.published else "",
                f"read {source.read_at:%Y-%m-%d}" if source.read_at else "",
            ]
        )
        named = f'{named}<span class="fine">{where}</span>'
        rows.append((named, source.kind.replace("_", " "), dates, _hash(source.sha256)))
    return _table(("Source", "Kind", "Dates", "SHA-256"), rows, "Sources")


def _files(export: Export) -> str:
    rows = [
        (
            f"<code>{escaped(each.path)}</code>",
            escaped(each.kind.replace("_", " ")),
            size(each.size),
            _hash(each.sha256),
        )
        for each in export.artifacts
    ]
    return _table(("File", "Kind", "Size", "SHA-256"), rows, "Saved files")


def _hash(digest: str) -> str:
    return f'<code title="{escaped(digest)}">{escaped(digest[:_SHORT_HASH])}</code>' if digest else ""


def _costs(export: Export) -> str:
    costs = export.costs
    unknown = (
        f"unknown, as there is no price for {', '.join(costs.unpriced)}" if costs.unpriced else "unknown"
    )
    pairs = [
        ("Cost", escaped(money(costs.cost_usd, is_estimated=costs.cost_is_estimated) or unknown)),
        ("Tokens", f"{costs.tokens:,}"),
        ("Time of all queries", spoken(costs.seconds)),
    ]
    rows = [
        (
            escaped(each.model or "unknown"),
            f"{each.usage.input_tokens:,}",
            f"{each.usage.cache_read_input_tokens + each.usage.cache_creation_input_tokens:,}",
            f"{each.usage.output_tokens:,}",
            money(each.cost_usd),
        )
        for each in costs.models
    ]
    headings = ("Model", "Input tokens", "Cached tokens", "Output tokens", "Estimated cost")
    return _pairs(pairs) + _table(headings, rows, "Tokens by model")


def _session(export: Export) -> str:
    session, report = export.session, export.report
    pairs = [
        ("Session", f"<code>{escaped(session.id)}</code>"),
        ("State", session.state),
        ("Started", moment(session.started)),
        ("Ended", moment(session.ended) if session.state in ("finished", "stopped") else ""),
        ("Duration", spoken(session.seconds)),
        ("Model", escaped(session.model)),
        ("Permissions", escaped(session.permission_mode)),
        ("Program", f"ua-tui {escaped(session.version)}" if session.version else ""),
    ]
    if report is not None:
        pairs.append(("Report", f"{escaped(report.path)}, {size(report.size)}"))
        pairs.append(("SHA-256 of the report", f"<code>{escaped(report.sha256)}</code>"))
        pairs.append(("Other reports", escaped(", ".join(report.others))))
    if export.check is not None:
        pairs.append(("Checked", moment(export.check.checked_at)))
    return _pairs(pairs)


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs if value)
    return f'<dl class="pairs">{items}</dl>'
