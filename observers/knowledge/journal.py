"""Reads what is new in a session's journal, for the knowledge base.

It reads single events instead of a view of the session, in batches: of a call the start may be in one, and what it
brought in a later one.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

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
    SessionForked,
    ToolCallStarted,
)
from ua_tui.core.history.headline import read_heading
from ua_tui.core.knowledge.records import Batch, Cursor, IndexedCall, KnowledgeDocument
from ua_tui.core.observation import FileWriteObservation, ToolCall
from ua_tui.core.records.journal_reader import PastJournal, event_in
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import LIMIT, SUFFIX, inner_name
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import is_own_session
from ua_tui.core.storage.workspace import JOURNAL, is_record
from ua_tui.core.text import clean_line
from ua_tui.core.view.calls import end_of_call
from ua_tui.observers.decoding.urls import normal_form
from ua_tui.observers.knowledge.cleaning import clean_title
from ua_tui.observers.knowledge.documents import (
    NAMES_CALL,
    QueryEvent,
    SavedFile,
    documents_of,
    event_document,
)

MOST_FILES = 32
"""Files of a batch; a few more if many change at once."""
LARGEST_BATCH = 2 << 20
"""Bytes of the files of a batch, unless it is a single one: it is stored at once, while other programs wait."""

FoundBefore = Callable[[], Iterable[tuple[str, str, str]]]
_LARGEST_SEQ = (1 << 63) - 1
"""What the database can store; an event with another number is no event of a session."""
_FORKED = b'{"event":"session_forked"'
_LONGEST_NAME = 200
_MOST_INNER = 8
_MOST_LED = 3


def read_batch(
    folder: Path, cursor: Cursor, redactor: Redactor, found_before: FoundBefore = lambda: ()
) -> Batch | None:
    """Read the next part of a session's journal, at most some hundred events and some thirty files; blocks.

    What a fork has of a session that is there, too, is read in that one. `found_before` is as in `with_searches`.

    Returns:
        What was read; None if the journal is not the one that the cursor is about: remove the session and read again
        from `Cursor()`.

    Raises:
        JournalError: there is no journal, it cannot be read, or the folder is a link.
    """
    if folder.is_symlink():
        raise JournalError(f"the session in {folder} cannot be opened: it is a link, which is not followed.")
    files: dict[str, SavedFile] = {}
    size = 0
    calls: list[IndexedCall] = []
    texts: list[QueryEvent] = []
    with PastJournal(folder) as journal:
        if cursor != Cursor() and _seq_before(journal, cursor.place) != cursor.seq:
            return None
        start = cursor.place or _begin_of_own(journal)
        place, events = journal.more(start)
        if place == start:
            return Batch(after=cursor)
        for event in events:
            if not 0 <= event.seq <= _LARGEST_SEQ:
                continue
            found = {file.path: file for file in _files_of(event, redactor)}
            size += sum(_size(folder, path) for path in found.keys() - files.keys())
            is_full = len(files) >= MOST_FILES or (files and size > LARGEST_BATCH)
            if (
                is_full
                and not found.keys() <= files.keys()
                and isinstance(event, PlacedEvent)
                and isinstance(event.place, int)
            ):
                place = event.place
                break
            for path, file in found.items():
                # A file that is named again comes last.
                files.pop(path, None)
                files[path] = file
            calls += _calls_of(event, redactor)
            texts += [event] if isinstance(event, QueryEvent) else []
        after = Cursor(_seq_before(journal, place), place)
        more = place < journal.size
        # A file that only changed, and an answer: an earlier event says which call made it, and what was asked.
        changed = {file.path for file in files.values() if not (file.tool_use_id or file.kind in NAMES_CALL)}
        asked: dict[str, str] = {}
        if changed or any(isinstance(each, QueryFinished) for each in texts):
            for event in journal.find(QueryReceived, ArtifactSaved, end=place):
                if isinstance(event, QueryReceived):
                    asked.setdefault(event.query_id, event.text)
                elif isinstance(event, ArtifactSaved) and event.path in changed and event.tool_use_id:
                    call = _name(event.tool_use_id, redactor) or None
                    files[event.path] = replace(files[event.path], tool_use_id=call)
    documents = _documents(folder, texts, files.values(), asked, redactor)
    if not is_own_session(folder):
        # What somebody else's journal says about who wrote a text does not count.
        documents = (replace(document, trust="unknown") for document in documents)
    # What both ends of the journal say of the session as it is.
    summary = read_heading(folder)
    return Batch(
        after=after,
        title=None if summary.state == "corrupt" else clean_line(redactor.redact(summary.heading)),
        demo=summary.demo,
        calls=tuple(calls),
        documents=with_searches(documents, found_before),
        replaced=tuple(files),
        more=more,
    )


def _begin_of_own(journal: PastJournal) -> int:
    """The place in the journal of a fork behind what it has of sessions that are beside it; 0 if there are none."""
    sessions, begin = journal.path.parent.parent, 0
    for line, end in journal.lines(_FORKED):
        forked = event_in(line)
        if isinstance(forked, SessionForked) and os.path.exists(sessions / forked.session / JOURNAL):
            begin = end
    return begin


def _seq_before(journal: PastJournal, place: int) -> int:
    """The `seq` of the line that ends at a place; 0 if it is no event, -1 if there is no such place."""
    if place > journal.size:
        return -1
    event = event_in(journal.line_before(place))
    return event.seq if event is not None and 0 <= event.seq <= _LARGEST_SEQ else 0


def _size(folder: Path, path: str) -> int:
    """The bytes of a file as it is on the disk, those of a compressed one at least; 0 if it is not there."""
    for each in (path, path + SUFFIX):
        with suppress(OSError, ValueError):
            size = os.lstat(folder / each).st_size
            return size if inner_name(each) == each else max(size, LIMIT)
    return 0


def _documents(
    folder: Path,
    texts: Iterable[QueryEvent],
    files: Iterable[SavedFile],
    asked: Mapping[str, str],
    redactor: Redactor,
) -> Iterator[KnowledgeDocument]:
    """Give the documents of events, and then those of files, which are read one by one."""
    for event in texts:
        if (document := event_document(event, redactor, asked.get(event.query_id, ""))) is not None:
            yield document
    try:
        root = Root(folder)
    except WorkspaceError:
        # The session was deleted.
        return
    for file in files:
        yield from documents_of(root, file, redactor)


def with_searches(
    documents: Iterable[KnowledgeDocument], found_before: FoundBefore
) -> Iterator[KnowledgeDocument]:
    """Give each page the words of the searches that found it before: its titles there, and what was searched for.

    They are often not in its text. `found_before` gives address, title and words of what earlier batches have.
    """
    words: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def add(url: str, title: str, context: str) -> None:
        words[normal_form(url)].update(dict.fromkeys((context.partition("\n")[0], title)))

    is_read = False
    for document in documents:
        if document.url and not is_read:
            # Most batches of a session that runs have no page.
            is_read = True
            for row in found_before():
                add(*row)
        if document.url and document.kind == "search_row":
            add(document.url, document.title, document.context)
        elif document.url and document.kind == "article":
            found = words.get(normal_form(document.url), ())
            led = [text for text in found if text not in ("", document.title)]
            document = replace(document, context="\n".join([*led[:_MOST_LED], document.context]))  # noqa: PLW2901
        yield document


def _files_of(event: Event, redactor: Redactor) -> Iterator[SavedFile]:
    """The files that an event names."""
    at = event.at.timestamp()
    call = _name(getattr(event, "tool_use_id", None) or "", redactor) or None
    match event:
        case ArtifactSaved(path=path, kind=kind, sha256=digest):
            yield SavedFile(path=path, kind=kind, at=at, tool_use_id=call, sha256=digest)
        case ArtifactChanged(path=path, kind=kind):
            yield SavedFile(path=path, kind=kind, at=at)
        case FilesAttached(files=attached):
            for each in attached:
                yield SavedFile(path=each.path, kind="attachment", at=at)
        case _ if (end := end_of_call(event)) is not None and end.status == "success":
            written = end.observation.path if isinstance(end.observation, FileWriteObservation) else None
            if written and not is_record(written):
                yield SavedFile(path=written, kind="written", at=at, tool_use_id=call)
        case _:
            pass


def _calls_of(event: Event, redactor: Redactor) -> Iterator[IndexedCall]:
    """The call that begins with an event."""
    if isinstance(event, ToolCallStarted):
        from ua_tui.observers.search.tool_names import inner_tools

        call = ToolCall(tool_use_id=event.tool_use_id, name=event.name, input=event.input)
        slugs = dict.fromkeys(clean_title(slug, _LONGEST_NAME) for slug, _ in inner_tools(call) if slug)
        yield IndexedCall(
            tool_use_id=_name(event.tool_use_id, redactor),
            tool=_name(event.name, redactor),
            slug=redactor.redact(", ".join(list(slugs)[:_MOST_INNER])),
        )


def _name(name: str, redactor: Redactor) -> str:
    return clean_title(redactor.redact(name))
