"""Turns the artifacts of a session into sources: pages, rows of searches, and runs in the workbench."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ua_tui.core.concurrency.cancellation import Stop
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.codec import from_json
from ua_tui.core.evidence.records import Source, SourceKind
from ua_tui.core.knowledge.records import KnowledgeDocument
from ua_tui.core.storage.files import Root
from ua_tui.core.toolkit.articles import ARTICLE_FOLDER, ARTICLE_PREFIX, FINAL_URL
from ua_tui.observers.evidence.addresses import address_key, addresses_in
from ua_tui.observers.evidence.session.journal import SessionJournal, plain_path
from ua_tui.observers.evidence.session.texts import moment, source_of, with_title
from ua_tui.observers.knowledge.artifacts import (
    ANSWER_PART,
    SavedFile,
    page_documents,
    search_documents,
    workbench_documents,
)
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_text
from ua_tui.observers.knowledge.contents import Content, read_content
from ua_tui.observers.knowledge.json_items import read_object

_PAGES, _RUNS, _UNPARSED = "extracted_articles", "workbench_activity", "search_results/unparsed"
_ADDRESSES = "search_results/urls.txt"
_MOST_FILES = 20_000
_HEAD = 16 << 10
_MOST_NAMED = 5_000


@dataclass(frozen=True)
class Found:
    """A source with its text, the addresses that its file names beside its own, and where it was redirected to."""

    record: Source
    text: str
    named: Sequence[str] = ()
    final_url: str = ""


class Artifacts:
    """Reads the artifacts in the folder of a session, those of its journal and others.

    Attributes:
        problems: the paths of files that cannot be read, and of pages that were changed after they were saved.
        other_paths: for the path of the crawler's file the path of the page that was saved from it.
    """

    def __init__(
        self, root: Root, journal: SessionJournal, cleaner: Cleaner, stop: Stop, is_full: Callable[[], bool]
    ) -> None:
        self._root = root
        self._journal = journal
        self._cleaner = cleaner
        self._stop = stop
        self._is_full = is_full
        self.problems: list[str] = []
        self.other_paths: dict[str, str] = {}

    def pages(self) -> Iterator[Found]:
        """Give the pages that were read, each text of a page once."""
        known: set[tuple[str, str]] = set()
        for file, content in self._read(_PAGES, "article", (".json",)):
            raw, _ = read_object(content.text)
            markdown = raw.get("markdown")
            if isinstance(markdown, str):
                self.other_paths[markdown] = file.path
            yield from self._page(file, content, known, markdown if isinstance(markdown, str) else "")
        for file, content in self._read(ARTICLE_FOLDER, "article", (".md",)):
            name = posixpath.basename(file.path)
            if name.startswith(ARTICLE_PREFIX) and file.path not in self.other_paths:
                yield from self._page(file, content, known, file.path)

    def _page(
        self, file: SavedFile, content: Content, known: set[tuple[str, str]], markdown: str
    ) -> Iterator[Found]:
        for page in page_documents(file, content.text, self._cleaner):
            key = (address_key(page.url), page.text)
            if key not in known:
                known.add(key)
                found = _found("article", page, page.title, page.text, _named(content.text))
                yield replace(found, final_url=self._final_url(markdown) if markdown else "")

    def _final_url(self, markdown: str) -> str:
        """The address to which a page was redirected, as the crawler's file states it; empty if it was not."""
        if markdown in self._journal.written:
            return ""
        try:
            head = self._root.read(markdown, _HEAD).decode("utf-8", "replace")
        except (UniversalAgentError, OSError, ValueError):
            return ""
        for line in head.partition("\n---\n")[0].split("\n"):
            name, _, value = line.partition(": ")
            if name == FINAL_URL and isinstance(url := from_json(value), str):
                return self._cleaner.address(url, self._cleaner.masked(url))
        return ""

    def rows(self) -> Iterator[Found]:
        """Give the rows of searches, each once, and the providers' own answers."""
        known: set[tuple[str, str]] = set()
        for file, content in self._read(ARTICLE_FOLDER, "search_results", (".json",)):
            asked = self._asked(file)
            named = [url for url in _named(content.text) if address_key(url) not in asked]
            for row in search_documents(file, content.text, self._cleaner):
                # What was searched for is the agent's own text.
                title = "Answer to a search" if row.part == ANSWER_PART else row.title
                text = row.text if row.part == ANSWER_PART else with_title(row.title, row.text)
                if (row.url, text) in known:
                    continue
                known.add((row.url, text))
                yield _found("search_row", row, title, text, named)
                named = []

    def runs(self) -> Iterator[Found]:
        """Give what runs in the workbench returned; the code is the agent's own text."""
        for file, content in self._read(_RUNS, "workbench_activity", (".json",)):
            for run in workbench_documents(file, content.text, self._cleaner, with_code=False):
                if run.text:
                    yield _found("run", run, "Run in the workbench", run.text, ())

    def unparsed(self) -> Iterator[Found]:
        """Give the answers of searches whose rows were not recognised."""
        for file, content in self._read(_UNPARSED, "unparsed", (".txt",)):
            _, _, answer = content.text.partition("\n\n")
            text = clean_text(self._cleaner.masked(answer))
            if text:
                yield Found(
                    source_of(
                        "result",
                        text,
                        title="Answer to a search",
                        path=file.path,
                        tool_use_id=file.tool_use_id,
                        read_at=moment(file.at),
                    ),
                    text,
                )

    def addresses(self) -> Sequence[str]:
        """The addresses that searches found, also those whose rows have been deleted."""
        if _ADDRESSES in self._journal.written:
            return ()
        try:
            content = read_content(self._root, _ADDRESSES)
        except (UniversalAgentError, OSError, ValueError):
            return ()
        return [line.strip() for line in content.text.splitlines() if line.strip()] if content else ()

    def _read(self, folder: str, kind: str, endings: tuple[str, ...]) -> Iterator[tuple[SavedFile, Content]]:
        """Give the files of a folder with their contents, one by one."""
        try:
            entries = self._root.list(folder)[:_MOST_FILES]
        except (UniversalAgentError, OSError, ValueError):
            return
        for entry in entries:
            self._stop.check()
            path = f"{folder}/{entry.name}"
            plain = plain_path(path)
            if entry.is_dir or not plain.endswith(endings) or plain in self._journal.written:
                continue
            if self._is_full():
                return
            event = self._journal.saved.get(plain)
            file = SavedFile(
                path=path,
                kind=kind,
                at=event.at.timestamp() if event is not None else entry.mtime,
                tool_use_id=self._journal.makers.get(plain),
                sha256=event.sha256 if event is not None else "",
            )
            is_page = kind == "article" and event is not None
            try:
                content = read_content(self._root, path, digest=is_page)
            except (UniversalAgentError, OSError, ValueError):
                self.problems.append(path)
                continue
            # An agent could have put anything into a page that was changed after it was saved.
            if content is None or (is_page and content.sha256 != file.sha256):
                self.problems.append(path)
                continue
            yield file, content

    def _asked(self, file: SavedFile) -> frozenset[str]:
        """The keys of the addresses that the agent gave to the call which made a file."""
        call = self._journal.calls.get(file.tool_use_id or "")
        return frozenset(map(address_key, addresses_in(str(call.input)))) if call is not None else frozenset()


def _named(source: str) -> Sequence[str]:
    return list(dict.fromkeys(addresses_in(source)))[:_MOST_NAMED]


def _found(
    kind: SourceKind, document: KnowledgeDocument, title: str, text: str, named: Sequence[str]
) -> Found:
    text = with_title(title, text) if kind == "article" else text
    made: datetime | None = moment(document.made_at)
    record = source_of(
        kind,
        text,
        title=title,
        url=document.url,
        path=document.path,
        part=document.part,
        tool_use_id=document.tool_use_id,
        published=document.date,
        read_at=made,
    )
    return Found(record, text, named)
