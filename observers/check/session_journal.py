"""What the journal of a session says of its calls and files: which texts the agent was given, and which it wrote."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ua_tui.core.agent.permissions.arguments import leaves
from ua_tui.core.errors import JournalError
from ua_tui.core.events import types as ev
from ua_tui.core.observation import (
    AnyObservation,
    CrawlObservation,
    FileWriteObservation,
    SubagentObservation,
    ToolCall,
)
from ua_tui.core.records.journal_reader import PastJournal, unreadable
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.folders import REPORT_CHECKS, SAVED_REPORTS
from ua_tui.core.storage.workspace import is_record
from ua_tui.core.text import words_of
from ua_tui.core.web_reader import is_web_reader, reader_error
from ua_tui.observers.base import input_text
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.privacy import is_public_search
from ua_tui.observers.search.tool_names import (
    inner_policy_of,
    inner_tools,
    is_sandbox,
    reads_pages,
    short_name,
)

_REPORTS = frozenset({"work_products", REPORT_CHECKS, SAVED_REPORTS})
"""Folders of what the agent wrote, and of what was made from it."""
_OWN_FILES = frozenset({"expanded_corpus.json", "title.txt"})
_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit", "write_local_file"})
_MADE_KINDS = frozenset({"search_results", "unparsed", "article", "workbench_activity"})
FILE_READERS = frozenset({"Read", "read_local_file"})
_NO_SOURCES = FILE_READERS | _WRITERS | {
    "Agent", "AskUserQuestion", "ExitPlanMode", "Glob", "Skill", "Task", "TodoWrite", "ToolSearch",
    "list_directory", "save_corpus", "workbench_download", "workbench_upload",
}  # fmt: skip
_ABOUT_TOOLS = frozenset({"schemas", "connections", "toolkits"})
_MOST_INPUTS = 1_000
_WANTED = (
    ev.SessionStarted, ev.ArtifactSaved, ev.FilesAttached, ev.QueryReceived, ev.QuerySteered, ev.ToolCallStarted,
    ev.ToolCallFinished,
)  # fmt: skip


class Result(NamedTuple):
    """What a call returned, and when."""

    call: ToolCall
    observation: AnyObservation
    at: datetime


@dataclass
class SessionJournal:
    """The events that matter.

    Attributes:
        folders: the paths of the session's folder: as it was given, without links on the way, and as it was when the
            session ran.
        saved: the last event of each file that was saved, by its path without the ending of a compressed one.
        made: the calls of which artifacts were saved.
        calls: the calls by their ids.
        results: the results of calls that succeeded, in order.
        queries: what a person wrote.
        attached: the paths of files that a person added, and when.
        written: the paths of files that the agent wrote, relative ones of those in the session.
        demo: whether it is one of the demo.
        problem: why the journal cannot be read; empty if it can.
    """

    folders: list[str]
    saved: dict[str, ev.ArtifactSaved] = field(default_factory=dict)
    made: set[str | None] = field(default_factory=set)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    queries: list[ev.QueryReceived | ev.QuerySteered] = field(default_factory=list)
    attached: dict[str, datetime] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    demo: bool = False
    problem: str = ""

    def inside(self, path: str) -> str | None:
        """A path relative to the session's folder; None if it is outside of it, or the folder itself."""
        if posixpath.isabs(path):
            base = next((each for each in self.folders if path.startswith(f"{each}/")), None)
            if base is None:
                return None
            path = path[len(base) + 1 :]
        plain = posixpath.normpath(path)
        return None if plain in (".", "..") or plain.startswith(("../", "/")) else plain

    def address_of(self, call: str) -> str:
        """The one address among the arguments of a call; empty if there are none or several."""
        given = strings_in(self.calls[call].input) if call in self.calls else ()
        urls = {each.strip() for each in given if is_web_url(each.strip())}
        return urls.pop() if len(urls) == 1 else ""

    def is_own(self, path: str) -> bool:
        """Whether a file, given by a path in or outside of the session, is the agent's own text or a record."""
        plain = self._plain(path)
        parts = PurePosixPath(plain).parts
        if self.inside(path) is None:
            return plain in self.written or not _REPORTS.isdisjoint(parts)
        return plain in self.written or parts[0] in _REPORTS or plain in _OWN_FILES or is_record(plain)

    def add(self, event: ev.Event) -> None:
        """Note one event."""
        match event:
            case ev.SessionStarted(workspace=workspace, demo=demo):
                self.demo = demo
                if posixpath.isabs(workspace) and workspace not in self.folders:
                    self.folders.append(posixpath.normpath(workspace))
            case ev.ArtifactSaved():
                self.saved[plain_path(event.path)] = event
                if event.kind in _MADE_KINDS:
                    self.made.add(event.tool_use_id)
            case ev.FilesAttached():
                self.attached |= {each.path: event.at for each in event.files}
            case ev.QueryReceived() | ev.QuerySteered():
                self.queries.append(event)
            case ev.ToolCallStarted(name=name, input=given, tool_use_id=use):
                self.calls[use] = ToolCall(tool_use_id=use, name=name, input=given)
                if short_name(name) in _WRITERS and (path := input_text(given, "path", "file_path")):
                    self.written.add(self._plain(path))
            case ev.ToolCallFinished(tool_use_id=use, observation=found) if found is not None:
                if event.status == "success" and use in self.calls:
                    self.results.append(Result(self.calls[use], found, event.at))
                if isinstance(found, FileWriteObservation) and found.path:
                    self.written.add(self._plain(found.path))
            case _:
                pass

    @cached_property
    def own_paths(self) -> re.Pattern[str]:
        """Where a text names a file that the agent wrote."""
        own = "|".join(["work_products/", *(f"{re.escape(each)}(?![\\w/.-])" for each in self.written)])
        folders = "|".join(f"{re.escape(folder)}/" for folder in self.folders)
        return re.compile(rf"(?:^|[\s\"'=(]|\./|{folders})(?:{own})")

    def is_source(self, result: Result) -> bool:
        """Whether what a call returned is a source, and not an artifact or the agent's own text."""
        call, observation = result.call, result.observation
        name = short_name(call.name)
        if (
            isinstance(observation, FileWriteObservation | SubagentObservation)
            or name in _NO_SOURCES
            or not _ABOUT_TOOLS.isdisjoint(words_of(name))
            or "SEARCH_TOOLS" in name
        ):
            return False
        # The lengths and dates of pages, and why others could not be read, are only in the answer of a crawl.
        is_made = call.tool_use_id in self.made and not isinstance(observation, CrawlObservation)
        if is_made and all(_is_saved(slug) for slug, _ in inner_tools(call)):
            return False
        if is_web_reader(call.name) and reader_error(observation.output, failed=False) is not None:
            return False
        # What is returned may be the agent's own text.
        return not any(self.own_paths.search(each) for each in strings_in(call.input) if not is_web_url(each))

    def _plain(self, path: str) -> str:
        return plain_path(self.inside(path) or posixpath.normpath(path))


def _is_saved(slug: str) -> bool:
    """Whether all that a tool returns is in the artifacts that observers save of it."""
    is_search = inner_policy_of(slug) == "search" and is_public_search(slug)
    return is_search or reads_pages(slug) or is_sandbox(slug)


def strings_in(value: Any) -> list[str]:
    """The texts among the first values in a value of JSON."""
    return [each for _, each in islice(leaves(value), _MOST_INPUTS) if isinstance(each, str)]


def plain_path(path: str) -> str:
    """The path of an artifact without the ending of a compressed one."""
    return path.removesuffix(SUFFIX)


def read_journal(folder: Path) -> SessionJournal:
    """Read the journal of the session in `folder`, as far as it is written; never fails because of what is in it.

    Raises:
        Stopped: the result is no longer needed.
    """
    found = SessionJournal(list(dict.fromkeys((os.path.abspath(folder), os.path.realpath(folder)))))
    try:
        with PastJournal(folder) as journal:
            for event in journal.find(*_WANTED):
                found.add(event)
    except JournalError as error:
        found.problem = unreadable(error)
    return found
