"""Extracts the readable text of an HTML page.

HTML goes through trafilatura, which finds the article and its metadata. A page it finds nothing in, or that is too
large for it, is converted whole instead. `ua_tui.core.toolkit.sources` does both in a worker process with a time and a
memory limit.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from html import unescape
from typing import Any

from ua_tui.core.errors import FetchRefused
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.article_links import LinkCollector
from ua_tui.core.toolkit.articles import Reference, visible
from ua_tui.core.toolkit.html_text import separate, without_emphasis, without_scripts, write_indices

logger = logging.getLogger(__name__)

# trafilatura takes about 2 s for each million characters, and worse than that for many small elements.
MAX_ARTICLE_HTML = 1_000_000
CHROME_SELECTORS = [
    "nav",
    "footer",
    "header nav",
    "aside",
    "script",
    "style",
    "noscript",
    "template",
    "form",
    "iframe",
]
# trafilatura drops white space between the blocks of some elements, and removes characters without width.
_MARK = "\u241f"
# It would escape an underscore.
_LOW = "\u241e"
# How much of what is found a stricter search has to find, too.
_MOST = 0.7
# How sites call the part of a page that has the text of its article, and the characters from which one counts.
_BODY = re.compile(
    r"(?:article|post|entry|story)[-_]{0,2}(?:body|content|text)|(?<![\w-])body(?![\w-])", re.IGNORECASE
)
_INSIDE_WORD = re.compile(r"(?<=\w)_+(?=\w)")
# How trafilatura's tree calls indices.
_RAISED = {"#sup": "^", "#sub": _LOW}
_SUPERFLUOUS = re.compile(rf"(?:(?<=\s)|(?<=\[)|^){_MARK}|{_MARK}(?=\s|\]|$)", re.MULTILINE)
_HTML = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|strong|em|b|i|a|span|table)\b[^<>]*>", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]{0,200}>(.{1,2000}?)</title\s*>", re.IGNORECASE | re.DOTALL)


class NotReadable(FetchRefused):
    """A page was fetched but has no usable text; `reason` is a word for why."""

    def __init__(self, message: str = "", reason: str = "") -> None:
        super().__init__(message, code="not_readable", reason=reason)


@dataclass(frozen=True)
class Extracted:
    """The readable part of a page: Markdown `text` with its `links` as references, and the metadata of the page."""

    text: str
    title: str | None = None
    author: str | None = None
    site: str | None = None
    date: str | None = None
    links: tuple[Reference, ...] = ()


def extract_html(html: str, url: str) -> Extracted:
    """Find the article in an HTML page; if there is none, the whole page without its navigation.

    `url` resolves relative links. It may take any time and memory: `ua_tui.core.toolkit.sources` limits both.
    """
    html = without_scripts(html)
    if len(html) > MAX_ARTICLE_HTML:
        return convert_page(html, url)
    links = LinkCollector(url)
    try:
        document, text = _article(html, url, links)
    except Exception as error:
        # Parsing hostile markup can fail in many ways; the plain conversion below does not depend on it.
        logger.warning("article extraction failed on %s: %r", clean_line(url), error)
        document, text = None, ""
    if document is None or not text.strip():
        return convert_page(html, url)
    text, references = links.references(visible(_unmarked(text)))
    return Extracted(
        text=text,
        title=_unmarked(document.title) or _title_of(html),
        author=_unmarked(document.author) or None,
        site=_unmarked(document.sitename) or document.hostname,
        date=document.date,
        links=references,
    )


def _article(html: str, url: str, links: LinkCollector) -> tuple[Any, str]:
    """Return the document that trafilatura finds, None if there is none, and its text with marked links."""
    from trafilatura import bare_extraction, load_html
    from trafilatura.xml import xmltotxt

    plain = html.replace(_MARK, "").replace(_LOW, "")
    # The removal of tags joins what stood around them, so the marks of links are removed last.
    tree: Any = load_html(links.unmarked(write_indices(without_emphasis(separate(plain, _MARK)), _LOW)))
    if tree is None:
        return None, ""
    # It would resolve them against the host alone.
    tree.make_links_absolute(url or None, handle_failures="ignore")
    _join_parts(tree)
    find = partial(
        bare_extraction,
        tree,
        url=url,
        # Any other than the default leaves the text to us.
        output_format="markdown",
        include_comments=False,
        include_links=True,
        include_formatting=True,
    )
    document: Any = find(with_metadata=True)
    if document is None:
        return None, ""
    body = document.body
    length = _length(body)
    # Without what seems to be beside the article, unless that is a large part of what was found.
    # Every word of a short page may be the reason why its text is not there.
    strict: Any = find(favor_precision=True, fast=True) if length >= 500 else None
    if strict is not None and _length(strict.body) >= _MOST * length:
        body = strict.body
    _mark(body, links)
    return document, xmltotxt(body, True)


def _length(body: Any) -> int:
    return sum(map(len, body.itertext()))


def _join_parts(tree: Any) -> None:
    """Join the parts of an article that advertisements stand between: trafilatura would find the first one alone."""
    lengths: Counter[Any] = Counter()
    for paragraph in tree.iter("p"):
        part = paragraph.getparent()
        if part is not None and part.tag in ("div", "section") and _BODY.search(part.get("class") or ""):
            lengths[part] += len(paragraph.text_content())
    parts: dict[tuple[Any, ...], list[Any]] = {}
    for part, length in lengths.items():
        if length >= 200:
            article = next(part.iterancestors("article", "main"), None)
            parts.setdefault((article, part.tag, part.get("class")), []).append(part)
    for first, *others in parts.values():
        for other in others:
            if first not in other.iterancestors() and other not in first.iterancestors():
                first.extend(list(other))


def _mark(body: Any, links: LinkCollector) -> None:
    """Write marks for what trafilatura would write differently.

    These are links, raised and lowered text, and underscores inside words, which it would escape.
    """
    for element in body.iter():
        element.text = _INSIDE_WORD.sub(_lowered, element.text) if element.text else element.text
        element.tail = _INSIDE_WORD.sub(_lowered, element.tail) if element.tail else element.tail
    for element in body.iter("hi"):
        mark = _RAISED.get(element.get("rend"))
        if mark is not None:
            is_index = "".join(element.itertext()).strip()[:1].isalnum()
            element.text = f"{mark if is_index else ''}{element.text or ''}"
            element.attrib.clear()
    for element in body.iter("ref"):
        target = links.mark(element.get("target"))
        if target is None:
            element.tag = "hi"
            element.attrib.clear()
        else:
            element.set("target", target)


def _lowered(lines: re.Match[str]) -> str:
    return _LOW * len(lines[0])


def _unmarked(text: str | None) -> str:
    """Return a text with what the marks stand for; one for a space is removed beside white space."""
    return _SUPERFLUOUS.sub("", text or "").replace(_MARK, " ").replace(_LOW, "_")


def convert_page(html: str, url: str) -> Extracted:
    """Convert a whole HTML page to Markdown, without its navigation."""
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        base_url=url,
        exclude_selectors=CHROME_SELECTORS,
    )
    links = LinkCollector(url)
    visitor: Any = _Visitor(links)
    try:
        plain = links.unmarked(write_indices(without_emphasis(separate(html))))
        text = convert(plain, options, visitor=visitor).content or ""
    except Exception as error:
        raise NotReadable("the page could not be read as HTML") from error
    text, references = links.references(visible(text))
    return Extracted(text=text, title=_title_of(html), links=references)


def to_markdown(text: str) -> str:
    """Return a text of data as Markdown: HTML in it is converted."""
    if not _HTML.search(text):
        return text.strip()
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(extract_metadata=False, skip_images=True)
    return (convert(text, options).content or "").strip()


class _Visitor:
    """Marks the links that html_to_markdown converts."""

    def __init__(self, links: LinkCollector) -> None:
        self._links = links

    def visit_link(self, _context: object, href: str, text: str, _title: str) -> dict[str, str]:
        mark = self._links.mark(href)
        return {"type": "custom", "output": f"[{text}]({mark})" if mark and text.strip() else text}


def _title_of(html: str) -> str | None:
    found = _TITLE.search(html[:200_000])
    return " ".join(unescape(found[1]).split()) or None if found else None
