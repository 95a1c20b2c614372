"""HTML as readable text with headings, lists, tables and links; nothing is loaded and nothing is run."""

from __future__ import annotations

import re

from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.tui.viewers.bodies.markdown import RENDERED_CHARACTERS, MarkdownBody
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.bodies.text import TextBody, style_code
from ua_tui.tui.viewers.contract import Sample, View, Viewer
from ua_tui.tui.viewers.safe_html import convert_to_markdown, title_of

_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{0,300})\]\((https?://[^\s()<>]{1,2000})\)")
_HTML_START = re.compile(rb"\A\s*(?:<!doctype html|<html[\s>])", re.IGNORECASE)


def _view(sample: Sample) -> View:
    raw = TextBody(sample.text, style=style_code(sample.text, "html"), numbers=True)
    if not sample.data.strip():
        return View("HTML", raw, notice="This file is empty.")
    title = title_of(sample.text)
    try:
        source = convert_to_markdown(sample.text)
    except ConversionFailed as error:
        notice = f"Too complex to preview ({error}); shown as source. Press o to open it in the browser."
        return View("HTML", raw, None, notice=notice, title=title)
    if len(source) > RENDERED_CHARACTERS:
        return View("HTML", raw, notice="Too long to render; shown as source.", title=title)
    if not source:
        return View("HTML", raw, notice="This page has no text; shown as source.", title=title)
    return View("HTML", raw, PageBody(MarkdownBody(source + _addresses(source))), title=title)


def _addresses(source: str) -> str:
    """Return a list of the addresses behind link texts, as a terminal does not show them."""
    found: dict[str, str] = {}
    for text, url in _LINK.findall(source):
        if text.strip() != url:
            found.setdefault(url, text.strip())
        if len(found) >= 200:
            break
    if not found:
        return ""
    lines = [f"{number}. {text or 'link'}: <{url}>" for number, (url, text) in enumerate(found.items(), 1)]
    return "\n\n---\n\n**Links on this page**\n\n" + "\n".join(lines) + "\n"


VIEWER = Viewer(
    "HTML",
    lambda sample: (
        sample.suffix in {".html", ".htm", ".xhtml"}
        or (not sample.suffix and _HTML_START.match(sample.data[:256]) is not None)
    ),
    _view,
)
