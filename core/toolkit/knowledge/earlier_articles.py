"""The article of a page that an earlier session read: from its file, or from the text in the knowledge base."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.errors import JournalError, WorkspaceError
from ua_tui.core.events.types import ArtifactSaved
from ua_tui.core.knowledge.index.chunks import body_hash
from ua_tui.core.knowledge.place import folder_path
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit.articles import Article, Reference, count_words, decode_article

if TYPE_CHECKING:
    from ua_tui.core.knowledge.records import FoundDocument
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

_LARGEST = 32 << 20


class _ArticleFile(msgspec.Struct, rename={"text": "content", "site": "source"}):
    """What is needed of an article that an observer saved as JSON."""

    title: str
    text: str
    author: str | None = None
    site: str | None = None
    date: str | None = None
    links: tuple[Reference, ...] = ()


def earlier_copy(
    base: KnowledgeSearch, url: str, now: datetime, max_age: float
) -> tuple[FoundDocument, Article] | None:
    """Return the newest copy of a page that an earlier session read at most `max_age` seconds ago; blocks.

    The article is that of the session's file, opened without following links, unless the file was changed after it was
    saved: then the text is that of the knowledge base, without links. A page whose file was deleted or is a link is not
    returned.

    Raises:
        KnowledgeError: the knowledge base cannot be read.
    """
    for page in base.sources(url):
        if not 0 <= now.timestamp() - page.made_at <= max_age:
            continue
        folder = folder_path(base.place, page.session)
        # The file of another machine is not here: its text is in the knowledge base of the team.
        data = b"" if folder is None else _read(folder, page.path)
        known = None if data is None else base.document(page.id)
        # What an agent changed may hold anything.
        if known is None or known.trust != "web":
            continue
        article = _decoded(data) if data else None
        is_as_indexed = article is not None and body_hash(article.text)[0] == page.hash
        if folder is None or not is_as_indexed or not _is_as_saved(folder, page.path, data or b""):
            article = None if page.partial else article_of(known)
        if article is not None and article.text:
            moment = datetime.fromtimestamp(page.made_at, UTC).isoformat(timespec="seconds")
            article = msgspec.structs.replace(
                article, url=url, words=count_words(article.text), fetched_at=moment
            )
            return page, article
    return None


def _read(folder: Path, path: str) -> bytes | None:
    """The content of a file; empty if it is too long, and None if there is none, or it is a link."""
    try:
        data = None if folder.is_symlink() else Workspace(folder, folder).read_artifact(path, _LARGEST + 1)
    except WorkspaceError:
        return None
    return b"" if data is not None and len(data) > _LARGEST else data


def article_of(known: FoundDocument) -> Article:
    """A document of the knowledge base as an article."""
    return Article(
        title=known.title,
        url=known.url,
        author=known.author or None,
        site=known.site or None,
        date=known.date or None,
        text=known.text,
    )


def _is_as_saved(folder: Path, path: str, data: bytes) -> bool:
    """Whether the journal of a session states that a file with this content was saved.

    The knowledge base has a hash of the text alone, and an agent could have put other addresses below it.
    """
    digest = hashlib.sha256(data).hexdigest()
    try:
        with PastJournal(folder) as journal:
            return any(
                isinstance(event, ArtifactSaved) and (event.path, event.sha256) == (path, digest)
                for event in journal.find(ArtifactSaved, naming=digest.encode())
            )
    except JournalError:
        return False


def _decoded(data: bytes) -> Article | None:
    if not data.lstrip().startswith(b"{"):
        return decode_article(data.decode("utf-8", "replace"))
    try:
        found = msgspec.json.decode(data, type=_ArticleFile)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return Article(url="", **msgspec.structs.asdict(found))
