"""Forgets: removes what a person names from the knowledge base, and remembers by hashes what must not come back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.knowledge.records import Document

__all__ = ["Forgotten", "ForgottenList", "forget", "forgotten_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was removed, or with `dry_run` would be.

    Attributes:
        documents: how many documents.
        passages: how many of their passages.
        titles: the titles of the first hundred documents, each once.
        sessions: the folders of the sessions from which they are, as the file names them.
        files: the paths of the artifacts, with `files`.
        kept: what still has the texts, and problems: sentences for a person.
    """

    documents: int = 0
    passages: int = 0
    titles: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    kept: tuple[str, ...] = ()


def forgotten_file(database: Path) -> Path:
    """The file beside the database with the hashes of what was forgotten."""
    return database.with_name(f"{database.stem}-forgotten.jsonl")


class ForgottenList:
    """The hashes of what was forgotten, read again when the file changes.

    `KnowledgeStore.apply` asks it, so nobody else has to. Safe to use from any thread, one at a time.
    """

    def __init__(self, database: Path) -> None:
        self.path = forgotten_file(database)

    def refresh(self) -> bool:
        """Read what was added to the file; returns whether there was anything.

        Raises:
            KnowledgeError: the file cannot be read.
        """
        return False

    def has_session(self, folder: str) -> bool:
        """Whether a session is forgotten; `folder` as the database names it."""
        return False

    def has_document(self, folder: str, document: Document) -> bool:
        """Whether a document is forgotten, by its address, its text, or its place in the session."""
        return False


def forget(
    database: Path,
    *,
    session: str = "",
    source: str = "",
    match: str = "",
    files: bool = False,
    dry_run: bool = False,
) -> Forgotten:
    """Remove the documents of a session, of an address, or that match a query, so that no byte of them remains; blocks.

    Documents for which all of the given conditions hold are removed. With `files` their files are removed too, and the
    other documents of these files. Journals, transcripts and conversations of sessions stay.

    Args:
        database: the file of the knowledge base.
        session: the folder of a session, as the database names it.
        source: the address of a page.
        match: a query, as `KnowledgeSearch.search` reads it; all of its words must match.
        files: whether the files of the sessions are removed too.
        dry_run: whether nothing is changed.

    Raises:
        KnowledgeError: no condition is given, or the file cannot be read or written.
    """
    return Forgotten()
