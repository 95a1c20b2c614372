"""A session in compact form, condensed from its events: the source of trace, transcript and summary."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import to_json
from ua_tui.core.events.describe import describe
from ua_tui.core.records.counters import RunMetrics
from ua_tui.core.redaction.redactor import Redactor, mask_link, preview
from ua_tui.core.text import clean, clean_line

_PREVIEW = 1_000
_NOTED = (
    ev.PathFellBack
    | ev.SubagentStarted
    | ev.SubagentFinished
    | ev.ComplianceFailed
    | ev.ComplianceEnforced
    | ev.PermissionAnswered
    | ev.ElicitationAnswered
    | ev.AuthRequired
    | ev.AuthFinished
    | ev.ServerTrustAnswered
    | ev.ModelChosen
    | ev.PermissionModeChanged
    | ev.ApiRetry
    | ev.PipelineFailed
    | ev.ErrorRaised
    | ev.ContextCompaction
    | ev.ReportChecked
    | ev.ConversationCleared
    | ev.PlanLimit
)
"""The events that make a note of their own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryEntry:
    """One query; `iteration` counts the queries of the session from 1, `offset` is seconds from the first one.

    `end` has cleaned texts; None while the query runs, or if it was cut off.
    """

    at: datetime
    query_id: str
    iteration: int
    offset: float
    text: str
    decision: str | None = None
    source: str | None = None
    end: ev.QueryFinished | None = None
    ended_offset: float | None = None
    tool_calls: int = 0
    needs_user_input: bool = False
    auth_link: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEntry:
    """One tool call and its result, if there is one yet; sizes in bytes, previews cut, cleaned and redacted."""

    at: datetime
    tool_use_id: str
    name: str
    iteration: int
    offset: float
    depth: int
    input_size: int
    input_preview: str
    status: str | None = None
    ended_offset: float | None = None
    duration_ms: float = 0.0
    content_size: int = 0
    content_preview: str = ""
    stored_at: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call ended without success."""
        return self.status not in (None, "success")


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageEntry:
    """One message of the assistant; `depth` is 1 or more for messages of sub-agents."""

    at: datetime
    text: str
    depth: int = 0
    unfinished: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteEntry:
    """Anything else worth a line: its kind, a text, and the files it names."""

    at: datetime
    kind: str
    text: str
    files: tuple[str, ...] = ()


RecordEntry = QueryEntry | CallEntry | MessageEntry | NoteEntry


@dataclass(frozen=True, kw_only=True)
class SessionRecord:
    """A session up to some moment: its start and end, its entries in order, and what each observer did."""

    started: ev.SessionStarted | None
    finished: ev.SessionFinished | None
    entries: tuple[RecordEntry, ...]
    last_offset: float
    last_at: datetime | None
    observers: Mapping[str, RunMetrics] = field(default_factory=dict)

    @property
    def queries(self) -> list[QueryEntry]:
        """The queries, in order."""
        return [entry for entry in self.entries if isinstance(entry, QueryEntry)]

    @property
    def calls(self) -> list[CallEntry]:
        """The tool calls, in the order of their starts."""
        return [entry for entry in self.entries if isinstance(entry, CallEntry)]

    def notes(self, kind: str) -> list[NoteEntry]:
        """The notes of one kind."""
        return [entry for entry in self.entries if isinstance(entry, NoteEntry) and entry.kind == kind]


class DigestRecorder:
    """Builds a session's record from its events; a subscriber of the bus.

    Args:
        redactor: masks secrets before texts are cut.
        clock: monotonic time in seconds for live events; without it the events' own times count, unless they go
            backwards.
        stored_size: returns the size of a result that was too large for its event, given its path.
    """

    def __init__(
        self,
        redactor: Redactor,
        clock: Callable[[], float] | None = None,
        stored_size: Callable[[str], int | None] = lambda _path: None,
    ) -> None:
        self._redactor = redactor
        self._clock = clock
        self._stored_size = stored_size
        self._started: ev.SessionStarted | None = None
        self._finished: ev.SessionFinished | None = None
        self._entries: dict[tuple[str, str], RecordEntry] = {}
        self._query: tuple[str, str] | None = None
        self._queries = 0
        self._answer = ""
        self._unfinished: dict[str, tuple[ev.TextDelta, list[str]]] = {}
        self._now = 0.0
        self._begin: float | None = None
        self._last_at: datetime | None = None
        self._observers: dict[str, RunMetrics] = {}

    def __call__(self, event: ev.Event) -> None:
        """Add one event."""
        self._tick(event)
        match event:
            case ev.TextDelta():
                self._unfinished.setdefault(event.message_id, (event, []))[1].append(event.text)
            case ev.MessageFinished():
                self._unfinished.pop(event.message_id, None)
                if event.text.strip():
                    depth = self._depth(event.parent_tool_use_id)
                    self._answer = clean(event.text)
                    self._add(
                        f"m{event.seq}",
                        MessageEntry(
                            at=event.at, text=self._answer, depth=depth, unfinished=event.incomplete
                        ),
                    )
            case ev.SessionStarted():
                # A resumed session keeps its first start, and has no end any more.
                first = self._started
                self._started = event if first is None else msgspec.structs.replace(event, at=first.at)
                self._finished = None
            case ev.SessionFinished():
                self.keep_unfinished()
                self._finished = event
            case ev.QueryReceived():
                self._begin_query(event)
            case ev.QueryClassified():
                self._change(("q", event.query_id), decision=event.decision, source=event.source)
            case ev.QueryFinished():
                self._end_query(event)
            case ev.ToolCallStarted():
                self._begin_call(event)
            case ev.ToolCallFinished():
                self._end_call(event)
            case ev.AuthRequired():
                self._redactor.add(event.url)
                link = mask_link(event.url)
                if self._query is not None:
                    self._change(self._query, needs_user_input=True, auth_link=link)
                self._note(event, "auth", f"{describe(event).sentence} {link}")
            case _:
                if isinstance(event, ev.ObserverFinished):
                    metrics = self._observers.setdefault(clean_line(event.observer, 60), RunMetrics())
                    metrics.add(event.status, event.items, event.duration_ms)
                self._change_arguments(event)
                noted = _note_of(event)
                if noted is not None:
                    self._note(event, *noted)

    def resume(self, clock: Callable[[], float], now: float) -> None:
        """Continue with live events after those of a journal; `now` is the wall clock, in seconds."""
        self.keep_unfinished()
        behind = max(self._now, now) - clock()
        self._clock = lambda: clock() + behind

    def keep_unfinished(self) -> None:
        """Make entries of the messages that will never finish, from what there is of their text."""
        unfinished, self._unfinished = self._unfinished, {}
        for message_id, (first, texts) in unfinished.items():
            text = clean("".join(texts))
            if text.strip():
                depth = self._depth(first.parent_tool_use_id)
                entry = MessageEntry(at=first.at, text=text, depth=depth, unfinished=True)
                self._add(f"u{message_id}", entry)

    def snapshot(self) -> SessionRecord:
        """The record of this moment; it never changes."""
        return SessionRecord(
            started=self._started,
            finished=self._finished,
            entries=tuple(self._entries.values()),
            last_offset=self._offset(),
            last_at=self._last_at,
            observers=copy.deepcopy(self._observers),
        )

    def _tick(self, event: ev.Event) -> None:
        now = self._clock() if self._clock is not None else event.at.timestamp()
        self._now = max(self._now, now)
        if self._last_at is None or event.at > self._last_at:
            self._last_at = event.at

    def _offset(self) -> float:
        return 0.0 if self._begin is None else self._now - self._begin

    def _add(self, key: str, entry: RecordEntry, kind: str = "") -> None:
        self._entries[kind, key] = entry

    def _change(self, key: tuple[str, str], **changes: Any) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries[key] = replace(entry, **changes)

    def _note(self, event: ev.Event, kind: str, text: str, *files: str) -> None:
        self._add(f"n{event.seq}", NoteEntry(at=event.at, kind=kind, text=clean(text), files=files))

    def _depth(self, parent: str | None) -> int:
        entry = self._entries.get(("t", parent)) if parent else None
        return entry.depth + 1 if isinstance(entry, CallEntry) else int(parent is not None)

    def _begin_query(self, event: ev.QueryReceived) -> None:
        if self._begin is None:
            self._begin = self._now
        self._queries += 1
        self._query = ("q", event.query_id)
        self._entries[self._query] = QueryEntry(
            at=event.at,
            query_id=event.query_id,
            iteration=self._queries,
            offset=self._offset(),
            text=clean(event.text),
        )

    def _end_query(self, event: ev.QueryFinished) -> None:
        self.keep_unfinished()
        text = clean(event.text)
        self._change(
            ("q", event.query_id),
            end=msgspec.structs.replace(
                event,
                error=clean(event.error) if event.error else None,
                # Most answers are the text of the last message: one copy is enough.
                text=self._answer if text == self._answer else text,
            ),
            ended_offset=self._offset(),
        )

    def _begin_call(self, event: ev.ToolCallStarted) -> None:
        query = self._entries.get(("q", event.query_id))
        iteration = query.iteration if isinstance(query, QueryEntry) else max(self._queries, 1)
        self._entries["t", event.tool_use_id] = CallEntry(
            at=event.at,
            tool_use_id=event.tool_use_id,
            name=clean(event.name),
            iteration=iteration,
            offset=self._offset(),
            depth=self._depth(event.parent_tool_use_id),
            **self._arguments(event.input),
        )
        if isinstance(query, QueryEntry):
            self._change(("q", event.query_id), tool_calls=query.tool_calls + 1)

    def _change_arguments(self, event: ev.Event) -> None:
        """Record the arguments that ran, if a person changed those of the model."""
        if isinstance(event, ev.PermissionAnswered) and event.tool_use_id and event.input is not None:
            self._change(("t", event.tool_use_id), **self._arguments(event.input))

    def _arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        encoded = to_json(given)
        return {"input_size": len(encoded.encode()), "input_preview": self._preview(encoded)}

    def _end_call(self, event: ev.ToolCallFinished) -> None:
        found = event.observation
        stored = found.stored_at if found is not None else None
        size = self._stored_size(stored) if stored else None
        self._change(
            ("t", event.tool_use_id),
            status=event.status,
            ended_offset=self._offset(),
            duration_ms=event.duration_ms,
            content_size=size if size is not None else found.size if found is not None else 0,
            content_preview=self._preview(found.text if found is not None else ""),
            stored_at=stored,
        )

    def _preview(self, text: str) -> str:
        return clean(preview(text, _PREVIEW, self._redactor))


def _note_of(event: ev.Event) -> tuple[str, ...] | None:
    """Return the kind, the text and the files of the note an event makes; None when it makes none."""
    match event:
        case ev.QuerySteered():
            return "said", event.text
        case ev.FilesAttached():
            return "attached", describe(event).sentence, *(each.path for each in event.files)
        case ev.ArtifactSaved():
            copied = f", copied to {event.copied_to}" if event.copied_to else ""
            return "artifact", f"{describe(event).details[0]}{copied}", event.path
        case ev.ObserverFinished(status="failed"):
            pass
        case _ if not isinstance(event, _NOTED):
            return None
    description = describe(event)
    return description.kind, description.sentence
