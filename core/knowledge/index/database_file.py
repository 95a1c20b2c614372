"""The file of the database on the disk: private, regular, opened by one program at a time, set aside when damaged.

An existing file is never opened here: when a program closes any descriptor of a file, the system drops all locks that
the program has on it, also those of SQLite.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

FILE = "knowledge.db"
"""The usual name of the file, which is in the folder of the sessions."""

_SIDECARS = ("-wal", "-shm", "-journal")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.005
_ON_NETWORK = frozenset(
    {"9p", "acfs", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "davfs2", "glusterfs", "gpfs", "lustre",
     "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "prl_fs", "rclone", "smb2", "smb3", "smbfs", "sshfs",
     "vboxsf", "virtiofs", "vmhgfs", "webdav"}
)  # fmt: skip
"""Types of file systems on which programs of several machines have no shared memory."""


def sidecars(path: Path) -> tuple[Path, ...]:
    """The files that SQLite keeps beside the database."""
    return tuple(path.with_name(path.name + suffix) for suffix in _SIDECARS)


def identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def make_private(path: Path) -> None:
    """Make the file if it is missing, and close it to others; links, folders, pipes and devices are refused.

    Raises:
        OSError: it cannot be made, or is no regular file.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, _FILE_FLAGS, 0o600))
    # SQLite follows links, and gives the files that it makes the permissions of the database.
    check_regular(path)
    for each in (path, *sidecars(path)):
        with suppress(FileNotFoundError):
            if os.lstat(each).st_mode & 0o077:
                os.chmod(each, 0o600)
    for each in (path, path.parent):
        if not os.access(each, os.W_OK):
            read_only = os.statvfs(each).f_flag & os.ST_RDONLY
            code = errno.EROFS if read_only else errno.EACCES
            raise OSError(code, os.strerror(code), str(each))


def check_regular(path: Path) -> None:
    """Refuse links, folders, pipes and devices in the place of the file or of those beside it.

    Raises:
        OSError: one of them is no regular file.
    """
    for each in (path, *sidecars(path)):
        with suppress(FileNotFoundError):
            mode = os.lstat(each).st_mode
            if not stat.S_ISREG(mode):
                raise _not_regular(each, mode)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Keep other programs from opening, closing or replacing the file meanwhile.

    A lock that cannot be had within some seconds, or at all, as on some network file systems, is done without.

    Raises:
        OSError: the folder cannot be opened.
    """
    descriptor = os.open(path.parent, _FOLDER_FLAGS)
    try:
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE_SECONDS)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(descriptor)


def set_aside(path: Path) -> Path:
    """Rename a damaged file and its log, while `opening` is held and this program has it closed; returns the new name.

    Raises:
        OSError: it cannot be renamed.
    """
    stamp = f"{path.name}.corrupt-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    number, aside = 1, path.with_name(stamp)
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{stamp}-{number}")
    os.rename(path, aside)
    log, memory, journal = sidecars(path)
    for beside, suffix in ((log, "-wal"), (journal, "-journal")):
        with suppress(FileNotFoundError):
            os.rename(beside, aside.with_name(aside.name + suffix))
    with suppress(FileNotFoundError):
        os.unlink(memory)
    return aside


def damaged_files(path: Path) -> list[Path]:
    """The files that were set aside, with their logs."""
    try:
        with os.scandir(path.parent) as found:
            names = [each.name for each in found if each.name.startswith(f"{path.name}.corrupt-")]
    except OSError:
        return []
    return [path.with_name(name) for name in sorted(names)]


def remove_unfinished(path: Path) -> None:
    """Remove the file beside the database that a rebuild has left which was killed; one that runs keeps its file.

    Raises:
        OSError: it cannot be removed.
    """
    file = path.with_name(f"{path.name}.new")
    lock = file.with_name(f"{file.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for each in (file, *sidecars(file), lock):
            with suppress(FileNotFoundError):
                os.unlink(each)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


@contextmanager
def protected_log(path: Path) -> Iterator[None]:
    """Keep the files beside the database, while a connection is closed whose own database was set aside.

    The last connection to close a database removes the files beside it by their names, which belong to the new one.
    `opening` must be held.
    """
    links = [(beside, beside.with_name(f"{beside.name}.{os.getpid()}")) for beside in sidecars(path)]
    for beside, link in links:
        with suppress(OSError):
            os.link(beside, link, follow_symlinks=False)
    try:
        yield
    finally:
        for beside, link in links:
            with suppress(OSError):
                os.link(link, beside, follow_symlinks=False)
            with suppress(OSError):
                os.unlink(link)


def is_on_network(path: Path) -> bool:
    """Whether the file is on a file system on which several machines may use it; False where that is not known."""
    import psutil

    try:
        mounts = psutil.disk_partitions(all=True)
    except (OSError, RuntimeError):
        return False
    here = os.path.realpath(path)
    above = [
        (len(mount.mountpoint), mount.fstype)
        for mount in mounts
        if here.startswith(f"{mount.mountpoint.rstrip('/')}/")
    ]
    return is_network_type(max(above, default=(0, ""))[1])


def is_network_type(name: str) -> bool:
    """Whether a type of file systems, as the system names it, is one of those that are on a network."""
    return name.lower().removeprefix("fuse.") in _ON_NETWORK


def _not_regular(path: Path, mode: int) -> OSError:
    code = errno.ELOOP if stat.S_ISLNK(mode) else errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
    return OSError(code, os.strerror(code), str(path))
