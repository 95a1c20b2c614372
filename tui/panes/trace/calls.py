"""The calls of the trace: what is known of each, its place in the tree, and how long, for how much and why it ran."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ua_tui.core.events.tool_names import main_argument, tool_label
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    PermissionAnswered,
    TextDelta,
    TokensSpent,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.events.units import quantity
from ua_tui.core.observation import CrawlObservation, KnowledgeObservation, SubagentObservation
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.render.format import Mark
from ua_tui.tui.render.subagent_progress import Progress
from ua_tui.tui.render.wait_time import Wait

RECOVERED, LOST = "truncated, recovered", "truncated, rest lost"
NO_RESULT = "no result"
STOPPED = "stopped by you"
LONGEST_VALUE = 4096
LONGEST_TITLE = 120
SEPARATOR = " · "
"""Between the parts of a note; the last ones are left out where there is no room."""
LONGEST_MESSAGE = 20_000
LONGEST_ERROR = 400
_LABEL_CHARACTERS = 400
_WRAPPERS = re.compile(r"(?:<tool_use_error>|Error executing tool [^\s:]+:|MCP error -?\d+:|Error:)\s*")
"""What tools and the command line put before the message of a failure."""


CallEvent = ToolCallFinished | ArtifactSaved | PermissionAnswered
"""What is added to the record of a call."""


class Record(Protocol):
    """What is known of one tool call, in memory or in a journal."""

    progress: Progress

    @property
    def name(self) -> str:
        """The tool, as the model named it."""

    @property
    def argument_text(self) -> str:
        """The texts among the arguments, which a filter searches."""

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""

    def add(self, event: CallEvent) -> None:
        """Add the end of the call, a file that it produced, or its arguments as the person changed them."""

    def load(self) -> CallRecord:
        """Return the complete record; may read from the disk."""


@dataclass(slots=True)
class CallRecord:
    """Everything in the session's events about one tool call.

    `started` has the arguments with which it ran; `changes` say how the person changed them, if so.
    """

    started: ToolCallStarted
    finished: ToolCallFinished | None = None
    artifacts: list[ArtifactSaved] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    changes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The tool, as the model named it."""
        return self.started.name

    @property
    def argument_text(self) -> str:
        """The texts among the arguments, which a filter searches."""
        values = self.started.input.values()
        return "\n".join(value[:LONGEST_VALUE] for value in values if isinstance(value, str))

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""
        return self.finished is not None

    def add(self, event: CallEvent) -> None:
        """Add the end of the call, a file that it produced, or its arguments as the person changed them."""
        match event:
            case ArtifactSaved():
                self.artifacts.append(event)
            case ToolCallFinished():
                self.finished = event
            case PermissionAnswered():
                self.started, self.changes = self.started.changed_by(event), tuple(event.changes)

    def load(self) -> CallRecord:
        """Return the record itself."""
        return self


@dataclass(slots=True, eq=False)
class CallNode:
    """A row of the trace: a query, a sub-agent, a call, or a message of a sub-agent.

    `began`, `took` and `heard`, the time of a sub-agent's last sign of life, are seconds of a monotonic clock. `at` is
    when it began in seconds of the time of day, as are the times of `wait`: when it waited for the person, if it did.
    `tokens` and `cost` (US dollars) are those of a query or a sub-agent, with all that worked for it; the cost is an
    estimate unless `exact`. `error` is a failure's own message. `changed` is whether the person changed its arguments.
    While a filter is on, `matched` says that the row itself matches, and `hits` counts the matching rows in the
    subtree that begins here.
    """

    key: str
    kind: Literal["query", "agent", "call", "message"]
    label: str
    argument: str = ""
    parent: CallNode | None = None
    place: int = 0
    record: Record | None = None
    children: list[CallNode] = field(default_factory=list)
    open: bool = True
    mark: Mark = Mark.RUNNING
    note: str = ""
    flag: str = ""
    tries: int = 0
    size: int | None = None
    began: float = 0.0
    at: float = 0.0
    took: float | None = None
    heard: float = 0.0
    text: str = ""
    revision: int = 0
    matched: bool = False
    hits: int = 0
    wait: Wait | None = None
    tokens: int = 0
    cost: float | None = None
    exact: bool = False
    error: str = ""
    changed: bool = False

    @property
    def depth(self) -> int:
        """How deep the row is nested; a query is at 0."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def lineage(self) -> Iterator[CallNode]:
        """The row, and every row it is under, up to its query."""
        node: CallNode | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def path(self) -> tuple[int, ...]:
        """The row's place in the whole tree: sorts as the tree is read."""
        return (self.place,) if self.parent is None else (*self.parent.path, self.place)

    @property
    def visible(self) -> bool:
        """Whether every row that it is under is unfolded."""
        return self.parent is None or (self.parent.open and self.parent.visible)

    @property
    def foldable(self) -> bool:
        """Whether there is something to fold away."""
        return bool(self.children) or self.kind == "message"

    @property
    def waited(self) -> float:
        """How many seconds of its duration it waited for the person; 0 while it runs."""
        return 0.0 if self.wait is None or self.took is None else self.wait.of(self.took)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.mark in {Mark.RUNNING, Mark.WAITING}

    def add(self, child: CallNode) -> None:
        """Put a row under this one, as the last."""
        child.parent = self
        child.place = len(self.children)
        self.children.append(child)

    def shown(self, *, filtered: bool = False) -> Iterator[CallNode]:
        """Yield the rows under this one that are unfolded, in order; with `filtered` only those with hits."""
        if self.open:
            for child in self.children:
                if child.hits or not filtered:
                    yield child
                    yield from child.shown(filtered=filtered)

    def walk(self) -> Iterator[CallNode]:
        """Yield all rows under this one."""
        for child in self.children:
            yield child
            yield from child.walk()

    def last_shown(self, *, filtered: bool = False) -> CallNode:
        """Return the lowest unfolded row under this one, or itself; with `filtered` only of those with hits."""
        node = self
        while node.open:
            below = (child for child in reversed(node.children) if child.hits or not filtered)
            if (last := next(below, None)) is None:
                break
            node = last
        return node

    def finish(self, finished: ToolCallFinished) -> None:
        """Update the row when its call has ended."""
        assert self.record is not None
        self.record.add(finished)
        # One that waits for its service's approval has ended: the agent has its answer.
        self.mark = Mark.HELD if finished.status == "waiting" else Mark[finished.status.upper()]
        self.took = finished.duration_ms / 1000
        seen = finished.observation
        if self.mark in {Mark.ERROR, Mark.HELD, Mark.BLOCKED}:
            self.error = _own_message(seen.error if seen is not None else None)
        if self.mark is Mark.BLOCKED:
            self.error = f"{self.mark.word}: {self.error}"
        self.note = "" if self.flag == STOPPED else _outcome(finished)
        self.size = seen.size if seen is not None else None
        # The result of a sub-agent is short by design; its own calls show what was truncated.
        if seen is not None and seen.truncated and not isinstance(seen, SubagentObservation):
            self.flag = RECOVERED if seen.recovered else LOST
        if isinstance(seen, CrawlObservation) and self.note:
            self.argument = ""
        if isinstance(seen, KnowledgeObservation) and seen.title:
            # The argument is only the number of the document.
            self.argument = clean_line(seen.title, LONGEST_TITLE)

    def change(self, answer: PermissionAnswered) -> None:
        """Show the arguments with which the call runs, as the person changed them."""
        if self.record is None or answer.input is None:
            return
        self.record.add(answer)
        if answer.changes:
            self.changed = True
            self.label = tool_label(answer.tool_name, answer.input)
            self.argument = main_argument(answer.tool_name, answer.input)

    def spend(self, event: TokensSpent) -> None:
        """Add the tokens of a message, and what they may have cost, to this row and to those it works for."""
        for node in self.lineage:
            if node.kind in {"query", "agent"}:
                node.tokens += event.usage.total
                if event.cost_usd is not None:
                    node.cost = (node.cost or 0.0) + event.cost_usd


