"""Turns the files, queries and answers of a session into documents of the knowledge base."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.codec import to_json
from ua_tui.core.events.types import QueryFinished, QueryReceived, QuerySteered
from ua_tui.core.knowledge.records import Kind, KnowledgeDocument, Trust
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import ARTICLE_FOLDER, ARTICLE_PREFIX, REPORT_CHECKS
from ua_tui.core.storage.large_results import FOLDER as TOOL_RESULTS
from ua_tui.core.storage.workspace import is_record
from ua_tui.core.toolkit.articles import decode_article
from ua_tui.observers.decoding.readable_json import readable
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.knowledge.cleaning import (
    LONGEST_TEXT,
    address_words,
    clean_text,
    clean_title,
    is_heading,
    seconds_of,
    short_title,
    texts_in,
    title_in,
    web_address,
)
from ua_tui.observers.knowledge.contents import Content, opened, read_content, read_object, whole_words

QueryEvent = QueryReceived | QuerySteered | QueryFinished

_LONGEST_HTML = 2 * LONGEST_TEXT
NAMES_CALL = frozenset({"search_results", "workbench_activity", "article", "corpus"})
"""The kinds of artifacts that name the call which made them."""
_NAMED_ONLY = frozenset({"download", "media", "attachment"})
# The pages in a corpus are those of the articles, and checks and exports say again what reports and pages say.
_SKIPPED_FOLDERS = frozenset({REPORT_CHECKS, TOOL_RESULTS})
_SKIPPED_ENDS = (".log", "expanded_corpus.json")
_REPORTS = "work_products/"
_HTML = (".html", ".htm", ".xhtml")
_JSON, _JSON_LINES = (".json", ".geojson"), (".jsonl", ".ndjson")
_JOINED = frozenset({"item", "row", "code"})

ANSWER_PART, PANEL_PART = 0, -1
"""The parts of a file of search results that are no rows; the rows are numbered from 1."""

_ROW_FIELDS = ("url", "title", "source", "date", "snippet", "extra")
_PAGE_FIELDS = ("url", "title", "author", "source", "date", "timestamp", "tool_use_id", "content", "partial")
ANSWER = "Answer to a search"
_RUN = "Run in the workbench"
_DAY = 86_400.0
_LONGEST_ROW = 20_000
_LONGEST_DATE = 40
_ROWS = 50
_JSON_MARKS = re.compile(r'[{}\[\]"]+|\\[nt]')
_NOTHING: Mapping[str, Any] = {}


class SavedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as its event describes it; `path` is relative to the session's folder, `at` seconds since the epoch.

    `sha256` is the digest of what the observer saved; empty if it was changed afterwards, or somebody else wrote it.
    """

    path: str
    kind: str
    at: float
    tool_use_id: str | None = None
    sha256: str = ""

    def document(
        self, kind: Kind, trust: Trust, says: Mapping[str, Any] = _NOTHING, **fields: Any
    ) -> KnowledgeDocument:
        """Make a document of this file with `fields`; when it was made, and by which call, it may say itself."""
        seconds = seconds_of(says.get("timestamp"), self.at + _DAY)
        return KnowledgeDocument(
            kind=kind,
            trust=trust,
            path=self.path,
            made_at=self.at if seconds is None else seconds,
            tool_use_id=clean_title(says.get("tool_use_id")) or self.tool_use_id,
            **fields,
        )


def search_documents(file: SavedFile, source: str, redactor: Redactor) -> Iterator[KnowledgeDocument]:
    """Give a document for each row of search results, one for the provider's answer, and one for its panel.

    A row without a title has none here.
    """
    members, rows = read_object(source, "results")
    panel = members.pop("knowledge_panel", None)
    top = redactor.redact_value(members)
    query = short_title(top.get("query"))
    answer = clean_text(top.get("answer"))
    base = file.document(
        "search_row", "web", top, part=ANSWER_PART, title=query or ANSWER, text=answer, context=query
    )
    if answer:
        yield base
    numbered = [(PANEL_PART, panel), *enumerate(rows, start=1)]
    # Masking many rows together is faster than one by one.
    for at in range(0, len(numbered), _ROWS):
        some = numbered[at : at + _ROWS]
        given = [_only(row, _ROW_FIELDS) for _, row in some]
        for (part, _), raw, row in zip(some, given, redactor.redact_value(given), strict=True):
            url = web_address(raw.get("url"), row.get("url"), redactor)
            if found := _row(replace(base, part=part, url=url), row, query):
                yield found


