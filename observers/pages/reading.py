"""The pages in the result of a call to the crawler, to another reader, or to several tools with readers among them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.json_values import JsonMapping, JsonObject, list_in, text_in
from ua_tui.core.observation import ToolCall
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import words_of
from ua_tui.core.toolkit.articles import decode_article
from ua_tui.core.web_reader import is_web_reader
from ua_tui.observers.base import Interest
from ua_tui.observers.decoding.decode import MAX_DEPTH, decode_texts
from ua_tui.observers.decoding.urls import host_of, is_web_url, normal_form
from ua_tui.observers.enrichment import MAX_ARTIFACT, Page, moment_in
from ua_tui.observers.pages.fields import address_in, field_of, folded, page_of
from ua_tui.observers.search.keys import WRAPPERS, word_set
from ua_tui.observers.search.tool_names import (
    answers_in,
    inner_tools,
    is_multi_execute,
    policy_of,
    reads_pages,
    short_name,
)

_LABEL = re.compile(r"[ \t]*([A-Za-z][A-Za-z_ -]{1,23}):[ \t]*([^\n]{0,2000})(?:\n+|\Z)")
_SERVED = re.compile(r"\A(?:[^\n]{0,300}\n)?Contents of (https?://\S+):\n+")
# Lines between which, or below which, a head stands.
_AROUND = re.compile(r"(?:---[ \t]*|(?:\w+ ){1,3}Results:)\n+", re.IGNORECASE)
_HEADING = re.compile(r"# ([^\n]{0,500})\n(?=URL: )")
_FURTHER = re.compile(r"\n(?=(?:# [^\n]{0,500}\nURL|Title|URL Source|URL): )")
_OTHER_LABELS = ("warning", "favicon", "description", "number of pages", "status", "language", "image")
_RAW = "\nRaw Content: "
_CUT_NOTICE = "<error>Content truncated."
_FAILURE = re.compile(r"Error (?:fetching|reading) https?://\S+ [^\n]{0,300}")
_HTML = ("<!doctype html", "<html", "<?xml", "<head", "<body")
_PROBLEM = re.compile(
    r"\W{0,3}(?:\w+ ){0,2}(?:error|failed|failure|unable|cannot|could not|couldn't|timed? ?out|timeout|forbidden|"
    r"access denied|not found|no content|no results?|invalid|blocked|4\d\d|5\d\d)\b",
    re.IGNORECASE,
)


class PageReading(msgspec.Struct):
    """The pages that one tool read, and the number of those that could not be read.

    `missing` are articles without their file, `notes` what was left out and why.
    """

    tool: str = ""
    pages: list[Page] = []
    failed: int = 0
    missing: int = 0
    notes: tuple[str, ...] = ()

    def add(self, other: PageReading) -> None:
        """Add the pages of another part of the result."""
        self.pages += other.pages
        self.failed += other.failed


def pages_in_text(text: str, now: datetime, asked: Collection[str], *, bare: bool = True) -> PageReading:
    """The pages in a text; `asked` are the addresses that the call asked for.

    A text that says nothing about its page is that of the one address that was asked for, if pages may be `bare`.
    """
    text = text.strip("\ufeff \t\r\n\x00").replace("\r\n", "\n")
    found = PageReading()
    if len(text) <= 400 and _PROBLEM.match(text):
        return PageReading(failed=1)
    rest, _, last = text.rpartition("\n")
    # The last lines name the pages that could not be read.
    while found.failed < max(len(asked), 1) and _FAILURE.fullmatch(last):
        text, found.failed = rest, found.failed + 1
        rest, _, last = text.rpartition("\n")
    only = next(iter(asked)) if len(asked) == 1 and bare else None
    if (fields := _yaml(text)) is not None:
        _add(found, fields, fields["content"], now, only)
        return found
    for part in _parts(text, asked):
        fields, content = _head(part)
        _add(found, fields, content, now, only)
    return found


def _add(found: PageReading, fields: JsonMapping, content: str, now: datetime, only: str | None) -> None:
    url = address_in(fields) or only
    content = content.partition(_CUT_NOTICE)[0].strip()
    if content.startswith("<error>"):
        found.failed += 1
    elif url is not None and content and not content[:20].lower().startswith(_HTML):
        found.pages.append(page_of(fields, {}, url, content, now))


def _parts(text: str, asked: Collection[str]) -> list[str]:
    """The text of each page: another one begins where a head names an address that the call asked for."""
    first, _ = _head(text)
    wanted = {normal_form(url) for url in asked} - {normal_form(address_in(first) or "")}
    starts = [0]
    for match in islice(_FURTHER.finditer(text), 1_000 if len(asked) > 1 else 0):
        fields, _ = _head(text[match.end() : match.end() + 10_000])
        form = normal_form(address_in(fields) or "")
        if form in wanted:
            wanted.discard(form)
            starts.append(match.end())
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _head(text: str) -> tuple[dict[str, str], str]:
    """What the first lines of a text say of the page, and the page; nothing if they name no address."""
    if served := _SERVED.match(text):
        return {"url": served[1]}, text[served.end() :]
    fields: dict[str, str] = {}
    begin = _AROUND.match(text)
    position = begin.end() if begin else 0
    if heading := _HEADING.match(text):
        fields["title"], position = heading[1], heading.end()
    is_fenced = text.startswith("---")
    for _ in range(20):
        label = _LABEL.match(text, position)
        name = label[1].strip().lower() if label else ""
        if label and field_of(name) == "content":
            raw = text.find(_RAW, label.start(2) - 1)
            position = raw + len(_RAW) if raw >= 0 else label.start(2)
            break
        if label is None or not (is_fenced or field_of(name) or name in _OTHER_LABELS):
            break
        fields.setdefault(name, label[2].strip().strip("\"'"))
        position = label.end()
    if end := _AROUND.match(text, position):
        position = end.end()
    return (fields, text[position:]) if address_in(fields) is not None else ({}, text)


def _yaml(text: str) -> JsonObject | None:
    """The fields of a page that a reader wrote as YAML; None if the text is something else."""
    if len(text) > (1 << 20) or not text.startswith(("url: ", "title: ")) or "\ncontent: " not in text:
        return None
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    match value:
        case {"url": str(url), "content": str()} if is_web_url(url):
            return {str(name): item for name, item in value.items()}
        case _:
            return None


CRAWLER = "crawl_parallel"
_ADDRESSES = ("url", "urls", "uri", "link", "links", "ids", "page", "pages")
_QUESTIONS = ("prompt", "question", "schema", "instructions")
_EXTRACTS = frozenset({"extract", "extractor"})
_ANSWER = "an answer about a page, not the page"
_OFFSETS = ("start_index", "startIndex", "offset")
_CRAWLS = frozenset({"crawl", "crawling", "crawler", "browser"})
_SEVERAL = _CRAWLS | {"batch"}
"""Tools for several pages: a text that names none is about their work."""


def interest_in(call: ToolCall) -> Interest:
    """The interest in a call that may read pages: a certain one if the tool reads pages and the call names one.

    A tool whose name says nothing is worth a look at its result if the call names pages.
    """
    if not is_multi_execute(call.name):
        is_reader, asked = reads_pages(call.name), bool(_asked(call.input))
        if is_reader and asked:
            return Interest.SURE
        may_read = is_reader or (asked and policy_of(call.name) == "unknown")
        return Interest.CURIOUS if may_read else Interest.NONE
    inner = list(inner_tools(call))
    if not inner:
        return Interest.CURIOUS
    return Interest.SURE if any(_is_reader(slug) for slug, _ in inner) else Interest.NONE


def read_pages(
    call: ToolCall, texts: Sequence[str], workspace: Workspace | None, now: datetime
) -> list[PageReading]:
    """The pages in the texts of a result; those of the toolkit's crawler are in files of the `workspace`."""
    name = short_name(call.name)
    if name == CRAWLER or is_multi_execute(call.name):
        values = decode_texts(texts).values
        if name == CRAWLER:
            return [_of_crawler(name, value, workspace) for value in values]
        return [reading for value in values for reading in _of_several(call, value, now)]
    is_known = reads_pages(call.name) or is_web_reader(call.name)
    reading = _of_reader(name, call.input, texts, now, is_known=is_known)
    if not is_known:
        # What an unknown tool says of an address is its page only if it is long: a short text describes the page.
        pages = [each for each in reading.pages if len(each.content) >= 500]
        reading = PageReading(reading.tool, pages)
    return [reading]


