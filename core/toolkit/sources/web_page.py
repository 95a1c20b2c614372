"""Reads a fetched web page: its article, the text of its data, or why it has none; runs in a worker process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec.structs import replace

from ua_tui.core.json_values import JsonMapping, list_in, table_of, text_in, value_in, values_within
from ua_tui.core.toolkit.articles import count_words, day_in
from ua_tui.core.toolkit.extract import Extracted, convert_page, extract_html, to_markdown
from ua_tui.core.toolkit.html_text import HTML, parsed
from ua_tui.core.toolkit.sources.feed import json_feed, xml_feed

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_MOST_LINES = 1_000
# The characters from which a text of the state of a page may be one of its sentences.
_SENTENCE = 60
# How Next.js sends the state of a page, piece by piece, and the texts in it.
_PUSHED = re.compile(r"self\.__next_f\.push\((\[.*\])\)", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.){60,}"')


def text_in_data(tree: Any, fewest: int, *names: str) -> Extracted | None:
    """Return the longest text with one of these names about a page in its data, if it has at least `fewest` words.

    `tree` is the page as lxml parsed it.
    """
    best: Extracted | None = None
    for found in _about_the_page(tree):
        text = to_markdown(next(filter(None, (text_in(found, name) for name in names)), ""))
        if text and (best is None or len(text) > len(best.text)):
            best = _with_properties(text, found)
    return best if best is not None and count_words(best.text) >= fewest else None


def recipe_in_data(tree: Any) -> list[tuple[str, list[str]]]:
    """Return the ingredients and the steps of a recipe, each with its heading."""
    for found in _about_the_page(tree):
        parts = (
            ("Ingredients", [*_texts(found.get("recipeIngredient"))]),
            ("Instructions", [*_texts(found.get("recipeInstructions"))]),
        )
        if any(lines for _, lines in parts):
            return [(heading, lines[:_MOST_LINES]) for heading, lines in parts if lines]
    return []


def _texts(value: Any, depth: int = 4) -> Iterator[str]:
    """The texts of a list of texts, steps, and sections with steps."""
    match value:
        case str():
            yield from (line for each in to_markdown(value).splitlines() if (line := each.strip(" -*")))
        case [*items] if depth:
            for item in items:
                yield from _texts(item, depth - 1)
        case {"text": str(text)}:
            yield from _texts(text)
        case {"itemListElement": items} if depth:
            yield from _texts(items, depth - 1)


def text_of_state(tree: Any, fewest: int) -> Extracted | None:
    """Return the sentences in the data from which the scripts of a page write it, if they have `fewest` words."""
    parts: list[str] = []
    values: list[Any] = []
    for script in tree.iter("script"):
        source = (script.text or "").strip()
        if (pushed := _PUSHED.match(source)) is not None:
            # The pieces of one text, which are cut anywhere.
            parts += [each for each in list_in(_decoded(pushed[1])) if isinstance(each, str)]
        elif _type_of(script) == "application/json":
            values.append(_decoded(source))
    values += map(_decoded, _QUOTED.findall("".join(parts)))
    said = chain.from_iterable(islice(_sentences(each), _MOST_LINES) for each in values)
    text = "\n\n".join(dict.fromkeys(map(to_markdown, said)))
    return Extracted(text) if count_words(text) >= fewest else None


def _sentences(value: Any) -> Iterator[str]:
    """The texts in a value that have words, in their order."""
    texts = (each for each in values_within(value) if len(text_in(each)) >= _SENTENCE)
    return (each for each in texts if len(each.split()) * 12 > len(each))


def _type_of(script: Any) -> str:
    return (script.get("type") or "").partition(";")[0].strip().lower()


def _about_the_page(tree: Any) -> Iterator[JsonMapping]:
    """The objects in a page's data that say what it is about, in the order of the document."""
    for script in tree.iter("script"):
        if _type_of(script) == "application/ld+json":
            for found in values_within(_decoded((script.text or "").strip())):
                kinds = value_in(found, "@type")
                if any(
                    text_in(kind).endswith(tuple(HTML["about_the_page"]))
                    for kind in list_in(kinds) or [kinds]
                ):
                    yield found


