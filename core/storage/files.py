"""One folder and everything below it, accessed without following links.

Every path is opened component by component with directory descriptors, so that nothing swapped in on the way (a link, a
device, a pipe) leads outside. Files are written completely or not at all.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO

import msgspec

from ua_tui.core.errors import PathRefused, WorkspaceError, advice_code, advise
from ua_tui.core.storage.paths import TEMPORARY, numbered, refused, shown, split_path
from ua_tui.core.storage.regular_file import hold_lock

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TEMPORARY_NAME = re.compile(rf"\.(\d{{1,9}})-\w+{re.escape(TEMPORARY)}")
_PIECE = 1 << 20
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class AlreadyThere(WorkspaceError):
    """A file that may not be replaced exists already."""


class Written(msgspec.Struct, frozen=True):
    """What was written: the path below the root, the size in bytes and the SHA-256 in hexadecimal.

    It is not `is_new` if a file that was there has the content.
    """

    path: str
    size: int
    sha256: str
    is_new: bool = True


class FolderEntry(msgspec.Struct, frozen=True):
    """One file or folder in a listing; `size` in bytes, `mtime` in seconds since the epoch."""

    name: str
    is_dir: bool
    size: int
    mtime: float


class Root:
    """One folder; every path beneath it is walked by directory descriptor and no link is followed.

    Paths are relative and use `/`. Refusals raise `PathRefused`; failures of the file system raise
    `WorkspaceError` from the `OSError`. Safe to use from several threads and processes.
    """

    path: Path

    def __init__(self, path: Path, *, create: bool = False) -> None:
        try:
            if create:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path = path.resolve(strict=True)
            os.close(os.open(self.path, _FOLDER_FLAGS))
        except OSError as error:
            raise failed("open the folder", str(path), error) from error

    def write(self, relative: str, data: bytes, *, replace: bool = True) -> Written:
        """Write a file whole or not at all, with mode 0600, making missing folders (0700) on the way.

        Raises:
            AlreadyThere: the file exists and `replace` is false.
        """
        return self.write_chunks(relative, (data,), replace=replace)

    def write_chunks(
        self,
        relative: str,
        chunks: Iterable[bytes],
        *,
        replace: bool = True,
        mode: int = 0o600,
        synced: bool = True,
    ) -> Written:
        """Write a file as `write` does, from pieces that are taken one by one, so that it may be large.

        When `chunks` raises, nothing is written and the error passes through. A file that is not `synced` may be
        incomplete after a crash of the machine: only for what is checked when it is read.

        Raises:
            AlreadyThere: the file exists and `replace` is false.
        """
        with self._at("write", relative, create=True) as (folder, name):
            _check_target(folder, name, relative)
            temporary = f".{os.getpid()}-{secrets.token_hex(8)}{TEMPORARY}"
            try:
                with _locked_file(folder, temporary, mode) as descriptor:
                    size, digest = _write_all(descriptor, chunks)
                    if synced:
                        os.fsync(descriptor)
                    if replace:
                        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                    else:
                        _move_new(folder, temporary, name)
            except FileExistsError as error:
                message = f"cannot write {shown(relative)}: it already exists; choose another name"
                raise AlreadyThere(message) from error
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
            if synced:
                _sync_folder(folder)
        return Written(relative, size, digest)

    def write_new(self, relative: str, data: bytes | IO[bytes], *, once: bool = False) -> Written:
        """Write a file under its name or, when that is taken, under the first free of `-2`, `-3` and on.

        The content may be that of an open file, which may be large. With `once` nothing is written if a file with one
        of these names has it already.
        """
        if len(parts := split_path(relative)) > 1:
            # Refuses what is no folder: other names would not help.
            self.make_folder("/".join(parts[:-1]))
        content = BytesIO(data) if isinstance(data, bytes) else data
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest() if once else ""  # type: ignore[arg-type]  # it can be read into
        for name in numbered(relative):
            if self.exists(name):
                # It can be a folder, or be gone meanwhile.
                with suppress(WorkspaceError):
                    if once and self.size(name) == size:
                        with self.opened(name) as other:
                            if hashlib.file_digest(other, "sha256").hexdigest() == digest:
                                return Written(name, size, digest, is_new=False)
                continue
            content.seek(0)
            # A link that has the name is refused: the next name is tried.
            with suppress(AlreadyThere, PathRefused):
                return self.write_chunks(name, iter(partial(content.read, _PIECE), b""), replace=False)
        raise WorkspaceError(f"cannot write {shown(relative)}: too many files of that name; remove some")

    def append_lines(self, relative: str, lines: Iterable[bytes]) -> None:
        """Append lines in one write, all or none; a torn line before them is ended first, a short write undone.

        Without any lines nothing is made.

        Raises:
            ValueError: a line holds a line break before its end.
        """
        complete = [line.removesuffix(b"\n") for line in lines]
        if not complete:
            return
        data = b"\n".join((*complete, b""))
        if data.count(b"\n") != len(complete):
            raise ValueError("a line to append contains a line break; append each part as a line of its own")
        with self._at("append to", relative, create=True) as (folder, name):
            _check_target(folder, name, relative)
            descriptor = os.open(name, _APPEND_FLAGS, 0o600, dir_fd=folder)
            try:
                _check_kind(os.fstat(descriptor).st_mode, relative)
                if os.fstat(descriptor).st_nlink > 1:
                    rule = "the file has a second name (hard link)"
                    raise refused(relative, rule, "choose another name")
                _append(descriptor, data)
            finally:
                os.close(descriptor)

    def read(self, relative: str, limit: int | None = None) -> bytes:
        """Read a regular file, or its first `limit` bytes."""
        with self.opened(relative) as file:
            return file.read() if limit is None else file.read(max(limit, 0))

    @contextmanager
    def opened(self, relative: str) -> Iterator[BufferedReader]:
        """Open a regular file for reading; what fails meanwhile is reported as a failure to read it."""
        with self._at("read", relative) as (folder, name):
            descriptor = os.open(name, _READ_FLAGS, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                _check_kind(os.fstat(descriptor).st_mode, relative)
                yield file

    def remove(self, relative: str, *, is_folder: bool = False) -> bool:
        """Remove a regular file, or an empty folder; returns whether there was one. Anything else is refused."""
        *folders, name = split_path(relative)
        with self._reporting("remove", relative):
            try:
                with self._folder(folders) as folder:
                    if is_folder:
                        os.rmdir(name, dir_fd=folder)
                    else:
                        _check_target(folder, name, relative)
                        os.unlink(name, dir_fd=folder)
                    _sync_folder(folder)
            except FileNotFoundError:
                return False
        return True

    def size(self, relative: str) -> int:
        """Return the size of a file in bytes."""
        with self._at("look at", relative) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _check_kind(found.st_mode, relative)
            return found.st_size

    def exists(self, relative: str) -> bool:
        """Tell whether a regular file or a folder is there; a link is not."""
        parts = split_path(relative)
        try:
            with self._folder(parts[:-1]) as folder:
                mode = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode
        except OSError:
            return False
        return stat.S_ISREG(mode) or stat.S_ISDIR(mode)

    def list(self, relative: str = "") -> list[FolderEntry]:
        """List the files and folders of a folder by name; links, devices and temporary files are left out."""
        named = relative or "the folder"
        parts = split_path(relative.removesuffix("/")) if relative not in {"", "."} else ()
        with self._reporting("list", named), self._folder(parts) as folder, os.scandir(folder) as found:
            entries = [entry for item in found if (entry := _entry(item)) is not None]
        return sorted(entries, key=lambda entry: entry.name)

    def make_folder(self, relative: str) -> None:
        """Make a folder (mode 0700) and those above it; one that is there already stays as it is."""
        parts = split_path(relative)
        with self._reporting("make the folder", relative), self._folder(parts, create=True):
            pass

    def sweep(self, *, below: bool = True) -> int:
        """Remove the temporary files that processes left which no longer run; returns how many.

        Without `below` only those directly in the folder are removed.
        """
        removed = 0
        with self._reporting("tidy", "the folder"), self._folder(()) as top:
            for _, folders, names, folder in os.fwalk(".", dir_fd=top):
                if not below:
                    folders.clear()
                for name in names:
                    with suppress(OSError):
                        if _is_stale(folder, name):
                            os.unlink(name, dir_fd=folder)
                            removed += 1
        return removed

    @contextmanager
    def _at(self, action: str, relative: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder of a path, for an action by whose name failures are reported; yields the name in it, too."""
        *folders, name = split_path(relative)
        with self._reporting(action, relative), self._folder(folders, create=create) as folder:
            yield folder, name

    @contextmanager
    def _folder(self, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
        descriptor = os.open(self.path, _FOLDER_FLAGS)
        try:
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=descriptor)
                deeper = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _reporting(self, action: str, relative: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and self._has_link(relative)):
                rule = "a symbolic link is in the way"
                raise refused(relative, rule, "use the folder's own files") from error
            raise failed(action, relative, error) from error

    def _has_link(self, relative: str) -> bool:
        parts = relative.split("/")
        return any(self.path.joinpath(*parts[:end]).is_symlink() for end in range(1, len(parts) + 1))


