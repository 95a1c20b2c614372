"""The sessions below a folder: listed fast from what is remembered of them, searched, named and deleted."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from core.errors import WorkspaceError
from core.history.headline import LONGEST_TITLE, TITLE, Summary, read_summary, stamp_of, words_of
from core.history.lookup import named_entries, session_names
from core.history.session import runs_elsewhere
from core.storage.files import Root
from core.storage.workspace import WORKSPACES
from core.text import clean_line

__all__ = ["SessionIndex"]

_BATCH_SECONDS = 0.05
_LARGEST = 64 << 20
_VERSION = 3

log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    version: int
    sessions: tuple[Summary, ...]


class SessionIndex:
    """What there is to know of every session below `base`; all methods block and belong into a thread.

    What was read of a session is kept in a file of `cache`, the user's cache folder by default, and read again only
    when the session has changed.
    """

    def __init__(self, base: Path, cache: Path | None = None) -> None:
        self.base = Path(os.path.abspath(base))
        self.sessions = self.base / WORKSPACES
        self._cache = cache
        self._known: dict[str, Summary] | None = None

    def folder(self, name: str) -> Path:
        """Where a session is."""
        return self.sessions / name

    def refresh(self, *, keep: bool = True) -> Iterator[list[Summary]]:
        """Give all sessions, the newest first, as many at a time as are read in a moment.

        What is new is remembered afterwards, with `keep` also for the next program.

        Raises:
            WorkspaceError: the folder that holds them cannot be read.
        """
        known = self._remembered()
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
            batch.append(self._as_it_is(found))
            if time.monotonic() - began > _BATCH_SECONDS:
                yield batch
                batch, began = [], time.monotonic()
        if batch:
            yield batch
        changed = changed or seen.keys() != known.keys()
        self._known = seen
        if changed and keep:
            self._keep(seen)

    def refresh_one(self, name: str) -> Summary:
        """Read one session again."""
        folder = self.folder(name)
        known = self._known or {}
        found = read_summary(folder, stamp_of(folder), known.get(name))
        if self._known is not None:
            self._known[name] = found
        return self._as_it_is(found)

    def search(
        self, words: str, among: Sequence[Summary], stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Summary | None]:
        """Give those of the sessions whose title, queries or answers hold all the words, in any case.

        None comes now and then while nothing is found, so that whoever waits can stop.
        """
        needles = words.casefold().split()
        for summary in among:
            if stopped():
                return
            left = set(needles)
            for text in self._texts(summary):
                folded = text.casefold()
                left = {needle for needle in left if needle not in folded}
                if not left:
                    break
            yield summary if not left else None

    def rename(self, name: str, title: str) -> Summary:
        """Give a session a title, or take it away with an empty one.

        Raises:
            WorkspaceError: it is no session, or the title cannot be written.
        """
        self._check(name)
        root = Root(self.folder(name))
        told = clean_line(title.strip(), LONGEST_TITLE)
        if told:
            root.write(TITLE, told.encode() + b"\n")
        else:
            root.remove(TITLE)
        return self.refresh_one(name)

    def delete(self, name: str) -> None:
        """Delete a session's folder with all that is in it; saved reports stay.

        Raises:
            WorkspaceError: it is no session, it runs, or it cannot be deleted.
        """
        self._check(name)
        try:
            sessions = os.open(self.sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                lock = self._locked(sessions, name)
                try:
                    # By the descriptor of the folder above: no link that is put in its place is followed.
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

    def _check(self, name: str) -> None:
        # A link that is named like a session leads anywhere.
        if name not in session_names(self.base):
            raise WorkspaceError(f"{clean_line(name, 100)!r} is no session in {self.sessions}: look again")

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
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise WorkspaceError(f"the session {name} is running: it cannot be deleted") from error
        return lock

    def _texts(self, summary: Summary) -> Iterator[str]:
        yield f"{summary.title}\n{summary.query}\n{summary.name}"
        folder = self.folder(summary.name)
        if not folder.is_symlink():
            yield from words_of(folder)

    def _as_it_is(self, summary: Summary) -> Summary:
        if summary.state != "unknown":
            return summary
        running = runs_elsewhere(self.folder(summary.name))
        return msgspec.structs.replace(summary, state="running" if running else "crashed")

    # -- what is remembered ------------------------------------------------------------------------

    @property
    def _file(self) -> str:
        digest = hashlib.sha256(os.fsencode(self.sessions)).hexdigest()[:16]
        return f"sessions-{digest}.json"

    def _folder_of_cache(self) -> Path:
        if self._cache is not None:
            return self._cache
        from platformdirs import user_cache_path

        return user_cache_path("ua-tui")

    def _remembered(self) -> dict[str, Summary]:
        if self._known is None:
            self._known = {}
            try:
                data = Root(self._folder_of_cache()).read(self._file, _LARGEST)
                kept = msgspec.json.decode(data, type=_Kept)
                if kept.version == _VERSION:
                    self._known = {summary.name: summary for summary in kept.sessions}
            except (WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError) as error:
                # It is there to be quick: without it everything is read again.
                log.info("what was remembered of the sessions cannot be read: %s", error)
        return self._known

    def _keep(self, seen: dict[str, Summary]) -> None:
        data = msgspec.json.encode(_Kept(_VERSION, tuple(seen.values())))
        try:
            Root(self._folder_of_cache(), create=True).write(self._file, data)
        except WorkspaceError as error:
            log.info("the list of sessions cannot be remembered: %s", error)