def _decoded(source: str) -> Any:
    """The value at the beginning of a text; None if there is none."""
    source = source.removeprefix("<!--").removeprefix("//<![CDATA[").removeprefix("<![CDATA[").lstrip()
    try:
        # It need not end there: a statement may follow.
        return json.JSONDecoder(strict=False).raw_decode(source)[0]
    except (ValueError, RecursionError):
        return None


def _with_properties(text: str, found: JsonMapping) -> Extracted:
    title = next(filter(str.strip, (text_in(found, name) for name in ("headline", "name"))), None)
    date = day_in(str(found.get("datePublished"))) or day_in(str(found.get("datePosted")))
    return Extracted(text, title, _named(found.get("author")), _named(found.get("publisher")), date)


def _named(value: Any) -> str | None:
    match value:
        case str():
            return value.strip() or None
        case {"name": str(name)}:
            return name.strip() or None
        case [first, *rest]:
            names = [_named(each) for each in (first, *rest[:9])]
            return "; ".join(filter(None, names)) or None
        case _:
            return None


# Longer pages are articles, whatever they mention.
_MOST_WORDS = 60
_CONSENT_HOSTS = ("consent.", "guce.", "cmp.", "myprivacy.", "privacywall.")


def obstacle(tree: Any, html: str, text: str, url: str) -> str | None:
    """Return why the readable text of a page is only `text`, as the name of an advice; None if it may be all."""
    words = count_words(text)
    if words > 200:
        return None
    head = html[:400_000]
    title = " ".join(" ".join(tree.xpath("//title//text()"))[:500].split())
    if _is_bot_check(title, head, text, words):
        return "bot_check"
    if words > _MOST_WORDS:
        return None
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    if host.startswith(_CONSENT_HOSTS) or _found("consent", title):
        return "consent"
    has_password = bool(tree.xpath("//input[translate(@type, 'PASWORD', 'pasword') = 'password']"))
    if has_password and _found("login", title):
        return "login"
    headings = [" ".join(each.text_content().split()) for each in tree.xpath("//h1 | //h2")[:3]]
    if any(_found("not_found", each) for each in (title, *headings)):
        return "not_found"
    # A text with a login or a banner beside it, and the beginning of an article before its paywall, are longer.
    if words > 30:
        return None
    if has_password and (not words or _found("login", text)):
        return "login"
    if (_found("not_free", html) or _found("paywall", head)) and (not words or _found("subscribe", text)):
        return "paywall"
    if "cookie" in text.lower() and any(_found("consent", each) for each in (text, *headings)):
        return "consent"
    if _found("needs_scripts", text):
        return "javascript"
    if words:
        return None
    if _found("login", title):
        return "login"
    is_script_page = (
        bool(tree.xpath("//script")) or "javascript" in " ".join(tree.xpath("//noscript//text()")).lower()
    )
    return "javascript" if is_script_page else "empty"


def is_cut_off(tree: Any, html: str) -> bool:
    """Whether a page with a short text says that the rest of it is for subscribers."""
    return _found("not_free", html) and _found("subscribe", tree.text_content())


def _is_bot_check(title: str, head: str, text: str, words: int) -> bool:
    is_named, is_marked = _found("bot_titles", title), _found("bot_marks", head)
    if is_named and (is_marked or words <= _MOST_WORDS):
        return True
    asks = words <= _MOST_WORDS and _found("are_you_human", f"{title} {text}")
    return (is_marked and words <= 10) or (asks and _found("captchas", head))


