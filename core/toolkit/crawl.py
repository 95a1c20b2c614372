"""The tool crawl_parallel: fetches pages in parallel and saves the article of each as a file.

Codes of pages that could not be read, for programs:

refused       the address, scheme, port or redirect is not allowed
robots        the site's robots.txt forbids it, or cannot be read
blacklisted   its site is on the web reader's blacklist, which the user can clear
http_NNN      the site answered with an error status
timeout       no answer in time
unreachable   no such host, no connection, or a broken one
too_large     the page exceeds the size limit
not_readable  the content type is not supported, or no text was found
not_saved     the page was read but its file could not be written
failed        anything else

Reasons, where one is known beside the code; a word that is not listed may be added at any time:

javascript        the page writes its text with JavaScript
login, paywall    the text is only for those who log in, or pay
consent           the site asks for consent to cookies first
bot_check         the site checks whether a person visits (a captcha, Cloudflare)
not_found         the site says that there is no such page, with the status of a page
empty             there is no text
moved             the page only leads to another one, which the error names
image, audio, video, document, archive, other
                  the type of a file that is no page
pdf_without_text, pdf_encrypted, pdf_damaged
                  a scan, a password, a broken file
too_complex       reading it takes too much time or memory, or its elements are nested too deeply
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from ua_tui.core.errors import (
    ConnectionFailed,
    FetchRefused,
    KnowledgeError,
    UniversalAgentError,
    WorkspaceError,
)
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.articles import (
    Article,
    article_path,
    count_words,
    decode_article,
    encode_article,
    visible,
)
from ua_tui.core.toolkit.calls import ToolContext
from ua_tui.core.toolkit.files import read_text

MAX_URLS = 50
MAX_IN_FLIGHT = 10
# Far more than a page takes with its retries and its wait: only a request that hangs reaches this.
SECONDS_A_PAGE = 240.0


class Crawled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page whose article was saved at `path`; `date` is YYYY-MM-DD, None when the page has none.

    `cached` says that the page was not fetched: its article had been saved at `fetched_at`, `age_seconds` ago;
    `from_knowledge` that an earlier session had saved it. `partial` is why only the beginning was read: `paywall`.
    """

    title: str
    url: str
    path: str
    words: int
    date: str | None
    fetched_at: str | None = None
    cached: bool = False
    from_knowledge: bool = False
    age_seconds: int | None = None
    partial: str | None = None


class Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page that could not be read: an explanation for people, and for programs a stable code and maybe a reason."""

    url: str
    error: str
    code: str
    reason: str = ""


class _Answer(msgspec.Struct, frozen=True):
    articles: list[Crawled]
    failed: list[Failed]
    saved: int


async def crawl_parallel(
    context: ToolContext,
    urls: Annotated[list[str], Meta(description="http or https addresses, at most 50")],
    max_age: Annotated[
        int,
        Meta(
            description="in seconds: a page that was read more recently is not fetched again; its article is that of "
            "this session or, from the knowledge base, that of an earlier one",
            ge=0,
        ),
    ] = 0,
) -> str:
    """Fetch web pages, ten at a time, and save the article of each as a Markdown file in search_results/.

    Reads HTML, PDF (with a heading "Page N" for each page), RSS, Atom and JSON feeds (as lists of entries) and text.
    Returns JSON: articles (title, url, path, words, date; partial: paywall if the rest must be paid for; if max_age
    saved a request, cached, fetched_at and age_seconds, and from_knowledge if an earlier session had read the page),
    failed (url, error, code, reason), saved. An error says what can be tried instead. Read an article with
    read_local_file and its path: links are written as [words]; their addresses are listed after the text. One page that
    fails does not affect the others.

    Raises:
        FetchRefused: there is no URL, or there are more than one call may have.
    """
    # A URL that is given twice, in any spelling, is fetched once.
    wanted: dict[str, str] = {}
    for url in urls:
        if url.strip():
            wanted.setdefault(canonical_url(url), url.strip())
    if not wanted:
        raise FetchRefused("crawl_parallel needs at least one URL")
    if len(urls) > MAX_URLS:
        raise FetchRefused(
            f"crawl_parallel accepts at most {MAX_URLS} URLs per call and got {len(urls)}; "
            "split them into several calls"
        )
    slots = asyncio.Semaphore(MAX_IN_FLIGHT)
    max_age, done = max(max_age, context.page_age), 0

    async def crawl(url: str) -> Crawled | Failed:
        nonlocal done
        async with slots:
            result = await _crawl_one(context, url, max_age)
        done += 1
        context.report_progress(done, len(wanted), "pages")
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(crawl(url)) for url in wanted.values()]
    results = [task.result() for task in tasks]
    articles = [result for result in results if isinstance(result, Crawled)]
    failed = [result for result in results if isinstance(result, Failed)]
    return msgspec.json.encode(_Answer(articles, failed, len(articles))).decode()


async def _crawl_one(context: ToolContext, url: str, max_age: int) -> Crawled | Failed:
    cached = _cached(context, url, max_age) if max_age else None
    if cached is not None:
        return cached
    try:
        known = await _known(context, url, max_age) if max_age else None
        if known is not None:
            return known
        listing = context.blacklist.find(url) if context.blacklist is not None else None
        if listing is not None:
            raise FetchRefused(listing.reason, code="blacklisted")
        async with asyncio.timeout(SECONDS_A_PAGE):
            return await _fetch_and_save(context, url)
    except TimeoutError:
        return Failed(url=_shown(url), error=f"no answer within {SECONDS_A_PAGE:.0f} seconds", code="timeout")
    except UniversalAgentError as error:
        code, reason = "not_saved", ""
        if isinstance(error, FetchRefused | ConnectionFailed):
            code, reason = error.code, error.reason
        return Failed(url=_shown(url), error=clean_line(str(error), 300), code=code, reason=reason)
    except Exception as error:
        # An unexpected error on one page must not fail the other pages of the call.
        log.exception("crawling failed: %s", _shown(url))
        return Failed(url=_shown(url), error=f"unexpected {type(error).__name__}", code="failed")


def _cached(context: ToolContext, url: str, max_age: int) -> Crawled | None:
    """The article of a page that was saved at most `max_age` seconds ago."""
    path = article_path(url, context.workspace.redactor)
    try:
        article = decode_article(read_text(context, path)) if context.workspace.exists(path) else None
        if article is None or not article.text or canonical_url(article.url) != canonical_url(_shown(url)):
            return None
        age = (context.now() - datetime.fromisoformat(article.fetched_at or "")).total_seconds()
    except (WorkspaceError, ValueError, TypeError):
        return None
    # The clock may have been set back.
    if not 0 <= age <= max_age:
        return None
    return _crawled(article, path, int(age))


def _crawled(article: Article, path: str, age: int | None = None, *, from_knowledge: bool = False) -> Crawled:
    """What the model is told of an article; `age` is that of one that was not fetched."""
    names = ("title", "url", "words", "date", "partial", *(() if age is None else ("fetched_at",)))
    facts: JsonObject = {name: getattr(article, name) for name in names}
    return Crawled(path=path, cached=age is not None, from_knowledge=from_knowledge, age_seconds=age, **facts)


async def _known(context: ToolContext, url: str, max_age: int) -> Crawled | None:
    """The article of a page that an earlier session read at most `max_age` seconds ago, saved in this workspace."""
    if context.open_knowledge is None:
        return None
    now = context.now()
    # What only a crawl needs is imported by the first one.
    from ua_tui.core.toolkit.knowledge.earlier_articles import earlier_copy

    try:
        found = await asyncio.to_thread(lambda: earlier_copy(context.knowledge, _shown(url), now, max_age))
    except KnowledgeError as error:
        log.warning("the page is fetched: %s", error)
        return None
    if found is None:
        return None
    page, article = found
    written = context.workspace.write(article_path(url, context.workspace.redactor), encode_article(article))
    return _crawled(article, written.path, int(now.timestamp() - page.made_at), from_knowledge=True)


async def _fetch_and_save(context: ToolContext, url: str) -> Crawled:
    from ua_tui.core.toolkit.sources.reading import read_page

    page = await (await context.fetcher()).get(url)
    found = await read_page(page, context.conversions)
    path = article_path(url, context.workspace.redactor)
    article = Article(
        title=clean_line(visible(found.title or ""), 300) or _shown(url),
        url=_shown(url),
        author=_line(found.author),
        site=_line(found.site) or _line(urlsplit(page.final_url).hostname),
        date=_line(found.date),
        words=count_words(found.text),
        fetched_at=context.now().isoformat(timespec="seconds"),
        final_url=None if canonical_url(page.final_url) == canonical_url(url) else _shown(page.final_url),
        partial=found.partial or None,
        text=found.text,
        links=found.links,
    )
    written = context.workspace.write(path, encode_article(article))
    return _crawled(article, written.path)


def _line(text: str | None) -> str | None:
    return clean_line(visible(text), 300) or None if text else None


def _shown(url: str) -> str:
    return clean_line(visible(url), 2_048)
