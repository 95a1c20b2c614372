"""The article of a page that an earlier session read, from the text in the knowledge base."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ua_tui.core.toolkit.articles import Article, count_words

if TYPE_CHECKING:
    from ua_tui.core.knowledge.records import FoundDocument
    from ua_tui.core.knowledge.search.search import KnowledgeSearch


def earlier_copy(
    base: KnowledgeSearch, url: str, now: datetime, max_age: float
) -> tuple[FoundDocument, Article] | None:
    """Return the newest copy of a page that an earlier session read at most `max_age` seconds ago; blocks.

    None that an agent changed is returned, which may hold anything.

    Raises:
        KnowledgeError: the knowledge base cannot be read.
    """
    for page in base.sources(url):
        age = now.timestamp() - page.made_at
        if page.trust != "web" or not 0 <= age <= max_age:
            continue
        known = base.document(page.id)
        if known is None or not known.text:
            continue
        return page, Article(
            title=known.title,
            url=url,
            author=known.author or None,
            site=known.site or None,
            date=known.date or None,
            words=count_words(known.text),
            fetched_at=datetime.fromtimestamp(page.made_at, UTC).isoformat(timespec="seconds"),
            text=known.text,
        )
    return None
