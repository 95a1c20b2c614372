"""Checks a report against what its session has read, or against files that the user names."""

from __future__ import annotations

import hashlib
import math
import os
import posixpath
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.claims.records import Source
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.errors import KnowledgeError, WorkspaceError
from ua_tui.core.knowledge.search.search import KnowledgeSearch, open_earlier
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import REPORT_CHECKS
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.knowledge.earlier_articles import earlier_copy
from ua_tui.observers.check.blocks import ADDRESS
from ua_tui.observers.check.check import check_document
from ua_tui.observers.check.link_claims import address_key
from ua_tui.observers.check.reading import read_document
from ua_tui.observers.check.session_journal import SessionJournal, read_journal
from ua_tui.observers.check.session_texts import (
    HTML,
    MARKDOWN,
    UNREADABLE,
    SessionTexts,
    file_text,
    media_type_of,
    moment,
    of_document,
    source_text,
    with_title,
)
from ua_tui.observers.decoding.readable_json import readable
from ua_tui.observers.decoding.urls import repaired_url
from ua_tui.observers.knowledge.cleaning import LONGEST_TEXT, clean_text, clean_title, web_address
from ua_tui.observers.knowledge.documents import SavedFile, page_documents

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

LARGEST = 16_000_000
"""Characters of all sources together; what comes behind them is left out."""
_MOST = 10_000
_MOST_GIVEN = 2_000
_MOST_LOOKED_UP = 1_000
_MOST_NAMED = 3
_FIRST_LINES = 10
_LONGEST_HEAD = 256 << 10
"""Characters of a page in which its head ends."""
_STATED = {
    "title": "//title | //meta[@*='og:title']/@content",
    "url": "//link[@*='canonical']/@href | //meta[@*='og:url']/@content",
    "site": "//meta[@*='og:site_name']/@content",
    "author": "//meta[@*='author']/@content",
    "published": "//meta[@*='article:published_time' or @*='date']/@content",
}
"""Where the head of a page states the fields of a source."""
_STARTS = ("https://", "https://www.", "http://", "http://www.")


def check_in_session(
    data: bytes,
    report: str,
    folder: Path,
    redactor: Redactor,
    knowledge: KnowledgePlace | None = None,
) -> ReportCheck:
    """Check a report against what its session and earlier ones have read. Blocks.

    `report` is its path relative to the session's `folder`; the session may be running. `redactor` masks what the
    sources say; `knowledge` has what earlier sessions have read. What cannot be read is left out, and a notice says so.

    Raises:
        Stopped: the result is no longer needed.
    """
    found = Sources(data, report, redactor)
    urls = dict.fromkeys(url.strip() for block in found.document.blocks for _, _, url in block.links)
    files = {posixpath.basename(report)}
    journal = read_journal(folder)
    try:
        root = Root(folder)
    except UNREADABLE as error:
        found.notices.append(f"The sources could not be read: {clean_line(str(error), 300)}.")
    else:
        local = {url: path for url in urls if (path := _local_path(url, report, root, journal)) is not None}
        files |= set(map(address_key, local))
        if not found.add_session(root, journal, local.values()):
            found.notices.append("This session itself has read no sources.")
    if knowledge is not None:
        read = set(map(address_key, found.addresses()))
        wanted = [url for url in urls if repaired_url(url) and address_key(url) not in read]
        if wanted:
            opened = partial(open_earlier, knowledge, session=folder, demo=journal.demo)
            found.add_all(_earlier(wanted[:_MOST_LOOKED_UP], opened, redactor, found.notices))
    return found.check(files)


