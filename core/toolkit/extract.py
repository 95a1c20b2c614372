"""Extracts the readable text of an HTML page.

HTML goes through trafilatura, which finds the article and its metadata. A page it finds nothing in, or that is too
large for it, is converted whole instead. `ua_tui.core.toolkit.sources` does both in a worker process with a time and a
memory limit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from functools import partial
from html import unescape
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import FetchRefused
from ua_tui.core.log import log
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.text import clean_line, is_unsafe
from ua_tui.core.toolkit.articles import Reference, visible
from ua_tui.core.toolkit.html_text import (
    BLOCKS,
    HTML,
    drop_hidden,
    parsed,
    separate,
    without_emphasis,
    without_scripts,
    write_indices,
)

# trafilatura takes about a second for each million characters, and more than that for many small elements.
MAX_ARTICLE_HTML = 4_000_000
# trafilatura drops white space between the blocks of some elements, and removes characters without width.
_MARK = "\u241f"
# It would escape an underscore.
_LOW = "\u241e"
# How many of the blocks that are found a stricter search has to find, so that the text ends where that ends.
_MOST = 0.3
_IN_A_ROW = 4
# How sites call the part of a page that has the text of its article.
_BODY = re.compile(
    r"(?:article|post|entry|story)[-_]{0,2}(?:body|content|text)|(?<![\w-])body(?![\w-])", re.IGNORECASE
)
# How they call the introduction above it, and what else stands there.
_LEAD = re.compile(
    r"lead|teaser|intro|sub-?(?:head|title|line)|abstract|summary|chapo|standfirst|preface|(?<![a-z])dek|description"
    r"|excerpt",
    re.IGNORECASE,
)
_NO_LEAD = re.compile(r"caption|byline|author|date|share|comment", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# What leads to another article: "Read more: " and its title.
_POINTS = re.compile(r"\s*[^\n]{2,40}:\s*")
_INSIDE_WORD = re.compile(r"(?<=\w)_+")
_BLANKS = re.compile(r"[ \t\r\n\f]+")
# How trafilatura's tree calls indices.
_RAISED = {"#sup": "^", "#sub": _LOW}
_SUPERFLUOUS = re.compile(rf"(?:(?<=\s)|(?<=\[)|^){_MARK}|{_MARK}(?=\s|\]|$)", re.MULTILINE)
_HTML = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|strong|em|b|i|a|span|table)\b[^<>]*>", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]{0,200}>(.{1,2000}?)</title\s*>", re.IGNORECASE | re.DOTALL)


class NotReadable(FetchRefused):
    """A page was fetched but has no usable text; `reason` is a word for why."""

    def __init__(self, message: str = "", reason: str = "") -> None:
        super().__init__(message, code="not_readable", reason=reason)


class Extracted(msgspec.Struct, frozen=True):
    """The readable part of a page: Markdown `text` with its `links` as references, and the metadata of the page.

    `partial` is why the text is only the beginning of it (`paywall`); empty if it is all.
    """

    text: str
    title: str | None = None
    author: str | None = None
    site: str | None = None
    date: str | None = None
    links: tuple[Reference, ...] = ()
    partial: str = ""


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
        log.warning("article extraction failed on %s: %r", clean_line(url), error)
        document, text = None, ""
    if document is None:
        return convert_page(html, url)
    if text.strip():
        text, references = links.references(visible(_unmarked(text)))
    else:
        whole = convert_page(html, url)
        text, references = whole.text, whole.links
    return Extracted(
        text=text,
        title=_unmarked(document.title) or _title_of(html),
        author=_unmarked(document.author) or None,
        site=_unmarked(document.sitename) or document.hostname,
        date=_stated_day(document.date, f"{url} {html}"),
        links=references,
    )


def _article(html: str, url: str, links: LinkCollector) -> tuple[Any, str]:
    """Return the document that trafilatura finds, None if there is none, and its text with marked links.

    The text is empty if it has lost its tables.
    """
    from trafilatura import bare_extraction, load_html
    from trafilatura.xml import xmltotxt

    plain = html.replace(_MARK, "").replace(_LOW, "")
    # The removal of tags joins what stood around them, so the marks of links are removed last.
    tree: Any = load_html(links.unmarked(write_indices(without_emphasis(separate(plain, _MARK)), _LOW)))
    if tree is None:
        return None, ""
    # It would resolve them against the host alone.
    tree.make_links_absolute(url or None, handle_failures="ignore")
    _prepare(tree)
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
    if _is_flat(body, tree):
        return document, ""
    # Every word of a short page may be the reason why its text is not there.
    if sum(map(len, body.itertext())) >= 500:
        strict: Any = find(favor_precision=True)
        if strict is not None and len(strict.body) >= _MOST * len(body):
            _end(body, _runs(strict.body).keys())
        # The first heading, if it is the title, which an article has beside its text.
        first = next(body.iterchildren("head"), None)
        words = _WORD.findall(document.title or "")
        if first is not None and words and _WORD.findall(" ".join(first.itertext())) == words:
            block = body.makeelement("p")
            block.text = first.tail
            body.replace(first, block)
        _drop_pointers(body)
        _add_lead(body, tree)
    _mark(body, links)
    return document, xmltotxt(body, True)


def _is_flat(body: Any, tree: Any) -> bool:
    """Whether a table or the like was written into one paragraph, as trafilatura's last resort does.

    A single word may stand in a paragraph and in a table, too.
    """
    if len(body) != 1 or len(body[0]):
        return False
    text = f" {' '.join(_WORD.findall(body[0].text or ''))} "
    parts = (" ".join(_WORD.findall(part.text_content())) for part in tree.iter("tr", "dl", "pre"))
    return any(" " in part and f" {part} " in text for part in parts)


def _prepare(tree: Any) -> None:
    """Remove what is hidden, and write as text what trafilatura would drop or break: captions, formulas and others."""
    from lxml import etree  # type: ignore[import-untyped]  # ships no types

    drop_hidden(tree)
    for caption in [*tree.iter("figcaption")]:
        caption.tag = "p"
        caption.attrib.clear()
        for figure in caption.iterancestors("figure"):
            figure.tag = "div"
    for caption in [*tree.iter("caption")]:
        table = next(caption.iterancestors("table"), None)
        if table is not None and table.getparent() is not None:
            caption.drop_tree()
            caption.tag, caption.tail = "p", None
            table.addprevious(caption)
    for quotation in [*tree.iter("q")]:
        quotation.addprevious(quotation.makeelement("span"))
        quotation.getprevious().tail = "\u201c"
        quotation.tail = f"\u201d{quotation.tail or ''}"
        quotation.drop_tag()
    for block in [*tree.iter("pre")]:
        if block.find(".//code") is None:
            code = block.makeelement("code")
            for end in block.iter("br"):
                end.tail = f"\n{end.tail or ''}"
            code.text = block.text_content()
            block[:], block.text = [code], None
    _write_dates(tree)
    for formula in [*tree.iter("math")]:
        # It writes the source of a formula in LaTeX if there is one.
        if formula.find(".//annotation") is None and not formula.get("alttext"):
            tail, formula.tail = formula.tail, None
            text = to_markdown(f"<p>{etree.tostring(formula, encoding='unicode')}</p>")
            formula.clear()
            formula.tag, formula.text, formula.tail = "span", text, tail
            # Elements that a script defines, which it does not know.
            for around in [*formula.iterancestors()]:
                if "-" not in around.tag:
                    break
                around.drop_tag()


def _write_dates(tree: Any) -> None:
    """Write dates inside a text as text; a paragraph is read once, however many it has."""
    words: dict[Any, list[str]] = {}
    for moment in [*tree.iter("time")]:
        # The element itself stays for the date of the page; alone in a paragraph it is the date of the page.
        around = next(moment.iterancestors("p", "li", "td", "th", "dd"), None)
        text = moment.text_content()
        if around is not None and around not in words:
            words[around] = _WORD.findall(around.text_content())
        if around is not None and (around.tag[0] == "t" or words[around] != _WORD.findall(text)):
            shown = moment.makeelement("span")
            shown.text = text
            moment.addprevious(shown)


def _runs(element: Any) -> Counter[tuple[str, ...]]:
    """The words in a row of a block, and of the text behind it, with their number."""
    words = _WORD.findall(" ".join([*element.itertext(), element.tail or ""]))
    return Counter(tuple(words[at : at + _IN_A_ROW]) for at in range(len(words) - _IN_A_ROW + 1))


def _end(body: Any, known: Set[tuple[str, ...]]) -> None:
    """Remove what stands after the last block of which much is known."""
    after: list[Any] = []
    for block in reversed(body):
        runs = _runs(block)
        if sum(number for run, number in runs.items() if run in known) > 0.3 * runs.total():
            break
        after.append(block)
    if len(after) < len(body):
        for block in after:
            body.remove(block)


def _drop_pointers(body: Any) -> None:
    """Remove the blocks between others that only lead to another article."""
    for block in [*body]:
        if block.tag in ("p", "head") and len(block) == 1 and block[0].tag == "ref":
            title = "".join(block[0].itertext())
            is_title = len(title) <= 200 and len(title.split()) >= _IN_A_ROW
            if is_title and _POINTS.fullmatch(block.text or "") and not _WORD.search(block[0].tail or ""):
                body.remove(block)


def _add_lead(body: Any, tree: Any) -> None:
    """Put the introduction of an article before its text: what the page calls so between its heading and the text."""
    text = " ".join(_WORD.findall(" ".join(body.itertext())))
    found: dict[str, None] = {}
    has_heading = False
    for element in islice(tree.iter("h1", "h2", "h3", "p", "div"), 10_000):
        if element.tag == "h1":
            has_heading = True
            found.clear()
        elif next(element.iterdescendants(*BLOCKS), None) is None:
            lead = " ".join(element.text_content().split())
            if len(lead) < 80:
                continue
            if " ".join(_WORD.findall(lead)[:10]) in text:
                break
            if _is_lead(element):
                found[lead] = None
    else:
        return
    for lead in [*found][:-3:-1] if has_heading else []:
        block = body.makeelement("p")
        block.text = lead
        body.insert(0, block)


def _is_lead(element: Any) -> bool:
    around = [element, *islice(element.iterancestors(), 3)]
    names = " ".join(f"{each.get('class') or ''} {each.get('id') or ''}" for each in around[:3])
    linked = sum(len(link.text_content()) for link in element.iter("a"))
    return (
        _LEAD.search(names) is not None
        and _NO_LEAD.search(names) is None
        and linked * 2 < len(element.text_content())
        and next(element.iterancestors(*HTML["beside"]), None) is None
    )


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

    These are links, raised and lowered text, underscores inside words, which it would escape, and the white space of
    the source.
    """
    for element in body.iter():
        if next(element.iterancestors("code"), None) is None:
            element.text = _written(element.text) if element.tag != "code" else element.text
            element.tail = _written(element.tail)
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


