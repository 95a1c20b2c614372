"""Turns the files, queries and answers of a session into documents of the knowledge base."""

from __future__ import annotations

import codecs
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader

from core.errors import UniversalAgentError
from core.events.types import QueryFinished, QueryReceived, QuerySteered
from core.knowledge.records import Document, Kind, Trust
from core.storage.compression import SUFFIX, Unpacked
from core.storage.files import Root
from core.toolkit.articles import ARTICLE_FOLDER, ARTICLE_PREFIX
from observers.knowledge.artifacts import (
    SavedFile,
    page_documents,
    search_documents,
    upload_documents,
    workbench_documents,
)
from observers.knowledge.cleaning import (
    LONGEST_TEXT,
    Cleaner,
    address_words,
    clean_text,
    clean_title,
    heading_of,
)
from observers.knowledge.html_reading import read_html

__all__ = ["LARGEST", "NAMES_CALL", "documents_of", "event_document"]

LARGEST = 8 << 20
"""Bytes of a file that are read; of a longer one only its beginning is indexed."""

_HEAD = 8 << 10
_MOST_CITES = 500
_FORMATS: dict[str, Callable[[SavedFile, str, Cleaner], Iterator[Document]]] = {
    "search_results": search_documents,
    "workbench_activity": workbench_documents,
    "upload": upload_documents,
}
NAMES_CALL = frozenset({*_FORMATS, "article", "corpus"})
"""The kinds of artifacts that name the call which made them."""
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


def documents_of(root: Root, file: SavedFile, cleaner: Cleaner) -> Iterator[Document]:
    """Read the documents of a file in the folder of a session.

    A file that is missing or damaged gives fewer documents, and never an error. Links are not followed.
    """
    # A name with a secret cannot be stored, and without it the file would not be found.
    if file.kind in _SKIPPED or cleaner.masked(file.path) != file.path:
        return
    try:
        content = _read(root, file)
    except (UniversalAgentError, OSError, ValueError):
        return
    if content is None:
        yield _named(file)
        return
    source = _decoded(content.data)
    if file.kind == "article" or _is_page(file.path):
        # An agent could put other addresses into it.
        trust: Trust = "web" if content.sha256 == file.sha256 else "own"
        yield from page_documents(file, source, cleaner, trust=trust)
    elif (read := _FORMATS.get(file.kind)) is not None:
        yield from read(file, source, cleaner)
    else:
        yield _text(file, source, cleaner, is_cut=len(content.data) > LARGEST)


def event_document(event: QueryReceived | QuerySteered | QueryFinished, cleaner: Cleaner) -> Document | None:
    """Return the document of a query or of a final answer; None if it has no text."""
    masked = cleaner.masked(event.text)
    text = clean_text(masked)
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
        cites=_addresses(masked, cleaner) if is_answer else (),
        partial=len(masked) > LONGEST_TEXT,
    )


@dataclass(frozen=True, slots=True)
class _Content:
    """The beginning of a file of text, and the digest of the file of an article on the disk."""

    data: bytes
    sha256: str | None


def _read(root: Root, file: SavedFile) -> _Content | None:
    """The beginning of a file, also of a compressed one; None if it is no text, or only its name is of interest."""
    with _opened(root, file.path) as (content, is_packed):
        if file.kind in _NAMED_ONLY:
            return None
        if is_packed:
            data = Unpacked(content).read(LARGEST + 1)
        else:
            data = content.read(_HEAD)
            data += b"" if _is_binary(data) else content.read(LARGEST + 1 - len(data))
        if _is_binary(data[:_HEAD]):
            return None
        digest = None
        if file.kind == "article":
            content.seek(0)
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    return _Content(data, digest)


@contextmanager
def _opened(root: Root, path: str) -> Iterator[tuple[BufferedReader, bool]]:
    """Open an artifact, whichever form it has, and say whether it is compressed."""
    plain = path.removesuffix(SUFFIX)
    # Of the two forms there is only one, and a compressed one is rare.
    for form in (plain, plain + SUFFIX):
        if form == plain and not root.exists(plain):
            continue
        with root.opened(form) as file:
            yield file, form != plain
            return


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


def _named(file: SavedFile) -> Document:
    """The document of a file whose text is not read: its name."""
    is_report = file.path.startswith(_REPORTS) and file.kind not in _NAMED_ONLY
    path = file.path.removesuffix(SUFFIX)
    return Document(
        kind="report" if is_report else "file",
        path=file.path,
        title=clean_title(posixpath.basename(path)),
        context=address_words(path),
        made_at=file.at,
        trust="own" if is_report else "tool",
        tool_use_id=file.tool_use_id,
    )


def _text(file: SavedFile, source: str, cleaner: Cleaner, *, is_cut: bool) -> Document:
    """The document of a text: a report, a note of the agent, or what another program wrote."""
    kind, trust = _TEXT_KINDS.get(file.kind, ("note", "tool"))
    if file.kind == "written" and file.path.startswith(_REPORTS):
        kind = "report"
    path = file.path.removesuffix(SUFFIX)
    title, read = "", source
    links: tuple[str, ...] = ()
    if path.lower().endswith(_HTML):
        page = read_html(source)
        title, read, links = cleaner.masked(page.title), page.text, page.links
    read = cleaner.masked(read)
    text = clean_text(read)
    name = posixpath.basename(path)
    if kind in ("report", "note"):
        title = title or heading_of(text)
    return Document(
        kind=kind,
        path=file.path,
        title=clean_title(title) or clean_title(name),
        text=text,
        context=address_words(posixpath.splitext(name)[0]),
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
    addresses = (cleaner.address(url, cleaner.masked(url)) for url in list(found)[:_MOST_CITES])
    return tuple(filter(None, dict.fromkeys(addresses)))
