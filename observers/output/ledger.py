"""The ledger of a session's artifacts and URLs, so that nothing is saved or listed twice, and its lock."""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.storage.regular_file import hold_lock
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.decoding.urls import is_public_address, is_web_url, normal_form, with_masked_parts

URL_LIST = "search_results/urls.txt"

_ID = re.compile(r"_([a-z2-7]{13})\.[a-z0-9.]+$")
_CONTENT = 9


class Ledger:
    """The artifacts and URLs of a session, read from its folder once and kept current.

    Safe to use from several threads, and beside other programs that save in the same session: what they added
    is read before anything is decided. What is decided within a `turn` holds until it ends. `rows_of` keeps, for
    whoever has the turn, which URLs in their normal form the rows of an artifact of search results have.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._write_lock = WriteLock(workspace.path, self._on_foreign_write)
        self.rows_of: dict[str, frozenset[str]] = {}
        self._artifacts: dict[str, dict[str, str]] = {}
        self._outdated: set[str] = set()
        self._urls: set[str] = set()
        self._listed: set[str] = set()
        self._list_outdated = True
        self._list_file: tuple[int, int] | None = None
        self._list_read = 0

    def turn(self) -> AbstractContextManager[None]:
        """A lock to hold from the claim of a name until the artifact and its URLs are on disk, and to rewrite one.

        Other threads and programs wait meanwhile.
        """
        return self._write_lock.held()

    def claim(self, folder: str, unique: str, name: str, *, by_content: bool = True) -> str | None:
        """Claim a name in `folder` for an artifact; returns the path of an existing equal one, if any.

        `unique` is made by `ua_tui.observers.base.unique_id`. With `by_content` an artifact with the same content
        counts as the same one, whichever call it came from.
        """
        key = unique[:_CONTENT] if by_content else unique
        with self.turn():
            known = self._known(folder)
            found = known.get(key)
            if found is None:
                self._write_lock.mark()
                known[unique[:_CONTENT]] = known[unique] = f"{folder}/{name}"
                return None
            return self._workspace.artifact_path(found)

    def set_path(self, folder: str, unique: str, path: str) -> None:
        """Store the path under which an artifact that was claimed in this turn was written, compressed or not."""
        known = self._known(folder)
        known[unique[:_CONTENT]] = known[unique] = path

    def release(self, folder: str, unique: str) -> None:
        """Release a name that was claimed in this turn, because the artifact could not be written."""
        for key in (unique, unique[:_CONTENT]):
            self._known(folder).pop(key, None)

    def paths(self, folder: str) -> list[str]:
        """The artifacts of `folder`, as paths in the workspace."""
        with self.turn():
            return sorted(set(self._known(folder).values()))

    def seen_before(self, urls: Sequence[str], forms: Sequence[str] = ()) -> list[bool]:
        """Return for each URL whether the session had it before, and add all of them.

        `forms` are their normal forms, when they are known.
        """
        forms = forms or list(map(normal_form, urls))
        with self.turn():
            self._read_list()
            answers = []
            for form in forms:
                answers.append(form in self._urls)
                self._urls.add(form)
            return answers

    def forget(self, urls: Sequence[str]) -> None:
        """Undo `seen_before` in the same turn for new URLs that were not saved after all."""
        self._urls.difference_update(set(map(normal_form, urls)) - self._listed)

    def list_urls(self, urls: Sequence[str], forms: Sequence[str] = ()) -> None:
        """Append the missing URLs to the session's list, one per line as first spelled, in a single write.

        `forms` are their normal forms, when they are known.
        """
        by_form: dict[str, str] = {}
        for form, url in zip(forms or map(normal_form, urls), urls, strict=True):
            by_form.setdefault(form, url)
        with self.turn():
            self._read_list()
            new = {form: url for form, url in by_form.items() if form not in self._listed}
            found, redactor = list(new.values()), self._workspace.redactor
            secret = {
                url for url in with_masked_parts(found, redactor) if not is_public_address(url, redactor)
            }
            lines = [redactor.redact(url) if url in secret else url for url in found]
            if lines != found:
                masked = {normal_form(line): line for line in lines}
                new = {form: line for form, line in masked.items() if form not in self._listed}
            if not new:
                return
            self._write_lock.mark()
            self._workspace.root.append_lines(URL_LIST, map(str.encode, new.values()))
            self._listed.update(new)
            self._urls.update(new)

    def _on_foreign_write(self) -> None:
        self._outdated.update(self._artifacts)
        self._list_outdated = True

    def _known(self, folder: str) -> dict[str, str]:
        known = self._artifacts.setdefault(folder, {})
        if not known or folder in self._outdated:
            with suppress(WorkspaceError):
                for entry in self._workspace.list(folder):
                    if not entry.is_dir and (found := _ID.search(entry.name)):
                        known[found[1]] = known[found[1][:_CONTENT]] = f"{folder}/{entry.name}"
            self._outdated.discard(folder)
        return known

    def _read_list(self) -> None:
        """Read what was added to the list of URLs since the last read."""
        if not self._list_outdated:
            return
        try:
            with self._workspace.root.opened(URL_LIST) as file:
                found = os.fstat(file.fileno())
                if self._list_file != (found.st_dev, found.st_ino) or found.st_size < self._list_read:
                    self._list_file, self._list_read = (found.st_dev, found.st_ino), 0
                    self._listed.clear()
                file.seek(self._list_read)
                data = file.read()
        except WorkspaceError:
            return
        self._list_outdated = False
        self._list_read += data.rfind(b"\n") + 1
        lines = data.decode("utf-8", "replace").splitlines()
        forms = {normal_form(line) for line in lines if is_web_url(line)}
        self._listed |= forms
        self._urls |= forms


# The session's own lock file; its content is free to say who was the last to add something.
_MARK = ".lock"
_MARK_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE_SECONDS = 10.0
_LONGEST_SECONDS = 0.5
_PAUSE = 0.02
"""Twice as long as another program waits before it asks for the lock again."""


class WriteLock:
    """A lock on a folder, which one thread of this program has at a time, and which other programs respect.

    Whoever adds something notes it with `mark` beforehand. When the last to do so was not this object,
    `on_foreign_write` is called as a turn begins, to have what was added read; otherwise nothing can have changed
    since. Safe to use from several threads.

    A program that holds its turn for longer than 10 seconds is not waited for, and a lock that cannot be had
    at all is done without: what is saved twice costs less than what is not saved.
    """

    def __init__(self, folder: Path, on_foreign_write: Callable[[], None]) -> None:
        self._folder = folder
        self._on_foreign_write = on_foreign_write
        self._name = secrets.token_hex(8).encode()
        self._threads = threading.RLock()
        self._depth = 0
        self._since = self._ended = 0.0
        self._descriptor: int | None = None
        self._marked = False
        self._patience = _PATIENCE_SECONDS
        self._warned = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; a thread that holds it already continues immediately."""
        with self._threads:
            self._depth += 1
            try:
                if self._depth == 1:
                    self._begin()
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self._end()

    def mark(self) -> None:
        """Record, while the lock is held, that this program adds something."""
        if self._marked or self._descriptor is None:
            return
        # On a full disk nothing is added that another program would have to hear of.
        with suppress(OSError):
            mark = os.open(_MARK, _MARK_FLAGS, dir_fd=self._descriptor)
            try:
                os.pwrite(mark, self._name, 0)
            finally:
                os.close(mark)
            self._marked = True

    def _begin(self) -> None:
        self._descriptor = self._lock_folder()
        began = time.monotonic()
        if began - self._ended >= _PAUSE:
            self._since = began
        self._marked = self._is_last()
        if not self._marked:
            self._on_foreign_write()

    def _end(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._ended = time.monotonic()
        # Threads that relieve each other would keep the lock from other programs for ever.
        if self._ended - self._since > _LONGEST_SECONDS:
            time.sleep(_PAUSE)

    def _lock_folder(self) -> int | None:
        try:
            descriptor = os.open(self._folder, _FOLDER_FLAGS)
        except OSError as error:
            self._warn(error.strerror or type(error).__name__)
            return None
        try:
            hold_lock(descriptor, self._patience)
        except OSError as error:
            # Some network file systems cannot lock a folder.
            os.close(descriptor)
            self._patience = 0.0
            is_held = isinstance(error, BlockingIOError)
            held = "another program has locked it for too long"
            self._warn(held if is_held else error.strerror or type(error).__name__)
            return None
        self._patience = _PATIENCE_SECONDS
        return descriptor

    def _is_last(self) -> bool:
        if self._descriptor is None:
            return False
        try:
            mark = os.open(_MARK, _MARK_FLAGS, dir_fd=self._descriptor)
        except OSError:
            return False
        try:
            return os.pread(mark, len(self._name), 0) == self._name
        except OSError:
            return False
        finally:
            os.close(mark)

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "observers save to %s without a lock (%s): do not run 'ua-tui observe' there during the session",
                self._folder,
                reason,
            )
