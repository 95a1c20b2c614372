"""A value in a small JSON file that several threads and processes read and change: rules, logins, decisions."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.storage.regular_file import NotRegular, hold_lock, read_regular
from ua_tui.core.text import clean_line

T = TypeVar("T")


_LARGEST = 32 << 20
_PATIENCE_SECONDS = 10.0


class Damaged(WorkspaceError):
    """The file `path` does not have what it should; `why` says what is wrong."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be read ({why}): correct it or move it elsewhere")
        self.why = why


class JsonStore(Generic[T]):
    """A value of the type `kind` in the file `path`; without a file, what `{}` is read as.

    The file is private to the user and replaced as a whole, by one program at a time: each holds the lock on `lock`, by
    default the file with `.lock` in place of `.json`. Reading takes no lock, and decodes the file only if it changed.

    With `set_aside` a damaged file is renamed to `NAME.corrupt-TIME`, `problem` says so, and an empty value is used.
    Otherwise reading and changing it fail, so that nothing is lost.
    """

    def __init__(
        self, path: Path, kind: type[T], *, set_aside: bool = False, lock: Path | None = None
    ) -> None:
        self.path = path
        self.problem = ""
        self._kind = kind
        self._set_aside = set_aside
        self._lock = lock or path.with_suffix(".lock")
        self._cache: tuple[object, T] | None = None
        self._caching = threading.Lock()

    def read(self) -> T:
        """Return the value, which is shared with other readers: do not change it.

        Raises:
            Damaged: the file has something else.
            WorkspaceError: it cannot be read.
        """
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return self._empty()
        except OSError as error:
            raise self._unreadable(error) from error
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        with self._caching:
            if self._cache is not None and self._cache[0] == state:
                return self._cache[1]
        try:
            value = self._decoded()
        except Damaged:
            if not self._set_aside:
                raise
            with self._locked():
                return self._mended()
        with self._caching:
            self._cache = (state, value)
        return value

    @contextmanager
    def changed(self) -> Iterator[T]:
        """Yield the value to be changed, and store it at the end; no other program changes it meanwhile.

        Raises:
            Damaged: the file has something else.
            WorkspaceError: it cannot be locked, read or written.
        """
        with self._locked():
            value = self._mended() if self._set_aside else self._decoded()
            before = msgspec.json.encode(value)
            yield value
            if msgspec.json.encode(value) != before:
                self._write(value)

    def replace(self, value: T) -> None:
        """Store a value in place of whatever is there.

        Raises:
            WorkspaceError: the file cannot be locked or written.
        """
        with self._locked():
            self._write(value)

    def _write(self, value: T) -> None:
        # Not needed to read: the screen reads a file before it is first drawn.
        from ua_tui.core.storage.files import Root

        data = msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2)
        if len(data) >= _LARGEST:
            # It would count as damaged, and all of it would be lost.
            raise WorkspaceError(f"{self.path} would be larger than {_LARGEST >> 20} MB; remove some of it")
        try:
            Root(self.path.parent, create=True).write(self.path.name, data + b"\n")
        except WorkspaceError as error:
            reason = str(error).rstrip(".")
            raise WorkspaceError(
                f"{reason}; check the disk and the permissions of {self.path.parent}"
            ) from error

    def _empty(self) -> T:
        return msgspec.json.decode(b"{}", type=self._kind)

    def _decoded(self) -> T:
        try:
            return msgspec.json.decode(read_regular(self.path, _LARGEST), type=self._kind)
        except FileNotFoundError:
            return self._empty()
        except (ValueError, RecursionError) as error:
            raise Damaged(self.path, clean_line(str(error), 200)) from None
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise Damaged(self.path, "it is too large") from None
            if isinstance(error, NotRegular) or error.errno == errno.ELOOP:
                raise Damaged(self.path, "it is not a regular file") from None
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> WorkspaceError:
        return WorkspaceError(f"{self.path} cannot be read: {error.strerror}; check its permissions")

    def _mended(self) -> T:
        """The value; a damaged file is renamed. The lock is held."""
        try:
            return self._decoded()
        except Damaged as error:
            aside = self.path.with_name(f"{self.path.name}.corrupt-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
            try:
                self.path.rename(aside)
            except OSError as failure:
                raise WorkspaceError(f"{self.path} is damaged: remove it ({failure.strerror})") from failure
            self.problem = (
                f"{self.path} was damaged ({error.why}) and is now named {aside.name}; a new one is used"
            )
            log.warning("%s", self.problem)
            return self._empty()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open_lock(self._lock) as descriptor:
            try:
                hold_lock(descriptor, _PATIENCE_SECONDS)
            except OSError as error:
                raise _unlockable(self._lock, error) from error
            yield


@contextmanager
def open_lock(path: Path) -> Iterator[int]:
    """Open the file of a lock, whose folder is made if there is none; closing it releases the lock.

    Raises:
        WorkspaceError: it cannot be opened.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        raise _unlockable(path, error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unlockable(path: Path, error: OSError) -> WorkspaceError:
    return WorkspaceError(
        f"cannot lock {path}: {error.strerror}; check its permissions, or end the program that holds it"
    )