def check_against(data: bytes, report: str, sources: Sequence[Path], redactor: Redactor) -> ReportCheck:
    """Check a report against files, all files in folders, and what sessions read whose folders are given. Blocks.

    Raises:
        WorkspaceError: one of the `sources` cannot be read, or none of them has a text.
        Stopped: the result is no longer needed.
    """
    found = Sources(data, report, redactor)
    own = clean_text(redactor.redact(data.decode("utf-8", "replace")))
    unread: list[str] = []
    for given in sources:
        if not given.exists():
            raise WorkspaceError(f"{given} cannot be read: No such file or directory")
        paths = list(_paths(given))
        if len(paths) > _MOST_GIVEN:
            found.notices.append(
                f"Only the first {_MOST_GIVEN:,} of {len(paths):,} files of {given} were compared."
            )
        for path in paths[:_MOST_GIVEN]:
            if path.is_dir():
                was_read = found.add_session(Root(path), read_journal(path))
                unread += [] if was_read else [path.name]
                continue
            try:
                texts = list(_of_file(path, redactor))
            except UNREADABLE as error:
                if path == given:
                    raise WorkspaceError(f"{given} cannot be read: {clean_line(str(error), 300)}.") from error
                texts = []
            found.add_all(each for each in texts if each.text != own)
            unread += [] if texts else [str(path)]
    if unread:
        found.notices.append(f"Not compared, as no text can be read from them: {_list(unread)}.")
    if not any(each.text for each in found.texts):
        named = _list([str(each) for each in sources])
        raise WorkspaceError(
            f"there is nothing to compare with in {named}: give files or folders with HTML, Markdown, text or PDF."
        )
    checked = found.check()
    states = {each.state for each in checked.claims if each.kind == "link"}
    is_known = "found" in states or any(found.addresses())
    return checked if is_known or "never seen" not in states else _without_links(checked)


