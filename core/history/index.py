"""The sessions below a folder: listed from a cache, searched, renamed and deleted."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from ua_tui.core.errors import KnowledgeError, WorkspaceError
from ua_tui.core.history.headline import LONGEST_TITLE, TITLE, Summary, read_summary, stamp_of, texts_of
from ua_tui.core.history.lookup import named_entries, session_names
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.knowledge.place import FILE, KnowledgePlace
from ua_tui.core.log import log
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.regular_file import hold_lock
from ua_tui.core.text import clean_line

_BATCH_SECONDS = 0.05
_LARGEST = 64 << 20
_VERSION = 6


def with_families(summaries: Sequence[Summary]) -> list[tuple[Summary, int]]:
    """Order sessions with each fork below the session that it is a fork of, and give how deep it is below the first.

    A family is where the first of its members in the given order is; forks of one session are in the reverse order.
    """
    names = {summary.name for summary in summaries}
    forks: dict[str, list[Summary]] = {}
    for summary in summaries:
        forks.setdefault(summary.forked_from, []).insert(0, summary)
    rows: list[tuple[Summary, int]] = []
    seen: set[str] = set()
    by_name = {summary.name: summary for summary in summaries}
    for summary in summaries:
        top, above = summary, {summary.name}
        # Journals that name each other must not take forever.
        while top.forked_from in names and top.forked_from not in above:
            top = by_name[top.forked_from]
            above.add(top.name)
        waiting = [(top, 0)]
        while waiting:
            row, depth = waiting.pop()
            if row.name not in seen:
                seen.add(row.name)
                rows.append((row, depth))
                waiting += [(fork, depth + 1) for fork in reversed(forks.get(row.name, ()))]
    return rows


def branch(depth: int) -> str:
    """What is before the title of a session in a list of families."""
    return f"{'  ' * (depth - 1)}└ " if depth else ""


class _Cache(msgspec.Struct, frozen=True):
    version: int
    sessions: tuple[Summary, ...]


# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(_Cache)


class SessionIndex:
    """Summaries of all sessions below `base`; all methods block, so call them in a thread.

    The summaries are cached in a file of the folder `cache`, by default the user's cache folder, and read again only if
    a session has changed. What is deleted is also removed from the knowledge base `knowledge`, by default the file
    beside the sessions.
    """

    def __init__(
        self, base: Path, cache: Path | None = None, knowledge: KnowledgePlace | None = None
    ) -> None:
        self.base = Path(os.path.abspath(base))
        self.sessions = self.base / WORKSPACES
        self._knowledge: KnowledgePlace = self.sessions / FILE if knowledge is None else knowledge
        self._cache = cache
        self._known: dict[str, Summary] | None = None

    def folder(self, name: str) -> Path:
        """The folder of a session."""
        return self.sessions / name

    def refresh(self, *, keep: bool = True) -> Iterator[list[Summary]]:
        """Give all sessions, newest first, in batches of those that were read within a moment.

        Changes are remembered afterwards, with `keep` also for other programs.

        Raises:
            WorkspaceError: the folder that holds them cannot be read.
        """
        known = self._load_cache()
        seen: dict[str, Summary] = {}
        changed = False
        batch: list[Summary] = []
        began = time.monotonic()
        try:
            names = named_entries(self.base, links=True)
        except OSError as error:
            raise WorkspaceError(
                f"the sessions cannot be listed: {error.strerror or error}; check the folder {self.sessions}"
            ) from error
        for name in names:
            folder = self.folder(name)
            stamp = stamp_of(folder)
            found = known.get(name)
            if found is None or found.stamp != stamp:
                found, changed = read_summary(folder, stamp, found), True
            seen[name] = found
            batch.append(self._with_state(found))
            if time.monotonic() - began > _BATCH_SECONDS:
                yield batch
                batch, began = [], time.monotonic()
        if batch:
            yield batch
        changed = changed or seen.keys() != known.keys()
        self._known = seen
        if changed and keep:
            data = msgspec.json.encode(_Cache(_VERSION, tuple(seen.values())))
            try:
                Root(self._cache_folder(), create=True).write(self._file, data)
            except WorkspaceError as error:
                log.info("the list of sessions cannot be cached: %s", error)

    def refresh_one(self, name: str) -> Summary:
        """Read one session again."""
        folder = self.folder(name)
        known = self._known or {}
        found = read_summary(folder, stamp_of(folder), known.get(name))
        if self._known is not None:
            self._known[name] = found
        return self._with_state(found)

    def search(
        self, text: str, among: Sequence[Summary], stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Summary | None]:
        """Give the sessions whose title, queries or answers contain all words of `text`, in upper or lower case.

        For a session that does not match it gives None, so that the caller can stop.
        """
        needles = text.casefold().split()
        for summary in among:
            if stopped():
                return
            left = set(needles)
            for searched in self._texts(summary):
                folded = searched.casefold()
                left = {needle for needle in left if needle not in folded}
                if not left:
                    break
            yield summary if not left else None

    def rename(self, name: str, title: str) -> Summary:
        """Give a session a title, or remove it with an empty one.

        Raises:
            WorkspaceError: it is no session, or the title cannot be written.
        """
        self._check(name)
        root = Root(self.folder(name))
        cleaned = clean_line(title.strip(), LONGEST_TITLE)
        if cleaned:
            root.write(TITLE, cleaned.encode() + b"\n")
        else:
            root.remove(TITLE)
        return self.refresh_one(name)

    def delete(self, name: str) -> str:
        """Delete a session's folder with all of its files, and what the knowledge base has of it; saved reports stay.

        Returns:
            Why the knowledge base still has something of it; usually empty.

        Raises:
            WorkspaceError: it is no session, it runs, or it cannot be deleted.
        """
        self._check(name)
        try:
            sessions = os.open(self.sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                lock = self._locked(sessions, name)
                try:
                    # Through the descriptor of the parent folder, so that no link in its place is followed.
                    shutil.rmtree(name, dir_fd=sessions)
                finally:
                    if lock is not None:
                        os.close(lock)
            finally:
                os.close(sessions)
        except OSError as error:
            raise WorkspaceError(
                f"the session {name} cannot be deleted: {error.strerror or error}; check the folder's permissions"
            ) from error
        if self._known is not None:
            self._known.pop(name, None)
        return self._forget(name)

    def _forget(self, name: str) -> str:
        from ua_tui.core.knowledge.forgetting import forget_deleted

        try:
            forget_deleted(self._knowledge, self.folder(name))
        except KnowledgeError as error:
            log.warning("the deleted session %s is not forgotten yet: %s", name, error)
            return f"the session is deleted, but stays in the knowledge base until the next session runs: {error}"
        return ""

    def _check(self, name: str) -> None:
        # A link with the name of a session could lead anywhere.
        if name not in session_names(self.base):
            raise WorkspaceError(
                f"{clean_line(name, 100)!r} is not a session in {self.sessions}: refresh the list"
            )

    def _locked(self, sessions: int, name: str) -> int | None:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=sessions)
        try:
            lock = os.open(".lock", flags, dir_fd=folder)
        except FileNotFoundError:
            return None
        finally:
            os.close(folder)
        try:
            hold_lock(lock)
        except BlockingIOError as error:
            os.close(lock)
            raise WorkspaceError(f"the session {name} is running and cannot be deleted") from error
        return lock

    def _texts(self, summary: Summary) -> Iterator[str]:
        yield f"{summary.title}\n{summary.query}\n{summary.name}"
        folder = self.folder(summary.name)
        if not folder.is_symlink():
            yield from texts_of(folder)

    def _with_state(self, summary: Summary) -> Summary:
        if summary.state != "unknown":
            return summary
        running = runs_elsewhere(self.folder(summary.name))
        return msgspec.structs.replace(summary, state="running" if running else "crashed")

    @property
    def _file(self) -> str:
        digest = hashlib.sha256(os.fsencode(self.sessions)).hexdigest()[:16]
        return f"sessions-{digest}.json"

    def _cache_folder(self) -> Path:
        if self._cache is not None:
            return self._cache
        from platformdirs import user_cache_path

        return user_cache_path("ua-tui")

    def _load_cache(self) -> dict[str, Summary]:
        if self._known is None:
            self._known = {}
            try:
                data = Root(self._cache_folder()).read(self._file, _LARGEST)
                cached = _DECODER.decode(data)
                if cached.version == _VERSION:
                    self._known = {summary.name: summary for summary in cached.sessions}
            except (WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError) as error:
                # It only saves time: without it all sessions are read again.
                log.info("the cached list of sessions cannot be read: %s", error)
        return self._known