def _row(base: KnowledgeDocument, row: dict[str, Any], query: str) -> KnowledgeDocument | None:
    """The document of a row without secrets; None if it says nothing."""
    # The text of the page is a document of its own, once it was read.
    texts = [clean_text(row.get("snippet")), *map(clean_text, texts_in(row.get("extra")))]
    text = "\n\n".join(filter(None, dict.fromkeys(texts)))
    given = clean_title(row.get("title"), _LONGEST_ROW)
    title = title_of(given, text)
    if len(given) > len(title) and given not in text and not is_web_url(given):
        # A whole post that a provider gives as the title.
        text = f"{given}\n\n{text}".strip()
    if not given and not text:
        return None
    return replace(
        base,
        title=title,
        text=text[:_LONGEST_ROW],
        context=_joined(query, clean_title(row.get("source")), address_words(base.url)),
        date=clean_title(row.get("date"), _LONGEST_DATE),
    )


def title_of(given: object, text: str) -> str:
    """The title that was given, unless it is an address, or that which the text begins with; empty without one."""
    return short_title(given) if given and not is_web_url(given) else title_in(text)


def page_documents(
    file: SavedFile, source: str, redactor: Redactor, *, trust: Trust = "web"
) -> Iterator[KnowledgeDocument]:
    """Give the document of a page that was read: of an observer's JSON file, or of the crawler's Markdown."""
    raw = _crawled(source) if file.path.endswith(".md") else read_object(source)[0]
    page = redactor.redact_value(_only(raw, _PAGE_FIELDS))
    text = clean_text(page.get("content"))
    url = web_address(raw.get("url"), page.get("url"), redactor)
    title = title_of(page.get("title"), text)
    if not title and not text:
        return
    yield file.document(
        "article",
        trust,
        page,
        title=title,
        text=text,
        context=_joined(clean_title(page.get("source")), address_words(url)),
        url=url,
        author=clean_title(page.get("author")),
        date=clean_title(page.get("date"), _LONGEST_DATE),
        partial=bool(page.get("partial")) or len(str(page.get("content"))) > LONGEST_TEXT,
    )


def _crawled(source: str) -> dict[str, Any]:
    """The page in a file of the crawler, in the form of an observer's file."""
    article = decode_article(source)
    if article is None:
        return {}
    names = {"source": "site", "timestamp": "fetched_at", "content": "text"}
    return {name: getattr(article, names.get(name, name), None) for name in _PAGE_FIELDS}


def workbench_documents(
    file: SavedFile, source: str, redactor: Redactor, *, with_code: bool = True
) -> Iterator[KnowledgeDocument]:
    """Give the document of a run in the remote sandbox: its code and what it returned, or only what it printed."""
    run = redactor.redact_value(read_object(source)[0])
    given, output = (each if isinstance(each, dict) else {} for each in map(run.get, ("input", "output")))
    names = ("stdout", "results", "error", "stderr", "raw", "extra")
    # The errors of a run quote its code.
    values = [output.get(name) for name in (names if with_code else ("stdout", "results", "raw"))]
    printed = [readable(each if isinstance(each, str) else to_json(each)) for each in values if each]
    code = given.get("code") if with_code else ""
    text = clean_text("\n\n".join(filter(str.strip, [code if isinstance(code, str) else "", *printed])))
    purpose = short_title(given.get("thought")) or short_title(given.get("current_step"))
    if purpose or text:
        yield file.document("workbench", "tool", run, title=purpose or _RUN, text=text)