class CallSource(Protocol):
    """Where the calls of a trace come from: the session that runs here, or a journal."""

    def now(self, event: Event | None = None) -> float:
        """Return the time of an event, or that of day, in seconds."""

    def make_record(self, started: ToolCallStarted) -> Record:
        """Make the record of a call that begins."""

    def end(self, node: CallNode, now: float) -> None:
        """End a row that has no result."""


class LiveCalls:
    """The calls of a session that runs here; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    def now(self, event: Event | None = None) -> float:
        """Return the time of the clock."""
        return self._clock()

    def make_record(self, started: ToolCallStarted) -> Record:
        """Make a record that has all of the call."""
        return CallRecord(started)

    def end(self, node: CallNode, now: float) -> None:
        """Show how long the row ran."""
        node.took = max(0.0, now - node.began)
        node.note = NO_RESULT


def query_node(query_id: str, text: str, began: float, at: float = 0.0) -> CallNode:
    """Make the row of a query."""
    label = clean_line(text) or "Query"
    return CallNode(key=f"query/{query_id}", kind="query", label=label, began=began, at=at)


def call_node(started: ToolCallStarted, began: float, record: Record | None = None) -> CallNode:
    """Make the row of a call; its label and argument are cleaned here."""
    agent = started.name in {"Agent", "Task"}
    return CallNode(
        key=started.tool_use_id,
        kind="agent" if agent else "call",
        label=tool_label(started.name, started.input),
        argument=main_argument(started.name, started.input),
        record=record or CallRecord(started),
        began=began,
        at=started.at.timestamp(),
        heard=began,
    )


def _own_message(error: str | None) -> str:
    """The message of a failure in one line, without what the tool's server and the command line put before it."""
    text = (error or "")[: 4 * LONGEST_ERROR].strip()
    while (wrapper := _WRAPPERS.match(text)) is not None and wrapper.end() < len(text):
        text = text[wrapper.end() :]
    first, _, rest = text.removesuffix("</tool_use_error>").partition("\n")
    # A first line that only announces the reason says nothing without the next one.
    if first.rstrip().endswith(":"):
        first = f"{first.rstrip()} {rest.strip().partition(chr(10))[0]}"
    return clean_line(first, LONGEST_ERROR) or "failed"


def _outcome(finished: ToolCallFinished) -> str:
    observation = finished.observation
    if finished.status in {"denied", "cancelled"}:
        return finished.status
    if isinstance(observation, CrawlObservation):
        wanted = observation.pages + observation.failed
        pages = f"{observation.pages}/{wanted} pages" if observation.failed else f"{wanted} pages"
        return f"{pages}{SEPARATOR}{observation.known} known" if observation.known else pages
    if isinstance(observation, KnowledgeObservation) and not observation.title and not observation.has_error:
        return quantity(observation.hits, "hit")
    return ""


def message_node(message_id: str) -> CallNode:
    """Make the row of one message of a sub-agent."""
    return CallNode(key=f"message/{message_id}", kind="message", label="", mark=Mark.SUCCESS, open=False)


def add_text(node: CallNode, event: TextDelta | MessageFinished) -> None:
    """Add a part of the message, or replace it by the complete text; the text is cleaned here."""
    text = clean(event.text[:LONGEST_MESSAGE])
    node.text = text if isinstance(event, MessageFinished) else (node.text + text)[:LONGEST_MESSAGE]
    node.label = clean_line(node.text[:_LABEL_CHARACTERS])
