"""Files of a session to which a report links."""

from __future__ import annotations

import os
import posixpath
import re
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.evidence.records import Source
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.observers.evidence.session.journal import SessionJournal
from ua_tui.observers.evidence.session.texts import file_text, source_of
from ua_tui.observers.knowledge.cleaning import Cleaner

_LONGEST = 4_096
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,40}:")
_ARTIFACTS = frozenset(
    {"search_results", "extracted_articles", "workbench_activity", "tool_results", "uploads"}
)


class LocalFiles:
    """The files in the folder of a session as one report links to them; symbolic links are not followed.

    Args:
        root: the folder of the session.
        report: the path of the report, relative to it.
        journal: its journal, which knows what the agent wrote, and where the folder was.
        cleaner: masks what is read.
    """

    def __init__(self, root: Root, report: str, journal: SessionJournal, cleaner: Cleaner) -> None:
        self._root = root
        self._journal = journal
        self._cleaner = cleaner
        self._known: dict[str, str | None] = {}
        folder = posixpath.dirname(report)
        if posixpath.isabs(folder):
            folder = journal.inside(folder) or ""
        self._folder = folder

    def find(self, url: str) -> str | None:
        """The path of the file that a link leads to, relative to the session's folder; None if it has no such file."""
        if url not in self._known:
            self._known[url] = self._find(url)
        return self._known[url]

    def source(self, url: str) -> tuple[Source, str] | None:
        """The file that a link leads to as a source, and its text; None if there is none, or it is the agent's own."""
        path = self.find(url)
        if path is None or self._journal.is_own(path) or path.partition("/")[0] in _ARTIFACTS:
            return None
        try:
            content = file_text(self._root, path, self._cleaner)
        except (UniversalAgentError, OSError, ValueError):
            return None
        if not content:
            return None
        made = datetime.fromtimestamp(self._made_at(path), UTC)
        return source_of("file", content, title=posixpath.basename(path), path=path, read_at=made), content

    def _made_at(self, path: str) -> float:
        with self._root.opened(path) as file:
            return os.fstat(file.fileno()).st_mtime

    def _find(self, url: str) -> str | None:
        if not url or len(url) > _LONGEST or "\0" in url:
            return None
        for path in self._paths(url.strip()):
            for each in (path, path + SUFFIX):
                try:
                    self._root.size(each)
                except (UniversalAgentError, OSError, ValueError):
                    continue
                return path
        return None

    def _paths(self, url: str) -> list[str]:
        """The paths that an address may mean."""
        if url.lower().startswith("file:"):
            try:
                parts = urlsplit(url)
            except ValueError:
                return []
            if parts.netloc not in {"", "localhost"}:
                return []
            return _some(self._journal.inside(unquote(parts.path)))
        if _SCHEME.match(url) or url.startswith(("#", "//")):
            return []
        found: list[str] = []
        for raw in dict.fromkeys((url.partition("#")[0].partition("?")[0], url)):
            for path in dict.fromkeys((unquote(raw), raw)):
                if posixpath.isabs(path):
                    found += _some(self._journal.inside(path))
                elif path:
                    found += _some(self._journal.inside(posixpath.join(self._folder, path)))
                    found += _some(self._journal.inside(path))
        return list(dict.fromkeys(found))


def _some(path: str | None) -> list[str]:
    return [] if path is None else [path]
