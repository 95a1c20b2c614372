"""How the rows of the trace are drawn: tree, name and outcome on the left, numbers and a waterfall on the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.units import count, duration, live_duration, money, size, tokens
from ua_tui.core.view.records import Call, Message, Query
from ua_tui.tui.panes.columns import StateTheme, TableStyles, render_columns
from ua_tui.tui.panes.trace.calls import SEPARATOR, CallNode
from ua_tui.tui.panes.trace.waterfall import Columns, bar_of, columns_of
from ua_tui.tui.render.format import Mark, middle_cut, spinner, tail_cut
from ua_tui.tui.render.layout import PLAIN, Line, cut_line, line_width, spread, width_of, wrap

SLOW, VERY_SLOW = 10.0, 60.0
QUIET = 5.0
SLOW_MARK, VERY_SLOW_MARK = "!", "!!"
OTHER_CELLS = 12
CHANGED = "changed"
LEAST_CELLS = 5
FOLDED, UNFOLDED = "▸", "▾"
_MARK = "“ "


@dataclass(frozen=True, slots=True)
class TraceTheme(StateTheme):
    """The styles of the trace."""

    query: Style = PLAIN
    name: Style = PLAIN
    argument: Style = PLAIN
    note: Style = PLAIN


def render_node(
    node: CallNode,
    width: int,
    theme: TraceTheme,
    *,
    now: float,
    tick: int,
    waterfall: bool = False,
) -> list[Line]:
    """Render one row: tree, mark, name, argument and outcome; at the right numbers in fixed columns.

    Why a call failed or is held has a line of its own if it does not fit beside the name.
    """
    if isinstance(node.record, Message):
        return render_message(node, width, theme)
    glyph = spinner(tick) if node.mark is Mark.RUNNING else node.mark.glyph
    # Rows without a fold keep the room empty: marks of one depth share a column, to the right of their caller's.
    arrow = f"{UNFOLDED if node.open else FOLDED} " if node.children or node.kind != "call" else "  "
    indent = min(2 * node.depth, max(0, width // 3))
    left: Line = [
        Segment(" " * indent + arrow, theme.note),
        Segment(f"{glyph} ", theme.of(node.mark)),
    ]
    columns = columns_of(width, waterfall=waterfall)
    right = _numbers(node, columns, theme, now)
    if not columns.bar:
        # No head names the columns: what is blank left of the first number is room for the name.
        right = _without_margin(right)
    room = max(1, width - indent - len(arrow) - 2 - line_width(right) - 1)
    below: list[Line] = []
    if node.error and width_of(node.label) + 2 + width_of(node.error) > room:
        margin = indent + len(arrow) + 2
        if width - margin >= OTHER_CELLS:
            below = [
                [Segment(" " * margin), Segment(tail_cut(node.error, width - margin), theme.of(node.mark))]
            ]
    left += _description(node, room, theme, now, columns, with_error=not below)
    return [spread(left, right, width), *below]


def _description(
    node: CallNode, room: int, theme: TraceTheme, now: float, columns: Columns, *, with_error: bool
) -> Line:
    """Divide the room: the whole name if possible, then a problem or else the argument, then the outcome."""
    note = _note(node, now, columns, with_error=with_error)
    if node.kind == "query":
        note_room = max(0, room // 2 - 2)
        note_room = min(width_of(_whole_parts(note, note_room)), note_room)
        label = tail_cut(node.label, room - (note_room + 2 if note_room >= LEAST_CELLS else 0))
        line = [Segment(label, theme.query)]
        return line + _part(note, note_room, theme.warning if node.flag else theme.note)
    label = middle_cut(node.label, room)
    rest = room - width_of(label) - 2
    fine = node.mark in {Mark.SUCCESS, Mark.RUNNING}
    has_progress = node.mark is Mark.RUNNING and bool(node.note)
    urgent = bool(node.flag) or node.changed or node.kind == "agent" or not fine or has_progress
    argument_room = min(width_of(node.argument), rest)
    note_room = min(width_of(note), rest)
    if has_progress and note.endswith(node.argument):
        # The progress ends with the argument, such as "12 of 50 pages": there is no need to show it twice.
        argument_room = 0
        note = note if width_of(note) <= rest else note.rpartition(" ")[0]
    elif note and node.argument:
        if node.changed and note.startswith(CHANGED):
            # The arguments that ran are what the person wants to see.
            note_room = max(width_of(CHANGED), min(note_room, rest - width_of(node.argument) - 2))
            argument_room = rest - note_room - 2
        elif urgent:
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


def _whole_parts(text: str, room: int) -> str:
    while SEPARATOR in text and width_of(text) > room:
        text = text.rpartition(SEPARATOR)[0]
    return text


def _part(text: str, room: int, style: Style) -> Line:
    text = _whole_parts(text, room)
    if not text or room < min(width_of(text), LEAST_CELLS):
        return []
    return [Segment("  "), Segment(tail_cut(text, room), style)]


def _note(node: CallNode, now: float, columns: Columns, *, with_error: bool) -> str:
    if node.mark is Mark.WAITING:
        return Mark.WAITING.word
    waited = duration(node.waited) if node.waited else ""
    if waited:
        waited = f"waited {waited}" if columns.bar else f"{waited} waiting for you"
    error = node.error if with_error else ""
    used = tokens(node.tokens) if node.tokens and node.kind == "agent" and not columns.tokens else ""
    parts = (
        node.flag,
        CHANGED if node.changed else "",
        error,
        node.note,
        used,
        waited,
        _quiet(node, now),
    )
    return SEPARATOR.join(filter(None, parts))


def _quiet(node: CallNode, now: float) -> str:
    """Say how long a sub-agent gave no sign of life; a call of it that runs shows its own time."""
    if node.kind != "agent" or node.mark is not Mark.RUNNING or now - node.heard < QUIET:
        return ""
    return "" if any(child.running for child in node.children) else f"quiet {live_duration(now - node.heard)}"


def _numbers(node: CallNode, columns: Columns, theme: TraceTheme, now: float) -> Line:
    line: Line = []
    if columns.size:
        bytes_ = "" if node.size is None or node.kind == "query" else size(node.size)
        line.append(Segment(f"{bytes_:>{columns.size}}", theme.number))
    if columns.tokens:
        used = count(node.tokens) if node.tokens else ""
        cost = money(node.cost) or ("?" if node.tokens else "")
        if cost.startswith("$") and not node.exact:
            cost = f"~{cost}"
        line.append(Segment(f"{used:>{columns.tokens}}{cost:>{columns.cost}}", theme.number))
    if columns.bar:
        line += bar_of(node, columns, now, theme.note, theme.of(node.mark), theme.warning)
    if columns.time:
        line.append(_time(node, columns, theme, now))
    return line


def _without_margin(line: Line) -> Line:
    shown = [*dropwhile(lambda part: part.text.isspace(), line)]
    return [Segment(f" {shown[0].text.lstrip()}", shown[0].style), *shown[1:]] if shown else []


def _time(node: CallNode, columns: Columns, theme: TraceTheme, now: float) -> Segment:
    seconds = node.took if node.took is not None else max(0.0, now - node.at)
    if node.took is None and not node.running:
        text = ""
    else:
        text = duration(seconds) if node.took is not None else live_duration(seconds)
    style = theme.number
    if node.kind == "call" and (worked := seconds - node.waited) > SLOW:
        # The mark also works without colours.
        very = worked > VERY_SLOW
        style = theme.bad if very else theme.warning
        text = (VERY_SLOW_MARK if very else SLOW_MARK) + text
    return Segment(f"{text:>{columns.time}}", style)


def render_message(node: CallNode, width: int, theme: TraceTheme) -> list[Line]:
    """Render the beginning of a message on one line, or all of it when the row is unfolded."""
    indent = min(2 * node.depth, max(0, width // 3))
    arrow = f"{UNFOLDED if node.open else FOLDED} "
    room = width - indent - len(arrow) - len(_MARK)
    if room < 8:
        return [cut_line([Segment(f"{arrow}{node.label}", theme.argument)], width)]
    lead = [Segment(" " * indent + arrow + _MARK, theme.note)]
    if not node.open:
        return [[*lead, Segment(tail_cut(node.label, room), theme.argument)]]
    lines = wrap([(node.text.strip(), theme.argument)], room)
    blank = Segment(" " * (width - room))
    return [[*(lead if at == 0 else [blank]), *line] for at, line in enumerate(lines)]


COLUMNS = {"calls": 7, "failed": 7, "time": 9, "results": 8, "tokens": 8, "cost": 9}
"""The columns and their cells, the space before each included."""
DROPPED_FIRST = ("failed", "results", "time", "calls", "cost", "tokens")
"""The order in which columns are left out where room is short."""
MAIN, ALL = "main agent", "total"


@dataclass(slots=True)
class Total:
    """What one tool or sub-agent did; `seconds` include waits, `bytes` are those of its results."""

    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    bytes: int = 0
    tokens: int = 0
    cost: float | None = None

    def add(self, node: CallNode) -> None:
        """Add a call that has ended."""
        self.calls += 1
        self.failed += node.mark is Mark.ERROR
        self.seconds += node.took or 0.0
        self.bytes += node.size or 0

    def spend(self, tokens: int, cost: float | None) -> None:
        """Add tokens, and what they may have cost."""
        self.tokens += tokens
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    def figures(self, styles: TableStyles) -> dict[str, tuple[str, Style]]:
        """Return what the table shows of it, by column."""
        texts = {
            "calls": count(self.calls) if self.calls else "",
            "failed": count(self.failed) if self.failed else "",
            "time": duration(self.seconds) if self.calls and self.seconds else "",
            "results": size(self.bytes) if self.bytes else "",
            "tokens": count(self.tokens) if self.tokens else "",
            "cost": money(self.cost) or ("?" if self.tokens else ""),
        }
        return {
            column: (text, styles.bad if column == "failed" else styles.number)
            for column, text in texts.items()
        }


def totals_of(roots: Sequence[CallNode]) -> tuple[dict[str, Total], Total]:
    """Return the totals by the name of a tool or a sub-agent, and those of everything."""
    by_name: dict[str, Total] = {}
    everything = Total()
    for query in roots:
        everything.spend(query.tokens, query.cost)
        for node in query.walk():
            if node.kind == "agent" or node is query:
                # What works for a sub-agent counts by itself.
                below = list(_agents_below(node))
                cost = node.record.estimate if isinstance(node.record, Query) else node.cost
                known = [each.cost for each in below if each.cost is not None]
                own = cost - sum(known) if cost is not None else None
                tokens = max(0, node.tokens - sum(each.tokens for each in below))
                if tokens or own:
                    name = node.record.label if isinstance(node.record, Call) else MAIN
                    by_name.setdefault(name, Total()).spend(tokens, own)
            if isinstance(node.record, Call) and node.record.status is not None:
                by_name.setdefault(node.record.label, Total()).add(node)
                everything.add(node)
                if node.parent is not query:
                    # The time of its sub-agent has it already.
                    everything.seconds -= node.took or 0.0
    return by_name, everything


def _agents_below(node: CallNode) -> Iterator[CallNode]:
    """The nearest sub-agents under a row."""
    for child in node.children:
        if child.kind == "agent":
            yield child
        else:
            yield from _agents_below(child)


def render_totals(roots: Sequence[CallNode], width: int, height: int, styles: TableStyles) -> list[Line]:
    """Render a line per tool and sub-agent, those that used most first, and their sum."""
    by_name, everything = totals_of(roots)
    shown = sorted(by_name.items(), key=lambda each: (-each[1].tokens, -each[1].seconds))
    return render_columns(
        [(name, each.figures(styles)) for name, each in shown],
        COLUMNS,
        width,
        height,
        styles,
        head="",
        dropped_first=DROPPED_FIRST,
        most_name_cells=40,
        total=(ALL, everything.figures(styles)),
    )
