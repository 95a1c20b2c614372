"""The dialogue as events make it: which blocks a conversation has, and what each of them says."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from ua_tui.core.events.continuation import is_own
from ua_tui.core.events.describe import PATHS, Severity
from ua_tui.core.events.types import (
    ArtifactChanged,
    ClaimsDecided,
    Event,
    McpStatus,
    MessageFinished,
    PathFellBack,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    ReportChecked,
    SessionRewound,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallStarted,
)
from ua_tui.core.events.units import duration, quantity
from ua_tui.core.text import clean, clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.conversation.blocks import Card, Heading, Notice, Verbatim
from ua_tui.tui.panes.conversation.folds import STOPPED, Folds
from ua_tui.tui.panes.conversation.notices import (
    OF_A_QUERY,
    RETRIED,
    RETRY,
    AppMessage,
    message_of,
    server_message,
)
from ua_tui.tui.panes.conversation.page import Page
from ua_tui.tui.panes.conversation.results import Result, Results
from ua_tui.tui.panes.conversation.stream import MessageStream
from ua_tui.tui.render.format import clock

PROGRAM = "ua-tui"
"""Who speaks where the program says something to the agent in the place of the person."""

UNFINISHED = "unfinished"
UNDONE = "undone"
MOST_CARDS = 5
"""Pieces of finished work that a query shows; the workspace has the others."""


@dataclass(slots=True)
class _Turn:
    """What the heading of an agent's answer shows."""

    heading: Heading
    path: str = ""
    calls: int = 0
    took: str = ""
    has_text: bool = False


