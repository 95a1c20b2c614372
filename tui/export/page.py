"""Writes an export as one HTML page that loads nothing, runs nothing, and needs nothing beside it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.media_types import HEAD_SIZE, media_suffix
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.text import clean_line
from ua_tui.tui.export.convert import PICTURE, convert, plain_html
from ua_tui.tui.export.evidence import Evidence
from ua_tui.tui.export.prose import write_prose
from ua_tui.tui.export.records import PAGE_MARK, Call, Export, Query, ReportText
from ua_tui.tui.export.redaction import Redaction
from ua_tui.tui.export.templates import template

_SCALE = 1_000
"""The width of the scale of a waterfall in the units of its drawing."""

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


class _Report(NamedTuple):
    """The report as HTML, the claims that were found in it, and sentences about what is missing."""

    html: str = ""
    placed: frozenset[int] = frozenset()
    notices: Sequence[str] = ()


def html_page(export: Export, root: Root, redaction: Redaction) -> str:
    """Write the page; pictures of the report are read from `root`, the session's folder. Takes a thread a while.

    Raises:
        Stopped: the result is no longer needed.
    """
    evidence = Evidence(export)
    report = _report(export, evidence, root, redaction)
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    return template("page.html.jinja").render(
        export=export,
        evidence=evidence,
        report=report,
        next_answer=iter(_answers(export, redaction)).__next__,
        notices=dict.fromkeys((*evidence.notices, *report.notices)),
        title=title_of_export(export),
        waterfalls=list(_waterfalls(export)),
        style=style,
        mark=PAGE_MARK,
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def title_of_export(export: Export) -> str:
    """The title of the report, or that of the session, on one line."""
    title = export.report.title if export.report is not None else ""
    return clean_line(title or export.session.title or export.session.id, 200)


def _waterfalls(export: Export) -> Iterator[tuple[Query | None, float, Sequence[tuple[Call, float, float]]]]:
    """The calls of each query on a scale of their own, which ends at so many seconds, with the place of each bar."""
    queries = {query.number: query for query in export.queries}
    calls: dict[int, list[Call]] = defaultdict(list)
    for call in export.calls:
        calls[call.query].append(call)
    for number, group in calls.items():
        query = queries.get(number)
        whole = max([call.offset + call.seconds for call in group] + ([query.seconds] if query else []))
        yield query, whole, [(call, *_bar(call, whole or 1.0)) for call in group]


def _bar(call: Call, whole: float) -> tuple[float, float]:
    """Where the bar of a call begins, and how wide it is."""
    start = min(call.offset / whole, 1.0) * _SCALE
    width = max(min(call.seconds / whole * _SCALE, _SCALE - start), 4.0)
    return min(start, _SCALE - width), width


def report_html(
    report: ReportText, root: Root, redaction: Redaction
) -> tuple[str, dict[str, str], list[str]]:
    """Convert a report into sanitised HTML; with the data of its pictures, and sentences about what is missing.

    Raises:
        Stopped: the result is no longer needed.
    """
    notices: list[str] = []
    try:
        (text,) = convert([(report.format, report.source)], "r")
    except ConversionFailed as error:
        notices.append(f"The report is shown as its source, as it is too complex to be made safe: {error}.")
        text = plain_html(report.source)
    # A secret may have been in pieces, or written with entities, before.
    text = redaction.text(text)
    pictures, left_out = embedded_pictures(text, report.path, root, redaction.redactor)
    if left_out:
        notices.append(
            f"Not included: {quantity(left_out, 'picture')} of the report, not from the session or too large."
        )
    return text, pictures, notices


def _report(export: Export, evidence: Evidence, root: Root, redaction: Redaction) -> _Report:
    if export.report is None:
        return _Report()
    text, pictures, notices = report_html(export.report, root, redaction)
    written, placed = write_prose(text, pictures, 2, evidence.claims, evidence.look)
    return _Report(written, placed, notices)


def _answers(export: Export, redaction: Redaction) -> list[str]:
    """The messages of the agent as HTML, in their order."""
    texts = [message.text for query in export.queries for message in query.messages]
    try:
        converted = convert([("markdown", text) for text in texts], "a") if texts else []
    except ConversionFailed:
        converted = [plain_html(text) for text in texts]
    return [write_prose(redaction.text(each), {}, 3)[0] for each in converted]
