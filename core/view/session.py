"""The view of a session: everything that its events say so far."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.describe import describe
from ua_tui.core.events.tool_names import PLAN, Step, main_argument, steps_of, tool_label
from ua_tui.core.events.units import progress, quantity
from ua_tui.core.json_values import JsonObject
from ua_tui.core.observation import AnyObservation, CrawlObservation, KnowledgeObservation
from ua_tui.core.text import clean, clean_line
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.records import Artifact, Call, Entry, Message, Note, ObserverRuns, Query
from ua_tui.core.view.setup import Setup

if TYPE_CHECKING:
    # What only a view with a redactor needs is imported then: the screen, which has none, begins with one.
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.storage.files import Root

AGENTS = frozenset({"Agent", "Task"})
"""The tools that start a sub-agent."""
DEEPEST = 50
"""How deep sub-agents are nested."""
_PREVIEW = 1_000
_LONGEST_ERROR = 1_600
_LONGEST_LINE = 160
_SAVED_ARTICLE = re.compile(r'---\ntitle: "((?:[^"\\\n]|\\.){1,1000})"\n')


@dataclass(slots=True)
class SessionView:
    """A session up to some moment. `then` gives a later view and leaves this one as it is.

    Whoever follows a session that runs keeps one view up to date with `add`, and hands on copies (`then(())`).

    Attributes:
        redactor: masks secrets before texts are cut; without one, calls have no previews.
        clock: seconds since the epoch for the offsets of live events; without one, the times of the events count.
        root: the session's folder, which has the results that were too large for their events.
        started: the newest start, at the time of the first one; `finished` is None while the session runs.
        entries: queries (by `q` and id), calls (`t`), messages and notes, in the order in which they began.
        plan: the steps that the main agent has planned for the newest query, with their times.
        artifacts: the saved files by path, the one that changed last at the end.
        observers: the runs of each observer.
        streaming: the messages that are being written, by their ids; their texts are not clean.
        events: how many events there were, and `seq` the highest number of one.
        last_offset: seconds from the first query to the last event; they never go backwards.
        changed: the keys of the queries and calls that changed, for the one who shows them and empties it; None if
            nobody does.
    """

    redactor: Redactor | None = field(default=None, compare=False)
    root: Root | None = field(default=None, compare=False)
    started: ev.SessionStarted | None = None
    finished: ev.SessionFinished | None = None
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    plan: tuple[Step, ...] = ()
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    observers: dict[str, ObserverRuns] = field(default_factory=dict)
    setup: Setup = field(default_factory=Setup)
    costs: Costs = field(default_factory=Costs)
    activity: Activity = field(default_factory=Activity)
    events: int = 0
    seq: int = 0
    last_at: Any = None
    query_count: int = 0
    call_count: int = 0
    artifact_count: int = 0
    streaming: dict[str, Message] = field(default_factory=dict)
    clock: Callable[[], float] | None = field(default=None, compare=False)
    changed: dict[tuple[str, str], None] | None = field(default=None, compare=False)
    _now: float = 0.0
    _begin: float | None = None
    _query: tuple[str, str] | None = None
    _answer: str = ""

    @property
    def last_offset(self) -> float:
        """Seconds from the first query to the last event."""
        return 0.0 if self._begin is None else self._now - self._begin

    @property
    def queries(self) -> list[Query]:
        """The queries, in order."""
        return [entry for entry in self.entries.values() if isinstance(entry, Query)]

    @property
    def calls(self) -> list[Call]:
        """The tool calls, in the order of their starts."""
        return [entry for entry in self.entries.values() if isinstance(entry, Call)]

    @property
    def last_query(self) -> Query | None:
        """The newest query."""
        return self.query(self._query[1]) if self._query is not None else None

    def query(self, query_id: str) -> Query | None:
        """Find a query."""
        found = self.entries.get(("q", query_id))
        return found if isinstance(found, Query) else None

    def call(self, tool_use_id: str | None) -> Call | None:
        """Find a call."""
        found = self.entries.get(("t", tool_use_id or ""))
        return found if isinstance(found, Call) else None

    def ended_by(self, event: ev.Event) -> Call | None:
        """Find the call that an event ended, if it did; this view has the event already."""
        return self.call(event.tool_use_id) if isinstance(event, ev.ToolCallFinished) else None

    def lineage(self, tool_use_id: str | None) -> Iterator[Call]:
        """Yield a call, and those of the sub-agents that it is below."""
        seen: set[str] = set()
        # A journal that says they are deeper must not take forever.
        while (call := self.call(tool_use_id)) is not None and call.id not in seen and len(seen) < DEEPEST:
            seen.add(call.id)
            yield call
            tool_use_id = call.parent

    def notes(self, kind: str) -> list[Note]:
        """The notes of one kind."""
        return [entry for entry in self.entries.values() if isinstance(entry, Note) and entry.kind == kind]

    def then(self, events: Iterable[ev.Event]) -> SessionView:
        """Return the view after more events."""
        later = copy.copy(self)
        for name in ("entries", "artifacts", "observers", "streaming"):
            setattr(later, name, dict(getattr(self, name)))
        for event in events:
            later.add(event)
        return later

    def add(self, event: ev.Event) -> None:
        """Add one event to this view: only for its one owner."""
        self.events += 1
        self.seq = max(self.seq, event.seq)
        at = event.at.timestamp()
        self._now = max(self._now, at if self.clock is None else self.clock())
        if self.last_at is None or event.at > self.last_at:
            self.last_at = event.at
        before, self.activity = self.activity, self.activity.after(event)
        self.setup, self.costs = self.setup.after(event), self.costs.after(event)
        if type(event) in _LINKS:
            from ua_tui.core.redaction.redactor import with_masked_link

            event = with_masked_link(event, self.redactor)
        self._add_entry(event)
        if type(event) in _NOTED:
            self._note(event)
        if before is not self.activity and (before.needs_person or self.activity.needs_person):
            for call_id in before.waiting ^ self.activity.waiting:
                began = call_id in self.activity.waiting
                lineage = list(self.lineage(call_id))
                query = self.query(lineage[-1].query_id) if lineage else None
                for entry in (*lineage, query):
                    if entry is not None:
                        wait = entry.wait.begin(at) if began else entry.wait.end(at)
                        self._change(("t" if isinstance(entry, Call) else "q", entry.id), wait=wait)

    def follow_clock(self, monotonic: Callable[[], float], now: float) -> None:
        """Measure the offsets of further events by a monotonic clock, which nobody sets; `now` is the time of day."""
        behind = max(self._now, now) - monotonic()
        self.clock = lambda: monotonic() + behind

    def keep_unfinished(self) -> None:
        """Make entries of the messages that will never finish, from what there is of their text."""
        streaming, self.streaming = self.streaming, {}
        for message_id, message in streaming.items():
            if (text := clean(message.text)).strip():
                depth = self._depth(message.parent)
                self.entries["", f"u{message_id}"] = replace(message, text=text, depth=depth)

    def _add_entry(self, event: ev.Event) -> None:
        match event:
            case ev.TextDelta() | ev.ThinkingDelta() | ev.MessageFinished():
                self._add_message(event)
            case ev.ToolCallProgress():
                if (call := self.call(event.tool_use_id)) is not None and call.status is None:
                    self._change(("t", call.id), done=progress(event.done, event.total, event.unit))
                self._hear(event.tool_use_id, event)
            case ev.ToolCallStarted():
                self._begin_call(event)
            case ev.ToolCallFinished():
                self._end_call(event)
            case ev.SubagentStarted() | ev.SubagentProgress() | ev.SubagentFinished():
                self._add_subagent(event)
            case ev.QueryReceived() | ev.QueryClassified() | ev.QueryFinished() | ev.TokensSpent():
                self._add_query(event)
            case ev.ArtifactSaved() | ev.ArtifactChanged():
                self._add_artifact(event)
            case ev.SessionStarted():
                # A resumed session keeps its first start, and has no end any more.
                self.started = event if self.started is None else replace(event, at=self.started.at)
                self.finished = None
            case ev.SessionFinished():
                self.keep_unfinished()
                self.finished = event
            case ev.SessionRewound():
                first = self.query(event.query_id)
                for query in self.queries if first is not None else ():
                    if first is not None and query.number >= first.number:
                        self._change(("q", query.id), undone=True)
                self.plan = ()
                for path in event.removed:
                    self.artifacts.pop(path, None)
            case _:
                self._add_fact(event)

    def _change(self, key: tuple[str, str] | None, **changes: Any) -> None:
        if key is not None and (entry := self.entries.get(key)) is not None:
            self.entries[key] = replace(entry, **changes)
            if self.changed is not None:
                self.changed[key] = None

    def _depth(self, parent: str | None) -> int:
        call = self.call(parent)
        return call.depth + 1 if call is not None else int(parent is not None)

    def _add_query(
        self, event: ev.QueryReceived | ev.QueryClassified | ev.QueryFinished | ev.TokensSpent
    ) -> None:
        key = "q", event.query_id
        match event:
            case ev.QueryReceived():
                self._begin = self._now if self._begin is None else self._begin
                self.query_count += 1
                self._query, self.plan = key, ()
                self.entries[key] = Query(
                    id=event.query_id,
                    at=event.at,
                    number=self.query_count,
                    offset=self.last_offset,
                    text=clean(event.text),
                )
            case ev.QueryClassified():
                self._change(key, decision=event.decision, source=event.source)
            case ev.TokensSpent():
                for entry in (self.query(event.query_id), *self.lineage(event.parent_tool_use_id)):
                    # A call that is no sub-agent has no tokens of its own.
                    if entry is not None and (isinstance(entry, Query) or entry.agent):
                        kind = "q" if isinstance(entry, Query) else "t"
                        spent = event.cost_usd
                        cost = entry.estimate if spent is None else (entry.estimate or 0.0) + spent
                        tokens = entry.tokens + event.usage.total
                        self._change((kind, entry.id), tokens=tokens, estimate=cost)
            case ev.QueryFinished():
                self.keep_unfinished()
                text = clean(event.text)
                error = clean(event.error) if event.error else None
                # Most answers are the text of the last message: one copy is enough.
                end = replace(event, error=error, text=self._answer if text == self._answer else text)
                self._change(key, end=end, ended_offset=self.last_offset)

    def _add_message(self, event: ev.TextDelta | ev.ThinkingDelta | ev.MessageFinished) -> None:
        parent = event.parent_tool_use_id
        self._hear(parent, event)
        match event:
            case ev.TextDelta(message_id=message_id):
                if (begun := self.streaming.get(message_id)) is not None:
                    self.streaming[message_id] = replace(begun, text=begun.text + event.text)
                else:
                    self.streaming[message_id] = Message(
                        at=event.at, text=event.text, message_id=message_id, parent=parent, unfinished=True
                    )
            case ev.MessageFinished(message_id=message_id):
                self.streaming.pop(message_id, None)
                if event.text.strip():
                    self._answer = clean(event.text)
                    self.entries["", f"m{event.seq}"] = Message(
                        at=event.at,
                        text=self._answer,
                        message_id=message_id,
                        parent=parent,
                        depth=self._depth(parent),
                        unfinished=event.incomplete,
                    )
                    first = event.text.strip().partition("\n")[0]
                    self._change(("t", parent or ""), activity=clean_line(first, _LONGEST_LINE))

    def _begin_call(self, event: ev.ToolCallStarted) -> None:
        query = self.query(event.query_id)
        label, argument = tool_label(event.name, event.input), main_argument(event.name, event.input)
        self.call_count += 1
        self.entries["t", event.tool_use_id] = Call(
            id=event.tool_use_id,
            query_id=event.query_id,
            at=event.at,
            name=clean(event.name),
            label=label,
            argument=argument,
            number=query.number if query is not None else max(self.query_count, 1),
            offset=self.last_offset,
            parent=event.parent_tool_use_id,
            depth=self._depth(event.parent_tool_use_id),
            places=_place_of(event),
            agent=label if event.name in AGENTS else "",
            heard=event.at.timestamp(),
            **self._arguments(event.input),
        )
        if query is not None:
            self._change(("q", event.query_id), calls=query.calls + 1)
        if event.name == PLAN and event.parent_tool_use_id is None:
            self.plan = _timed(steps_of(event.input), self.plan, event.at.timestamp())
        if event.parent_tool_use_id is not None:
            activity = clean_line(f"{label}  {argument}", _LONGEST_LINE)
            calls = parent.calls + 1 if (parent := self.call(event.parent_tool_use_id)) is not None else 0
            self._change(("t", event.parent_tool_use_id), activity=activity, calls=calls)
            self._hear(event.parent_tool_use_id, event)

    def _end_call(self, event: ev.ToolCallFinished) -> None:
        call = self.call(event.tool_use_id)
        if call is None:
            return
        found = event.observation
        stored = found.stored_at if found is not None else None
        size = found.size if found is not None else 0
        if stored and self.root is not None:
            with suppress(WorkspaceError):
                size = self.root.size(stored)
        self._change(
            ("t", event.tool_use_id),
            places=call.places + _place_of(event),
            status=event.status,
            ended_offset=self.last_offset,
            duration_ms=event.duration_ms,
            result_size=size,
            result_preview=self._preview(found.text if found is not None else ""),
            stored_at=stored,
            truncated=found is not None and found.truncated,
            recovered=found is not None and found.recovered,
            done=_outcome(event),
            error=clean((found.error or "")[:_LONGEST_ERROR]) if found is not None else "",
            # The argument is only the number of a document, or the name of the file of an article.
            argument=_title(call, found) or call.argument,
        )
        self._hear(call.parent, event)

    def _add_subagent(self, event: ev.SubagentStarted | ev.SubagentProgress | ev.SubagentFinished) -> None:
        call = self.call(event.tool_use_id)
        if call is None:
            return
        name = clean_line(event.name) or call.label
        changes: dict[str, Any] = {"agent": name, "label": name}
        if isinstance(event, ev.SubagentStarted):
            changes["task"] = clean_line(event.description) or call.argument
        elif event.usage is not None and not call.tokens:
            changes["tokens"] = event.usage.total
        if isinstance(event, ev.SubagentProgress) and event.description:
            changes["activity"] = clean_line(event.description, _LONGEST_LINE)
        if isinstance(event, ev.SubagentFinished) and event.by_person:
            changes["stopped"] = True
        self._change(("t", call.id), **changes)
        self._hear(call.id, event)

    def _add_fact(self, event: ev.Event) -> None:
        match event:
            case ev.PermissionAnswered(tool_use_id=str(call_id)) if (call := self.call(call_id)) is not None:
                self._change(("t", call_id), places=call.places + _place_of(event))
                if event.input is not None:
                    self._change(("t", call_id), **self._arguments(event.input))
                if event.changes and event.input is not None:
                    label = tool_label(event.tool_name, event.input)
                    argument = main_argument(event.tool_name, event.input)
                    changes = tuple(event.changes)
                    self._change(("t", call_id), changes=changes, label=label, argument=argument)
            case ev.ObserverFinished():
                name = clean_line(event.observer, 60)
                runs = self.observers.get(name, ObserverRuns())
                self.observers[name] = runs.after(event.status, event.items, event.duration_ms)
                call = self.call(event.tool_use_id)
                # Passages and claims are not what an observer saved of the result.
                if call is not None and event.observer not in {ev.KNOWLEDGE, ev.REPORT_CHECK}:
                    self._change(("t", call.id), items=call.items + event.items)
            case ev.AuthRequired():
                self._change(self._query, needs_person=True, auth_link=event.url)
            case ev.ApiRetry() if (query := self.last_query) is not None:
                self._change(self._query, retries=query.retries + 1)
            case ev.ComplianceEnforced():
                name = clean_line(event.subagent)
                running = reversed([call for call in map(self.call, self.activity.calls) if call is not None])
                sent_back = next((call for call in running if call.agent == name), None)
                if sent_back is not None:
                    self._change(("t", sent_back.id), sent_back=True)

    def _add_artifact(self, event: ev.ArtifactSaved | ev.ArtifactChanged) -> None:
        before = self.artifacts.pop(event.path, None)
        tool_use_id, copies = (before.tool_use_id, before.copies) if before is not None else (None, ())
        if isinstance(event, ev.ArtifactSaved):
            self.artifact_count += 1
            tool_use_id = event.tool_use_id or tool_use_id
            copies = (*copies, (event.copied_to, tool_use_id)) if event.copied_to else copies
            if (call := self.call(event.tool_use_id)) is not None:
                self._change(("t", call.id), places=call.places + _place_of(event))
        self.artifacts[event.path] = Artifact(
            path=event.path,
            kind=event.kind,
            size=event.size,
            sha256=event.sha256,
            saved_at=event.at,
            tool_use_id=tool_use_id,
            copies=copies,
        )

    def _arguments(self, given: JsonObject) -> dict[str, Any]:
        if self.redactor is None:
            return {}
        from ua_tui.core.events.codec import to_json

        encoded = to_json(given)
        return {"input_size": len(encoded.encode()), "input_preview": self._preview(encoded)}

    def _preview(self, text: str) -> str:
        if self.redactor is None:
            return ""
        from ua_tui.core.redaction.redactor import preview

        return clean(preview(text, _PREVIEW, self.redactor))

    def _hear(self, tool_use_id: str | None, event: ev.Event) -> None:
        """Note, to the second, a sign of life of a sub-agent, and of those it works for."""
        at, deeper = event.at.timestamp(), DEEPEST
        # Not by `lineage`, which takes longer: each piece of a message comes here.
        while tool_use_id is not None and deeper and (call := self.call(tool_use_id)) is not None:
            if not 0 <= at - call.heard < 1:
                self._change(("t", call.id), heard=at)
            tool_use_id, deeper = call.parent, deeper - 1

    def _note(self, event: ev.Event) -> None:
        """Add the note that an event makes, if it does."""
        files: tuple[str, ...] = ()
        match event:
            case ev.QuerySteered():
                kind, text = "said", event.text
            case ev.FilesAttached():
                kind, text = "attached", describe(event).sentence
                files = tuple(each.path for each in event.files)
            case ev.ArtifactSaved():
                copied = f", copied to {event.copied_to}" if event.copied_to else ""
                kind, text, files = "artifact", f"{describe(event).details[0]}{copied}", (event.path,)
            case ev.AuthRequired():
                kind, text = "auth", f"{describe(event).sentence} {event.url}"
            case ev.ObserverFinished() if event.status != "failed":
                return
            case _:
                description = describe(event)
                kind, text = description.kind, description.sentence
        self.entries["", f"n{event.seq}"] = Note(at=event.at, kind=kind, text=clean(text), files=files)


_NOTED = frozenset(
    {
        ev.QuerySteered,
        ev.FilesAttached,
        ev.ArtifactSaved,
        ev.AuthRequired,
        ev.ObserverFinished,
        ev.PathFellBack,
        ev.SubagentStarted,
        ev.SubagentFinished,
        ev.ComplianceFailed,
        ev.ComplianceEnforced,
        ev.PermissionAnswered,
        ev.ElicitationAnswered,
        ev.AuthFinished,
        ev.ModelChosen,
        ev.PermissionModeChanged,
        ev.ApiRetry,
        ev.PipelineFailed,
        ev.ErrorRaised,
        ev.ContextCompaction,
        ev.ReportChecked,
        ev.OpinionGiven,
        ev.ConversationCleared,
        ev.SessionForked,
        ev.SessionRewound,
        ev.PlanLimit,
    }
)
"""The events that may make a note."""
_LINKS = frozenset({ev.AuthRequired, ev.ElicitationAsked})


def fold(events: Iterable[ev.Event]) -> SessionView:
    """Make the view of a session from its events."""
    return SessionView().then(events)


def _timed(steps: tuple[Step, ...], before: tuple[Step, ...], now: float) -> tuple[Step, ...]:
    """Give the steps of a plan their times; those of a step that is the same as before stay."""
    known = {step.text: step for step in before}
    timed = []
    for step in steps:
        old = known.get(step.text, step)
        began = old.began if old.began is not None or step.state == "pending" else now
        ended = (old.ended if old.ended is not None else now) if step.done else None
        timed.append(replace(step, began=began, ended=ended))
    return tuple(timed)


def _place_of(event: ev.Event) -> tuple[int, ...]:
    place = event.place if isinstance(event, ev.PlacedEvent) else None
    return (place,) if isinstance(place, int) else ()


def _title(call: Call, found: AnyObservation | None) -> str:
    """The title of the one document or article that a call of ours has read."""
    if isinstance(found, KnowledgeObservation):
        return clean_line(found.title, 120)
    if found is None or call.name != "mcp__local_toolkit__read_local_file":
        return ""
    saved = _SAVED_ARTICLE.match(found.text[:1_200])
    return clean_line(saved[1].replace('\\"', '"'), 120) if saved is not None else ""


def _outcome(event: ev.ToolCallFinished) -> str:
    """What came of a call, in a few words; empty if its result says no more than its status."""
    found = event.observation
    if event.status in {"denied", "cancelled"}:
        return event.status
    if isinstance(found, CrawlObservation):
        wanted = found.pages + found.failed
        pages = f"{found.pages}/{wanted} pages" if found.failed else f"{wanted} pages"
        known = f"{found.known} known" if found.known else ""
        # Where there is little room, the last parts are left out.
        return " · ".join(filter(None, (pages, known, *clean_line(found.unread).split(", "))))
    if isinstance(found, KnowledgeObservation) and not found.title and not found.has_error:
        return quantity(found.hits, "hit")
    return ""
