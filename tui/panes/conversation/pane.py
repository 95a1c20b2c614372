"""The conversation: what was asked, what the agent says as it says it, and what the app has to tell."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Self

from core.concurrency.garbage_collection import deferred
from core.events.continuation import is_own
from core.events.tool_names import tool_label
from core.events.types import (
    Event,
    McpStatus,
    MessageFinished,
    PathFellBack,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from core.events.units import duration
from core.text import clean
from tui.panes.conversation.blocks import Block, Fold, Heading, Notice, Tone, Verbatim
from tui.panes.conversation.folds import Folds
from tui.panes.conversation.notices import Message, message_of, server_message
from tui.panes.conversation.search_view import FindingView
from tui.panes.conversation.stream import MessageStream
from tui.panes.conversation.view import SUGGESTIONS
from tui.render.format import clock
from tui.render.markdown import warm_up

__all__ = ["ConversationPane"]

PROGRAM = "ua-tui"
"""Who speaks where the program says something to the agent in the place of the person."""


A_SESSION = 2_000
"""Events in one batch: more than a living session ever brings at once."""


@dataclass(slots=True)
class _Turn:
    """What the heading of an agent's answer tells."""

    heading: Heading
    path: str = ""
    calls: int = 0
    took: str = ""
    said: bool = False


@dataclass(slots=True)
class _Known:
    """What the events told so far, beside the blocks that show it."""

    turns: dict[str, _Turn] = field(default_factory=dict)
    steered: int = 0
    streams: dict[str, MessageStream] = field(default_factory=dict)
    topics: dict[Hashable, Notice] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    worked: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=itertools.count)