def _written(text: str | None) -> str | None:
    return _BLANKS.sub(" ", _INSIDE_WORD.sub(lambda lines: _LOW * len(lines[0]), text)) if text else text


def _unmarked(text: str | None) -> str:
    """Return a text with what the marks stand for; one for a space is removed beside white space."""
    return _SUPERFLUOUS.sub("", text or "").replace(_MARK, " ").replace(_LOW, "_")


def _stated_day(date: str | None, page: str) -> str | None:
    """Return a date, None if it is the first day of a month of which the page only names the month or the year."""
    if date is None or not date.endswith("-01"):
        return date
    year, month, _ = date.split("-")
    named = rf"(?:0?{int(month)}|[^\W\d]{{3,12}}\.?)"
    between = r"[-/.,\s年月]{1,2}(?:de\s)?"
    forms = (
        rf"{year}{between}{named}{between}0?1(?!\d)",
        rf"(?<!\d)0?1(?:st|er|º)?{between}{named}{between}{year}",
        rf"{named}{between}0?1(?:st)?{between}{year}",
        f"{year}{month}01",
    )
    return date if re.search("|".join(forms), page) else None


def convert_page(html: str, url: str) -> Extracted:
    """Convert a whole HTML page to Markdown, without its navigation."""
    from html_to_markdown import ConversionOptions, convert
    from lxml import html as lxml_html

    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        compact_tables=True,
        base_url=url,
        exclude_selectors=HTML["chrome"],
    )
    title, links = _title_of(html), LinkCollector(url)
    visitor: Any = _Visitor(links)
    try:
        tree = parsed(html)
        if tree is not None and drop_hidden(tree):
            html = lxml_html.tostring(tree, encoding="unicode")
        plain = links.unmarked(write_indices(without_emphasis(separate(html))))
        text = convert(plain, options, visitor=visitor).content or ""
    except Exception as error:
        raise NotReadable("the page could not be read as HTML") from error
    text, references = links.references(visible(text))
    return Extracted(text=text, title=title, links=references)


