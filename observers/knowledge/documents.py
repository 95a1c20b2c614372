"""Turns the files, queries and answers of a session into documents of the knowledge base."""

from __future__ import annotations

import codecs
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from core.errors import UniversalAgentError
from core.events.types import QueryFinished, QueryReceived, QuerySteered
from core.knowledge.records import Document, Kind, Trust
from core.redaction.redactor import Redactor
from core.storage.compression import SUFFIX
from core.storage.workspace import Workspace
from core.toolkit.articles import ARTICLE_FOLDER, ARTICLE_PREFIX
from observers.knowledge.artifacts import (
    SavedFile,
    page_documents,
    search_documents,
    upload_documents,
    workbench_documents,
)
from observers.knowledge.cleaning import LONGEST_TEXT, Cleaner, address_words, heading_of
from observers.knowledge.html_reading import read_html

__all__ = ["LARGEST", "documents_of", "event_document"]

LARGEST = 8 << 20
"""Bytes of a file that are read; of a longer one only its beginning is indexed."""

_HEAD = 8 << 10
_MOST_CITES = 500
_FORMATS: dict[str, Callable[[SavedFile, str, Cleaner], Iterator[Document]]] = {
    "search_results": search_documents,
    "workbench_activity": workbench_documents,
    "upload": upload_documents,
}
_NAMED_ONLY = frozenset({"download", "media", "attachment"})
# The pages in a corpus are those of the articles.
_SKIPPED = frozenset({"corpus"})
_TEXT_KINDS: dict[str, tuple[Kind, Trust]] = {
    "work_product": ("report", "own"),
    "written": ("note", "own"),
    "unparsed": ("search_row", "web"),
}
_REPORTS = "work_products/"
_HTML = (".html", ".htm", ".xhtml")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\])}|\\]{1,2000}", re.IGNORECASE)
_PIECE = 64 << 10
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The mark of UTF-32 begins as that of UTF-16 does.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def documents_of(folder: Path, file: SavedFile, redactor: Redactor) -> Iterator[Document]:
    """Read the documents of a file in a session's folder.

    A file that is missing or damaged gives fewer documents, and never an error. Links are not followed.
    """
    if file.kind in _SKIPPED:
        return
    cleaner = Cleaner(redactor)
    try:
        data = _read(folder, file, redactor)
    except (UniversalAgentError, OSError, ValueError):
        return
    source = None if file.kind in _NAMED_ONLY or data is None else _decoded(data)
    if source is None:
        yield _named(file, cleaner)
    elif file.kind == "article" or _is_page(file.path):
        trust: Trust = "web" if _is_as_saved(folder, file) else "own"
        yield from page_documents(file, source, cleaner, trust=trust)
    elif (read := _FORMATS.get(file.kind)) is not None:
        yield from read(file, source, cleaner)
    else:
        yield _text(file, source, cleaner, is_cut=len(data or b"") > LARGEST)


def event_document(event: QueryReceived | QuerySteered | QueryFinished, cleaner: Cleaner) -> Document | None:
    """Return the document of a query or of a final answer; None if it has no text."""
    text = cleaner.text(event.text)
    if not text:
        return None
    is_answer = isinstance(event, QueryFinished)
    return Document(
        kind="answer" if is_answer else "query",
        part=event.seq,
        title=heading_of(text),
        text=text,
        made_at=event.at.timestamp(),
        trust="own",
        cites=_addresses(event.text, cleaner) if is_answer else (),
        partial=len(event.text) > LONGEST_TEXT,
    )


def _read(folder: Path, file: SavedFile, redactor: Redactor) -> bytes | None:
    """The beginning of a file, also of a compressed one; None if only its name is of interest."""
    workspace = Workspace(folder, folder, redactor)
    if file.kind in _NAMED_ONLY:
        # Whether it is there, and no link.
        workspace.root.read(workspace.artifact_path(file.path), 0)
        return None
    if workspace.artifact_path(file.path).endswith(SUFFIX) or not _is_binary(
        workspace.root.read(file.path, _HEAD)
    ):
        data = workspace.read_artifact(file.path, LARGEST + 1)
        return None if _is_binary(data[:_HEAD]) else data
    return None


def _is_as_saved(folder: Path, file: SavedFile) -> bool:
    """Whether a file has what the observer saved: an agent could put other addresses into it."""
    workspace = Workspace(folder, folder)
    try:
        with workspace.root.opened(workspace.artifact_path(file.path)) as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256
    except (UniversalAgentError, OSError):
        return False


def _is_binary(head: bytes) -> bool:
    return b"\0" in head and not head.startswith(tuple(mark for mark, _ in _MARKS))


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) : LARGEST].decode(encoding, "replace")
    return data[:LARGEST].decode("utf-8", "replace")


def _is_page(path: str) -> bool:
    """Whether a file is a page that the crawler saved."""
    folder, name = posixpath.split(path)
    return folder == ARTICLE_FOLDER and name.startswith(ARTICLE_PREFIX) and name.endswith(".md")


def _named(file: SavedFile, cleaner: Cleaner) -> Document:
    """The document of a file whose text is not read: its name."""
    kind: Kind = "report" if file.path.startswith(_REPORTS) and file.kind not in _NAMED_ONLY else "file"
    return Document(
        kind=kind,
        path=file.path,
        title=cleaner.line(posixpath.basename(file.path)),
        context=cleaner.line(address_words(file.path.removesuffix(SUFFIX))),
        made_at=file.at,
        trust="own" if kind == "report" else "tool",
        tool_use_id=file.tool_use_id,
    )


def _text(file: SavedFile, source: str, cleaner: Cleaner, *, is_cut: bool) -> Document:
    """The document of a text: a report, a note of the agent, or what another program wrote."""
    kind, trust = _TEXT_KINDS.get(file.kind, ("note", "tool"))
    if file.kind == "written" and file.path.startswith(_REPORTS):
        kind = "report"
    title, read = "", source
    links: tuple[str, ...] = ()
    if file.path.lower().removesuffix(SUFFIX).endswith(_HTML):
        page = read_html(source)
        title, read, links = page.title, page.text, page.links
    text = cleaner.text(read)
    name = posixpath.basename(file.path)
    return Document(
        kind=kind,
        path=file.path,
        title=cleaner.line(title)
        or (heading_of(text) if kind in ("report", "note") else "")
        or cleaner.line(name),
        text=text,
        context=cleaner.line(address_words(posixpath.splitext(name.removesuffix(SUFFIX))[0])),
        made_at=file.at,
        trust=trust,
        tool_use_id=file.tool_use_id,
        cites=_addresses(read, cleaner, links) if kind == "report" else (),
        partial=is_cut or len(read) > LONGEST_TEXT,
    )


def _addresses(text: str, cleaner: Cleaner, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The web addresses that a text links to, each once."""
    found = dict.fromkeys(first)
    for at in range(0, min(len(text), LONGEST_TEXT), _PIECE):
        for match in _ADDRESS.finditer(text, at, at + _PIECE):
            found[match[0].rstrip(".,;:!?*_")] = None
            if len(found) > _MOST_CITES:
                break
    addresses = (cleaner.address(url) for url in list(found)[:_MOST_CITES])
    return tuple(filter(None, dict.fromkeys(addresses)))
