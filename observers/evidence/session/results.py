"""Turns the results of tools into sources, and the files that the agent read with them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from ua_tui.core.concurrency.cancellation import Stop
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.codec import from_json, to_json
from ua_tui.core.events.types import ToolCallFinished
from ua_tui.core.observation import (
    AnyObservation,
    CrawlObservation,
    FileWriteObservation,
    KnowledgeObservation,
    SubagentObservation,
    TextContent,
    ToolCall,
)
from ua_tui.core.storage.files import Root
from ua_tui.core.text import words_of
from ua_tui.core.web_reader.errors import ReaderError, is_web_reader, reader_error
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.evidence.addresses import address_key, addresses_in
from ua_tui.observers.evidence.session.artifacts import Found
from ua_tui.observers.evidence.session.journal import SessionJournal, plain_path
from ua_tui.observers.evidence.session.texts import file_text, source_of
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_text, clean_title
from ua_tui.observers.knowledge.contents import read_content
from ua_tui.observers.search.privacy import is_public_search
from ua_tui.observers.search.tool_names import (
    Policy,
    inner_policy_of,
    inner_tools,
    is_multi_execute,
    is_sandbox,
    reads_pages,
    short_name,
)

_FILE_READERS = {"Read": "file_path", "read_local_file": "path"}
_NO_SOURCES = frozenset(
    {
        "Agent",
        "AskUserQuestion",
        "Edit",
        "ExitPlanMode",
        "Glob",
        "MultiEdit",
        "NotebookEdit",
        "Skill",
        "Task",
        "TodoWrite",
        "ToolSearch",
        "Write",
        "crawl_parallel",
        "list_directory",
        "save_corpus",
        "workbench_download",
        "workbench_upload",
        "write_local_file",
    }
)
_ABOUT_TOOLS = frozenset({"schemas", "connections", "toolkits"})
_ARTIFACTS = frozenset({"search_results", "extracted_articles", "workbench_activity", "tool_results"})
_MADE_KINDS = frozenset({"search_results", "unparsed", "article", "workbench_activity"})
_LINE_NUMBER = re.compile(r"^[ \t]{0,8}\d{1,8}(?:→|\t)", re.MULTILINE)
_DEEPEST = 12
_LONG_INPUT = 80
_MOST_INPUTS = 200


class CrawledPage(msgspec.Struct):
    """A page as the answer of `crawl_parallel` names it."""

    url: str
    title: str = ""
    path: str = ""
    date: str | None = None


class FailedPage(msgspec.Struct):
    """A page that `crawl_parallel` could not read."""

    url: str
    error: str = ""


class _CrawlAnswer(msgspec.Struct):
    articles: list[CrawledPage] = []
    failed: list[FailedPage] = []


@dataclass(frozen=True)
class _Result:
    call: ToolCall
    observation: AnyObservation
    at: datetime


class Results:
    """Reads the results of the calls of a session.

    Attributes:
        unread: the files that the agent was given and that have no text, such as pictures and PDF files.
    """

    def __init__(self, root: Root, journal: SessionJournal, cleaner: Cleaner, stop: Stop) -> None:
        self._root = root
        self._journal = journal
        self._cleaner = cleaner
        self._stop = stop
        self.unread: list[str] = []
        own = "|".join(["work_products/", *(f"{re.escape(path)}(?![\\w/.-])" for path in journal.written)])
        folders = "|".join(f"{re.escape(folder)}/" for folder in journal.folders)
        self._own_paths = re.compile(rf"(?:^|[\s\"'=(]|\./|{folders})(?:{own})")
        self._made = {
            call for path, call in journal.makers.items() if journal.saved[path].kind in _MADE_KINDS
        }

    def texts(self) -> Iterator[tuple[Found, frozenset[str]]]:
        """Give the results that are sources, each with the keys of the addresses that the agent gave to its call."""
        for result in self._succeeded():
            if not self._is_source(result):
                continue
            text = self._text(result)
            if not text:
                continue
            inputs = list(_strings(result.call.input))
            asked = frozenset(address_key(url) for each in inputs for url in addresses_in(each))
            record = source_of(
                "result",
                text,
                title=_title(result.call),
                url=_page_of(result.call, inputs),
                path=self._stored(result.observation) or "",
                tool_use_id=clean_title(self._cleaner.masked(result.call.tool_use_id)),
                read_at=result.at,
            )
            yield Found(record, text), asked

    def files(self) -> Iterator[Found]:
        """Give the files that the agent read and that a person added, each once, without those of the agent."""
        parts: dict[str, list[_Result]] = {}
        for result in self._succeeded():
            name = short_name(result.call.name)
            path = result.call.input.get(_FILE_READERS.get(name, ""))
            if isinstance(path, str) and path and not self._journal.is_own(path):
                parts.setdefault(self._journal.inside(path) or path, []).append(result)
        for path, event in self._journal.attached.items():
            if not self._journal.is_own(path) and path not in parts:
                yield from self._file(path, [], event.at)
        for path, results in parts.items():
            if path.partition("/")[0] not in _ARTIFACTS:
                yield from self._file(path, results, results[0].at)

    def crawled(self) -> Iterator[tuple[CrawledPage | FailedPage, _Result]]:
        """Give the pages that the crawler read, and those that it could not read."""
        for result in self._succeeded():
            if isinstance(result.observation, CrawlObservation):
                for text in self._blocks(result.observation):
                    try:
                        answer = msgspec.json.decode(text, type=_CrawlAnswer)
                    except (msgspec.DecodeError, ValueError, RecursionError):
                        continue
                    pages: list[CrawledPage | FailedPage] = [*answer.articles, *answer.failed]
                    yield from ((page, result) for page in pages)

    def failures(self) -> Iterator[tuple[str, str]]:
        """Give the addresses of pages that other readers could not read, each with the reason."""
        for event in self._journal.results:
            call, observation = self._journal.calls.get(event.tool_use_id), event.observation
            if call is None or observation is None or not _is_reader(call):
                continue
            if url := _only_address(_strings(call.input)):
                if event.status != "success":
                    yield url, observation.error or event.status
                elif error := _reader_error(call, observation):
                    yield url, f"the web reader {error.meaning}"

    def pages_asked(self) -> Iterator[tuple[str, str]]:
        """For each call with one address among its arguments the call's id and the address."""
        for call in self._journal.calls.values():
            if page := _only_address(_strings(call.input)):
                yield call.tool_use_id, page

    def _succeeded(self) -> Iterator[_Result]:
        for event in self._journal.results:
            self._stop.check()
            call, observation = self._journal.calls.get(event.tool_use_id), event.observation
            if event.status == "success" and observation is not None:
                yield _Result(call or _unknown_call(event), observation, event.at)

    def _is_source(self, result: _Result) -> bool:
        call, observation = result.call, result.observation
        name = short_name(call.name)
        if isinstance(observation, FileWriteObservation | SubagentObservation | CrawlObservation):
            return False
        words = words_of(name)
        if (
            name in _NO_SOURCES
            or name in _FILE_READERS
            or not _ABOUT_TOOLS.isdisjoint(words)
            or "SEARCH_TOOLS" in name
        ):
            return False
        if call.tool_use_id in self._made and _is_all_in_artifacts(call):
            return False
        if _reader_error(call, observation) is not None:
            return False
        # What is returned may be the agent's own text.
        return not any(self._own_paths.search(each) for each in _strings(call.input) if not is_web_url(each))

    def _text(self, result: _Result) -> str:
        blocks = self._blocks(result.observation)
        if isinstance(result.observation, KnowledgeObservation):
            blocks = _without_own(blocks)
        text = "\n\n".join(map(_readable, blocks))
        # What a tool repeats of its arguments is the agent's own text.
        for each in _strings(result.call.input):
            if len(each) >= _LONG_INPUT:
                text = text.replace(each, " ")
        if short_name(result.call.name) in {"Grep", "Bash"}:
            text = self._without_own_lines(text)
        return clean_text(self._cleaner.masked(text))

    def _without_own_lines(self, text: str) -> str:
        own = (
            "work_products/",
            "./work_products/",
            *self._journal.written,
            f"{self._root.path}/work_products/",
        )
        return "\n".join(line for line in text.split("\n") if not line.startswith(own))

    def _file(self, path: str, results: Sequence[_Result], at: datetime) -> Iterator[Found]:
        text, is_inside = "", self._journal.inside(path) == path
        if is_inside:
            try:
                text = file_text(self._root, path, self._cleaner)
            except (UniversalAgentError, OSError, ValueError):
                is_inside = False
        if not is_inside:
            shown = dict.fromkeys(
                _LINE_NUMBER.sub("", block) for each in results for block in self._blocks(each.observation)
            )
            text = clean_text(self._cleaner.masked("\n".join(shown)))
        if not text:
            self.unread.append(path)
        else:
            outside = posixpath.isabs(path)
            yield Found(
                source_of(
                    "file",
                    text,
                    title=posixpath.basename(path),
                    url=f"file://{path}" if outside else "",
                    path="" if outside or not is_inside else path,
                    tool_use_id=results[0].call.tool_use_id if results else None,
                    read_at=at,
                ),
                text,
            )

    def _stored(self, observation: AnyObservation) -> str | None:
        path = observation.stored_at
        if not path or self._journal.inside(path) != path or plain_path(path) in self._journal.written:
            return None
        return path

    def _blocks(self, observation: AnyObservation) -> list[str]:
        """The texts of a result: the complete ones from its file, if it was too large for the journal."""
        shown = [block.text for block in observation.content if isinstance(block, TextContent)]
        if (path := self._stored(observation)) is None:
            return shown
        try:
            content = read_content(self._root, path)
        except (UniversalAgentError, OSError, ValueError):
            return shown
        blocks = from_json(content.text) if content is not None and not content.is_cut else None
        if not isinstance(blocks, list):
            return shown
        texts = (block.get("text") for block in blocks if isinstance(block, dict))
        return [text for text in texts if isinstance(text, str)] or shown


