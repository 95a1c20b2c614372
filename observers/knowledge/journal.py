"""Reads what is new in a session's journal, for the knowledge base.

It reads single events instead of a view of the session, in batches: of a call the start may be in one, and what it
brought in a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
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
from ua_tui.core.view.calls import end_of_call
from ua_tui.observers.knowledge.artifacts import SavedFile
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_title
from ua_tui.observers.knowledge.documents import NAMES_CALL, QueryEvent, documents_of, event_document
from ua_tui.observers.knowledge.earlier import Earlier

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
        documents: read while they are asked for, one file at a time.
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
    cleaner = Cleaner(redactor)
    files: dict[str, SavedFile] = {}
    calls: list[IndexedCall] = []
    texts: list[QueryEvent] = []
    with closing(PastJournal(folder / JOURNAL)) as journal:
        if cursor != Cursor() and _seq_before(journal, cursor.place) != cursor.seq:
            return Batch(after=Cursor(), restarted=True)
        place, events = journal.more(cursor.place)
        if place == cursor.place:
            return Batch(after=cursor)
        for event in events:
            if not 0 <= event.seq <= _LARGEST_SEQ:
                continue
            found = {file.path: file for file in _files_of(event, cleaner)}
            is_full = len(files) >= MOST_FILES and not found.keys() <= files.keys()
            if is_full and isinstance(event, PlacedEvent) and isinstance(event.place, int):
                place = event.place
                break
            for path, file in found.items():
                # A file that is named again comes last.
                files.pop(path, None)
                files[path] = file
            calls += _calls_of(event, cleaner)
            texts += [event] if isinstance(event, QueryEvent) else []
        after = Cursor(_seq_before(journal, place), place)
        more = place < journal.size
    documents = _documents(folder, texts, files.values(), Earlier(folder, place, cleaner), cleaner)
    return Batch(
        after=after,
        facts=_facts(folder, redactor),
        calls=tuple(calls),
        documents=documents if is_own_session(folder) else _as_of_others(documents),
        replaced=tuple(files),
        more=more,
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


def _documents(
    folder: Path, texts: Iterable[QueryEvent], files: Iterable[SavedFile], earlier: Earlier, cleaner: Cleaner
) -> Iterator[KnowledgeDocument]:
    """Give the documents of events, and then those of files, which are read one by one."""
    for event in texts:
        if (document := event_document(event, cleaner, earlier)) is not None:
            yield document
    try:
        root = Root(folder)
    except WorkspaceError:
        # The session was deleted.
        return
    for file in files:
        call = file.tool_use_id
        if not call and file.kind not in NAMES_CALL:
            # It only changed; an earlier event says which call made it.
            call = _name(earlier.maker_of(file.path), cleaner) or None
        yield from documents_of(root, replace(file, tool_use_id=call), cleaner, earlier)


def _as_of_others(documents: Iterable[KnowledgeDocument]) -> Iterator[KnowledgeDocument]:
    """What somebody else's journal says about who wrote a text does not count."""
    return (replace(document, trust="unknown") for document in documents)


def _files_of(event: Event, cleaner: Cleaner) -> Iterator[SavedFile]:
    """The files that an event names."""
    at, seq = event.at.timestamp(), event.seq
    call = _name(getattr(event, "tool_use_id", None) or "", cleaner) or None
    match event:
        case ArtifactSaved(path=path, kind=kind, sha256=digest):
            yield SavedFile(path=path, kind=kind, at=at, tool_use_id=call, sha256=digest, seq=seq)
        case ArtifactChanged(path=path, kind=kind):
            yield SavedFile(path=path, kind=kind, at=at, seq=seq)
        case FilesAttached(files=attached):
            for each in attached:
                yield SavedFile(path=each.path, kind="attachment", at=at, seq=seq)
        case _ if (end := end_of_call(event)) is not None and end.status == "success":
            written = end.observation.path if isinstance(end.observation, FileWriteObservation) else None
            if written and not is_record(written):
                yield SavedFile(path=written, kind="written", at=at, tool_use_id=call, seq=seq)
        case _:
            pass


def _calls_of(event: Event, cleaner: Cleaner) -> Iterator[IndexedCall]:
    """The call that begins with an event."""
    if isinstance(event, ToolCallStarted):
        from ua_tui.observers.search.tool_names import inner_tools

        call = ToolCall(tool_use_id=event.tool_use_id, name=event.name, input=event.input)
        slugs = dict.fromkeys(clean_title(slug, _LONGEST_NAME) for slug, _ in inner_tools(call) if slug)
        yield IndexedCall(
            tool_use_id=_name(event.tool_use_id, cleaner),
            tool=_name(event.name, cleaner),
            slug=cleaner.masked(", ".join(list(slugs)[:_MOST_INNER])),
        )


def _name(name: str, cleaner: Cleaner) -> str:
    return clean_title(cleaner.masked(name))


def _facts(folder: Path, redactor: Redactor) -> Facts | None:
    """What both ends of the journal say of the session as it is."""
    summary = read_heading(folder)
    if summary.state == "corrupt":
        return None
    return Facts(title=clean_line(redactor.redact(summary.heading)), demo=summary.demo)
