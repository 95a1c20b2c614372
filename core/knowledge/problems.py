"""What can be wrong with the file of the knowledge base, and what to do about it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ua_tui.core.errors import Advice, KnowledgeError
from ua_tui.core.storage.sqlite import primary_code
from ua_tui.core.text import clean_line

_FREE_SPACE = "free some space; nothing is lost, for it is made from the sessions"
_READ_ONLY = "check the permissions of the file and its folder, or set `knowledge` to a path elsewhere"
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: Advice("the disk is full", _FREE_SPACE),
    sqlite3.SQLITE_IOERR: Advice("the disk is full or reports a fault", _FREE_SPACE),
    sqlite3.SQLITE_READONLY: Advice("it may not be written", _READ_ONLY),
    sqlite3.SQLITE_PERM: Advice("it may not be opened", _READ_ONLY),
    sqlite3.SQLITE_AUTH: Advice("it may not be opened", _READ_ONLY),
    sqlite3.SQLITE_CANTOPEN: Advice("the file or one beside it cannot be opened", _READ_ONLY),
    sqlite3.SQLITE_BUSY: Advice("other programs have been writing to it for too long", "try again later"),
    sqlite3.SQLITE_LOCKED: Advice("other programs have been writing to it for too long", "try again later"),
    sqlite3.SQLITE_NOMEM: Advice("there is not enough memory", "close some programs"),
    sqlite3.SQLITE_CORRUPT: Advice("it is damaged", "`ua-tui knowledge rebuild` makes it again"),
    sqlite3.SQLITE_NOTADB: Advice(
        "it is not a database",
        "`ua-tui knowledge rebuild` makes it again, or set `knowledge` to another path",
    ),
}
_OF_SYSTEM = {
    errno.ENOSPC: Advice("the disk is full", _FREE_SPACE),
    errno.EDQUOT: Advice("your disk quota is used up", _FREE_SPACE),
    errno.EACCES: Advice("permission denied", _READ_ONLY),
    errno.EPERM: Advice("permission denied", _READ_ONLY),
    errno.EROFS: Advice("the file system is read-only", _READ_ONLY),
    errno.ELOOP: Advice(
        "it is a symbolic link", "remove the link, or set `knowledge` to the path of the file"
    ),
    errno.EISDIR: Advice("it is a folder", "remove it, or set `knowledge` to the path of a file"),
    errno.ENXIO: Advice("it is not a regular file", "remove it, or set `knowledge` to another path"),
    errno.EEXIST: Advice("a file is in the place of its folder", "set `knowledge` to another path"),
    errno.ENOTDIR: Advice("a file is in the place of its folder", "set `knowledge` to another path"),
}


class KnowledgeDamaged(KnowledgeError):
    """The file was damaged; it was set aside as `aside`, and the next program that opens it makes a new one."""

    def __init__(self, message: str, aside: Path) -> None:
        super().__init__(message)
        self.aside = aside


class KnowledgeForeign(KnowledgeError):
    """The file is not the user's own: it can be searched, but not written."""


def explain(path: Path, action: str, error: OSError | sqlite3.Error) -> KnowledgeError:
    """Return the error for a person: what failed on the file, why, and what to do; `action` as in "cannot be read"."""
    if isinstance(error, OSError):
        advice = _OF_SYSTEM.get(error.errno or 0) or Advice(error.strerror or str(error), "check its folder")
    else:
        known = _OF_SQLITE.get(primary_code(error))
        advice = known or Advice(clean_line(str(error), 300), "`ua-tui doctor` checks the installation")
    return KnowledgeError(f"the knowledge base {clean_line(str(path), 700)} cannot be {action}: {advice}")


@contextmanager
def reporting(path: Path, action: str) -> Iterator[None]:
    """Turn errors of the database and of the file system within the block into those for a person."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise explain(path, action, error) from error
