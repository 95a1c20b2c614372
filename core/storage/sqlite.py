"""SQLite files of the program: private, opened by one program at a time, set aside when they are damaged.

An existing file is never opened here but by SQLite: when a program closes any descriptor of a file, the system drops
all locks that the program has on it, also those of SQLite.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from ua_tui.core.errors import Advice, advice_code, advise
from ua_tui.core.storage.regular_file import hold_lock
from ua_tui.core.text import clean_line

BUSY_SECONDS = 5.0
"""How long a statement waits for another program."""
PAUSE_SECONDS = 0.01
"""How long to leave between two transactions, so that other programs can write."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Codes of SQLite for a file that is damaged."""
_CACHE_KIB = 16 << 10
"""The memory that a connection may use for pages of its file."""
_LARGEST_LOG = 16 << 20
_SIDECARS = ("-wal", "-shm", "-journal")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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
                code = (
                    errno.ELOOP if stat.S_ISLNK(mode) else errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
                )
                raise OSError(code, os.strerror(code), str(each))


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Keep other programs from opening, closing or replacing the file meanwhile.

    A lock that cannot be had within some seconds, or at all, as on some network file systems, is done without.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            descriptor = os.open(path.parent, _FOLDER_FLAGS)
            stack.callback(os.close, descriptor)
            hold_lock(descriptor, BUSY_SECONDS)
        yield


def close(path: Path, connection: sqlite3.Connection) -> None:
    """Close a connection to the file that has or had this name, while no other program replaces it."""
    # Of a file that was renamed or removed SQLite leaves the log to that which has its name now.
    with suppress(OSError, sqlite3.Error), opening(path):
        connection.close()
    connection.close()


def files_set_aside(path: Path) -> list[Path]:
    """The files that were set aside, with their logs."""
    return sorted(path.parent.glob(f"{escape(path.name)}.corrupt-*"))


def set_aside(path: Path) -> Path:
    """Rename a damaged file and its log, while `opening` is held and this program has it closed; returns the new name.

    Raises:
        OSError: it cannot be renamed.
    """
    aside = path.with_name(f"{path.name}.corrupt-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
    os.rename(path, aside)
    log, memory, journal = sidecars(path)
    for beside, suffix in ((log, "-wal"), (journal, "-journal")):
        with suppress(FileNotFoundError):
            os.rename(beside, aside.with_name(aside.name + suffix))
    memory.unlink(missing_ok=True)
    return aside


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


def primary_code(error: sqlite3.Error) -> int:
    """The code of SQLite without its details; 0 if it has none."""
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection as it is, in a mode of SQLite: `ro` or `rw`; any one thread at a time may use it."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def connect_reader(path: Path, check: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    """Open a connection that only reads, also where nothing can be written; `check` reads something of it.

    Raises:
        OSError: the file is a link, a folder, a pipe or a device.
        sqlite3.Error: it cannot be read.
    """
    # A pipe would be waited for.
    check_regular(path)
    logs = [each for each in sidecars(path)[::2] if os.path.lexists(each) and os.lstat(each).st_size]
    for mode in ("ro", "ro&immutable=1"):
        connection = connect(path, mode)
        try:
            check(connection)
            break
        except BaseException as error:
            connection.close()
            # Without a file for shared memory, which cannot be made here, only a file without a log can be read.
            is_complete = not (logs or os.access(path.parent, os.W_OK))
            if mode != "ro" or not is_complete or not isinstance(error, sqlite3.OperationalError):
                raise
    return connection


def configure(connection: sqlite3.Connection, path: Path) -> None:
    """Prepare a connection that writes."""
    wanted = "DELETE" if is_on_network(path) else "WAL"
    (mode,) = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
    if mode != "wal" and wanted == "WAL":
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    # Without a write-ahead log less would not be safe when the power fails.
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' else 'FULL'}")
    connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction that may write; an exception undoes it. Other programs are waited for.

    SQLite itself tries too seldom to find the moment between two transactions of a busy program: leave at least
    `PAUSE_SECONDS` between two of yours.
    """
    until = time.monotonic() + BUSY_SECONDS
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(PAUSE_SECONDS / 4)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def file_advice(error: OSError | sqlite3.Error, *, again: str, elsewhere: str = "") -> Advice:
    """Return the advice for a file of SQLite; `again` says what to do about damage."""
    if isinstance(error, OSError):
        name = errno.errorcode.get(error.errno or 0, "")
        unknown = Advice(error.strerror or str(error), "check its folder")
    else:
        name = getattr(error, "sqlite_errorname", "")
        unknown = Advice(clean_line(str(error), 300), "`ua-tui doctor` checks the installation")
    code = advice_code("database", name)
    return advise(code, again=again, elsewhere=elsewhere) if code else unknown
