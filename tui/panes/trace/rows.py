"""The rows of the trace: the record of each call, its place in the tree, and how it is drawn; no widget here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rich.segment import Segment
from rich.style import Style

from core.events.tool_names import main_argument, tool_label
from core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from core.events.units import duration, size
from core.observation import CrawlObservation, SubagentObservation
from core.text import clean, clean_line
from tui.render.format import Mark, middle_cut, spinner, tail_cut
from tui.render.layout import PLAIN, Line, cut_line, spread, width_of, wrap
from tui.render.subagent_progress import Progress
from tui.render.theme import read_theme
from tui.render.wait_time import Wait
from tui.virtual_list.source import RowSource

__all__ = [
    "CallNode",
    "CallRecord",
    "CallSource",
    "LiveCalls",
    "Record",
    "TraceRows",
    "TraceTheme",
    "add_text",
    "call_node",
    "message_node",
    "query_node",
    "render_message",
    "render_node",
]

SLOW, VERY_SLOW = 10.0, 60.0
QUIET = 5.0
SLOW_MARK, VERY_SLOW_MARK = "!", "!!"
SIZE_CELLS, TIME_CELLS = 5, 9
SIZE_FROM_WIDTH = 52
OTHER_CELLS = 12
LEAST_CELLS = 5
FOLDED, UNFOLDED = "▸", "▾"
RECOVERED, LOST = "truncated, recovered", "truncated, rest lost"
NO_RESULT = "no result"
LONGEST_VALUE = 4096
LONGEST_MESSAGE = 20_000
_LABEL_CHARACTERS = 400
_MARK = "“ "
_LEAST_MESSAGE_CELLS = 8


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

    def add(self, event: ToolCallFinished | ArtifactSaved) -> None:
        """Add the end of the call, or a file that it produced."""

    def load(self) -> CallRecord:
        """Return the complete record; may read from the disk."""


@dataclass(slots=True)
class CallRecord:
    """Everything in the session's events about one tool call."""

    started: ToolCallStarted
    finished: ToolCallFinished | None = None
    artifacts: list[ArtifactSaved] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)

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

    def add(self, event: ToolCallFinished | ArtifactSaved) -> None:
        """Add the end of the call, or a file that it produced."""
        if isinstance(event, ArtifactSaved):
            self.artifacts.append(event)
        else:
            self.finished = event

    def load(self) -> CallRecord:
        """Return the record itself."""
        return self