def unparsed_documents(file: SavedFile, source: str, redactor: Redactor) -> Iterator[KnowledgeDocument]:
    """Give the document of the answer of a search in which no rows were recognised, without the reason for that."""
    masked = redactor.redact(source)
    answer = masked.partition("\n\n")[2] if "\ntool: " in masked else masked
    # All that is there, without the marks of JSON.
    if text := clean_text(_JSON_MARKS.sub(" ", answer)):
        is_cut = len(answer) > LONGEST_TEXT
        yield file.document("search_row", "web", title=title_in(text) or ANSWER, text=text, partial=is_cut)


def _only(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The members of an object with these names; none of what is no object."""
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}


def _joined(*texts: str) -> str:
    return "\n".join(filter(None, texts))


_FORMATS = {
    "search_results": search_documents,
    "workbench_activity": workbench_documents,
    "unparsed": unparsed_documents,
}


def documents_of(root: Root, file: SavedFile, redactor: Redactor) -> Iterator[KnowledgeDocument]:
    """Read the documents of a file in the folder of a session.

    A file that is missing or damaged gives fewer documents, and never an error. Links are not followed.
    """
    path = file.path.removesuffix(SUFFIX).lower()
    is_ours = path.partition("/")[0] in _SKIPPED_FOLDERS or is_record(path) or path.endswith(_SKIPPED_ENDS)
    # A name with a secret cannot be stored, and without it the file would not be found.
    if is_ours or file.kind == "corpus" or redactor.redact(file.path) != file.path:
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
        yield from page_documents(file, content.text, redactor, trust=trust)
    elif (read := _FORMATS.get(file.kind)) is not None:
        yield from read(file, content.text, redactor)
    else:
        yield _text(file, content, redactor)


def event_document(event: QueryEvent, redactor: Redactor, asked: str) -> KnowledgeDocument | None:
    """Return the document of a query, or of the final answer to what was `asked`; None if it has no text."""
    masked = redactor.redact(event.text)
    text = clean_text(masked)
    if not text:
        return None
    is_answer = isinstance(event, QueryFinished)
    title = ""
    if is_answer and not is_heading(text):
        # Its first sentence says less about it than what was asked.
        title = short_title(redactor.redact(asked))
    return KnowledgeDocument(
        kind="answer" if is_answer else "query",
        part=event.seq,
        title=title or title_in(text) or short_title(text),
        text=text,
        made_at=event.at.timestamp(),
        trust="own",
        partial=len(masked) > LONGEST_TEXT,
    )


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
    made: tuple[Kind, Trust] = ("report", "own") if is_report else ("file", "tool")
    return file.document(*made, title=title, context=context)


def _text(file: SavedFile, content: Content, redactor: Redactor) -> KnowledgeDocument:
    """The document of a text: a report, a note of the agent, or what another program wrote."""
    is_own = file.kind in ("work_product", "written")
    is_report = file.kind == "work_product" or (is_own and file.path.startswith(_REPORTS))
    path = file.path.removesuffix(SUFFIX)
    text, title = _read(path, content.text, redactor)
    name = posixpath.basename(path)
    return file.document(
        "report" if is_report else "note",
        "own" if is_own else "tool",
        title=short_title(title) or clean_title(name),
        text=clean_text(text),
        context=address_words(posixpath.splitext(name)[0]),
        partial=content.is_cut or len(text) > LONGEST_TEXT or len(content.text) > _LONGEST_HTML,
    )


def _read(path: str, source: str, redactor: Redactor) -> tuple[str, str]:
    """Read a text by the ending of its path, without its secrets, and its title if it states one."""
    ending = posixpath.splitext(path)[1].lower()
    if ending in _HTML:
        text, title = _page(whole_words(source, _LONGEST_HTML))
        return redactor.redact(text), redactor.redact(title)
    masked = redactor.redact(source)
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
