"""Reads what is new in a session's journal, for the knowledge base."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.history.journal_reader import PastJournal
from core.knowledge.records import Call, Cursor, Document, Facts
from core.redaction.redactor import Redactor
from core.storage.workspace import JOURNAL

__all__ = ["Batch", "read_batch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was read from a session's journal between two cursors, as `KnowledgeStore.apply` is given it.

    Attributes:
        after: the cursor at which the reading ended; that at which it began if there was nothing to read.
        facts: what is known of the session; None if it is not known when it began.
        documents: each iteration reads the files again, one file at a time.
        replaced: the files whose earlier documents are replaced by these.
        more: whether the journal has more to read.
        restarted: whether the journal is not the one that the cursor is about: remove the session and read again from
            `Cursor()`. Everything else is empty then.
    """

    after: Cursor
    facts: Facts | None = None
    calls: tuple[Call, ...] = ()
    documents: Iterable[Document] = ()
    replaced: tuple[str, ...] = ()
    more: bool = False
    restarted: bool = False


def read_batch(folder: Path, cursor: Cursor, redactor: Redactor) -> Batch:
    """Read the next part of a session's journal, at most some hundred events and some ten files; blocks.

    Raises:
        JournalError: there is no journal, or it cannot be read.
    """
    journal = PastJournal(folder / JOURNAL)
    journal.close()
    return Batch(after=cursor)
