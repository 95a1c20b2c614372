"""What can be wrong with the file of the knowledge base, and what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.storage.sqlite import file_advice
from ua_tui.core.text import clean_line


class KnowledgeDamaged(KnowledgeError):
    """The file was damaged, or of an earlier version: there is none any more, or a new one, which is to be filled."""


class KnowledgeForeign(KnowledgeError):
    """The file is not the user's own: it can be searched, but not written."""


def explain(path: Path, action: str, error: OSError | sqlite3.Error) -> KnowledgeError:
    """Return the error for a person: what failed on the file, why, and what to do; `action` as in "cannot be read"."""
    advice = file_advice(
        error,
        again="`ua-tui knowledge rebuild` makes it again",
        elsewhere=", or set `knowledge` to another path",
    )
    problem = f"the knowledge base {clean_line(str(path), 700)} cannot be {action}: {advice.problem}"
    return KnowledgeError(advice._replace(problem=problem))


@contextmanager
def reporting(path: Path, action: str) -> Iterator[None]:
    """Turn errors of the database and of the file system within the block into those for a person."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise explain(path, action, error) from error