@dataclass(slots=True, eq=False)
class CallNode:
    """A row of the trace: a query, a sub-agent, a call, or a message of a sub-agent.

    `began`, `took` and `heard`, the time of a sub-agent's last sign of life, are seconds of a monotonic clock.
    `wait` is the part of `took` that was spent waiting for the person, if any.
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
    took: float | None = None
    heard: float = 0.0
    text: str = ""
    revision: int = 0
    matched: bool = False
    hits: int = 0
    wait: Wait | None = None

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
        self.mark = Mark[finished.status.upper()]
        self.took = finished.duration_ms / 1000
        self.note = _outcome(finished) or (self.note if self.kind == "agent" else "")
        seen = finished.observation
        self.size = seen.size if seen is not None else None
        # The result of a sub-agent is short by design; its own calls show what was truncated.
        if seen is not None and seen.truncated and not isinstance(seen, SubagentObservation):
            self.flag = RECOVERED if seen.recovered else LOST
        if isinstance(seen, CrawlObservation) and self.note:
            self.argument = ""


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


def query_node(query_id: str, text: str, began: float) -> CallNode:
    """Make the row of a query."""
    return CallNode(key=f"query/{query_id}", kind="query", label=clean_line(text) or "Query", began=began)


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
        heard=began,
    )


def _outcome(finished: ToolCallFinished) -> str:
    observation = finished.observation
    if finished.status == "error":
        error = observation.error if observation is not None else None
        return clean_line((error or "failed").strip().partition("\n")[0], 160)
    if finished.status in {"denied", "cancelled"}:
        return finished.status
    if isinstance(observation, CrawlObservation):
        wanted = observation.pages + observation.failed
        return f"{observation.pages}/{wanted} pages" if observation.failed else f"{wanted} pages"
    return ""


@dataclass(frozen=True, slots=True)
class TraceTheme:
    """The styles of the trace."""

    query: Style = PLAIN
    name: Style = PLAIN
    argument: Style = PLAIN
    note: Style = PLAIN
    number: Style = PLAIN
    running: Style = PLAIN
    good: Style = PLAIN
    warning: Style = PLAIN
    bad: Style = PLAIN

    def of(self, mark: Mark) -> Style:
        """Return the style of a mark."""
        match mark:
            case Mark.SUCCESS:
                return self.good
            case Mark.ERROR:
                return self.bad
            case Mark.RUNNING:
                return self.running
            case Mark.DENIED | Mark.CANCELLED | Mark.WAITING | Mark.RETRY:
                return self.warning


def render_node(node: CallNode, width: int, theme: TraceTheme, *, now: float, tick: int) -> Line:
    """Render one row: tree, mark, name, argument and outcome; at the right size and time in fixed columns."""
    glyph = spinner(tick) if node.mark is Mark.RUNNING else node.mark.glyph
    # Rows without a fold keep the room empty: marks of one depth share a column, to the right of their caller's.
    arrow = f"{UNFOLDED if node.open else FOLDED} " if node.children or node.kind != "call" else "  "
    indent = min(2 * node.depth, max(0, width // 3))
    left: Line = [
        Segment(" " * indent + arrow, theme.note),
        Segment(f"{glyph} ", theme.of(node.mark)),
    ]
    right = _numbers(node, width, theme, now)
    room = width - indent - len(arrow) - 2 - sum(width_of(part.text) for part in right) - 1
    left += _description(node, max(1, room), theme, now)
    return spread(left, right, width)


def _description(node: CallNode, room: int, theme: TraceTheme, now: float) -> Line:
    """Divide the room: the name first, then a problem or else the argument, then the outcome."""
    note = _note(node, now)
    if node.kind == "query":
        note_room = min(width_of(note), max(0, room // 2 - 2))
        label = tail_cut(node.label, room - (note_room + 2 if note_room >= LEAST_CELLS else 0))
        line = [Segment(label, theme.query)]
        return line + _part(note, note_room, theme.warning if node.flag else theme.note)
    others = note or node.argument
    most = max(room * 3 // 5, room - OTHER_CELLS) if others else room
    label = middle_cut(node.label, most)
    rest = room - width_of(label) - 2
    fine = node.mark in {Mark.SUCCESS, Mark.RUNNING}
    urgent = bool(node.flag) or node.kind == "agent" or not fine
    argument_room = min(width_of(node.argument), rest)
    note_room = min(width_of(note), rest)
    if note and node.argument:
        if urgent:
            argument_room = rest - note_room - 2
        elif rest - note_room - 2 >= min(width_of(node.argument), OTHER_CELLS):
            argument_room = min(argument_room, rest - note_room - 2)
        else:
            note_room = 0
    style = (theme.warning if node.flag else theme.note) if fine else theme.of(node.mark)
    line = [Segment(label, theme.name)]
    argument = _short_path(node.argument, argument_room)
    return line + _part(argument, argument_room, theme.argument) + _part(note, note_room, style)


def _short_path(text: str, room: int) -> str:
    """Shorten a path: without its folders, and cut in the middle, as its end tells it from others."""
    if width_of(text) <= room or "/" not in text or " " in text or "://" in text or room < LEAST_CELLS:
        return text
    return middle_cut(text.rstrip("/").rsplit("/", 1)[-1], room)


def _part(text: str, room: int, style: Style) -> Line:
    if not text or room < min(width_of(text), LEAST_CELLS):
        return []
    return [Segment("  "), Segment(tail_cut(text, room), style)]


def _note(node: CallNode, now: float) -> str:
    if node.mark is Mark.WAITING:
        return Mark.WAITING.word
    waited = f"{duration(node.waited)} waiting for you" if node.waited else ""
    return " · ".join(part for part in (node.flag, node.note, waited, _quiet(node, now)) if part)


def _quiet(node: CallNode, now: float) -> str:
    """Say how long a sub-agent gave no sign of life; a call of it that runs shows its own time."""
    if node.kind != "agent" or node.mark is not Mark.RUNNING or now - node.heard < QUIET:
        return ""
    return "" if any(child.running for child in node.children) else f"quiet {_live(now - node.heard)}"


def _numbers(node: CallNode, width: int, theme: TraceTheme, now: float) -> Line:
    if width < 20:
        return []
    seconds = node.took if node.took is not None else max(0.0, now - node.began)
    if node.took is None and not node.running:
        text = ""
    else:
        text = duration(seconds) if node.took is not None else _live(seconds)
    style = theme.number
    if node.kind == "call" and (worked := seconds - node.waited) > SLOW:
        # The mark also works without colours.
        very = worked > VERY_SLOW
        style = theme.bad if very else theme.warning
        text = (VERY_SLOW_MARK if very else SLOW_MARK) + text
    line: Line = [Segment(f"{text:>{TIME_CELLS}}", style)]
    if width >= SIZE_FROM_WIDTH:
        bytes_ = "" if node.size is None or node.kind == "query" else size(node.size)
        line.insert(0, Segment(f"{bytes_:>{SIZE_CELLS}}", theme.number))
    return line


def _live(seconds: float) -> str:
    return f"{math.floor(seconds)}s" if seconds < 60 else duration(math.floor(seconds))


def message_node(message_id: str) -> CallNode:
    """Make the row of one message of a sub-agent."""
    return CallNode(key=f"message/{message_id}", kind="message", label="", mark=Mark.SUCCESS, open=False)


def add_text(node: CallNode, event: TextDelta | MessageFinished) -> None:
    """Add a part of the message, or replace it by the complete text; the text is cleaned here."""
    text = clean(event.text[:LONGEST_MESSAGE])
    node.text = text if isinstance(event, MessageFinished) else (node.text + text)[:LONGEST_MESSAGE]
    node.label = clean_line(node.text[:_LABEL_CHARACTERS])


def render_message(node: CallNode, width: int, theme: TraceTheme) -> list[Line]:
    """Render the beginning of a message on one line, or all of it when the row is unfolded."""
    indent = min(2 * node.depth, max(0, width // 3))
    arrow = f"{UNFOLDED if node.open else FOLDED} "
    room = width - indent - len(arrow) - len(_MARK)
    if room < _LEAST_MESSAGE_CELLS:
        return [cut_line([Segment(f"{arrow}{node.label}", theme.argument)], width)]
    lead = [Segment(" " * indent + arrow + _MARK, theme.note)]
    if not node.open:
        return [[*lead, Segment(tail_cut(node.label, room), theme.argument)]]
    lines = wrap([(node.text.strip(), theme.argument)], room)
    blank = Segment(" " * (width - room))
    return [[*(lead if at == 0 else [blank]), *line] for at, line in enumerate(lines)]


class TraceRows(RowSource[CallNode]):
    """The rows of the trace that no fold and no filter hides.

    Attributes:
        now: the time by the clock of live rows.
        tick: counts the seconds for the spinner.
        empty_text: why there is no row.
    """

    single_lines = True

    def __init__(self) -> None:
        super().__init__()
        self.now: Callable[[], float] = lambda: 0.0
        self.tick = 0
        self.empty_text = ""
        self._theme = TraceTheme()
        self._muted = PLAIN

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles of the trace from a new palette."""
        self._theme = read_theme(TraceTheme, "trace-", palette.__getitem__)
        self._muted = palette["lines--muted"]

    def render(self, entry: CallNode, width: int) -> Sequence[Line]:
        """Render a row."""
        if entry.kind == "message":
            return render_message(entry, width, self._theme)
        return [render_node(entry, width, self._theme, now=self.now(), tick=self.tick)]

    def counts_as_new(self, entry: CallNode) -> bool:
        """Count calls, but neither their queries nor the messages between them."""
        return entry.record is not None

    def render_below(self, width: int, *, focused: bool) -> Sequence[Line]:
        """Say why there is no row."""
        return [] if self.rows.items else [[], *wrap([(self.empty_text, self._muted)], width)]