def to_markdown(text: str) -> str:
    """Return a text of data as Markdown: HTML in it is converted."""
    if not _HTML.search(text):
        return text.strip()
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(extract_metadata=False, skip_images=True)
    return (convert(text, options).content or "").strip()


class _Visitor(msgspec.Struct, eq=False):
    """Marks the links that html_to_markdown converts."""

    links: LinkCollector

    def visit_link(self, _context: object, href: str, text: str, _title: str) -> dict[str, str]:
        mark = self.links.mark(href)
        return {"type": "custom", "output": f"[{text}]({mark})" if mark and text.strip() else text}


def _title_of(html: str) -> str | None:
    found = _TITLE.search(html[:200_000])
    return " ".join(unescape(found[1]).split()) or None if found else None


MAX_LINKS = 500
"""Further links become plain text."""
# Stands for an address while a text is made. Converters neither escape nor split it.
_LINK_MARK = "\u241d"
_MARKED = re.compile(rf"(?:\[((?:[^\[\]\\\n]|\\.)*))?\]\({_LINK_MARK}([0-9]{{1,4}})\)")
_FORGED = re.compile(rf"{_LINK_MARK}|&#(?:x0*241d|0*9245)(?![0-9a-f]);?", re.IGNORECASE)
_ENCODED = str.maketrans({" ": "%20", "<": "%3C", ">": "%3E"})
# Digits are our own labels; a box to tick and a note have a form of their own.
_NO_LABEL = re.compile(r"[0-9]+|[xX]|\^.*|.*[\\`].*")
# What would make another construct of the brackets before it.
_CHANGES_LINK = frozenset("([:")


