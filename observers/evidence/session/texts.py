"""Makes sources of texts and of files."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from ua_tui.core.evidence.records import Source, SourceKind
from ua_tui.core.storage.files import Root
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_text, clean_title
from ua_tui.observers.knowledge.contents import read_content, whole_words
from ua_tui.observers.knowledge.html_reading import read_html

_LONGEST_HTML = 4_000_000
_HTML = (".html", ".htm", ".xhtml")
_HEAD = 2_000


def source_of(
    kind: SourceKind,
    text: str,
    *,
    title: str = "",
    url: str = "",
    path: str = "",
    part: int = 0,
    tool_use_id: str | None = None,
    session: str = "",
    published: str = "",
    read_at: datetime | None = None,
) -> Source:
    """The record of a source with this text."""
    return Source(
        kind=kind,
        title=clean_title(title),
        url=url,
        path=path,
        part=part,
        tool_use_id=tool_use_id or "",
        session=session,
        published=published,
        read_at=read_at,
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else "",
    )


def moment(seconds: float) -> datetime | None:
    """The time so many seconds after the epoch; None if there is no such time."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def with_title(title: str, text: str) -> str:
    """A text below its title, as its viewer shows it, unless it begins with it."""
    return text if not title or title in text[:_HEAD] else f"{title}\n\n{text}".strip()


def file_text(root: Root, path: str, cleaner: Cleaner) -> str:
    """The text of a file of the session without secrets; empty if it is not text.

    Raises:
        WorkspaceError: it cannot be read.
    """
    content = read_content(root, path)
    if content is None:
        return ""
    text = content.text
    if path.lower().endswith(_HTML):
        page = read_html(whole_words(text, _LONGEST_HTML))
        text = with_title(page.title, page.text)
    return clean_text(cleaner.masked(text))