def _masked(data: bytes, redactor: Redactor) -> bytes:
    """The report without secrets: what is before and after a claim could begin or end within one."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return redactor.redact(text).encode()


class Sources:
    """A report and its sources, as far as there is room for them, and sentences about what could not be read."""

    def __init__(self, data: bytes, report: str, redactor: Redactor) -> None:
        self._started = time.perf_counter()
        self.redactor = redactor
        self.document = read_document(_masked(data, redactor), media_type_of(report))
        self.report, self._data = report, data
        self.texts: list[Source] = []
        self.notices: list[str] = []
        self._length = 0
        self._is_full = False

    def add_all(self, found: Iterable[Source]) -> None:
        """Add sources until there is no more room."""
        for each in () if self._is_full else found:
            check_stopped()
            self._length += len(each.text)
            if self._length > LARGEST or len(self.texts) >= _MOST:
                self._is_full = True
                self.notices.append(
                    f"Only the first {len(self.texts):,} sources were compared: together they are too long."
                )
                return
            if len(each.text) > LONGEST_TEXT - _FIRST_LINES:
                name = clean_line(each.title or each.url or each.path, 100)
                self.notices.append(f"Only the beginning of {name} was compared: it is too long.")
            self.texts.append(each)

    def addresses(self) -> Iterator[str]:
        """The addresses of what was read."""
        for each in self.texts:
            if each.was_read:
                yield from filter(None, (each.url, *each.addresses))

    def add_session(self, root: Root, journal: SessionJournal, also: Iterable[str] = ()) -> bool:
        """Add what a session has read, and `also` files that a report cites, without what the agent itself wrote.

        Gives whether there is any text.
        """
        texts = SessionTexts(root, journal, self.redactor)
        first = len(self.texts)
        self.add_all(texts.artifacts())
        gone = list(texts.gone(self.addresses()))
        self.add_all(gone)
        self.add_all(texts.results())
        self.add_all(texts.files(also))
        was_read = len(self.texts) > first
        self.add_all(texts.addresses())
        if journal.problem:
            self.notices.append(f"The journal of the session could not be read: {journal.problem}.")
        for paths, why in (
            ([page.title or page.url for page in gone], "as their text is no longer there"),
            (texts.problems, "as they cannot be read or were changed after they were saved"),
            (texts.unread, "as no text can be read from them"),
        ):
            if paths:
                self.notices.append(f"Not compared, {why}: {_list(paths)}.")
        return was_read

    def check(self, files: Collection[str] = ()) -> ReportCheck:
        """Compare the report with them; `files` are the paths that its links may lead to."""
        found = check_document(self.document, self.texts, files=files)
        return ReportCheck(
            report=self.report,
            sha256=hashlib.sha256(self._data).hexdigest(),
            checked_at=datetime.now(UTC),
            duration_ms=round((time.perf_counter() - self._started) * 1_000, 1),
            check=msgspec.structs.replace(found, notices=(*found.notices, *self.notices)),
            sources=tuple(each.record for each in self.texts),
        )


def _local_path(url: str, report: str, root: Root, journal: SessionJournal) -> str | None:
    """The path of the file of the session that a link of the report leads to; links on the disk are not followed."""
    bare = url.partition("#")[0].partition("?")[0]
    if not bare or ":" in bare.partition("/")[0]:
        return None
    for path in (unquote(bare), bare):
        for each in (posixpath.join(posixpath.dirname(report), path), path):
            inside = journal.inside(each)
            with suppress(*UNREADABLE):
                if inside is not None and (root.exists(inside) or root.exists(f"{inside}{SUFFIX}")):
                    return inside
    return None


def _earlier(
    urls: Sequence[str], opened: Callable[[], KnowledgeSearch], redactor: Redactor, notices: list[str]
) -> Iterator[Source]:
    """The newest copies of pages that earlier sessions read."""
    try:
        with closing(opened()) as base:
            for url in urls:
                # The knowledge base compares fewer spellings of an address.
                bare, question, query = address_key(url).partition("?")
                spelled = (f"{start}{bare}{end}{question}{query}" for start in _STARTS for end in ("", "/"))
                copies = (earlier_copy(base, each, datetime.now(UTC), math.inf) for each in (url, *spelled))
                copy = max(filter(None, copies), key=lambda each: each[0].made_at, default=None)
                if copy is None:
                    continue
                page, article = copy
                title = redactor.redact(article.title)
                yield source_text(
                    "earlier", with_title(title, clean_text(redactor.redact(article.text))), title=title, url=url,
                    path=page.path, part=page.part, session=PurePath(page.session).name, media_type=MARKDOWN,
                    author=redactor.redact(article.author or ""), site=redactor.redact(article.site or ""),
                    published=article.date or page.date, read_at=moment(page.made_at),
                )  # fmt: skip
    except KnowledgeError as error:
        notices.append(f"What earlier sessions read is unknown: {clean_line(str(error), 300)}.")


def _paths(given: Path) -> Iterator[Path]:
    """The folders of sessions, and the other files, at a path; links in a folder are not followed."""
    if not given.is_dir():
        yield given
    for folder, folders, names in os.walk(given):
        if JOURNAL in names:
            yield Path(folder)
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != REPORT_CHECKS)
        paths = [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
        yield from (path for path in paths if not path.is_symlink())


def _of_file(path: Path, redactor: Redactor) -> Iterator[Source]:
    """The sources in a file, if it has text: the page that a crawler saved, or the text with what it states of itself.

    Raises:
        WorkspaceError: it cannot be read.
    """
    real = path.resolve()
    text, media_type = file_text(Root(real.parent), real.name, redactor)
    file = SavedFile(path=str(path), kind="article", at=path.stat().st_mtime)
    pages = list(page_documents(file, text, redactor)) if path.suffix in (".json", ".md") else []
    for page in pages:
        yield of_document("article", page, page.title, page.title, media_type=MARKDOWN)
    if text and not pages:
        stated = _stated(text) if media_type == HTML else {}
        url = web_address(stated.get("url"), stated.get("url"), redactor)
        stated |= {"title": stated.get("title") or path.name, "url": url or _address_above(text)}
        text = readable(text) if path.suffix == ".json" else text
        yield source_text("file", text, path=str(path), media_type=media_type, **stated)


def _address_above(text: str) -> str:
    """The address that a text names in one of its first lines, and nothing else but "Source:" or the like."""
    for line in text.split("\n", _FIRST_LINES)[:_FIRST_LINES]:
        found = ADDRESS.findall(line[:2_000])
        if len(found) == 1 and len(line.replace(found[0], "").split()) <= 2:
            return str(found[0])
    return ""


def _stated(text: str) -> dict[str, Any]:
    """What the head of an HTML page states of it."""
    from lxml import etree  # type: ignore[import-untyped]  # ships no types

    root = etree.fromstring(text[:_LONGEST_HEAD].encode(), etree.HTMLParser(encoding="utf-8"))
    if root is None:
        return {}
    return {field: clean_title(root.xpath(f"string({place})")) for field, place in _STATED.items()}


def _without_links(checked: ReportCheck) -> ReportCheck:
    """The check without what it says of links: nobody knows what the given files are copies of."""
    why = "The given files do not state their addresses."
    claims = [
        each.as_state("not looked at", why) if each.state == "never seen" else each for each in checked.claims
    ]
    notices = (*checked.check.notices, f"Links were not checked: {why[0].lower()}{why[1:]}")
    check = msgspec.structs.replace(checked.check, claims=tuple(claims), notices=notices)
    return msgspec.structs.replace(checked, check=check)


def _list(names: Sequence[str]) -> str:
    """The first names of several, and how many more there are."""
    shown = ", ".join(clean_line(name, 100) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