def _check_target(folder: int, name: str, relative: str) -> None:
    with suppress(FileNotFoundError):
        _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode, relative)


def _check_kind(mode: int, relative: str) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), relative)
    if stat.S_ISLNK(mode):
        raise refused(relative, "it is a symbolic link", "use the folder's own files")
    raise refused(relative, "it is not a regular file", "use regular files only")


@contextmanager
def _locked_file(folder: int, name: str, mode: int) -> Iterator[int]:
    """Create a file, and hold its lock, so that `sweep` of another program leaves it alone."""
    descriptor = os.open(name, _CREATE_FLAGS, mode, dir_fd=folder)
    try:
        # Some network file systems have no locks.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, chunks: Iterable[bytes]) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    for chunk in chunks:
        rest = memoryview(chunk)
        size += len(rest)
        digest.update(rest)
        while rest:
            count = os.write(descriptor, rest)
            if count == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rest = rest[count:]
    return size, digest.hexdigest()


def _move_new(folder: int, temporary: str, name: str) -> None:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # Without hard links an empty file reserves the name until the complete one replaces it.
        os.close(os.open(name, _CREATE_FLAGS, 0o600, dir_fd=folder))
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _append(descriptor: int, data: bytes) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        data = b"\n" + data
    if os.write(descriptor, data) != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sync_folder(folder: int) -> None:
    # Some network file systems cannot sync a folder; the file's own data is safe by then.
    with suppress(OSError):
        os.fsync(folder)


def _entry(item: os.DirEntry[str]) -> FolderEntry | None:
    if item.name.endswith(TEMPORARY):
        return None
    try:
        found = item.stat(follow_symlinks=False)
    except OSError:
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return None
    return FolderEntry(item.name, stat.S_ISDIR(found.st_mode), found.st_size, found.st_mtime)


def _is_stale(folder: int, name: str) -> bool:
    """Whether a file is a temporary one of ours that nobody writes any more.

    The lock shows writers that cannot be seen by their number, such as those in another container.
    """
    found = _TEMPORARY_NAME.fullmatch(name)
    if found is None or not is_gone(int(found[1])):
        return False
    descriptor = os.open(name, _READ_FLAGS, dir_fd=folder)
    try:
        hold_lock(descriptor)
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def is_gone(pid: int) -> bool:
    """Whether there is no process of this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def failed(action: str, relative: str, error: OSError) -> WorkspaceError:
    """Make the error for what the file system refused, with what to do about it."""
    code = advice_code("file", errno.errorcode.get(error.errno or 0, "")) or "file.unknown"
    advice = advise(code, reason=error.strerror or str(error))
    return WorkspaceError(f"cannot {action} {shown(relative)}: {advice.problem}; {advice.remedy}")
