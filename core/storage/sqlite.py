"""SQLite files of the program: private, opened by one program at a time, recognised as the user's own.

An existing file is never opened here but by SQLite: when a program closes any descriptor of a file, the system drops
all locks that the program has on it, also those of SQLite.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from secrets import token_hex

from ua_tui.core.errors import Advice, advice_code, advise
from ua_tui.core.storage.ownership import is_sealed, seal
from ua_tui.core.text import clean_line

BUSY_SECONDS = 5.0
"""How long a statement waits for another program."""
PAUSE_SECONDS = 0.01
"""How long to leave between two transactions, so that other programs can write."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Codes of SQLite for a file that is damaged."""
CACHE_KIB = 16 << 10
"""The memory that a connection may use for pages of its file."""
_LARGEST_LOG = 16 << 20
MARK = "CREATE TABLE IF NOT EXISTS mark(id TEXT NOT NULL, seal TEXT NOT NULL)"
"""The table by which the file is recognised; it is a part of the schema of each such file."""
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
        until = time.monotonic() + BUSY_SECONDS
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PAUSE_SECONDS / 2)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(descriptor)


def close(path: Path, connection: sqlite3.Connection, opened: tuple[int, int] | None) -> None:
    """Close a connection to the file that had the identity `opened`, whatever has its name now."""
    with suppress(OSError, sqlite3.Error), opening(path):
        if identity(path) == opened:
            connection.close()
        else:
            with _protected_log(path):
                connection.close()
    connection.close()


def files_set_aside(path: Path) -> list[Path]:
    """The files that were set aside, with their logs."""
    try:
        with os.scandir(path.parent) as found:
            names = [each.name for each in found if each.name.startswith(f"{path.name}.corrupt-")]
    except OSError:
        return []
    return [path.with_name(name) for name in sorted(names)]


def remove_file(path: Path) -> None:
    """Remove a file and those beside it, if they are there.

    Raises:
        OSError: one of them cannot be removed.
    """
    for each in (path, *sidecars(path)):
        with suppress(FileNotFoundError):
            os.unlink(each)


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


@contextmanager
def _protected_log(path: Path) -> Iterator[None]:
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


def primary_code(error: sqlite3.Error) -> int:
    """The code of SQLite without its details; 0 if it has none."""
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def connect(path: Path, mode: str, seconds: float | None = None) -> sqlite3.Connection:
    """Open a connection as it is, in a mode of SQLite: `ro`, `rw` or `rwc`; any one thread at a time may use it.

    A statement waits `seconds` for other programs, by default `BUSY_SECONDS`.
    """
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS if seconds is None else seconds,
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
    try:
        return _checked(connect(path, "ro"), check)
    except sqlite3.OperationalError:
        # Without a file for shared memory, which cannot be made here, only a file without a log can be read.
        log, _, journal = sidecars(path)
        if os.access(path.parent, os.W_OK) or any(map(_has_bytes, (log, journal))):
            raise
        return _checked(connect(path, "ro&immutable=1"), check)


def _checked(
    connection: sqlite3.Connection, check: Callable[[sqlite3.Connection], object]
) -> sqlite3.Connection:
    try:
        check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_bytes(path: Path) -> bool:
    try:
        return os.lstat(path).st_size > 0
    except FileNotFoundError:
        return False


def configure(connection: sqlite3.Connection, path: Path, *, durable: bool = False) -> None:
    """Prepare a connection that writes; `durable` if not even a power failure may undo what was committed."""
    wanted = "DELETE" if is_on_network(path) else "WAL"
    (mode,) = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
    if mode != "wal" and wanted == "WAL":
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    # Without a write-ahead log less would not be safe when the power fails.
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' and not durable else 'FULL'}")
    connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")


def begin(connection: sqlite3.Connection) -> None:
    """Begin a transaction that may write; other programs are waited for.

    SQLite itself tries too seldom to find the moment between two transactions of a busy program: leave at least
    `PAUSE_SECONDS` between two of yours.
    """
    until = time.monotonic() + BUSY_SECONDS
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(PAUSE_SECONDS / 4)
            else:
                return
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction that may write; an exception undoes it."""
    begin(connection)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def mark_own(db: sqlite3.Connection, kind: str, path: Path) -> None:
    """Make a file the user's own, within a transaction of the caller."""
    db.execute(MARK)
    db.execute("DELETE FROM mark")
    number = token_hex(16)
    db.execute("INSERT INTO mark(id, seal) VALUES (?, ?)", (number, seal(kind, path.parent, number)))


def is_own(db: sqlite3.Connection, kind: str, path: Path) -> bool:
    """Whether this user's program made, or adopted, a file."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'mark'").fetchone():
        return False
    return any(
        is_sealed(code, kind, path.parent, number) for number, code in db.execute("SELECT id, seal FROM mark")
    )


def foreign_objects(db: sqlite3.Connection, *statements: str) -> list[str]:
    """What these statements of the program do not make in a file: triggers, views and other tables or indexes.

    Somebody else's statements would run with those of the program, and could change what it stores.
    """
    made = _made_by((*statements, MARK))
    found = db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    return [
        str(name)
        for kind, name, sql in found
        # Those of SQLite itself: statistics, and the indexes of keys.
        if (kind, name, sql) not in made
        and not (kind in ("table", "index") and str(name).startswith("sqlite_"))
    ]


def is_own_file(path: Path, kind: str, check: Callable[[sqlite3.Connection], object]) -> bool:
    """Whether a file, which is only read, is the user's own, or nobody's; `check` looks at it first.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    if not path.exists():
        return True
    with closing(connect(path, "ro")) as db:
        try:
            check(db)
            is_empty = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
            return is_empty or is_own(db, kind, path)
        except sqlite3.OperationalError as error:
            # To finish what a killed program began would be to write.
            if primary_code(error) == sqlite3.SQLITE_READONLY:
                return False
            raise


@cache
def _made_by(statements: tuple[str, ...]) -> frozenset[tuple[str, str, str | None]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in statements:
            db.execute(statement)
        return frozenset(map(tuple, db.execute("SELECT type, name, sql FROM sqlite_master")))


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
