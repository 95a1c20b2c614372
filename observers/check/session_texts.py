"""Turns what a session has read into sources: the files that observers saved, results of calls, and other files."""

from __future__ import annotations

import csv
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from ua_tui.core.agent.permissions.arguments import leaves
from ua_tui.core.claims.files import report_format
from ua_tui.core.claims.records import Source, SourceKind
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.codec import from_json
from ua_tui.core.knowledge.records import KnowledgeDocument
from ua_tui.core.observation import CrawlObservation, TextContent
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import ARTICLE_FOLDER, ARTICLE_PREFIX
from ua_tui.core.toolkit.articles import decode_article
from ua_tui.observers.base import input_text
from ua_tui.observers.check.blocks import ADDRESS
from ua_tui.observers.check.link_claims import address_key
from ua_tui.observers.check.reading import read_document
from ua_tui.observers.check.session_journal import (
    FILE_READERS,
    Result,
    SessionJournal,
    plain_path,
    strings_in,
)
from ua_tui.observers.decoding.readable_json import readable
from ua_tui.observers.knowledge.cleaning import clean_text, clean_title, web_address
from ua_tui.observers.knowledge.contents import LARGEST, Content, opened, read_content, read_object
from ua_tui.observers.knowledge.documents import (
    ANSWER,
    ANSWER_PART,
    SavedFile,
    page_documents,
    search_documents,
    unparsed_documents,
    workbench_documents,
)
from ua_tui.observers.search.tool_names import reads_pages, runs_of, short_name

UNREADABLE = (UniversalAgentError, OSError, ValueError)
"""What reading a file that anybody may have written can raise."""
PLAIN, MARKDOWN, HTML, PDF = "text/plain", "text/markdown", "text/html", "application/pdf"
_ARTIFACTS = frozenset(
    {"search_results", "extracted_articles", "workbench_activity", "tool_results", "uploads"}
)
"""Folders whose files are read as what they are, never as local files."""
_MEDIA_TYPES = {"html": HTML, "markdown": MARKDOWN, "pdf": PDF}
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_FOUND = "search_results/urls.txt"
_LINE_NUMBER = re.compile(r"^[ \t]{0,8}\d{1,8}(?:→|\t)", re.MULTILINE)
_MOST_FILES = 20_000
_MOST_NAMED = 5_000
_TITLE_IS_NEAR = 2_000
"""Characters at the beginning of a text in which its title would be repeated."""
_LONG_INPUT = 80


def source_text(
    kind: SourceKind, text: str, *, title: str = "", media_type: str = PLAIN, **more: Any
) -> Source:
    """Make a source of a text without secrets; `more` are other fields of it."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""
    return Source(
        kind=kind, text=text, title=clean_title(title), media_type=media_type, sha256=digest, **more
    )


def of_document(
    kind: SourceKind, document: KnowledgeDocument, title: str, heading: str, **more: Any
) -> Source:
    """Make a source of a document as the knowledge base has it, below a `heading` unless that is empty."""
    return source_text(
        kind, with_title(heading, document.text), title=title,
        url=document.url, path=document.path, part=document.part, tool_use_id=document.tool_use_id or "",
        published=document.date, read_at=moment(document.made_at), **more,
    )  # fmt: skip


def with_title(title: str, text: str) -> str:
    """A text below its title, unless it begins with it: figures of a title were read, too."""
    is_there = title.removesuffix("…") in text[:_TITLE_IS_NEAR]
    return text if is_there else f"{title}\n\n{text}".strip()


def media_type_of(path: str) -> str:
    """The media type of a text or PDF file by its name or path, also of a compressed one."""
    return _MEDIA_TYPES.get(report_format(path) or "", PLAIN)


def moment(seconds: float) -> datetime | None:
    """The time so many seconds after the epoch; None if there is no such time."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def file_text(root: Root, path: str, redactor: Redactor) -> tuple[str, str]:
    """The text of a file without secrets, and its media type; that of a PDF file is plain; empty if there is none.

    Raises:
        WorkspaceError: it cannot be read.
    """
    media_type = media_type_of(path)
    if media_type != PDF:
        content = read_content(root, path)
        text = clean_text(redactor.redact(content.text)) if content is not None else ""
        separator = _SEPARATORS.get(PurePosixPath(plain_path(path)).suffix.lower())
        return (_table(text, separator), MARKDOWN) if separator else (text, media_type)
    with opened(root, path) as (file, is_packed):
        document = read_document(b"" if is_packed else file.read(8 * LARGEST), PDF)
    return clean_text(redactor.redact("\n\n".join(block.text for block in document.blocks))), PLAIN


