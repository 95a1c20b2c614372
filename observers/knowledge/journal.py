"""Reads what is new in a session's journal, for the knowledge base.

It reads single events instead of a view of the session: of a call the start may be in one batch, and the end in a
later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import JournalError, WorkspaceError
from ua_tui.core.events.types import (
    ArtifactChanged,
    ArtifactSaved,
    Event,
    FilesAttached,
    PlacedEvent,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.history.headline import read_heading
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall, KnowledgeDocument
from ua_tui.core.observation import FileWriteObservation, ToolCall
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import is_own_session
from ua_tui.core.storage.workspace import JOURNAL, is_record
from ua_tui.core.text import clean_line
from ua_tui.observers.knowledge.artifacts import SavedFile
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_title
from ua_tui.observers.knowledge.documents import NAMES_CALL, documents_of, event_document
from ua_tui.observers.knowledge.searches import Searches

MOST_FILES = 32
"""Files of a batch; a few more if many change at once."""

_LARGEST_SEQ = (1 << 63) - 1
"""What the database can store; an event with another number is no event of a session."""
_LONGEST_NAME = 200
_MOST_INNER = 8


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a session's journal between two cursors, as `KnowledgeStore.apply` is given it.

    Attributes:
        after: the cursor at which the reading ended; that at which it began if there was nothing to read.
        facts: what is known of the session; None if it is not known when it began.
        documents: each iteration reads the files again, one file at a time.
        replaced: the files whose earlier documents are replaced by these.
        more: whether the journal has more to read.
        restarted: whether the journal is not the one that the cursor is about: remove the session and read again from
            `Cursor()`. Everything else is empty then.
    """

    after: Cursor
    facts: Facts | None = None
    calls: tuple[IndexedCall, ...] = ()
    documents: Iterable[KnowledgeDocument] = ()
    replaced: tuple[str, ...] = ()
    more: bool = False
    restarted: bool = False


def read_batch(folder: Path, cursor: Cursor, redactor: Redactor) -> Batch:
    """Read the next part of a session's journal, at most some hundred events and some thirty files; blocks.

    Raises:
        JournalError: there is no journal, it cannot be read, or the folder is a link.
    """
    if folder.is_symlink():
        raise JournalError(f"The session in {folder} cannot be opened: it is a link, which is not followed.")
    with closing(PastJournal(folder / JOURNAL)) as journal:
        if cursor != Cursor() and _seq_before(journal, cursor.place) != cursor.seq:
            return Batch(after=Cursor(), restarted=True)
        end, events = journal.more(cursor.place)
        if end == cursor.place:
            return Batch(after=cursor)
        cleaner = Cleaner(redactor)
        found = _Found(cleaner)
        cut = found.add(events)
        found.add_makers(folder, cursor.place)
        place = end if cut is None else cut
        after = Cursor(_seq_before(journal, place), place)
        return Batch(
            after=after,
            facts=_facts(folder, redactor),
            calls=tuple(found.calls.values()),
            documents=_Documents(folder, place, tuple(found.texts), tuple(found.files.values()), cleaner),
            replaced=tuple(found.files),
            more=place < journal.size,
        )


class _Line(msgspec.Struct):
    seq: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST_SEQ)] = 0


def _seq_before(journal: PastJournal, place: int) -> int:
    """The `seq` of the line that ends at a place; 0 if it is no event, -1 if there is no such place."""
    if place > journal.size:
        return -1
    try:
        return msgspec.json.decode(journal.line_before(place), type=_Line).seq
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


class _Documents(msgspec.Struct, frozen=True):
    """The documents of a batch: those of events, and then those of files, which are read one by one."""

    folder: Path
    end: int
    texts: Sequence[KnowledgeDocument]
    files: Sequence[SavedFile]
    cleaner: Cleaner

    def __iter__(self) -> Iterator[KnowledgeDocument]:
        # What somebody else's journal says about who wrote a text does not count.
        is_own = is_own_session(self.folder)
        for document in self._read():
            yield document if is_own else replace(document, trust="unknown")

    def _read(self) -> Iterator[KnowledgeDocument]:
        yield from self.texts
        try:
            root = Root(self.folder)
        except WorkspaceError:
            # The session was deleted.
            return
        searches = Searches(self.folder, lambda: _saved_before(self.folder, self.end), self.cleaner)
        for file in self.files:
            yield from documents_of(root, file, self.cleaner, searches)