def _is_reader(slug: str) -> bool:
    return bool(slug) and reads_pages(f"mcp__inner__{slug}")


def _of_reader(
    tool: str, arguments: JsonMapping, texts: Sequence[str], now: datetime, *, is_known: bool = True
) -> PageReading:
    """The pages in the text of one reader: JSON as a whole, or a text for each page.

    A text that says nothing of its page is one only if the tool is known to read pages.
    """
    if any(isinstance(arguments.get(name), int) and arguments[name] > 0 for name in _OFFSETS):
        return PageReading(tool, notes=("only a later part of a page",))
    if all(text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[", '"') for text in texts):
        # JSON in the text of a page is the page's own; it says nothing of other pages.
        decoded = decode_texts(texts)
        if decoded.values:
            return _of_values(tool, arguments, decoded.values, now, is_known=is_known)
    if any(arguments.get(name) for name in _QUESTIONS):
        return PageReading(tool, notes=(_ANSWER,))
    asked = _asked(arguments)
    found = PageReading(tool)
    for text in texts if len(asked) > 1 else ["\n".join(texts)]:
        found.add(pages_in_text(text, now, asked, bare=is_known and _SEVERAL.isdisjoint(words_of(tool))))
    return _of_site(asked, found, is_known=is_known)


def _of_values(
    tool: str, arguments: JsonMapping, values: Sequence[Any], now: datetime, *, is_known: bool = True
) -> PageReading:
    asked = _asked(arguments)
    if not _EXTRACTS.isdisjoint(words_of(tool)) and any(arguments.get(name) for name in _QUESTIONS):
        return PageReading(tool, notes=(_ANSWER,))
    only = asked[0] if len(asked) == 1 and is_known else None
    found = PageReading(tool)
    for value in values:
        found.add(pages_in(value, now, only))
    return _of_site(asked, found, is_known=is_known)


def _of_site(asked: Sequence[str], found: PageReading, *, is_known: bool) -> PageReading:
    """The pages of the sites that the call asked for.

    A page can contain JSON that claims another address: a page of another site than the call asked for counts only if
    the tool follows links.
    """
    hosts = {host_of(url) for url in asked}
    if not hosts or not _CRAWLS.isdisjoint(words_of(found.tool)):
        return found
    pages = [page for page in found.pages if any(_are_of_one_site(host_of(page.url), host) for host in hosts)]
    if is_known and not pages and len(found.pages) == len(asked) == 1:
        # The page redirects, or gives itself another address: it is what the call asked for.
        (page,) = found.pages
        found.pages = [msgspec.structs.replace(page, url=asked[0])]
        return found
    if others := len(found.pages) - len(pages):
        found.notes = (f"pages of sites that were not asked for: {others}",)
    found.pages = pages
    return found


def _are_of_one_site(host: str, other: str) -> bool:
    return host == other or host.endswith(f".{other}") or other.endswith(f".{host}")


def _of_crawler(tool: str, value: Any, workspace: Workspace | None) -> PageReading:
    """The articles of the toolkit's crawler, from the Markdown files it wrote."""
    match value:
        case {"articles": list() as articles}:
            failed = len(list_in(value, "failed"))
            read = [_crawled(article, workspace) for article in articles]
            pages = [page for page in read if page is not None]
            return PageReading(tool, pages, failed, missing=len(read) - len(pages))
        case _:
            return PageReading(tool)


def _crawled(article: Any, workspace: Workspace | None) -> Page | None:
    path, url = text_in(article, "path"), text_in(article, "url")
    if workspace is None or not path or not is_web_url(url):
        return None
    try:
        found = decode_article(workspace.read_artifact(path, MAX_ARTIFACT).decode("utf-8", "replace"))
    except WorkspaceError:
        return None
    if found is None or not found.text:
        return None
    return Page(
        url,
        found.title or text_in(article, "title"),
        found.text,
        found.author,
        found.site,
        found.date,
        found.words,
        path,
        read_at=moment_in(found.fetched_at) if article.get("cached") is True else None,
        links=found.links,
    )


def _of_several(call: ToolCall, value: Any, now: datetime) -> Iterator[PageReading]:
    """The pages of the readers among the tools that one call ran."""
    inner = list(inner_tools(call))
    for place, item in answers_in(value):
        slug, arguments = inner[place] if place < len(inner) else ("", {})
        if named := text_in(item, "tool_slug"):
            arguments = arguments if named == slug else {}
            slug = named
        if not _is_reader(slug):
            continue
        response = item.get("response")
        if isinstance(response, dict) and "data_preview" in response and "data" not in response:
            yield PageReading(slug, notes=("only the beginning of pages",))
        elif isinstance(response, str):
            yield _of_reader(slug, arguments, [response], now)
        else:
            yield _of_values(slug, arguments, [response if response is not None else item], now)


def _asked(arguments: JsonMapping) -> list[str]:
    """The addresses of the pages that a call asks for."""
    found: list[str] = []
    for name in _ADDRESSES:
        value = arguments.get(name)
        for item in value[:1_000] if isinstance(value, list) else [value]:
            url = item.get("url") if isinstance(item, dict) else item
            found += [url.strip()] if isinstance(url, str) and is_web_url(url.strip()) else []
    return list(dict.fromkeys(found))


_METADATA = ("metadata", "meta", "content")
_OF_FAILURES = word_set("failed failedresults failedurls failures errors")
_OTHER_THINGS = word_set(
    "links images videos media sources citations actions tables json extract summary answer screenshot "
    "searchresult warnings usage"
)
"""Fields with objects that have an address as well, or with the words of a model."""
_VAGUE = word_set("data body result output response")
_OPENINGS = ('{"', "[{", "<")
_STATUSES = ("statuscode", "httpstatuscode", "httpstatus", "status", "code")


def pages_in(document: Any, now: datetime, address: str | None = None) -> PageReading:
    """Every page in a document: an object with an address and the text of a page.

    `address` is the page that the call asked for, if it asked for one: it is that of a text without another.
    """
    found = PageReading()
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    visited, reported = 0, False
    while waiting and visited < 200_000 and len(found.pages) < 10_000:
        key, value, depth = waiting.pop()
        visited += 1
        match value:
            case list() if key in _OF_FAILURES:
                found.failed += len(value)
            case list() if depth < MAX_DEPTH:
                waiting += [
                    (key, item, depth + 1) for item in reversed(value) if isinstance(item, dict | list)
                ]
            case dict() if _has_failed(value):
                found.failed += 1
            case dict() if depth < MAX_DEPTH:
                page = _page(value, now, address if key in WRAPPERS or not key else None)
                if page is not None:
                    found.pages.append(page)
                    continue
                reported = reported or _reports_an_error(value)
                waiting += [
                    (folded(name), item, depth + 1)
                    for name, item in reversed(value.items())
                    if isinstance(item, dict | list) and folded(name) not in _OTHER_THINGS
                ]
    if reported and not found.pages:
        found.failed = max(found.failed, 1)
    return found


def _page(value: JsonMapping, now: datetime, address: str | None) -> Page | None:
    content = _content_of(value)
    if content is None:
        return None
    metadata = _metadata_of(value)
    url = address_in(value) or address_in(metadata) or address
    return page_of(value, metadata, url, content, now) if url is not None else None


def _content_of(value: JsonMapping) -> str | None:
    """The text of a page among its fields, the longest if it has several of the kind."""
    texts: list[str] = []
    for name, item in value.items():
        if field_of(name) == "content":
            texts += [
                text.strip() for text in _texts_in(name, item) if isinstance(text, str) and text.strip()
            ]
    if not texts:
        vague = [
            item.strip() for name, item in value.items() if isinstance(item, str) and folded(name) in _VAGUE
        ]
        texts = [text for text in vague if len(text) >= 200 and not text.startswith(_OPENINGS)]
    return max(texts, key=len) if texts else None


def _texts_in(name: str, item: Any) -> Iterable[Any]:
    """The texts that a field with the text of a page may hold: one, or excerpts of it as one."""
    match item:
        case [str(), *_]:
            return ["\n\n".join(each for each in item if isinstance(each, str))]
        case {"source": {"type": "text", "data": text}}:
            return [text]
        case dict() if folded(name) == "markdown":
            return item.values()
        case _:
            return [item]


def _metadata_of(value: JsonMapping) -> JsonMapping:
    return next((item for name in _METADATA if isinstance(item := value.get(name), dict)), {})


def _has_failed(value: JsonMapping) -> bool:
    """Whether an object says of one page that it could not be read."""
    metadata = _metadata_of(value)
    if address_in(value) is None and address_in(metadata) is None:
        return False
    statuses = (item for name, item in (*value.items(), *metadata.items()) if folded(name) in _STATUSES)
    if any(isinstance(status, int) and 400 <= status < 600 for status in statuses):
        return True
    return _content_of(value) is None and _reports_an_error(value)


def _reports_an_error(value: JsonMapping) -> bool:
    return bool(value.get("error")) or any(value.get(name) is False for name in ("success", "successful"))
