"""Resuming a past session: its state from the journal, and the settings chosen in it, which apply again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from ua_tui.core.agent.conversation import ConversationStore
from ua_tui.core.agent.permissions.taint import Taint
from ua_tui.core.errors import ConversationGone, JournalError, SettingsError, WorkspaceError
from ua_tui.core.events.types import (
    BudgetRaised,
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    ModelChosen,
    ObserverFinished,
    ObserverStarted,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.history.headline import beginning_of
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.log import log
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.settings.model import EFFORTS, Settings
from ua_tui.core.storage.ownership import check_session
from ua_tui.core.storage.queue_file import read_queue
from ua_tui.core.storage.workspace import JOURNAL, Workspace
from ua_tui.core.view.session import SessionView

OVERRIDABLE = ("model", "fallback_model", "effort", "max_cost_usd")
"""The settings that can be changed in a session."""

Value = str | float | None


class ResumedSettings(msgspec.Struct, frozen=True):
    """The settings of a resumed session.

    `applied` are the names of those that were chosen in it; `overruled` are those that were chosen but no longer apply.
    """

    settings: Settings
    applied: frozenset[str] = frozenset()
    overruled: dict[str, Value] = {}


class Overrides(msgspec.Struct):
    """What a person chose in a session, by the names of the settings; a setting never chosen is missing."""

    chosen: dict[str, Value] = {}

    def handle_event(self, event: Event) -> None:
        """Record the choice that an event of the journal reports; events come in order."""
        match event:
            case ModelChosen():
                self.chosen["model"] = event.model
                self.chosen["fallback_model"] = event.fallback_model
                self.chosen["effort"] = event.effort
            case BudgetRaised():
                self.chosen["max_cost_usd"] = event.limit_usd
            case SessionStarted():
                # The setting named instead is the newest choice.
                for name in event.overruled:
                    if name in self.chosen:
                        self.chosen[name] = getattr(event, name)

    def apply(self, settings: Settings, named: Collection[str]) -> ResumedSettings:
        """Apply the choices of the session, except for settings that are `named` for this run.

        An effort that this version does not know is overruled, too, so that it cannot prevent the resumption.
        """
        changes: JsonObject = {}
        overruled: dict[str, Value] = {}
        for name, value in self.chosen.items():
            if name not in named and (name != "effort" or value in (None, *EFFORTS)):
                changes[name] = value
            elif getattr(settings, name) != value:
                overruled[name] = value
        settings = replace(settings, **changes)
        fallback = settings.fallback_model
        # The agent does not start if these two are the same.
        if fallback is not None and fallback == settings.model and "fallback_model" not in named:
            settings = replace(settings, fallback_model=None)
            overruled["fallback_model"] = fallback
        return ResumedSettings(settings, frozenset(changes), overruled)


ENDED = "The program ended before this was finished."


class _Span(msgspec.Struct, frozen=True):
    """What begins with one event and ends with another.

    The end of what the program left unfinished has some fields of the start, of which the first identifies it, and
    some that say why it ended.
    """

    start: type[Event]
    end: type[Event]
    same: tuple[str, ...]
    why: JsonMapping


_SPANS = (
    _Span(QueryReceived, QueryFinished, ("query_id",), {"status": "interrupted", "error": ENDED}),
    _Span(ToolCallStarted, ToolCallFinished, ("tool_use_id",), {"status": "cancelled"}),
    _Span(SubagentStarted, SubagentFinished, ("task_id", "tool_use_id", "name"), {"status": "cancelled"}),
    _Span(
        ObserverStarted,
        ObserverFinished,
        ("run_id", "observer", "tool_use_id"),
        {"status": "failed", "error": ENDED},
    ),
    _Span(
        PermissionAsked,
        PermissionAnswered,
        ("request_id", "tool_name", "subjects"),
        {"decision": "deny", "scope": "interrupted", "reason": ENDED},
    ),
    _Span(
        ElicitationAsked,
        ElicitationAnswered,
        ("request_id", "server", "message", "url", "tool_use_id"),
        {"action": "cancel", "by": "interrupted", "reason": ENDED},
    ),
)

_NUMBER = re.compile(r"q(\d{1,9})(?: |$)")


class Resume(msgspec.Struct, frozen=True):
    """Which session to resume; with `fresh` it begins a new conversation, which knows nothing of the earlier one.

    `named` are the settings given for this run; they have precedence over those chosen in the session. A fork is
    `compared_with` another session when its first query has ended. `workspace` is its folder if that is locked already.
    """

    folder: Path
    fresh: bool = False
    named: frozenset[str] = frozenset()
    compared_with: Path | None = None
    workspace: Workspace | None = None


class PreviousState(msgspec.Struct):
    """The state of a session when it ended.

    `view` is the session itself, and `earlier_ms` how long it took. `last_query` is the highest number of a query.
    `taint` is what the agent read. `queue` are the queries that were never sent. `overrides` are the settings chosen
    in it. `settled` says what became of a change of its files that was cut off.
    """

    view: SessionView
    taint: Taint
    last_query: int = 0
    earlier_ms: float = 0.0
    queue: tuple[str, ...] = ()
    overrides: Overrides = msgspec.field(default_factory=Overrides)
    settled: str = ""
    _open: dict[tuple[int, str], Event] = {}
    _run: tuple[float, float] = (0.0, 0.0)

    @property
    def session_id(self) -> str:
        """What the session was called last; empty if it is new, or the journal lacks its start."""
        return self.view.started.session_id if self.view.started is not None else ""

    def handle_events(self, events: Iterable[Event]) -> None:
        """Update the state from events of the journal, in order."""
        for event in events:
            if not _is_later(event):
                self._run = (self._run[0], event.at.timestamp())
            match event:
                case SessionStarted():
                    self._end_run()
                    self._run = (event.at.timestamp(),) * 2
                case SessionFinished():
                    # Its sums are those of the complete session until then.
                    self.earlier_ms = event.duration_ms
                    self._run = (0.0, 0.0)
                case QueryReceived() if (number := _NUMBER.match(event.query_id)) is not None:
                    self.last_query = max(self.last_query, int(number[1]))
            # What has begun is kept until its end comes.
            for at, span in enumerate(_SPANS):
                if isinstance(event, span.start):
                    self._open[at, getattr(event, span.same[0])] = event
                elif isinstance(event, span.end):
                    self._open.pop((at, getattr(event, span.same[0])), None)
            self.overrides.handle_event(event)
            self.taint.restore(event)
            self.view.add(event)

    def closing_events(self) -> Iterator[Event]:
        """The end events of everything that is unfinished because the program was killed.

        They must be published before the `session_started` of the resumed session.
        """
        # What began last ends first: calls before the queries they belong to.
        for (number, _), event in reversed(self._open.items()):
            span = _SPANS[number]
            end = span.end(**{name: getattr(event, name) for name in span.same}, **span.why)
            if isinstance(end, QueryFinished | ToolCallFinished | ObserverFinished):
                # It lasted at least until the last event of the run that was cut off.
                lasted = max(0.0, (self.view.last_at - event.at).total_seconds())
                end = msgspec.structs.replace(end, duration_ms=lasted * 1000)
            if isinstance(end, QueryFinished):
                unpriced = list(self.view.costs.running_unpriced.get(end.query_id, ()))
                cost = None if unpriced else self.view.costs.running.get(end.query_id)
                end = msgspec.structs.replace(end, cost_usd=cost, unpriced=unpriced)
            yield end

    def _end_run(self) -> None:
        """Add the duration of a run that was cut off, estimated from its events."""
        began, last = self._run
        if began:
            self.earlier_ms += max(0.0, last - began) * 1000
        self._run = (0.0, 0.0)

    def finish(self) -> None:
        """Finish at the end of the journal: an unfinished query cost what was estimated."""
        self._end_run()
        self.view.keep_unfinished()


def _is_later(event: Event) -> bool:
    """Whether an event may have been added when the session was resumed, so that no run lasted until then."""
    return isinstance(event, SessionStarted) or any(
        isinstance(event, span.end) and all(getattr(event, name) == why for name, why in span.why.items())
        for span in _SPANS
    )


def new_state(workspace: Workspace) -> PreviousState:
    """The state of a session before its first event."""
    return PreviousState(SessionView(workspace.redactor, workspace.root), Taint(workspace))


def read_previous_state(workspace: Workspace) -> PreviousState:
    """Read the state of a session from its journal, which may be long: call it in a thread.

    Raises:
        JournalError: it cannot be read, or has no session.
    """
    previous = new_state(workspace)
    previous.handle_events(read_events(workspace.path))
    if not previous.session_id:
        raise JournalError(
            f"the session of the journal {workspace.path / JOURNAL} cannot be resumed: the journal lacks its start. "
            "`ua-tui open` shows what there is."
        )
    previous.finish()
    try:
        previous.queue = read_queue(workspace.root)
    except WorkspaceError as error:
        log.warning("%s", error)
    return previous


def prepare_resume(
    settings: Settings,
    folder: Path,
    *,
    fresh: bool = False,
    named: Collection[str] = (),
    workspace: Workspace | None = None,
) -> tuple[Settings, Resume]:
    """Check that a session can be resumed, and return the settings for it: a demo session stays one.

    The settings `named` have precedence over those chosen in the session. `workspace` is its folder if the caller has
    locked it.

    Raises:
        SettingsError: its journal lacks its start, it is not a demo session, another program runs it, or somebody
            else's program made it.
    """
    try:
        demo = beginning_of(folder).demo
        check_session(folder)
    except JournalError as error:
        advice = "`ua-tui open` shows what there is, `ua-tui sessions` lists the sessions that can be resumed"
        raise SettingsError(
            f"the session in {folder} cannot be resumed: {error} ({folder / JOURNAL}); {advice}"
        ) from error
    if settings.demo and not demo:
        raise SettingsError(f"{folder.name} is not a session of the demo: omit --demo")
    if not (workspace is not None and workspace.locked) and runs_elsewhere(folder):
        raise SettingsError(
            f"{folder.name} is running in another program, which must end first; until then `ua-tui open` shows it"
        )
    return replace(settings, demo=demo), Resume(folder, fresh, frozenset(named), workspace=workspace)


def conversation_to_resume(previous: PreviousState, workspace: Workspace, agent_home: Path) -> str | None:
    """The id of the conversation to resume, which the agent finds then; None when none was begun.

    `agent_home` is where the command-line agent keeps its state. Call it in a thread.

    Raises:
        ConversationGone: the model wrote something in it, but its transcript no longer exists, or cannot be read.
    """
    setup = previous.view.setup
    conversation = setup.conversation
    if conversation is None:
        return None
    try:
        if ConversationStore(workspace, agent_home).prepare(conversation):
            return conversation
    except WorkspaceError as error:
        raise ConversationGone(
            f"the conversation in {workspace.session_id} cannot be given to the agent: {error}"
        ) from error
    if setup.spoken:
        raise ConversationGone(
            f"the conversation of {workspace.session_id} was not found in {agent_home}, and the session's folder has "
            "no copy of it, because an earlier version of ua-tui did not keep one"
        )
    return None