def _found(kind: str, text: str) -> bool:
    return _patterns()[kind].search(text) is not None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    data = table_of(__file__, "obstacles.toml")
    data["bot_titles"] = [rf"^\W*(?:{'|'.join(data['bot_titles'])})\b"]
    return {kind: re.compile("|".join(each), re.IGNORECASE) for kind, each in data.items()}


# Below so many words, a text of linked data is better if it has twice as many.
_THIN = 50
# A longer text of a page for subscribers is all of it.
_SHORT = 300
# So few words are no text.
_EMPTY = 20
_WORD = re.compile(r"\w+")
_REFRESH = re.compile(r"\s*\d{0,2}(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*[\"']?([^\"']{1,2000})", re.IGNORECASE)
_LANGUAGE = re.compile(rb"<html[^<>]{0,300}?\slang\s*=\s*[\"']?([A-Za-z]{2})", re.IGNORECASE)
_HIDDEN = re.compile(rb"<(?:script|style)\b", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]{0,2000}>")
_SAMPLE = 64 << 10
_METADATA = ("title", "author", "site", "date")
# Of a Markdown file, which may begin with a table of YAML.
_HEADING = re.compile(r"\s*(?:---\n(?:.{0,500}\n){0,50}?---[ \t]*\n\s*)?#[ \t]+(\S.*)")
_NESTED = re.compile(r"<(/?)(?:div|span|section|article|table|ul|ol|li|blockquote|font|b)\b", re.IGNORECASE)


class WebDocument(msgspec.Struct, frozen=True):
    """What the worker process gets: the bytes of a page, their encoding (empty if unknown), and its address.

    `kind` is html, xml, json or text. Of a `whole` page all is converted, because extraction takes too long.
    """

    body: bytes
    encoding: str
    url: str
    kind: str = "html"
    may_be_feed: bool = False
    whole: bool = False

    @property
    def text(self) -> str:
        """The decoded text."""
        return self.body.decode(self.encoding or guess_encoding(self.body), "replace")


class ReadPage(msgspec.Struct, frozen=True):
    """What was found in a page: its article, a reason for a missing text, the address that it only leads to."""

    article: Extracted
    obstacle: str | None = None
    leads_to: str | None = None


def read_in_child(_: TaskContext, argument: Any) -> Any:
    """Read a `WebDocument` in the worker process; returns a `ReadPage`."""
    document = msgspec.convert(argument, WebDocument)
    return msgspec.to_builtins(read_document(document))


def read_document(document: WebDocument) -> ReadPage:
    """Read a document as a feed if it is one, otherwise by its kind."""
    text = document.text
    if document.whole:
        return ReadPage(convert_page(text, document.url))
    if document.may_be_feed:
        feed = (json_feed if document.kind == "json" else xml_feed)(text, document.url)
        if feed is not None:
            return ReadPage(feed)
    if document.kind == "html":
        return read_html(text, document.url)
    return ReadPage(read_text(text, document.kind))


def read_text(text: str, kind: str) -> Extracted:
    """Return a text with its first heading as the title; xml and json become a block of code.

    It takes linear time, so no worker process is needed.
    """
    if kind == "text":
        heading = _HEADING.match(text)
        return Extracted(text, title=heading and heading[1])
    return Extracted(f"```{kind}\n{text.strip()}\n```" if text.strip() else "")


