"""The rows of the trace: a query, a call or a message of the session's view, and its place in the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ua_tui.core.events.types import ApiRetry
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean, clean_line
from ua_tui.core.view.records import Call, Message, Query, Wait
from ua_tui.tui.render.format import Mark

RECOVERED, LOST = "full result kept", "truncated, rest lost"
STOPPED = "stopped by you"
SEPARATOR = " · "
"""Between the parts of a note; the last ones are left out where there is no room."""
LONGEST_TEXT = 400
"""Of a text on one line: more than any terminal shows."""
LONGEST_MESSAGE = 20_000
_WRAPPERS = re.compile(r"(?:<tool_use_error>|Error executing tool [^\s:]+:|MCP error -?\d+:|Error:)\s*")
"""What tools and the command line put before the message of a failure."""
_ENDS = {"success": Mark.SUCCESS, "error": Mark.ERROR, "interrupted": Mark.CANCELLED}
# A call that waits for its service's approval has ended: the agent has its answer.
_HELD = {"waiting": Mark.HELD}


@dataclass(slots=True, eq=False)
class CallNode:
    """A row of the trace: what it shows is read from its record in the session's view.

    Attributes:
        record: what the view knows of it; of a query whose beginning is unknown, its id and its end.
        at: when it began, in seconds since the epoch.
        arguments: the texts among the arguments of a call, which a filter searches.
        asks: whether it waits for the person.
        retry: the newest repetition of a request to the model, while that is not answered.
        cut: why it has no end, if it will get none; `cut_after` is how many seconds it ran, where that is known.
        matched: while a filter is on, whether the row itself matches.
        hits: while a filter is on, how many rows match in the subtree that begins here.
        unfolded: whether it is open only because a row under it matches.
    """

    key: str
    record: Query | Call | Message
    at: float = 0.0
    arguments: str = ""
    parent: CallNode | None = None
    place: int = 0
    children: list[CallNode] = field(default_factory=list)
    open: bool = True
    revision: int = 0
    asks: bool = False
    retry: ApiRetry | None = None
    cut: str = ""
    cut_after: float | None = None
    matched: bool = False
    hits: int = 0
    unfolded: bool = False

    # -- what it shows ----------------------------------------------------------------------------

    @property
    def kind(self) -> Literal["query", "agent", "call", "message"]:
        """What the row is."""
        match self.record:
            case Call(agent=agent):
                return "agent" if agent else "call"
            case Message():
                return "message"
            case _:
                return "query"

    @property
    def label(self) -> str:
        """The text of a query or a message, the task of a sub-agent, the name of another tool."""
        match self.record:
            case Call(agent=agent, task=task) if agent and task:
                return task
            case Call(label=label):
                return label
            case Query(text=text) | Message(text=text):
                return clean_line(text[:LONGEST_TEXT]) or "Query"

    @property
    def text(self) -> str:
        """The text of a message."""
        return clean(self.record.text[:LONGEST_MESSAGE]) if isinstance(self.record, Message) else ""

    @property
    def argument(self) -> str:
        """The most informative argument of a call; the name of a sub-agent whose label is its task."""
        call = self.record
        if not isinstance(call, Call) or (call.status is not None and "pages" in call.done):
            # How many pages were read says more than the first address.
            return ""
        return call.agent if call.agent and call.task else call.argument

    @property
    def mark(self) -> Mark:
        """Its state."""
        match self.record:
            case Message():
                return Mark.SUCCESS
            case Query(end=end) if end is not None:
                return _ENDS[end.status]
            case Call(status=str(status)):
                return _HELD.get(status) or Mark[status.upper()]
            case _:
                return Mark.CANCELLED if self.cut else Mark.WAITING if self.asks else Mark.RUNNING

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.mark in (Mark.RUNNING, Mark.WAITING)

    @property
    def flag(self) -> str:
        """A problem that is no failure."""
        match self.record:
            case Query(retries=retries) if self.retry is not None and self.running:
                return f"{Mark.RETRY.glyph} attempt {self.retry.attempt} of {self.retry.max_attempts}"
            case Query(retries=retries) if retries:
                return f"{Mark.RETRY.glyph} {quantity(retries, 'retry', 'retries')}"
            case Call(stopped=True):
                return STOPPED
            case Call(sent_back=True):
                return f"{Mark.RETRY.glyph} {Mark.RETRY.word}"
            case Call(truncated=True, agent="", recovered=recovered):
                # The result of a sub-agent is short by design; its own calls show what was truncated.
                return RECOVERED if recovered else LOST
            case _:
                return ""

    @property
    def note(self) -> str:
        """What came of it, in a few words, or how much of it is done."""
        match self.record:
            case Query(undone=True):
                return "undone"
            case Query(end=end) if end is not None:
                return {"success": "", "interrupted": "interrupted"}.get(end.status, "failed")
            case Call(stopped=True, status=str()):
                return ""
            case Call() if self.cut and self.record.status is None:
                return self.cut
            case Call(done=done) if done:
                return done
            case Call(status="success", items=items) if items:
                return quantity(items, "item")
            case _:
                return self.cut

    @property
    def error(self) -> str:
        """A failure's own message."""
        call, mark = self.record, self.mark
        if not isinstance(call, Call) or mark not in {Mark.ERROR, Mark.HELD, Mark.BLOCKED}:
            return ""
        message = _own_message(call.error)
        return f"{mark.word}: {message}" if mark is Mark.BLOCKED else message

    @property
    def changed(self) -> bool:
        """Whether the person changed its arguments."""
        return isinstance(self.record, Call) and bool(self.record.changes)

    @property
    def size(self) -> int | None:
        """The bytes of its result."""
        match self.record:
            case Call(status=str(), result_size=size):
                return size
            case _:
                return None

    @property
    def took(self) -> float | None:
        """How many seconds it took; None while it runs, or if that is unknown."""
        match self.record:
            case Query(end=end) if end is not None:
                return end.duration_ms / 1000
            case Call(status=str(), duration_ms=duration_ms):
                return duration_ms / 1000
            case _:
                return self.cut_after

    @property
    def heard(self) -> float:
        """When a sub-agent gave its last sign of life."""
        return self.record.heard if isinstance(self.record, Call) else self.at

    @property
    def wait(self) -> Wait:
        """When it waited for the person."""
        return Wait() if isinstance(self.record, Message) else self.record.wait

    @property
    def waited(self) -> float:
        """How many seconds of its duration it waited for the person; 0 while it runs."""
        return self.wait.within(self.took or 0.0)

    @property
    def tokens(self) -> int:
        """The tokens of a query or a sub-agent, with all that worked for it."""
        return 0 if isinstance(self.record, Message) else self.record.tokens

    @property
    def exact(self) -> bool:
        """Whether the cost is no estimate."""
        return (
            isinstance(self.record, Query)
            and self.record.end is not None
            and self.record.end.cost_usd is not None
        )

    @property
    def cost(self) -> float | None:
        """The cost in US dollars of a query or a sub-agent, with all that worked for it."""
        match self.record:
            case Query(end=end) if end is not None and end.cost_usd is not None:
                return end.cost_usd
            case Query(estimate=estimate) | Call(estimate=estimate):
                return estimate
            case _:
                return None

    # -- its place --------------------------------------------------------------------------------

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
    def foldable(self) -> bool:
        """Whether there is something to fold away."""
        return bool(self.children) or isinstance(self.record, Message)

    def add(self, child: CallNode) -> None:
        """Put a row under this one, as the last."""
        child.parent = self
        child.place = len(self.children)
        self.children.append(child)

    def shown(self, *, filtered: bool = False) -> Iterator[CallNode]:
        """Yield the row, and the rows under it that are unfolded, in order; with `filtered` only those with hits."""
        if self.hits or not filtered:
            yield self
            for child in self.children if self.open else ():
                yield from child.shown(filtered=filtered)

    def walk(self) -> Iterator[CallNode]:
        """Yield the row, and all rows under it."""
        yield self
        for child in self.children:
            yield from child.walk()


def _own_message(error: str) -> str:
    """The message of a failure in one line, without what the tool's server and the command line put before it."""
    text = error.strip()
    while (wrapper := _WRAPPERS.match(text)) is not None and wrapper.end() < len(text):
        text = text[wrapper.end() :]
    first, _, rest = text.removesuffix("</tool_use_error>").partition("\n")
    # A first line that only announces the reason says nothing without the next one.
    if first.rstrip().endswith(":"):
        first = f"{first.rstrip()} {rest.strip().partition(chr(10))[0]}"
    return clean_line(first, LONGEST_TEXT) or "failed"
