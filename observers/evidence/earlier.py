"""Finds pages that earlier sessions have read, in the knowledge base."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ua_tui.core.errors import JournalError
from ua_tui.core.history.headline import beginning_of
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.toolkit.knowledge.earlier_articles import earlier_copy
from ua_tui.core.toolkit.knowledge.knowledge_base import KnowledgeBase
from ua_tui.observers.evidence.addresses import LONGEST, address_key
from ua_tui.observers.evidence.session.texts import moment, source_of, with_title
from ua_tui.observers.evidence.sources import Earlier, EarlierPage
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_text, clean_title

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace


def earlier_pages(
    database: KnowledgePlace | None,
    session: Path,
    redactor: Redactor | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Earlier | None:
    """Make the function that `read_sources` is given as `earlier`; None without a database.

    Args:
        database: where the knowledge base is, which may be missing; None if the settings turn it off.
        session: the folder of the session whose reports are checked: its own pages are not earlier ones.
        redactor: masks the texts of the pages.
        now: gives the time; pages of the future are left out.
    """
    if database is None:
        return None
    cleaner = Cleaner(redactor or Redactor())

    def find(urls: Sequence[str]) -> Sequence[EarlierPage | None]:
        base = KnowledgeBase(database, session=session, demo=_is_demo(session))
        try:
            return [_newest(base, url, now(), cleaner) for url in urls]
        finally:
            base.close()

    return find


def _is_demo(session: Path) -> bool:
    try:
        return beginning_of(session).demo
    except JournalError:
        return False


def _newest(base: KnowledgeBase, url: str, now: datetime, cleaner: Cleaner) -> EarlierPage | None:
    found = [
        copy for each in _spellings(url) if (copy := earlier_copy(base, each, now, math.inf)) is not None
    ]
    if not found:
        return None
    page, article = max(found, key=lambda copy: copy[0].made_at)
    title = clean_title(cleaner.masked(article.title))
    text = with_title(title, clean_text(cleaner.masked(article.text)))
    record = source_of(
        "earlier",
        text,
        title=title,
        url=cleaner.address(page.url, cleaner.masked(page.url)) or url,
        path=page.path,
        part=page.part,
        session=PurePath(page.session).name,
        published=clean_title(article.date or page.date, 40),
        read_at=moment(page.made_at),
    )
    return EarlierPage(record, text)


def _spellings(url: str) -> Iterator[str]:
    """The ways in which a page may be known that has this address: the knowledge base compares fewer of them."""
    if len(url) > LONGEST:
        return
    key = address_key(url)
    bare, question, query = key.partition("?")
    for address in dict.fromkeys((key, f"{bare}/{question}{query}")):
        for host in ("", "www."):
            for scheme in ("https", "http"):
                yield f"{scheme}://{host}{address}"
    yield url.strip()
