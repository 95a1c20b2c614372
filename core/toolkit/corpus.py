"""The tool save_corpus: collects extracted articles in one file, the basis of a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.folders import ARTICLE_FOLDER, ARTICLE_PREFIX
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.articles import Article, article_path, count_words, decode_article
from ua_tui.core.toolkit.calls import ToolContext
from ua_tui.core.toolkit.files import inside, read_text

CORPUS_PATH = "expanded_corpus.json"


async def save_corpus(
    context: ToolContext,
    articles: Annotated[
        list[str] | None,
        Meta(description="URLs that were crawled or paths in the workspace; by default all crawled articles"),
    ] = None,
) -> str:
    """Save extracted articles with their text as expanded_corpus.json. Do this before writing a report.

    Returns JSON: path, size, sha256, count, words, articles, missing.

    Raises:
        PathRefused: a path leaves the workspace.
        WorkspaceError: there is nothing to save, or the corpus cannot be written.
    """
    crawled = dict(_crawled(context))
    found: dict[str, Article] = {}
    missing: list[dict[str, str]] = []
    if articles is None:
        found = crawled
    else:
        by_url = {canonical_url(article.url): path for path, article in crawled.items()}
        for item in articles:
            try:
                path, article = _find(context, item, crawled, by_url)
            except PathRefused:
                raise
            except WorkspaceError as error:
                missing.append({"item": clean_line(item, 500), "error": clean_line(str(error), 500)})
            else:
                found.setdefault(path, article)
    if not found:
        lost = "; ".join(f"{each['item']}: {each['error']}" for each in missing[:5])
        raise WorkspaceError(f"there is nothing to save ({lost or 'call crawl_parallel first'})")
    written = context.workspace.write_json(
        CORPUS_PATH,
        {
            "saved_at": context.now().isoformat(),
            "count": len(found),
            "articles": [
                {
                    "url": article.url,
                    "title": article.title,
                    "author": article.author,
                    "date": article.date,
                    "source": article.site,
                    "words": article.words,
                    "path": path,
                    "fetched_at": article.fetched_at,
                    "content": article.text,
                }
                for path, article in found.items()
            ],
        },
    )
    answer = {
        "path": written.path,
        "size": written.size,
        "sha256": written.sha256,
        "count": len(found),
        "words": sum(article.words for article in found.values()),
        "articles": [
            {"title": article.title, "url": article.url, "path": path, "words": article.words}
            for path, article in found.items()
        ],
        "missing": missing,
    }
    return msgspec.json.encode(answer).decode()


def _crawled(context: ToolContext) -> Iterable[tuple[str, Article]]:
    """Read every crawled article of the session, oldest first."""
    if not context.workspace.exists(ARTICLE_FOLDER):
        return
    entries = [
        entry
        for entry in context.workspace.list(ARTICLE_FOLDER)
        if not entry.is_dir and entry.name.startswith(ARTICLE_PREFIX) and entry.name.endswith(".md")
    ]
    for entry in sorted(entries, key=lambda entry: (entry.mtime, entry.name)):
        path = f"{ARTICLE_FOLDER}/{entry.name}"
        article = decode_article(read_text(context, path))
        if article is not None:
            yield path, article


def _find(
    context: ToolContext, item: str, crawled: dict[str, Article], by_url: dict[str, str]
) -> tuple[str, Article]:
    if "://" in item:
        path = by_url.get(canonical_url(item)) or article_path(item, context.workspace.redactor)
        if path in crawled:
            return path, crawled[path]
        raise WorkspaceError(
            "this URL has not been crawled in this session: call crawl_parallel with it first"
        )
    path = inside(context, item)
    if path in crawled:
        return path, crawled[path]
    source = read_text(context, path)
    article = decode_article(source)
    if article is None:
        text = source.strip()
        if not text:
            raise WorkspaceError("the file is empty")
        first = text.partition("\n")[0]
        heading = clean_line(first.lstrip("# "), 200) if first.startswith("#") else ""
        article = Article(title=heading or path, url="", text=text, words=count_words(text))
    return path, article