def _table(text: str, separator: str) -> str:
    """Rows with separators as a table of Markdown, so that the headings of the columns are known."""
    try:
        rows = list(filter(None, csv.reader(text.splitlines(), delimiter=separator)))
    except csv.Error:
        return text
    lines = ["| " + " | ".join(cell.replace("|", "/").strip() for cell in row) + " |" for row in rows]
    return "\n".join([*lines[:1], *("|" + " --- |" * len(row) for row in rows[:1]), *lines[1:]])


@dataclass
class SessionTexts:
    """Reads what a session was given, without what the agent itself wrote.

    Attributes:
        problems: the paths of files that cannot be read, and of pages that were changed after they were saved.
        unread: the files that the agent was given and that have no text, such as pictures.
    """

    root: Root
    journal: SessionJournal
    redactor: Redactor
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def artifacts(self) -> Iterator[Source]:
        """Give the pages that were read, then what searches found, then what runs returned."""
        yield from self._pages()
        yield from self._rows()
        for file, content in self._read("workbench_activity", "workbench_activity", "*.json"):
            # The code is the agent's own text.
            for run in workbench_documents(file, content.text, self.redactor, with_code=False):
                if run.text:
                    yield of_document("run", run, "Run in the workbench", "")
        for file, content in self._read("search_results/unparsed", "unparsed", "*.txt"):
            for answer in unparsed_documents(file, content.text, self.redactor):
                yield of_document("result", answer, ANSWER, "", was_read=False)

    def gone(self, known: Iterable[str]) -> Iterator[Source]:
        """Give the pages that were read, as the journal says, and whose files are no longer there or not as saved.

        `known` are the addresses of the pages that are there.
        """
        keys = set(map(address_key, known))
        saved = [(event.tool_use_id or "", event) for event in self.journal.saved.values()]
        pages = [
            *(
                (page.get("url"), page.get("title"), page.get("date"), result.call.tool_use_id)
                for result in self.journal.results if isinstance(result.observation, CrawlObservation)
                for text in self._blocks(result)
                for page in read_object(text, "articles")[1] if isinstance(page, dict)
            ),
            *((self.journal.address_of(use), "", "", use) for use, event in saved if event.kind == "article"),
        ]  # fmt: skip
        for url, title, date, use in pages:
            address = web_address(url, self.redactor.redact(str(url)), self.redactor)
            if address and (key := address_key(address)) not in keys:
                keys.add(key)
                yield source_text(
                    "article", "", title=self.redactor.redact(str(title or "")), url=address, tool_use_id=use,
                    published=clean_title(date, 40),
                )  # fmt: skip

    def results(self) -> Iterator[Source]:
        """Give the results of calls that are sources."""
        for result in self.journal.results:
            check_stopped()
            if self.journal.is_source(result) and (text := self._text(result)):
                call = result.call
                # Which of its pages a crawl has read, its articles say.
                is_crawl = isinstance(result.observation, CrawlObservation)
                is_fetch = call.name == "WebFetch" and not text.startswith("REDIRECT DETECTED:")
                is_reader = (reads_pages(call.name) and not is_crawl) or is_fetch
                url = self.journal.address_of(call.tool_use_id) if is_reader else ""
                tools = dict.fromkeys(name for name, _ in runs_of(call) if name)
                yield source_text(
                    "result", text, title=", ".join(list(tools)[:4]), url=url,
                    path=self._stored(result), media_type=MARKDOWN if url else PLAIN,
                    tool_use_id=clean_title(self.redactor.redact(call.tool_use_id)), read_at=result.at,
                )  # fmt: skip

    def files(self, cited: Iterable[str]) -> Iterator[Source]:
        """Give the files that the agent read, that a person added and that are cited, but those of the agent."""
        parts: dict[str, list[Result]] = {path: [] for path in (*self.journal.attached, *cited)}
        for result in self.journal.results:
            path = input_text(result.call.input, "file_path", "path")
            if path and short_name(result.call.name) in FILE_READERS:
                parts.setdefault(self.journal.inside(path) or path, []).append(result)
        for path, results in parts.items():
            if not self.journal.is_own(path) and path.partition("/")[0] not in _ARTIFACTS:
                yield from self._file(path, results)

    def addresses(self) -> Iterator[Source]:
        """Give the addresses that a person wrote, and that searches found, also those whose rows have been deleted."""
        for event in self.journal.queries:
            # A custom command, or a resource of a server, is in the text that was sent.
            text = self.redactor.redact(getattr(event, "prompt", "") or event.text)
            if links := tuple(ADDRESS.findall(text)):
                yield source_text(
                    "query", "", title="What you wrote", part=event.seq, read_at=event.at, links=links, was_read=False
                )  # fmt: skip
        if (content := self._content(_FOUND)) is not None:
            links, title = tuple(self.redactor.redact(content.text).split()), "Addresses that searches found"
            yield source_text("search_row", "", title=title, path=_FOUND, links=links, was_read=False)

    def _pages(self) -> Iterator[Source]:
        """Give the pages that were read, each text of a page once."""
        known: set[tuple[str, str]] = set()
        crawled: set[str] = set()
        saved = self._read("extracted_articles", "article", "*.json")
        # Pages of the crawler may not have been saved by an observer yet.
        for file, content in chain(saved, self._read(ARTICLE_FOLDER, "article", f"{ARTICLE_PREFIX}*.md")):
            if file.path in crawled:
                continue
            raw = {"markdown": file.path} if file.path.endswith(".md") else read_object(content.text)[0]
            markdown = str(raw.get("markdown") or "")
            crawled.add(markdown)
            crawl = self._content(markdown)
            article = decode_article(crawl.text) if crawl is not None else None
            site = raw.get("source") or (article and article.site)
            for page in page_documents(file, content.text, self.redactor):
                key = (address_key(page.url), page.text)
                if key not in known:
                    known.add(key)
                    # After a redirect the page has another address than the one that was asked for.
                    final = (article and article.final_url) or ""
                    final = web_address(final, self.redactor.redact(final), self.redactor)
                    asked = self.journal.address_of(page.tool_use_id or "")
                    yield of_document(
                        "article", page, page.title, page.title, media_type=MARKDOWN,
                        links=_named(content.text), author=page.author,
                        addresses=tuple(filter(None, [final, asked])),
                        site=clean_title(self.redactor.redact(site) if isinstance(site, str) else ""),
                    )  # fmt: skip

    def _rows(self) -> Iterator[Source]:
        """Give the rows of searches, each once, and the providers' own answers."""
        known: set[tuple[str, str]] = set()
        for file, content in self._read(ARTICLE_FOLDER, "search_results", "*.json"):
            # The addresses that the agent itself searched for were not found by it.
            call = self.journal.calls.get(file.tool_use_id or "")
            given = f"{call and call.input} {read_object(content.text, 'results')[0].get('query')}"
            asked = set(map(address_key, ADDRESS.findall(given)))
            named = tuple(url for url in _named(content.text) if address_key(url) not in asked)
            for row in search_documents(file, content.text, self.redactor):
                # What was searched for is the agent's own text.
                is_answer = row.part == ANSWER_PART
                title, heading = (ANSWER, "") if is_answer else (row.title, row.title)
                found = of_document("search_row", row, title, heading, links=named, was_read=False)
                named = ()
                if (row.url, found.text) not in known:
                    known.add((row.url, found.text))
                    yield found

    def _read(self, folder: str, kind: str, pattern: str) -> Iterator[tuple[SavedFile, Content]]:
        """Give the files of a folder with their contents, one by one."""
        try:
            entries = self.root.list(folder)[:_MOST_FILES]
        except UNREADABLE:
            return
        for entry in entries:
            check_stopped()
            path = f"{folder}/{entry.name}"
            plain = plain_path(path)
            if entry.is_dir or not fnmatchcase(plain, f"*/{pattern}") or plain in self.journal.written:
                continue
            event = self.journal.saved.get(plain)
            content = self._content(path, digest=kind == "article")
            # An agent could have put anything into a page that was changed after it was saved.
            if content is None or (event and kind == "article" and content.sha256 != event.sha256):
                self.problems.append(path)
                continue
            at = event.at.timestamp() if event is not None else entry.mtime
            use = event.tool_use_id if event is not None else None
            yield SavedFile(path=path, kind=kind, at=at, tool_use_id=use), content

    def _content(self, path: str, *, digest: bool = False) -> Content | None:
        """The content of a file that the agent did not write; None if it has no text, or cannot be read."""
        if not path or plain_path(path) in self.journal.written:
            return None
        try:
            return read_content(self.root, path, digest=digest)
        except UNREADABLE:
            return None

    def _text(self, result: Result) -> str:
        text = "\n\n".join(map(readable, self._blocks(result)))
        # What a tool repeats of its arguments is the agent's own text, addresses included.
        given = strings_in(result.call.input)
        for each in given:
            if len(each) >= _LONG_INPUT:
                text = text.replace(each, " ")
        if asked := {address_key(url) for each in given for url in ADDRESS.findall(each)}:
            text = ADDRESS.sub(lambda found: " " if address_key(found[0]) in asked else found[0], text)
        if short_name(result.call.name) in {"Grep", "Bash"}:
            text = "\n".join(line for line in text.split("\n") if not self.journal.own_paths.match(line))
        return clean_text(self.redactor.redact(text))

    def _file(self, path: str, results: Sequence[Result]) -> Iterator[Source]:
        text, media_type = "", PLAIN
        if is_inside := self.journal.inside(path) == path:
            with suppress(*UNREADABLE):
                text, media_type = file_text(self.root, path, self.redactor)
        if not text:
            given = (block for each in results for block in self._blocks(each))
            blocks = dict.fromkeys(_LINE_NUMBER.sub("", block) for block in given)
            text = clean_text(self.redactor.redact("\n".join(blocks)))
        at = results[0].at if results else self.journal.attached.get(path)
        if not text:
            # The report may well cite a picture.
            self.unread += [path] if at is not None else []
            return
        yield source_text(
            "file", text, title=posixpath.basename(path), url=f"file://{path}" if posixpath.isabs(path) else "",
            path=path if is_inside else "", media_type=media_type, read_at=at,
            tool_use_id=results[0].call.tool_use_id if results else "",
        )  # fmt: skip

    def _stored(self, result: Result) -> str:
        """The path of the file of a result; empty if there is none, or it is no file of the session."""
        path = result.observation.stored_at or ""
        return path if self.journal.inside(path) == path else ""

    def _blocks(self, result: Result) -> list[str]:
        """The texts of a result: the complete ones from its file, if it was too large for the journal."""
        shown = [block.text for block in result.observation.content if isinstance(block, TextContent)]
        content = self._content(self._stored(result))
        blocks = from_json(content.text) if content is not None and not content.is_cut else None
        return [str(each) for path, each in leaves(blocks) if path[-1:] == ("text",)] or shown


def _named(data: str) -> tuple[str, ...]:
    plain = data.replace("\\/", "/").replace("\\u0026", "&")
    return tuple(dict.fromkeys(ADDRESS.findall(plain)))[:_MOST_NAMED]