class LinkCollector:
    """Collects the links of one page: `mark` before its text is made, `references` afterwards."""

    def __init__(self, page: str) -> None:
        self._page = canonical_url(page)
        self._numbers: dict[str, int] = {}

    @staticmethod
    def unmarked(html: str) -> str:
        """Return HTML without the character that marks links, so that no page can forge one."""
        return _FORGED.sub("\ufffd", html)

    def mark(self, address: str | None) -> str | None:
        """Return what to write instead of an address; None for a link that leads to no other page."""
        url = _web_address(address or "")
        if url is None or canonical_url(url) == self._page:
            return None
        if url not in self._numbers and len(self._numbers) == MAX_LINKS:
            return None
        return f"{_LINK_MARK}{self._numbers.setdefault(url, len(self._numbers))}"

    def references(self, text: str) -> tuple[str, tuple[Reference, ...]]:
        """Return a text with its links as references, and these in the order of the text."""
        urls = list(self._numbers)
        found: dict[str, Reference] = {}
        numbers: dict[str, str] = {}

        def write(match: re.Match[str]) -> str:
            words, number = match[1], int(match[2])
            if number >= len(urls):
                return match[0]
            url = urls[number]
            if (
                words
                and _is_label(words, text[match.end() : match.end() + 1])
                and found.setdefault(" ".join(words.split()).lower().upper(), Reference(words, url)).url
                == url
            ):
                return f"[{words}]"
            label = numbers.setdefault(url, str(len(numbers) + 1))
            found.setdefault(label, Reference(label, url))
            return f"[{words}][{label}]" if words is not None else f"][{label}]"

        return _MARKED.sub(write, text), tuple(found.values())


def _is_label(words: str, following: str) -> bool:
    if len(words) > 200 or words != words.strip() or following in _CHANGES_LINK:
        return False
    return _NO_LABEL.fullmatch(words) is None


def _web_address(address: str) -> str | None:
    """Return an address that may stand in an article; None if it is not a web address."""
    url = address.strip().translate(_ENCODED)
    if len(url) > 1_000 or "\\" in url or not url.isprintable() or is_unsafe(url):
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises an error for an invalid port
    except ValueError:
        return None
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    return url if is_web else None
