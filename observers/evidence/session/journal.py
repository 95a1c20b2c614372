"""What the journal of a session says of its calls, its files and its queries."""

from __future__ import annotations

import os
import posixpath
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import (
    ArtifactChanged,
    ArtifactSaved,
    Event,
    FilesAttached,
    QueryReceived,
    QuerySteered,
    SessionStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.observation import FileWriteObservation, ToolCall
from ua_tui.core.records.journal_reader import PastJournal, unreadable
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.folders import SAVED_REPORTS
from ua_tui.core.storage.workspace import JOURNAL, is_record
from ua_tui.observers.search.tool_names import short_name

REPORTS = frozenset({"work_products", "report_checks", SAVED_REPORTS})
"""Folders of what the agent wrote, and of what was made from it."""

_WANTED = (
    SessionStarted,
    ArtifactSaved,
    ArtifactChanged,
    FilesAttached,
    QueryReceived,
    QuerySteered,
    ToolCallStarted,
    ToolCallFinished,
)
_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit", "write_local_file"})
_OWN_FILES = frozenset({"expanded_corpus.json", "title.txt"})


@dataclass
class SessionJournal:
    """The events that matter.

    Attributes:
        folders: the paths of the session's folder: as it was given, without links on the way, and as it was when the
            session ran.
        saved: the last event about each file, by its path without the ending of a compressed one; of an article the
            first, as nothing changes one.
        makers: for the same paths the calls that made the files.
        calls: the calls by their ids.
        results: the ends of calls, in order.
        queries: what a person wrote.
        attached: the paths of files that a person added.
        written: the paths of files that the agent wrote, relative ones of those in the session.
        problem: why the journal cannot be read; empty if it can.
    """

    folders: list[str]
    saved: dict[str, ArtifactSaved | ArtifactChanged] = field(default_factory=dict)
    makers: dict[str, str] = field(default_factory=dict)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    results: list[ToolCallFinished] = field(default_factory=list)
    queries: list[QueryReceived | QuerySteered] = field(default_factory=list)
    attached: dict[str, FilesAttached] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    problem: str = ""

    def inside(self, path: str) -> str | None:
        """A path relative to the session's folder; None if it is outside of it, or the folder itself."""
        if posixpath.isabs(path):
            for base in self.folders:
                if path.startswith(f"{base}/"):
                    path = path[len(base) + 1 :]
                    break
            else:
                return None
        plain = posixpath.normpath(path)
        return None if plain == ".." or plain.startswith(("../", "/")) or plain == "." else plain

    def is_own(self, path: str) -> bool:
        """Whether a file, given by a path in or outside of the session, is the agent's own text or a record."""
        inside = self.inside(path)
        if inside is None:
            return bool(REPORTS & set(PurePosixPath(path).parts)) or posixpath.normpath(path) in self.written
        top = inside.partition("/")[0]
        return (
            top in REPORTS or inside in _OWN_FILES or is_record(inside) or plain_path(inside) in self.written
        )


def plain_path(path: str) -> str:
    """The path of an artifact without the ending of a compressed one."""
    return path.removesuffix(SUFFIX)


def read_journal(folder: Path, stop: Stop = NEVER) -> SessionJournal:
    """Read the journal of the session in `folder`, as far as it is written; never fails because of what is in it.

    Raises:
        Stopped: the flag was set.
    """
    found = SessionJournal(list(dict.fromkeys((os.path.abspath(folder), os.path.realpath(folder)))))
    try:
        with closing(PastJournal(folder / JOURNAL)) as journal:
            for event in journal.find(*_WANTED, stop=stop):
                _add(found, event)
    except JournalError as error:
        found.problem = unreadable(error)
    return found


def _add(found: SessionJournal, event: Event) -> None:
    match event:
        case SessionStarted(workspace=workspace):
            if posixpath.isabs(workspace) and workspace not in found.folders:
                found.folders.append(posixpath.normpath(workspace))
        case ArtifactSaved() | ArtifactChanged():
            path = plain_path(event.path)
            if isinstance(event, ArtifactSaved) or event.kind != "article" or path not in found.saved:
                found.saved[path] = event
            if isinstance(event, ArtifactSaved) and event.tool_use_id:
                found.makers[path] = event.tool_use_id
        case FilesAttached():
            found.attached |= {each.path: event for each in event.files}
        case QueryReceived() | QuerySteered():
            found.queries.append(event)
        case ToolCallStarted():
            found.calls[event.tool_use_id] = ToolCall(
                tool_use_id=event.tool_use_id, name=event.name, input=event.input
            )
            if short_name(event.name) in _WRITERS:
                _add_written(found, event.input.get("path") or event.input.get("file_path"))
        case ToolCallFinished(observation=observation):
            found.results.append(event)
            if isinstance(observation, FileWriteObservation):
                _add_written(found, observation.path)
        case _:
            pass


def _add_written(found: SessionJournal, path: object) -> None:
    if isinstance(path, str) and path:
        inside = found.inside(path)
        found.written.add(plain_path(inside) if inside is not None else posixpath.normpath(path))
