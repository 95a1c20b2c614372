"""Turns the files, queries and answers of a session into documents of the knowledge base."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import QueryFinished, QueryReceived, QuerySteered
from ua_tui.core.knowledge.records import KnowledgeDocument, Trust
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import REPORT_CHECKS
from ua_tui.core.storage.large_results import FOLDER as TOOL_RESULTS
from ua_tui.core.storage.workspace import is_record
from ua_tui.core.toolkit.articles import ARTICLE_FOLDER, ARTICLE_PREFIX
from ua_tui.observers.decoding.readable_json import readable
from ua_tui.observers.knowledge.artifacts import (
    SavedFile,
    page_documents,
    search_documents,
    unparsed_documents,
    upload_documents,
    workbench_documents,
)
from ua_tui.observers.knowledge.cleaning import (
    LONGEST_TEXT,
    Cleaner,
    address_title,
    address_words,
    clean_text,
    clean_title,
    is_heading,
    short_title,
    title_in,
)
from ua_tui.observers.knowledge.contents import Content, opened, read_content, whole_words

QueryEvent = QueryReceived | QuerySteered | QueryFinished

_LONGEST_HTML = 2 * LONGEST_TEXT
_FORMATS: dict[str, Callable[[SavedFile, str, Cleaner], Iterator[KnowledgeDocument]]] = {
    "search_results": search_documents,
    "workbench_activity": workbench_documents,
    "upload": upload_documents,
    "unparsed": unparsed_documents,
}
NAMES_CALL = frozenset({"search_results", "workbench_activity", "upload", "article", "corpus"})
"""The kinds of artifacts that name the call which made them."""
_NAMED_ONLY = frozenset({"download", "media", "attachment"})
# The pages in a corpus are those of the articles, and checks and exports say again what reports and pages say.
_SKIPPED_FOLDERS = frozenset({REPORT_CHECKS, TOOL_RESULTS})
_SKIPPED_ENDS = (".log", "expanded_corpus.json")
_REPORTS = "work_products/"
_HTML = (".html", ".htm", ".xhtml")
_JSON, _JSON_LINES = (".json", ".geojson"), (".jsonl", ".ndjson")
_JOINED = frozenset({"item", "row", "code"})


def documents_of(root: Root, file: SavedFile, cleaner: Cleaner) -> Iterator[KnowledgeDocument]:
    """Read the documents of a file in the folder of a session.

    A file that is missing or damaged gives fewer documents, and never an error. Links are not followed.
    """
    # A name with a secret cannot be stored, and without it the file would not be found.
    if _is_skipped(file) or cleaner.masked(file.path) != file.path:
        return
    try:
        content = _content(root, file)
    except (UniversalAgentError, OSError, ValueError):
        return
    if content is None:
        yield _named(file)
    elif file.kind == "article" or _is_page(file.path):
        # An agent could put other addresses into it.
        trust: Trust = "web" if content.sha256 == file.sha256 else "own"
        yield from map(_titled, page_documents(file, content.text, cleaner, trust=trust))
    elif (read := _FORMATS.get(file.kind)) is not None:
        yield from map(_titled, read(file, content.text, cleaner))
    else:
        yield _text(file, content, cleaner)


def _titled(document: KnowledgeDocument) -> KnowledgeDocument:
    """The document with a title: without one that of its address, or else the query or the site that led to it."""
    if document.title:
        return document
    led = document.context.partition("\n")[0]
    return replace(document, title=address_title(document.url) or led or short_title(document.text))


def event_document(event: QueryEvent, cleaner: Cleaner, asked: str) -> KnowledgeDocument | None:
    """Return the document of a query, or of the final answer to what was `asked`; None if it has no text."""
    masked = cleaner.masked(event.text)
    text = clean_text(masked)
    if not text:
        return None
    is_answer = isinstance(event, QueryFinished)
    title = ""
    if is_answer and not is_heading(text):
        # Its first sentence says less about it than what was asked.
        title = short_title(cleaner.masked(asked))
    return KnowledgeDocument(
        kind="answer" if is_answer else "query",
        part=event.seq,
        title=title or title_in(text) or short_title(text),
        text=text,
        made_at=event.at.timestamp(),
        trust="own",
        partial=len(masked) > LONGEST_TEXT,
    )


def _is_skipped(file: SavedFile) -> bool:
    """Whether a file is a record of the program, and nothing that was found or written."""
    path = file.path.removesuffix(SUFFIX).lower()
    is_ours = path.partition("/")[0] in _SKIPPED_FOLDERS or is_record(path) or path.endswith(_SKIPPED_ENDS)
    return is_ours or file.kind == "corpus"


def _content(root: Root, file: SavedFile) -> Content | None:
    """The content of a file; None if it is not text, or only its name is of interest."""
    if file.kind not in _NAMED_ONLY:
        return read_content(root, file.path, digest=file.kind == "article")
    with opened(root, file.path):
        return None


def _is_page(path: str) -> bool:
    """Whether a file is a page that the crawler saved."""
    folder, name = posixpath.split(path)
    return folder == ARTICLE_FOLDER and name.startswith(ARTICLE_PREFIX) and name.endswith(".md")


def _named(file: SavedFile) -> KnowledgeDocument:
    """The document of a file whose text is not read: its name."""
    is_report = file.path.startswith(_REPORTS) and file.kind not in _NAMED_ONLY
    path = file.path.removesuffix(SUFFIX)
    title, context = clean_title(posixpath.basename(path)), address_words(path)
    if is_report:
        return file.document("report", "own", title=title, context=context)
    return file.document("file", "tool", title=title, context=context)


def _text(file: SavedFile, content: Content, cleaner: Cleaner) -> KnowledgeDocument:
    """The document of a text: a report, a note of the agent, or what another program wrote."""
    is_own = file.kind in ("work_product", "written")
    is_report = file.kind == "work_product" or (is_own and file.path.startswith(_REPORTS))
    path = file.path.removesuffix(SUFFIX)
    text, title = _read(path, content.text, cleaner)
    name = posixpath.basename(path)
    return file.document(
        "report" if is_report else "note",
        "own" if is_own else "tool",
        title=short_title(title) or clean_title(name),
        text=clean_text(text),
        context=address_words(posixpath.splitext(name)[0]),
        partial=content.is_cut or len(text) > LONGEST_TEXT or len(content.text) > _LONGEST_HTML,
    )


def _read(path: str, source: str, cleaner: Cleaner) -> tuple[str, str]:
    """Read a text by the ending of its path, without its secrets, and its title if it states one."""
    ending = posixpath.splitext(path)[1].lower()
    if ending in _HTML:
        text, title = _page(whole_words(source, _LONGEST_HTML))
        return cleaner.masked(text), cleaner.masked(title)
    masked = cleaner.masked(source)
    if ending in (*_JSON, *_JSON_LINES) and len(source) <= LONGEST_TEXT:
        parts = masked.split("\n") if ending in _JSON_LINES else [masked]
        return "\n".join(map(readable, parts)), ""
    return masked, title_in(masked)


def _page(source: str) -> tuple[str, str]:
    """What a person sees of a page, where headings begin with the mark of Markdown, and its title."""
    from ua_tui.observers.check.reading import read_document

    page = read_document(source, "text/html")
    parts: list[str] = []
    before = ""
    for block in page.blocks:
        is_joined = block.kind in _JOINED and block.kind == before
        parts += ["\n" if is_joined else "\n\n", "# " if block.kind == "heading" else "", block.text]
        before = block.kind
    return "".join(parts), page.title