class Dialogue:
    """Turns events into blocks.

    Args:
        page: shows the blocks.

    Attributes:
        folds: thinking and the text of sub-agents.
        results: the finished work of the session.
        not_described: the cards whose file was not read yet.
        key_of_newest: the key that opens the newest report, as it is shown.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._numbers: Iterator[int] = itertools.count()
        self.folds = Folds(page, self._numbers)
        self._turns: dict[str, _Turn] = {}
        self._streams: dict[str, MessageStream] = {}
        self._topics: dict[Hashable, Notice] = {}
        self._servers: dict[str, str] = {}
        self._worked: set[str] = set()
        self.results = Results()
        self.not_described: list[Card] = []
        self.key_of_newest = ""
        self._left: dict[str, Result] = {}
        self._cards: dict[str, Card] = {}
        self._older: dict[str, Card] = {}
        """The newest card of each file from the queries before the last one."""
        self._newest: Card | None = None

    # -- events -----------------------------------------------------------------------------------

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Add or change the blocks that an event is about; `view` has it already."""
        self.page.at = event.at.timestamp()
        result = self.results.handle_event(event, view)
        # What somebody changes in a file or decides about it is no work of the last query.
        is_work = not isinstance(event, ArtifactChanged | ClaimsDecided | ReportChecked)
        if result is not None and (is_work or result.path in self._left.keys() | self._cards.keys()):
            self._left[result.path] = result
            if not view.activity.queries:
                self.show_results()
        elif result is not None and (card := self._older.get(result.path)) is not None:
            self._change_card(card, result)
        match event:
            case TextDelta() | MessageFinished() if event.parent_tool_use_id is not None:
                self.folds.add_subagent_text(event, view)
            case TextDelta():
                self.on_text(event)
            case ThinkingDelta(parent_tool_use_id=None):
                self.on_thinking(event)
            case MessageFinished():
                self.on_message_finished(event)
            case QueryReceived():
                self.on_query_received(event)
            case QuerySteered():
                facts = f"steered · {clock(event.at)}"
                self._add_said(("steered", next(self._numbers)), "You", facts, event.text)
            case QueryClassified():
                self._set_path(event.query_id, event.at, event.decision)
            case ToolCallStarted():
                turn = self._turn(event.query_id, event.at)
                turn.calls += 1
                self._show_facts(turn)
            case SubagentStarted():
                about = clean_line(event.description, 80)
                self.folds.of_subagent(event.tool_use_id, event.at, view, about, event.name)
            case SubagentFinished():
                status = STOPPED if event.by_person else event.status
                self.folds.end_subagent(event.tool_use_id, status, event.at.timestamp(), view)
            case McpStatus():
                self.on_servers(event)
            case _:
                self.on_other(event, view)

    def on_query_received(self, event: QueryReceived) -> None:
        """Add a query, with who asked it."""
        self._left.clear()
        self._older |= self._cards
        self._cards.clear()
        for topic in [each for each in self._topics if isinstance(each, tuple) and each[0] == OF_A_QUERY]:
            del self._topics[topic]
        group: tuple[str, ...] = ("query", event.query_id)
        if self.page.view.index_of((*group, "heading")) is not None:
            # An id that was used before: what comes from here on is another answer.
            self._turns.pop(event.query_id, None)
            group = (*group, str(next(self._numbers)))
        at = clock(event.at)
        own = is_own(event.text)
        speaker, facts = (PROGRAM, f"automatic message · {at}") if own else ("You", at)
        self._add_said(group, speaker, facts, event.text, quiet=own)
        if event.prompt:
            self.folds.add_sent("/".join(group), event.prompt)

    def on_rewound(self, event: SessionRewound, view: SessionView) -> None:
        """Mark the queries that are undone, and their answers; a file that is gone is not the newest one."""
        if self._newest is not None and self._newest.result.path in event.removed:
            self._newest.hint = ""
            self.page.change(self._newest)
        for query in view.queries:
            at = self.page.view.index_of(("query", query.id, "heading")) if query.undone else None
            if at is None:
                continue
            heading, text = self.page.view.entries[at : at + 2]
            if isinstance(heading, Heading) and isinstance(text, Verbatim) and not text.quiet:
                heading.facts, text.quiet = f"{UNDONE} · {heading.facts}", True
                self.page.change(heading)
                self.page.change(text)
            if (turn := self._turns.get(query.id)) is not None:
                turn.path = UNDONE
                self._show_facts(turn)

    def _add_said(
        self, group: tuple[object, ...], speaker: str, facts: str, text: str, *, quiet: bool = False
    ) -> None:
        """Add what was said to the agent, with who said it."""
        self.page.add(Heading(key=(*group, "heading"), group=group, speaker=speaker, facts=facts))
        self.page.add(Verbatim(key=(*group, "text"), group=group, text=clean(text).strip(), quiet=quiet))

    def _turn(self, query_id: str, at: datetime) -> _Turn:
        turn = self._turns.get(query_id)
        if turn is None:
            group: tuple[str, ...] = ("answer", query_id)
            if self.page.view.index_of(group) is not None:
                group = (*group, str(next(self._numbers)))
            facts = clock(at)
            heading = Heading(key=group, group=group, speaker="Agent", facts=facts)
            turn = self._turns[query_id] = _Turn(heading, took=facts)
            self.page.add(heading)
        return turn

    def _show_facts(self, turn: _Turn) -> None:
        calls = quantity(turn.calls, "call") if turn.calls else ""
        turn.heading.facts = " · ".join(filter(None, (turn.path, calls, turn.took)))
        self.page.change(turn.heading)

    def _set_path(self, query_id: str, at: datetime, decision: str) -> None:
        turn = self._turn(query_id, at)
        turn.path = PATHS.get(decision, "")
        self._show_facts(turn)

    def on_query_finished(self, event: QueryFinished, view: SessionView) -> None:
        """Complete the answer and its heading, and show what became of the plan."""
        turn = self._turns.get(event.query_id)
        if turn is None and event.text:
            turn = self._turn(event.query_id, event.at)
        if turn is None:
            return
        if event.text and not turn.has_text:
            self._stream(event.query_id, f"{event.query_id}/answer", event.at).finish(clean(event.text))
        if event.duration_ms:
            turn.took = duration(event.duration_ms / 1000)
        self._show_facts(turn)
        self._end_streams()
        self.folds.add_plan(event.query_id, view.plan)

    def on_other(self, event: Event, view: SessionView) -> None:
        """Show what the application has to say about an event."""
        if isinstance(event, SessionRewound):
            self.on_rewound(event, view)
        if isinstance(event, PathFellBack):
            self._set_path(event.query_id, event.at, "COMPLEX")
        if isinstance(event, QueryFinished):
            self.on_query_finished(event, view)
            self.show_results()
        message = message_of(event)
        if message is not None:
            self.add_message(message)
        if isinstance(event, QueryFinished):
            self._end_retry()

    def _end_retry(self) -> None:
        """Note in a few words that the request was repeated: what comes next is the answer, or why there is none."""
        notice = self._topics.pop(RETRY, None)
        if notice is not None:
            self._reword(notice, Severity.INFO, RETRIED)

    # -- finished work ----------------------------------------------------------------------------

    def show_results(self) -> None:
        """Show a card for each piece of finished work that the last query left."""
        left, self._left = sorted(self._left.values(), key=lambda result: result.rank), {}
        corpus = next((each for each in left if each.kind == "corpus"), None)
        is_of_a_report = corpus is not None and left[0].kind == "report" and corpus.path not in self._cards
        left = [each for each in left if each is not corpus or not is_of_a_report]
        # The most important one comes last, where the cursor is: Enter opens it.
        left = [*reversed(left[:MOST_CARDS]), *left[MOST_CARDS:]]
        room = MOST_CARDS - len(self._cards)
        for result in left:
            card = self._cards.get(result.path)
            if card is not None:
                self._change_card(card, result)
            elif room > 0:
                room -= 1
                key = ("result", next(self._numbers))
                card = self._cards[result.path] = Card(key=key, group=key, result=result)
                self.page.add(card)
                self._show_key(card)
                self.not_described.append(card)
            else:
                continue
            if corpus is not None and is_of_a_report and result.kind == "report":
                card.corpus = corpus.path
        hidden = sum(result.path not in self._cards for result in left)
        if hidden:
            more = f"{quantity(hidden, 'more file')} in the workspace."
            self.add_message(AppMessage(Severity.INFO, more, topic="more results"))
            self._topics.pop("more results")

    def _change_card(self, card: Card, result: Result) -> None:
        card.result = result
        self.page.change(card)
        self.not_described.append(card)

    def _show_key(self, card: Card) -> None:
        """Show the key that opens the newest report on its card, and on no other one."""
        if card.result != self.results.newest():
            return
        if self._newest is not None:
            self._newest.hint = ""
            self.page.change(self._newest)
        card.hint, self._newest = self.key_of_newest, card

    def describe(self, card: Card, result: Result) -> None:
        """Show what a file says about itself."""
        if card.result.tool_use_id == result.tool_use_id:
            # The check may have ended while the file was read.
            card.result = replace(result, check=card.result.check)
            self.results.describe(card.result)
            self.page.change(card)

    # -- the agent's text -------------------------------------------------------------------------

    def on_text(self, event: TextDelta) -> None:
        """Add a part of a message that is being written."""
        self._end_retry()
        self.folds.end_thought(event)
        self._stream(event.query_id, event.message_id, event.at).write(clean(event.text))

    def on_message_finished(self, event: MessageFinished) -> None:
        """Complete a message."""
        if event.text.strip():
            stream = self._stream(event.query_id, event.message_id, event.at)
            stream.finish(clean(event.text))
            if event.incomplete:
                stream.mark_incomplete()
        elif event.message_id in self._streams:
            self._streams[event.message_id].remove()
        self._streams.pop(event.message_id, None)
        self.folds.end_thought(event)

    def on_thinking(self, event: ThinkingDelta) -> None:
        """Add to the thinking before a message."""
        if not self.folds.has_thought(event.message_id):
            self._turn(event.query_id, event.at)
        self.folds.add_thinking(event)

    def _stream(self, query_id: str, message_id: str, at: datetime) -> MessageStream:
        stream = self._streams.get(message_id)
        if stream is None:
            turn = self._turn(query_id, at)
            turn.has_text = True
            blocks = self.page.view.entries
            last = blocks[-1] if blocks else None
            group = turn.heading.group if last is turn.heading else ("message", message_id)
            stream = self._streams[message_id] = MessageStream(self.page, group, self._numbers)
        return stream

    def _end_streams(self) -> None:
        for stream in self._streams.values():
            stream.end()
        self._streams.clear()

    def end(self, view: SessionView) -> None:
        """Let nothing look as if it continued."""
        self._end_streams()
        self.folds.end_subagents(UNFINISHED, view)

    # -- the app's own messages -------------------------------------------------------------------

    def on_servers(self, event: McpStatus) -> None:
        """Report servers whose state changed."""
        for server in event.servers:
            before, self._servers[server.name] = self._servers.get(server.name, ""), server.status
            was_reported = ("mcp", server.name) in self._topics
            was_lost = server.name in self._worked
            if server.status == "connected":
                self._worked.add(server.name)
            elif server.status == "disabled":
                self._worked.discard(server.name)
            if server.status == before:
                continue
            message = server_message(server, was_reported=was_reported, was_lost=was_lost)
            if message is not None:
                self.add_message(message)

    def _reword(self, notice: Notice, severity: Severity, text: str, details: tuple[str, ...] = ()) -> None:
        notice.severity, notice.text, notice.details = severity, text, details
        self.page.change(notice)

    def add_message(self, message: AppMessage) -> None:
        """Show a message of the application, in the place of an earlier one about the same topic."""
        blocks, topic, details = self.page.view.entries, message.topic, message.details
        last = blocks[-1] if blocks else None
        notice = self._topics.get(topic) if topic is not None else None
        if message.before:
            self._topics.pop(topic, None)
            if notice is not None and last is not None and last is not notice:
                self._reword(notice, Severity.INFO, message.before)
                notice = None
        if message.instead_of and notice is None:
            trailing = itertools.takewhile(lambda block: isinstance(block, Notice), reversed(blocks))
            same = (each for each in trailing if isinstance(each, Notice) and each.text == message.instead_of)
            if (notice := next(same, None)) is not None:
                details = notice.details
        if notice is not None:
            self._reword(notice, message.severity, message.text, details)
        else:
            key = ("app", next(self._numbers))
            notice = Notice(key=key, group=key, severity=message.severity, text=message.text, details=details)
            # What is good to know, but calls for nothing, comes below the queries to try.
            is_deferred = message.severity in (Severity.INFO, Severity.STARTED) and not blocks
            (self.page.deferred.append if is_deferred else self.page.add)(notice)
        if topic is not None and not message.before:
            self._topics[topic] = notice
