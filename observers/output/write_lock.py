"""The lock on a session's folder for programs that write to it."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)

# The session's own lock file; its content is free to say who was the last to add something.
_MARK = ".lock"
_MARK_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE_SECONDS = 10.0
_LONGEST_SECONDS = 0.5
_SHORTEST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.01


class WriteLock:
    """A lock on a folder that this program's threads share and other programs respect.

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
        self._threads = threading.Condition()
        self._thread = threading.local()
        self._holders = 0
        self._since = 0.0
        self._descriptor: int | None = None
        self._marked = False
        self._patience = _PATIENCE_SECONDS
        self._warned = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; a thread that holds it already continues immediately."""
        depth: int = getattr(self._thread, "depth", 0)
        if not depth:
            self._enter()
        self._thread.depth = depth + 1
        try:
            yield
        finally:
            self._thread.depth = depth
            if not depth:
                self._leave()

    def mark(self) -> None:
        """Record, while the lock is held, that this program adds something."""
        with self._threads:
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

    def _enter(self) -> None:
        with self._threads:
            # Threads that relieve each other would keep the turn from other programs for ever.
            while self._holders and time.monotonic() - self._since > _LONGEST_SECONDS:
                self._threads.wait()
            if not self._holders:
                self._descriptor = self._lock_folder()
                self._since = time.monotonic()
                self._marked = self._is_last()
                if not self._marked:
                    self._on_foreign_write()
            self._holders += 1

    def _leave(self) -> None:
        with self._threads:
            self._holders -= 1
            if self._holders:
                return
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
                if time.monotonic() - self._since > _LONGEST_SECONDS:
                    time.sleep(2 * _LONGEST_PAUSE)
            self._threads.notify_all()

    def _lock_folder(self) -> int | None:
        try:
            descriptor = os.open(self._folder, _FOLDER_FLAGS)
        except OSError as error:
            self._warn(error.strerror or type(error).__name__)
            return None
        until = time.monotonic() + self._patience
        pause = _SHORTEST_PAUSE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                reason = "another program has held it for long"
            except OSError as error:
                # Some network file systems cannot lock a folder.
                until, reason = 0.0, error.strerror or type(error).__name__
            else:
                self._patience = _PATIENCE_SECONDS
                return descriptor
            if time.monotonic() > until:
                os.close(descriptor)
                self._patience = 0.0
                self._warn(reason)
                return None
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

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
                "observers save without a lock on %s (%s): do not run 'ua-tui observe' there meanwhile",
                self._folder,
                reason,
            )