def _unknown_call(event: ToolCallFinished) -> ToolCall:
    name = event.observation.tool_name if event.observation is not None else ""
    return ToolCall(tool_use_id=event.tool_use_id, name=name)


def _is_all_in_artifacts(call: ToolCall) -> bool:
    """Whether all that a call returns is in the artifacts that were saved of it."""
    if not is_multi_execute(call.name):
        return True
    return all(
        (inner_policy_of(slug) is Policy.SEARCH and is_public_search(slug))
        or reads_pages(slug)
        or is_sandbox(slug)
        for slug, _ in inner_tools(call)
    )


def _is_reader(call: ToolCall) -> bool:
    return reads_pages(call.name) or call.name == "WebFetch"


def _reader_error(call: ToolCall, observation: AnyObservation) -> ReaderError | None:
    """The error that a web reader returned instead of a page."""
    if not is_web_reader(call.name):
        return None
    texts = [block.text for block in observation.content if isinstance(block, TextContent)]
    return reader_error(texts[0], failed=False) if len(texts) == 1 else None


def _title(call: ToolCall) -> str:
    slugs = dict.fromkeys(slug for slug, _ in inner_tools(call) if slug)
    return ", ".join(list(slugs)[:4]) or short_name(call.name)


def _page_of(call: ToolCall, inputs: Sequence[str]) -> str:
    """The page that a call read by its name."""
    return _only_address(inputs) if _is_reader(call) else ""


