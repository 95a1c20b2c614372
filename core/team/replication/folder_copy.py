"""What of a session's folder is still to be copied: lines of the journal, entries of transcripts, and files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.history.headline import TITLE
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, Workspace, is_record
from ua_tui.core.team.replication.tails import LineTail, TranscriptTail, files_of, journal_line_of

log = logging.getLogger(__name__)

_MARGIN = 1000
"""Lines of the journal that are sent again when a session is resumed: they may not be in the order of their numbers."""
_DEEPEST = 4


@dataclass(frozen=True, kw_only=True)
class NewLines:
    """Lines of the journal that are new, with their numbers; they end at the offset `end`."""

    lines: list[tuple[int, str]] = field(default_factory=list)
    end: int = 0


@dataclass(frozen=True, kw_only=True)
class NewEntries:
    """Entries of a transcript that are new; they end at the offset `end`."""

    tail: TranscriptTail
    entries: list[dict[str, Any]]
    end: int


def transcript_path(conversation: str, subpath: str) -> str:
    """Where a transcript is in a session's folder."""
    return (
        f"{CONVERSATION}/{conversation}/{subpath}.jsonl"
        if subpath
        else f"{CONVERSATION}/{conversation}.jsonl"
    )


class FolderCopy:
    """Finds what is new in a session's folder. Its methods read files: call them in a thread, one at a time.

    `files` are those that the journal announces and that are still to be copied, each with its digest if it is known.
    `title` is what a person called the session.
    """

    def __init__(self, workspace: Workspace, project: str) -> None:
        self.files: dict[str, str] = {}
        self._known = self._sent = self._read = 0
        self.title = ""
        self._workspace = workspace
        self._project = project
        self._journal = LineTail(workspace.root, JOURNAL)
        self._transcripts: dict[str, TranscriptTail] = {}

    def read_lines(self) -> NewLines:
        """Read lines of the journal that are new; with an `end` but no lines there are more.

        Raises:
            WorkspaceError: it cannot be read.
        """
        self.title = self._read_title()
        found, end = self._journal.read()
        lines: list[tuple[int, str]] = []
        for raw in found:
            line = journal_line_of(raw)
            if line is None or b"\0" in raw:
                continue
            with suppress(UnicodeDecodeError):
                text = raw.decode()
                self._note_files(text, line.event)
                if line.seq > self._known - _MARGIN:
                    lines.append((line.seq, text))
                    self._read = line.seq
        return NewLines(lines=lines, end=end)

    def advance(self, end: int) -> bool:
        """Continue behind lines that were copied; returns whether there are probably more."""
        self._sent = max(self._sent, self._read)
        return self._journal.advance(end)

    def unaligned(self) -> list[TranscriptTail]:
        """The transcripts of which it is not known how much is stored.

        Raises:
            WorkspaceError: the folder cannot be read.
        """
        for path in self._transcript_files(CONVERSATION, 0):
            if path not in self._transcripts:
                self._transcripts[path] = TranscriptTail(self._workspace.root, path, self._key_of(path))
        return [each for each in self._transcripts.values() if not each.is_aligned]

    def check_positions(self, last_seq: int) -> None:
        """Continue where the database ends: at the line `last_seq`, and in each transcript where `align` says."""
        if last_seq < self._sent:
            self._journal.offset = 0
        self._known = last_seq
        for each in self._transcripts.values():
            each.is_aligned = False

    def read_entries(self) -> Iterator[NewEntries]:
        """Read what is new in the transcripts.

        Raises:
            WorkspaceError: one cannot be read.
        """
        for tail in self._transcripts.values():
            if tail.is_aligned:
                entries, end = tail.read()
                if end != tail.offset:
                    yield NewEntries(tail=tail, entries=entries, end=end)

    def _read_title(self) -> str:
        with suppress(WorkspaceError):
            if self._workspace.exists(TITLE):
                return self._workspace.read(TITLE, 4096).decode("utf-8", "replace")
        return ""

    def waiting_lines(self) -> int:
        """How many lines of the journal are not copied."""
        tail = LineTail(self._workspace.root, JOURNAL)
        tail.offset = self._journal.offset
        count = 0
        with suppress(WorkspaceError):
            while True:
                lines, end = tail.read()
                if end == tail.offset:
                    break
                count, tail.offset = count + len(lines), end
        return count

    def _note_files(self, line: str, event: str) -> None:
        for path, sha256 in files_of(line, event):
            if not is_record(path):
                # Copied in the order in which they were saved last.
                self.files.pop(path, None)
                self.files[path] = sha256

    def _transcript_files(self, folder: str, depth: int) -> Iterator[str]:
        if not self._workspace.exists(folder):
            return
        for entry in self._workspace.list(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir and depth < _DEEPEST:
                yield from self._transcript_files(path, depth + 1)
            elif not entry.is_dir and entry.name.endswith(".jsonl"):
                yield path

    def _key_of(self, path: str) -> dict[str, str]:
        name = path.removeprefix(f"{CONVERSATION}/").removesuffix(".jsonl")
        conversation, _, subpath = name.partition("/")
        key = {"project_key": self._project, "session_id": conversation}
        return {**key, "subpath": subpath} if subpath else key