def read_html(html: str, url: str) -> ReadPage:
    """Find the article of an HTML page; if it has hardly any text, that of its data or a reason for it."""
    article = extract_html(html, url)
    words = count_words(article.text)
    if words > _SHORT and "recipeIngredient" not in html:
        return ReadPage(article)
    tree = parsed(html)
    if tree is None:
        return ReadPage(article, None if words else "empty")
    article = _with_recipe(article, tree)
    words = count_words(article.text)
    reason = obstacle(tree, html, article.text, url)
    if words >= _THIN or reason in {"bot_check", "consent", "login", "not_found"}:
        is_partial = reason is None and words <= _SHORT and is_cut_off(tree, html)
        return ReadPage(replace(article, partial="paywall") if is_partial else article, reason)
    is_empty = words < _EMPTY
    fewest = max(2 * words, _EMPTY // 2)
    found = text_in_data(tree, fewest, "articleBody", "text")
    if found is None and is_empty:
        found = text_in_data(tree, fewest, "description")
    if found is None and reason == "javascript":
        found = text_of_state(tree, _THIN)
    if found is not None:
        # Below those paragraphs of the page that the data does not have.
        known = _words(found.text)
        missing = [part for part in article.text.strip().split("\n\n") if _words(part) not in known]
        if missing:
            found = replace(found, text="\n\n".join([*missing, found.text]), links=article.links)
        known_of = {name: getattr(found, name) or getattr(article, name) for name in _METADATA}
        return ReadPage(replace(found, **known_of))
    if reason is None and is_cut_off(tree, html):
        article = replace(article, partial="paywall")
    if not words and _is_deep(html):
        reason = "too_complex"
    return ReadPage(article, reason, _refreshed(tree, url) if is_empty else None)


def _with_recipe(article: Extracted, tree: Any) -> Extracted:
    """Add the ingredients and the steps of a recipe that its text lacks."""
    words = _words(article.text)
    parts = [article.text.strip()]
    for heading, lines in recipe_in_data(tree):
        missing = [line for line in lines if _words(line) not in words]
        if len(missing) * 2 > len(lines):
            marks = (
                ("-",) * len(lines)
                if heading == "Ingredients"
                else (f"{at + 1}." for at in range(len(lines)))
            )
            items = "\n".join(f"{mark} {line}" for mark, line in zip(marks, lines, strict=False))
            parts.append(f"## {heading}\n\n{items}")
    return replace(article, text="\n\n".join(filter(None, parts))) if len(parts) > 1 else article


def _is_deep(html: str) -> bool:
    """Whether elements are nested more deeply than parsers follow."""
    depth = deepest = 0
    for tag in _NESTED.finditer(html):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest > 250


def _refreshed(tree: Any, url: str) -> str | None:
    """The web address of the other page to which a page without a text sends its reader."""
    for meta in tree.xpath("//meta[@http-equiv and @content]"):
        found = _REFRESH.match(meta.get("content")) if meta.get("http-equiv").lower() == "refresh" else None
        if found is not None:
            try:
                target = urljoin(url, found[1].strip())
                return target if urlsplit(target).scheme in {"http", "https"} and target != url else None
            except ValueError:
                return None
    return None


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def guess_encoding(body: bytes) -> str:
    """Guess the encoding of a text or an HTML page: the script by its letters, Windows-1252 for Western languages."""
    from charset_normalizer import from_bytes

    first, *hidden = _HIDDEN.split(body[: _SAMPLE * 8])
    text = _TAG.sub(b"\n", b"\n".join([first, *(part.partition(b"</")[2] for part in hidden)]))
    lines = [line for line in text.splitlines() if not line.isascii()]
    sample = b"\n".join(lines)[:_SAMPLE]
    if len(sample) == _SAMPLE:
        # The last character may be cut.
        sample = sample.rpartition(b"\n")[0] or sample
    if not sample:
        return "cp1252"
    found = list(from_bytes(sample, cp_isolation=HTML["encodings"], threshold=0.3, enable_fallback=False))
    if not found:
        return "cp1252"
    best = found[0]
    if best.encoding not in HTML["western"]:
        return best.encoding
    language = _LANGUAGE.search(body[:4096])
    preferred = (*HTML["by_language"].get(language[1].decode().lower() if language else "", ()), "cp1252")
    possible = {
        name
        for match in found
        if match.chaos <= best.chaos + 0.1
        for name in (match.encoding, *match.could_be_from_charset)
    }
    return next((name for name in preferred if name in possible), best.encoding)
