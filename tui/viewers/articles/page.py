"""An article as a page: its title, where and when it was published and by whom, and its text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.events.units import quantity
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.text import clean, clean_line
from ua_tui.core.toolkit.articles import Article, Reference, count_words, reference_lines
from ua_tui.core.toolkit.articles import article_path as crawled_path
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.viewers.bodies.markdown import RENDERED_CHARACTERS, MarkdownBody
from ua_tui.tui.viewers.reader import FileUnviewable, missing_reason, read_piece

_FOLDER = "extracted_articles"
_URL = re.compile(rb'"url"\s*:\s*("(?:[^"\\]|\\.)*")')


def session_of(artifact: Path, root: Path | None) -> Path | None:
    """Return the folder of the session that an artifact belongs to."""
    return artifact.parent.parent if artifact.parent.name == "search_results" else root


def find_article(session: Path | None, relative: str, url: str) -> Path | None:
    """Return the file of an article: the one that is named, or one with this address; None if there is none.

    Reads the beginnings of the session's articles: call it in a thread.
    """
    if session is None:
        return None
    named = article_path(session, relative)
    if named is not None or not url:
        return named
    crawled = article_path(session, crawled_path(url))
    if crawled is not None:
        return crawled
    wanted = canonical_url(url)
    return next((path for path in _articles(session) if _address_in(path) == wanted), None)


def article_path(session: Path, relative: str) -> Path | None:
    """Return the file of a session that a row names; None if there is no such file in the session's folder.

    An artifact is as untrusted as the pages it comes from, so its paths may lead anywhere.
    """
    return session / relative if relative and not missing_reason(session, relative) else None


def _articles(session: Path) -> Iterator[Path]:
    """Yield the newest articles of a session."""
    folder = session / _FOLDER
    try:
        if folder.is_symlink():
            return
        found = sorted(os.scandir(folder), key=lambda entry: -entry.stat(follow_symlinks=False).st_mtime)
    except OSError:
        return
    yield from (Path(entry.path) for entry in found[:2_000])


def _address_in(path: Path) -> str | None:
    try:
        found = _URL.search(read_piece(path, 8 * 1024).data)
        return canonical_url(msgspec.json.decode(found[1], type=str)) if found is not None else None
    except (FileUnviewable, ValueError):
        return None


_MARKS = re.compile(
    r"^(?:#{1,6}|[-*>]) +|\*\*|`|!?(?<!\\)\[|(?<=\])(?:\([^()\s]*\)|\[\d+\])|(?<!\\)\]|\\(?=[\[\]_*])",
    re.MULTILINE,
)
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~!&$])")
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)
_WEB = re.compile(r"https?://[^\s<>()\\]+")


def article_body(article: Article) -> MarkdownBody:
    """Return the page of an article; only the beginning of a text that is too long to be rendered."""
    title = literal(article.title or article.url or "Untitled")
    head = [f"# {title}"]
    if facts := " · ".join(map(literal, facts_of(article))):
        head.append(facts)
    if article.url:
        shown = literal(middle_cut(bare(article.url), 88))
        head.append(f"[{shown}](<{article.url}>)" if _WEB.fullmatch(article.url) else shown)
    text = _without_title(clean(article.text[:RENDERED_CHARACTERS]).strip(), article.title)
    source = "\n\n".join([*head, "---", text or "*This article has no text.*"])
    return MarkdownBody(source, links="\n".join(reference_lines(article.links)))


def facts_of(article: Article) -> list[str]:
    """Return source, date, author and length of an article, as far as they are known."""
    facts = [article.site or host_of(article.url), (article.date or "")[:10]]
    if article.author:
        facts.append(f"by {article.author}")
    if article.words:
        facts.append(quantity(article.words, "word"))
    return [clean_line(fact, 200) for fact in facts if fact]


def article_in(value: object) -> Article | None:
    """Return the article that a JSON value is; None if it is something else.

    It may be an article of the session's folder, an entry of the corpus, or the answer of a web reader.
    """
    match value:
        case {"reader_result": dict() as read} | {"data": {"reader_result": dict() as read}}:
            return article_in({"type": "article", **read})
        case {"url": str(url), "content": str(text), "title": _, **rest} if (
            rest.get("type", "article") == "article"
        ):
            assert isinstance(value, dict)
            return _article(value, url, text)
        case _:
            return None


def _article(value: Mapping[str, Any], url: str, text: str) -> Article:
    metadata = value.get("metadata")
    more: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    words = value.get("words")
    return Article(
        title=text_in(value, "title"),
        url=clean_line(url, 2000),
        author=text_in(value, "author") or text_in(more, "author", "article:author") or None,
        site=text_in(value, "source", "site") or text_in(more, "og:site_name") or None,
        date=text_in(value, "date") or text_in(more, "article:published_time", "date") or None,
        words=words if isinstance(words, int) and not isinstance(words, bool) else count_words(text),
        text=text,
        links=_links_in(value),
    )


def _links_in(value: Mapping[str, Any]) -> tuple[Reference, ...]:
    found = value.get("links")
    pairs = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return tuple(Reference(text_in(each, "label"), text_in(each, "url", limit=4_000)) for each in pairs)


def beginning_of(article: Article, limit: int) -> str:
    """Return the beginning of the text of an article on one line, without the marks of Markdown."""
    text = _without_title(article.text[: 2 * limit], article.title)
    return " ".join(clean_line(_MARKS.sub("", text), limit).split())


def text_in(value: Mapping[str, Any], *keys: str, limit: int = 400) -> str:
    """Return the first of several fields that is a text or a number, on one line; empty if there is none."""
    found = next((value[key] for key in keys if isinstance(value.get(key), str | int | float)), "")
    return clean_line(str(found), limit)


def bare(url: str) -> str:
    """Return an address without the parts that most addresses have."""
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").removesuffix("/")


def literal(text: str) -> str:
    """Return Markdown that shows a text as it is."""
    return _MARKUP.sub(r"\\\1", text)


def _without_title(text: str, title: str) -> str:
    """Return a text without a heading near its beginning that repeats the title."""
    for heading in _HEADING.finditer(text, 0, 1_000):
        if heading[1].strip() == title.strip():
            return f"{text[: heading.start()]}{text[heading.end() :]}".strip()
    return text
