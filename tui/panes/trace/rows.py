"""The tree of tool calls as plain records, and how a row of it looks: no widget here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rich.segment import Segment
from rich.style import Style

from core.events.tool_names import main_argument, tool_label
from core.events.types import ArtifactSaved, ToolCallFinished, ToolCallStarted
from core.events.units import duration, size
from core.observation import CrawlObservation, SubagentObservation
from core.text import clean_line
from tui.render.format import Mark, middle_cut, spinner, tail_cut
from tui.render.layout import PLAIN, Line, spread, width_of
from tui.render.subagent_progress import Progress
from tui.render.wait_time import Wait

__all__ = ["CallNode", "CallRecord", "Record", "TraceTheme", "call_node", "query_node", "render_node"]

SLOW, VERY_SLOW = 10.0, 60.0
QUIET = 5.0
SLOW_MARK, VERY_SLOW_MARK = "!", "!!"
SIZE_CELLS, TIME_CELLS = 5, 9
SIZE_FROM_WIDTH = 52
OTHER_CELLS = 12
LEAST_CELLS = 5
FOLDED, UNFOLDED = "▸", "▾"
RECOVERED, LOST = "cut, recovered", "cut, rest lost"
LONGEST_VALUE = 4096


class Record(Protocol):
    """What is known of one tool call, wherever it is kept."""

    progress: Progress

    @property
    def name(self) -> str:
        """The tool, as the model named it."""

    @property
    def words(self) -> str:
        """The texts among the arguments, by which a call is found."""

    @property
    def ended(self) -> bool:
        """Whether the call came to its end."""

    def take(self, event: ToolCallFinished | ArtifactSaved) -> None:
        """Note the end of the call, or a file that came of it."""

    def whole(self) -> CallRecord:
        """All of it; may read from the disk."""


@dataclass(slots=True)
class CallRecord:
    """Everything the session's events said about one tool call."""

    started: ToolCallStarted
    finished: ToolCallFinished | None = None
    artifacts: list[ArtifactSaved] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)

    @property
    def name(self) -> str:
        """The tool, as the model named it."""
        return self.started.name

    @property
    def words(self) -> str:
        """The texts among the arguments, by which a call is found."""
        values = self.started.input.values()
        return "\n".join(value[:LONGEST_VALUE] for value in values if isinstance(value, str))

    @property
    def ended(self) -> bool:
        """Whether the call came to its end."""
        return self.finished is not None

    def take(self, event: ToolCallFinished | ArtifactSaved) -> None:
        """Note the end of the call, or a file that came of it."""
        if isinstance(event, ArtifactSaved):
            self.artifacts.append(event)
        else:
            self.finished = event

    def whole(self) -> CallRecord:
        """All of it."""
        return self


@dataclass(slots=True, eq=False)
class CallNode:
    """A row of the trace: a query, a sub-agent, a call, or what a sub-agent said.

    `began`, `took` and `heard`, when a sub-agent last gave a sign, are seconds of a monotonic clock.
    Of `took` so much was a `wait` for the person, where there was one.
    While there is a filter, `matched` says that the row is looked for, and `hits` counts such rows from here down.
    """

    key: str
    kind: Literal["query", "agent", "call", "words"]
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
    words: str = ""
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
        """The row, and those that it stands under up to its query."""
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
        """Whether everything above it is unfolded."""
        return self.parent is None or (self.parent.open and self.parent.visible)

    @property
    def foldable(self) -> bool:
        """Whether there is something to fold away."""
        return bool(self.children) or self.kind == "words"

    @property
    def waited(self) -> float:
        """How many seconds of its time it waited for the person, when it is over."""
        return 0.0 if self.wait is None or self.took is None else self.wait.of(self.took)

    @property
    def running(self) -> bool:
        """Whether it has not come to its end."""
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
        """Take in the end of the call."""
        assert self.record is not None
        self.record.take(finished)
        self.mark = Mark[finished.status.upper()]
        self.took = finished.duration_ms / 1000
        self.note = _outcome(finished) or (self.note if self.kind == "agent" else "")
        seen = finished.observation
        self.size = seen.size if seen is not None else None
        # What a sub-agent says at its end is short by design; its own calls tell what was cut.
        if seen is not None and seen.truncated and not isinstance(seen, SubagentObservation):
            self.flag = RECOVERED if seen.recovered else LOST
        if isinstance(seen, CrawlObservation) and self.note:
            self.argument = ""


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

    @classmethod
    def read(cls, style: Callable[[str], Style]) -> TraceTheme:
        """Build a theme from `style`, which gives the style of a component class."""
        names = ("query", "name", "argument", "note", "number", "running", "good", "warning", "bad")
        return cls(**{name: style(f"trace--{name}") for name in names})

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
    # Where nothing folds the room stays empty: marks of one depth stand in one column, right of their caller's.
    arrow = f"{UNFOLDED if node.open else FOLDED} " if node.children or node.kind != "call" else "  "
    indent = min(2 * node.depth, max(0, width // 3))
    left: Line = [
        Segment(" " * indent + arrow, theme.note),
        Segment(f"{glyph} ", theme.of(node.mark)),
    ]
    right = _numbers(node, width, theme, now)
    room = width - indent - len(arrow) - 2 - sum(width_of(part.text) for part in right) - 1
    left += _words(node, max(1, room), theme, now)
    return spread(left, right, width)


def _words(node: CallNode, room: int, theme: TraceTheme, now: float) -> Line:
    """Share the room: name first, then what went wrong, else the argument, then the outcome."""
    note = _note(node, now)
    if node.kind == "query":
        note_room = min(width_of(note), max(0, room // 2 - 2))
        label = tail_cut(node.label, room - (note_room + 2 if note_room >= LEAST_CELLS else 0))
        words = [Segment(label, theme.query)]
        return words + _word(note, note_room, theme.warning if node.flag else theme.note)
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
    words = [Segment(label, theme.name)]
    argument = _short_path(node.argument, argument_room)
    return words + _word(argument, argument_room, theme.argument) + _word(note, note_room, style)


def _short_path(text: str, room: int) -> str:
    """A path that is too long without its folders, and cut in the middle: its end tells it from others."""
    if width_of(text) <= room or "/" not in text or " " in text or "://" in text or room < LEAST_CELLS:
        return text
    return middle_cut(text.rstrip("/").rsplit("/", 1)[-1], room)


def _word(text: str, room: int, style: Style) -> Line:
    if not text or room < min(width_of(text), LEAST_CELLS):
        return []
    return [Segment("  "), Segment(tail_cut(text, room), style)]


def _note(node: CallNode, now: float) -> str:
    if node.mark is Mark.WAITING:
        return Mark.WAITING.word
    waited = f"{duration(node.waited)} waiting for you" if node.waited else ""
    return " · ".join(part for part in (node.flag, node.note, waited, _quiet(node, now)) if part)


def _quiet(node: CallNode, now: float) -> str:
    """How long a sub-agent gave no sign; a call of its own that runs tells its own time."""
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
        # The mark says it where there is no colour.
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
