"""Chooses, by the type of a fetched page, how it is read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import advise
from ua_tui.core.log import log
from ua_tui.core.text import clean_line, middle_truncate
from ua_tui.core.toolkit.articles import visible
from ua_tui.core.toolkit.extract import Extracted, NotReadable
from ua_tui.core.toolkit.sources.feed import is_feed, is_json_feed
from ua_tui.core.toolkit.sources.pdf import article_of
from ua_tui.core.toolkit.sources.web_page import ReadPage, WebDocument, read_text

if TYPE_CHECKING:
    from ua_tui.core.concurrency.conversions import Conversions
    from ua_tui.core.net.client import Page


MAX_TEXT = 500_000
SECONDS_TO_EXTRACT = 20.0
SECONDS_TO_CONVERT = 10.0
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_READ = "ua_tui.core.toolkit.sources.web_page:read_in_child"
_READ_PDF = "ua_tui.core.toolkit.sources.pdf:read_in_child"


async def read_page(page: Page, conversions: Conversions) -> Extracted:
    """Return the readable text of a page; it is converted by `conversions`, which stop if this is cancelled.

    Raises:
        NotReadable: the type of the page cannot be read, or nothing readable is in it; says why, and what to try.
    """
    if page.media_type == "application/pdf":
        return _checked(await in_thread(_read_pdf, conversions, page))
    kind = _kind_of(page)
    may_be_feed = is_json_feed(page.body) if kind == "json" else is_feed(page.body, page.media_type)
    if kind != "html" and not may_be_feed and page.encoding:
        return _checked(read_text(page.text, kind))
    found = await in_thread(_read, conversions, page, kind, may_be_feed)
    if found.leads_to is not None:
        where = clean_line(visible(found.leads_to), 500)
        raise NotReadable(f"the page only leads to another one: read {where} instead", "moved")
    if found.obstacle is not None:
        raise NotReadable(str(advise(f"page.{found.obstacle}")), found.obstacle)
    return _checked(found.article)


def _checked(found: Extracted) -> Extracted:
    text = visible(found.text).strip()
    if not text:
        raise NotReadable(str(advise("page.empty")), "empty")
    return replace(found, text=middle_truncate(text, MAX_TEXT))


def _kind_of(page: Page) -> str:
    if page.media_type in HTML_TYPES or not page.media_type:
        return "html"
    if page.media_type.endswith(("json", "ndjson")):
        return "json"
    return "xml" if page.media_type.endswith("xml") else "text"


def _read(conversions: Conversions, page: Page, kind: str, may_be_feed: bool) -> ReadPage:
    from ua_tui.core.concurrency.conversions import ConversionFailed, TooComplex

    argument = msgspec.to_builtins(
        WebDocument(page.body, page.encoding, page.final_url, kind, may_be_feed), builtin_types=(bytes,)
    )
    run = partial(conversions.run, _READ)
    try:
        try:
            found = run(argument, seconds=SECONDS_TO_EXTRACT)
        except TooComplex as error:
            if kind != "html":
                raise
            log.warning(
                "no article is extracted, the whole page is kept: %s (%s)", clean_line(page.url), error
            )
            found = run({**argument, "whole": True}, seconds=SECONDS_TO_CONVERT)
    except TooComplex as error:
        raise NotReadable(
            f"the page is too complex to be read as HTML ({error}); choose another source", "too_complex"
        ) from error
    except ConversionFailed as error:
        raise NotReadable(str(error)) from error
    return msgspec.convert(found, ReadPage)


def _read_pdf(conversions: Conversions, page: Page) -> Extracted:
    from ua_tui.core.concurrency.conversions import ConversionFailed, TooComplex

    parts: list[Any] = []
    problem = ""
    try:
        conversions.run(_READ_PDF, page.body, seconds=SECONDS_TO_EXTRACT, on_part=parts.append)
    except TooComplex as error:
        problem = str(error)
    except ConversionFailed as error:
        log.info("a PDF cannot be read: %s (%s)", clean_line(page.url), error)
    return article_of(parts, problem)