class _Found(msgspec.Struct):
    """What the events of a batch are about."""

    cleaner: Cleaner
    calls: dict[str, IndexedCall] = msgspec.field(default_factory=dict)
    texts: list[KnowledgeDocument] = msgspec.field(default_factory=list)
    files: dict[str, SavedFile] = msgspec.field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> int | None:
        """Add events, up to the first one with too many files; returns the place of that one's line."""
        for event in events:
            if not 0 <= event.seq <= _LARGEST_SEQ:
                continue
            files = list(_files_of(event))
            is_full = len(self.files) >= MOST_FILES and any(file.path not in self.files for file in files)
            if is_full and isinstance(event, PlacedEvent) and isinstance(event.place, int):
                return event.place
            for file in files:
                self._add_file(file)
            match event:
                case ToolCallStarted():
                    self._add_call(_started(event, self.cleaner))
                case ToolCallFinished():
                    self._add_call(_finished(event, self.cleaner))
                case QueryReceived() | QuerySteered() | QueryFinished():
                    document = event_document(event, self.cleaner)
                    self.texts += [document] if document is not None else []
                case _:
                    pass
        return None

    def add_makers(self, folder: Path, end: int) -> None:
        """Find the calls that made the files which only changed, in the journal up to a place in bytes."""
        changed = {
            path for path, file in self.files.items() if not file.tool_use_id and file.kind not in NAMES_CALL
        }
        if not changed:
            return
        for event in _saved_before(folder, end):
            if event.path in changed and event.tool_use_id:
                call = _name(event.tool_use_id, self.cleaner)
                self.files[event.path] = replace(self.files[event.path], tool_use_id=call)

    def _add_file(self, file: SavedFile) -> None:
        before = self.files.pop(file.path, None)
        call = _name(file.tool_use_id or "", self.cleaner) or (before.tool_use_id if before else None)
        self.files[file.path] = replace(file, tool_use_id=call)

    def _add_call(self, call: IndexedCall) -> None:
        begun = self.calls.get(call.tool_use_id)
        self.calls[call.tool_use_id] = (
            call if begun is None else replace(begun, ms=call.ms, status=call.status)
        )


def _saved_before(folder: Path, end: int) -> Iterator[ArtifactSaved]:
    """The files that were saved before a place in the journal; those that can be read."""
    with suppress(JournalError), closing(PastJournal(folder / JOURNAL)) as journal:
        yield from (
            event for event in journal.find(ArtifactSaved, end=end) if isinstance(event, ArtifactSaved)
        )


def _files_of(event: Event) -> Iterator[SavedFile]:
    """The files that an event names."""
    at, seq = event.at.timestamp(), event.seq
    match event:
        case ArtifactSaved():
            yield SavedFile(
                path=event.path,
                kind=event.kind,
                at=at,
                tool_use_id=event.tool_use_id,
                sha256=event.sha256,
                seq=seq,
            )
        case ArtifactChanged():
            yield SavedFile(path=event.path, kind=event.kind, at=at, seq=seq)
        case FilesAttached():
            for each in event.files:
                yield SavedFile(path=each.path, kind="attachment", at=at, seq=seq)
        case ToolCallFinished(status="success", observation=FileWriteObservation(path=str(path))):
            if path and not is_record(path):
                yield SavedFile(path=path, kind="written", at=at, tool_use_id=event.tool_use_id, seq=seq)
        case _:
            pass


def _started(event: ToolCallStarted, cleaner: Cleaner) -> IndexedCall:
    call = ToolCall(tool_use_id=event.tool_use_id, name=event.name, input=event.input)
    from ua_tui.observers.search.tool_names import inner_tools

    slugs = dict.fromkeys(clean_title(slug, _LONGEST_NAME) for slug, _ in inner_tools(call) if slug)
    return IndexedCall(
        tool_use_id=_name(event.tool_use_id, cleaner),
        tool=_name(event.name, cleaner),
        slug=cleaner.masked(", ".join(list(slugs)[:_MOST_INNER])),
        parent=_name(event.parent_tool_use_id or "", cleaner) or None,
        started=event.at.timestamp(),
    )


def _finished(event: ToolCallFinished, cleaner: Cleaner) -> IndexedCall:
    observation = event.observation
    return IndexedCall(
        tool_use_id=_name(event.tool_use_id, cleaner),
        tool=_name(observation.tool_name, cleaner) if observation is not None else "",
        started=event.at.timestamp() - event.duration_ms / 1000,
        ms=event.duration_ms,
        status=event.status,
    )


def _name(name: str, cleaner: Cleaner) -> str:
    return clean_title(cleaner.masked(name))


def _facts(folder: Path, redactor: Redactor) -> Facts | None:
    """What both ends of the journal say of the session as it is."""
    summary = read_heading(folder)
    if summary.state == "corrupt":
        return None
    return Facts(
        started=summary.started,
        title=clean_line(redactor.redact(summary.heading)),
        state="finished" if summary.state == "finished" else "open",
        demo=summary.demo,
    )