def _only_address(inputs: Sequence[str] | Iterator[str]) -> str:
    """The one address among the arguments of a call; empty if there are none or several."""
    urls = {each.strip() for each in inputs if is_web_url(each.strip())}
    return urls.pop() if len(urls) == 1 else ""


def _strings(value: Any) -> Iterator[str]:
    """The first texts in a value of JSON."""
    waiting, count = [value], 0
    while waiting and count < _MOST_INPUTS:
        item = waiting.pop()
        if isinstance(item, str):
            count += 1
            yield item
        elif isinstance(item, dict):
            waiting += reversed(list(item.values()))
        elif isinstance(item, list):
            waiting += reversed(item)


def _without_own(blocks: Sequence[str]) -> list[str]:
    """What the knowledge base answered, without the texts of agents and people."""
    kept = []
    for block in blocks:
        answer = from_json(block)
        if not isinstance(answer, dict) or answer.get("trust") == "own":
            continue
        hits = answer.get("hits")
        if isinstance(hits, list):
            answer["hits"] = [hit for hit in hits if isinstance(hit, dict) and hit.get("trust") != "own"]
        answer.pop("notice", None)
        kept.append(to_json(answer))
    return kept


def _readable(text: str) -> str:
    """A result as a person would read it: of JSON the names and values, one a line."""
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    value = from_json(text)
    if not isinstance(value, dict | list):
        return text
    lines: list[str] = []
    _add_lines(value, "", lines, _DEEPEST)
    return "\n".join(lines)


def _add_lines(value: Any, name: str, lines: list[str], deepest: int) -> None:
    before = f"{name}: " if name else ""
    if isinstance(value, str):
        inner = from_json(value) if deepest and value.lstrip()[:1] in {"{", "["} else None
        if isinstance(inner, dict | list):
            _add_lines(inner, name, lines, deepest - 1)
        else:
            lines.append(before + value)
    elif isinstance(value, dict | list):
        if not deepest:
            lines.append(before + to_json(value))
            return
        items = value.items() if isinstance(value, dict) else ((name, each) for each in value)
        for key, each in items:
            _add_lines(each, str(key), lines, deepest - 1)
    elif value is not None and not isinstance(value, bool):
        lines.append(f"{before}{value}")
