"""The tool crawl_parallel: fetches pages side by side and keeps the article of each as a file."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from core.errors import FetchRefused, UniversalAgentError
from core.text import clean_line
from core.toolkit.articles import Article, article_path, canonical_url, count_words, encode_article, visible
from core.toolkit.context import ToolContext
from core.toolkit.extract import extract_page
from core.toolkit.failures import code_of, reason_of

__all__ = ["MAX_IN_FLIGHT", "MAX_URLS", "Crawled", "Failed", "Progress", "crawl_parallel"]

logger = logging.getLogger(__name__)

MAX_URLS = 50
MAX_IN_FLIGHT = 10
# Far above what one page may take with its retries and the wait for its turn: only what hangs ends here.
SECONDS_A_PAGE = 240.0


class Crawled(msgspec.Struct, frozen=True, kw_only=True):
    """A page whose article was saved at `path`; `date` is YYYY-MM-DD, None when the page does not tell."""

    title: str
    url: str
    path: str
    words: int
    date: str | None


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A page that could not be read: a reason in plain words, and a code that stays the same."""

    url: str
    error: str
    code: str


class _Answer(msgspec.Struct, frozen=True):
    articles: list[Crawled]
    failed: list[Failed]
    saved: int


@dataclass(frozen=True)
class Progress:
    """One more page of a crawl is done: `done` of `total`, the last one being `outcome`."""

    done: int
    total: int
    outcome: Crawled | Failed


async def crawl_parallel(
    context: ToolContext, urls: Sequence[str], progress: Callable[[Progress], None] | None = None
) -> str:
    """Fetch pages, at most ten at a time, and save the article of each in `search_results/`.

    A URL given twice, in whatever spelling, is fetched once. A page that fails is named with its reason and
    the others go on; a page whose site is on the web reader's blacklist is not fetched. `progress` is called
    on the event loop after each page.

    Returns:
        Compact JSON: articles (title, url, path, words, date) and failed (url, error, code), both in the
        order of `urls`, and saved, the number of files written.

    Raises:
        FetchRefused: there is no URL, or there are more than one call may have.
    """
    wanted: dict[str, str] = {}
    for url in urls:
        if url.strip():
            wanted.setdefault(canonical_url(url), url.strip())
    if not wanted:
        raise FetchRefused("crawl_parallel needs at least one URL")
    if len(urls) > MAX_URLS:
        raise FetchRefused(
            f"crawl_parallel takes at most {MAX_URLS} URLs in one call and was given {len(urls)}; "
            "split them over several calls"
        )
    slots = asyncio.Semaphore(MAX_IN_FLIGHT)
    outcomes: list[Crawled | Failed] = []

    async def crawl(url: str) -> Crawled | Failed:
        async with slots:
            outcome = await _crawl_one(context, url)
        outcomes.append(outcome)
        if progress is not None:
            progress(Progress(len(outcomes), len(wanted), outcome))
        return outcome

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
        return Failed(url=_shown(url), error=reason_of(error, url), code=code_of(error))
    except Exception as error:
        # Whatever one page manages to break, the other pages of the call are not lost with it.
        logger.exception("crawling failed: %s", _shown(url))
        return Failed(url=_shown(url), error=f"unexpected {type(error).__name__}", code="failed")


async def _fetch_and_save(context: ToolContext, url: str) -> Crawled:
    fetcher = await context.fetcher()
    page = await fetcher.get(url)
    found = await extract_page(page)
    path = article_path(url)
    article = Article(
        title=clean_line(visible(found.title or ""), 300) or _shown(url),
        url=_shown(url),
        author=_line(found.author),
        site=_line(found.site),
        date=_line(found.date),
        words=count_words(found.text),
        fetched_at=context.now().isoformat(timespec="seconds"),
        text=found.text,
    )
    written = context.workspace.write(path, encode_article(article))
    return Crawled(
        title=article.title, url=article.url, path=written.path, words=article.words, date=article.date
    )


def _line(text: str | None) -> str | None:
    return clean_line(visible(text), 300) or None if text else None


def _shown(url: str) -> str:
    return clean_line(visible(url), 2_048)