class ConversationPane(FindingView):
    """Shows the dialogue from the session's events; thinking and sub-agents' text are folded to a line."""

    HELP = "The dialogue. Up and down move by message, y copies one, / searches, Enter unfolds, End follows again."

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        zone: tzinfo | None = None,
        suggestions: Sequence[str] = SUGGESTIONS,
    ) -> None:
        """Make an empty conversation; times are shown in `zone`, or else in that of this machine."""
        super().__init__(title="Conversation", suggestions=suggestions, name=name, id=id, classes=classes)
        self._zone = zone
        self._known = _Known()
        self._folds = Folds(self, self._known.numbers)

    def on_mount(self) -> None:
        """Load parser and lexers in a thread, so that the first answer does not wait for them."""
        self.run_worker(warm_up, group="warm-up", thread=True, exit_on_error=False)

    # Events

    def handle_events(self, events: Sequence[Event]) -> None:
        """Take a batch of events in order, and paint once."""
        # A long session that is opened makes objects that stay: the collector need never look at them.
        with deferred() if len(events) >= A_SESSION else nullcontext():
            for event in events:
                self._take(event)
        self._folds.show_grown()
        self.settle()
        self.look_again()

    def _take(self, event: Event) -> None:
        match event:
            case TextDelta(parent_tool_use_id=None):
                self._known.topics.pop("retry", None)
                self._folds.end_thought(event)
                self._stream(event.query_id, event.message_id, event.at).write(clean(event.text))
            case ThinkingDelta(parent_tool_use_id=None):
                self._think(event)
            case TextDelta() | MessageFinished(parent_tool_use_id=str()):
                self._folds.hear_subagent(event)
            case ThinkingDelta():
                pass
            case MessageFinished():
                self._finish_message(event)
            case QueryReceived():
                self._ask(event)
            case QuerySteered():
                self._steer(event)
            case QueryClassified():
                self._turn(event.query_id, event.at).path = event.decision
                self._tell_facts(event.query_id)
            case ToolCallStarted():
                self._count_call(event)
            case SubagentStarted():
                self._folds.begin_subagent(event)
            case SubagentFinished():
                self._folds.end_subagent(event.tool_use_id, event.status)
            case ToolCallFinished(tool_use_id=call) if call in self._folds:
                self._folds.end_subagent(call, event.status)
            case McpStatus():
                self._tell_servers(event)
            case _:
                if isinstance(event, PathFellBack):
                    self._turn(event.query_id, event.at).path = "COMPLEX"
                    self._tell_facts(event.query_id)
                if isinstance(event, QueryFinished):
                    self._finish_query(event)
                message = message_of(event)
                if message is not None:
                    self._tell(message)

    def _ask(self, event: QueryReceived) -> None:
        group: tuple[str, ...] = ("query", event.query_id)
        if self.index_of((*group, "heading")) is not None:
            # An id that was used before: what comes from here on is another answer.
            self._known.turns.pop(event.query_id, None)
            group = (*group, str(next(self._known.numbers)))
        at = clock(event.at, self._zone)
        own = is_own(event.text)
        speaker, facts = (PROGRAM, f"to the agent, by itself · {at}") if own else ("You", at)
        self.add(Heading(key=(*group, "heading"), group=group, speaker=speaker, facts=facts))
        self.add(Verbatim(key=(*group, "text"), group=group, text=clean(event.text).strip(), quiet=own))

    def _steer(self, event: QuerySteered) -> None:
        self._known.steered += 1
        group = ("steered", str(self._known.steered))
        facts = f"into the running query · {clock(event.at, self._zone)}"
        self.add(Heading(key=(*group, "heading"), group=group, speaker="You", facts=facts))
        self.add(Verbatim(key=(*group, "text"), group=group, text=clean(event.text).strip()))

    def _turn(self, query_id: str, at: datetime) -> _Turn:
        turn = self._known.turns.get(query_id)
        if turn is None:
            group: tuple[str, ...] = ("answer", query_id)
            if self.index_of(group) is not None:
                group = (*group, str(next(self._known.numbers)))
            facts = clock(at, self._zone)
            heading = Heading(key=group, group=group, speaker="Agent", facts=facts)
            turn = self._known.turns[query_id] = _Turn(heading, took=facts)
            self.add(heading)
        return turn

    def _tell_facts(self, query_id: str) -> None:
        turn = self._known.turns[query_id]
        calls = f"{turn.calls} call{'' if turn.calls == 1 else 's'}" if turn.calls else ""
        turn.heading.facts = " · ".join(fact for fact in (turn.path, calls, turn.took) if fact)
        self.change(turn.heading)

    def _count_call(self, event: ToolCallStarted) -> None:
        turn = self._turn(event.query_id, event.at)
        turn.calls += 1
        self._tell_facts(event.query_id)
        if event.name in {"Agent", "Task"}:
            self._folds.name_subagent(event.tool_use_id, tool_label(event.name, event.input))

    def _finish_query(self, event: QueryFinished) -> None:
        self._known.topics.pop("retry", None)
        turn = self._known.turns.get(event.query_id)
        if turn is None and event.text:
            turn = self._turn(event.query_id, event.at)
        if turn is None:
            return
        if event.text and not turn.said:
            self._stream(event.query_id, f"{event.query_id}/answer", event.at).finish(clean(event.text))
        if event.duration_ms:
            turn.took = duration(event.duration_ms / 1000)
        self._tell_facts(event.query_id)
        for stream in self._known.streams.values():
            stream.rest()
        self._known.streams.clear()

    # The agent's text

    def _stream(self, query_id: str, message_id: str, at: datetime) -> MessageStream:
        stream = self._known.streams.get(message_id)
        if stream is None:
            turn = self._turn(query_id, at)
            turn.said = True
            last = self._entries[-1] if self._entries else None
            group = turn.heading.group if last is turn.heading else ("message", message_id)
            stream = self._known.streams[message_id] = MessageStream(self, group, self._known.numbers)
        return stream

    def _finish_message(self, event: MessageFinished) -> None:
        if event.text.strip():
            self._stream(event.query_id, event.message_id, event.at).finish(clean(event.text))
        elif event.message_id in self._known.streams:
            self._known.streams[event.message_id].rest()
        self._known.streams.pop(event.message_id, None)
        self._folds.end_thought(event)

    # Folded text

    def _think(self, event: ThinkingDelta) -> None:
        if not self._folds.has_thought(event.message_id):
            self._turn(event.query_id, event.at)
        self._folds.think(event)

    def opened(self, entry: Block) -> None:
        """Fold or unfold thinking and the text of sub-agents."""
        fold = self._folds.behind(entry)
        if fold is not None:
            self.set_open(fold, not fold.open)
            self.show_entry(fold.key)
            self.settle()
            self.look_again()

    def set_open(self, fold: Fold, opened: bool) -> None:
        """Show or hide the text behind a fold."""
        self._folds.set_open(fold, opened)

    # A longer view of the same

    def place_in(self, whole: Self, index: int) -> int:
        """Where a block is in a longer conversation: both end alike, the pieces of messages are counted anew."""
        return max(0, index + len(whole.entries) - len(self.entries))

    def adopt(self, whole: Self) -> None:
        """Show a longer conversation, which is given up for that; what is unfolded stays so."""
        whole._folds.open_like(self._folds)
        super().adopt(whole)
        self._known, self._folds, self._held = whole._known, whole._folds, whole._held
        self._folds.move_to(self)
        for stream in self._known.streams.values():
            stream.move_to(self)
        self.settle()

    # The app's own messages

    def _tell_servers(self, event: McpStatus) -> None:
        for server in event.servers:
            before, self._known.servers[server.name] = self._known.servers.get(server.name, ""), server.status
            was_reported = ("mcp", server.name) in self._known.topics
            was_lost = server.name in self._known.worked
            if server.status == "connected":
                self._known.worked.add(server.name)
            elif server.status == "disabled":
                self._known.worked.discard(server.name)
            if server.status == before:
                continue
            message = server_message(server, was_reported=was_reported, was_lost=was_lost)
            if message is not None:
                # What is not set up is no reason to hide what can be tried.
                self._tell(message, hold=server.status in ("off", "untrusted") and not self._entries)

    def _tell(self, message: Message, *, hold: bool = False) -> None:
        notice = self._known.topics.get(message.topic) if message.topic is not None else None
        if message.before:
            self._known.topics.pop(message.topic, None)
            if notice is not None and self._entries and self._entries[-1] is not notice:
                notice.mark, notice.tone, notice.text, notice.details = "·", Tone.QUIET, message.before, ()
                self.change(notice)
                notice = None
        last = self._entries[-1] if self._entries else None
        if message.instead_of and isinstance(last, Notice) and last.text == message.instead_of:
            last.mark, last.tone, last.text = message.mark, message.tone, message.text
            self.change(last)
            return
        if notice is None:
            key = ("app", next(self._known.numbers))
            notice = Notice(key=key, group=key, mark=message.mark, tone=message.tone, text=message.text)
            notice.details = message.details
            (self.hold if hold else self.add)(notice)
            if message.topic is not None and not message.before:
                self._known.topics[message.topic] = notice
            return
        notice.mark, notice.tone, notice.text = message.mark, message.tone, message.text
        notice.details = message.details
        self.change(notice)
