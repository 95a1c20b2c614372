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
"""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

import msgspec
from pydantic import Field

from core.errors import ConnectionFailed, FetchRefused, UniversalAgentError
from core.text import clean_line
from core.toolkit.articles import Article, article_path, canonical_url, count_words, encode_article, visible
from core.toolkit.context import ToolContext
from core.toolkit.extract import extract_page

__all__ = ["MAX_IN_FLIGHT", "MAX_URLS", "Crawled", "Failed", "crawl_parallel"]

logger = logging.getLogger(__name__)

MAX_URLS = 50
MAX_IN_FLIGHT = 10
# Far more than a page takes with its retries and its wait: only a request that hangs reaches this.
SECONDS_A_PAGE = 240.0


class Crawled(msgspec.Struct, frozen=True, kw_only=True):
    """A page whose article was saved at `path`; `date` is YYYY-MM-DD, None when the page has none."""

    title: str
    url: str
    path: str
    words: int
    date: str | None


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A page that could not be read: the reason for people, and a stable code for programs."""

    url: str
    error: str
    code: str


class _Answer(msgspec.Struct, frozen=True):
    articles: list[Crawled]
    failed: list[Failed]
    saved: int


async def crawl_parallel(
    context: ToolContext,
    urls: Annotated[list[str], Field(description="http or https addresses, at most 50")],
) -> str:
    """Fetch web pages, ten at a time, and save the article of each as a Markdown file in search_results/.

    Returns JSON: articles (title, url, path, words, date), failed (url, error, code), saved. Read an article
    with read_local_file and its path: [words] in its text are a link, whose address stands behind the text. One page
    that fails does not affect the others.

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
    done = 0

    async def crawl(url: str) -> Crawled | Failed:
        nonlocal done
        async with slots:
            result = await _crawl_one(context, url)
        done += 1
        context.report_progress(done, len(wanted), "pages")
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(crawl(url)) for url in wanted.values()]
    results = [task.result() for task in tasks]
    articles = [result for result in results if isinstance(result, Crawled)]
    failed = [result for result in results if isinstance(result, Failed)]
    return msgspec.json.encode(_Answer(articles, failed, len(articles))).decode()


async def _crawl_one(context: ToolContext, url: str) -> Crawled | Failed:
    listing = context.blacklist.find(url) if context.blacklist is not None else None
    if listing is not None:
        return Failed(url=_shown(url), error=listing.reason, code="blacklisted")
    try:
        async with asyncio.timeout(SECONDS_A_PAGE):
            return await _fetch_and_save(context, url)
    except TimeoutError:
        return Failed(url=_shown(url), error=f"no answer within {SECONDS_A_PAGE:.0f} seconds", code="timeout")
    except UniversalAgentError as error:
        code = error.code if isinstance(error, FetchRefused | ConnectionFailed) else "not_saved"
        return Failed(url=_shown(url), error=clean_line(str(error), 300), code=code)
    except Exception as error:
        # An unexpected error on one page must not fail the other pages of the call.
        logger.exception("crawling failed: %s", _shown(url))
        return Failed(url=_shown(url), error=f"unexpected {type(error).__name__}", code="failed")


async def _fetch_and_save(context: ToolContext, url: str) -> Crawled:
    fetcher = await context.fetcher()
    page = await fetcher.get(url)
    found = await extract_page(page, context.conversions)
    path = article_path(url, context.workspace.redactor)
    article = Article(
        title=clean_line(visible(found.title or ""), 300) or _shown(url),
        url=_shown(url),
        author=_line(found.author),
        site=_line(found.site),
        date=_line(found.date),
        words=count_words(found.text),
        fetched_at=context.now().isoformat(timespec="seconds"),
        text=found.text,
        links=found.links,
    )
    written = context.workspace.write(path, encode_article(article))
    return Crawled(
        title=article.title, url=article.url, path=written.path, words=article.words, date=article.date
    )


def _line(text: str | None) -> str | None:
    return clean_line(visible(text), 300) or None if text else None


def _shown(url: str) -> str:
    return clean_line(visible(url), 2_048)
