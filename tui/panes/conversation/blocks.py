"""The kinds of blocks in a conversation, and how each is drawn: pure functions, no widget."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import assert_never

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.describe import Severity
from ua_tui.core.events.tool_names import Step, describe_plan
from ua_tui.core.events.units import duration, live_duration, quantity, size
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import AGENTS, SessionView
from ua_tui.tui.panes.conversation.results import Result
from ua_tui.tui.render.events import MARKS
from ua_tui.tui.render.format import Mark, middle_cut, tail_cut
from ua_tui.tui.render.layout import (
    PLAIN,
    Line,
    Piece,
    component_classes,
    line_width,
    read_theme,
    spread,
    width_of,
    wrap,
)
from ua_tui.tui.render.markdown.file_names import FindFile, no_file, with_files
from ua_tui.tui.render.markdown.renderer import MarkdownTheme, render_markdown
from ua_tui.tui.render.markdown.stream import closed

CARET = "▍"
CARD = "◆"
INCOMPLETE = "⋯ incomplete"
FOLDED, UNFOLDED = "▸", "▾"
LIVE_LIMIT = 8_000
LEAST_ACTIVITY = 24
"""Cells below which the line of a sub-agent leaves its task out, for what it does."""
LIVE_ROWS = 30


@dataclass(slots=True, kw_only=True)
class _Base:
    key: Hashable
    group: Hashable = None
    at: float = 0.0
    revision: int = 0
    gap: int = 0


@dataclass(slots=True, kw_only=True)
class Heading(_Base):
    """The speaker; at the right the time and figures."""

    speaker: str
    facts: str = ""


@dataclass(slots=True, kw_only=True)
class Verbatim(_Base):
    """Plain text, as it was typed or thought: no Markdown."""

    text: str
    quiet: bool = False


@dataclass(slots=True, kw_only=True)
class Prose(_Base):
    """A piece of an agent's Markdown; `first` begins a message, `live` is still being written, `incomplete` broke off.

    The first `opener` characters of its source reopen a fence of the piece before.
    """

    source: str
    opener: int = 0
    definitions: str = ""
    first: bool = False
    live: bool = False
    incomplete: bool = False
    indent: int = 0


@dataclass(slots=True, kw_only=True)
class Fold(_Base):
    """One line for a folded text: thinking, or the messages of a sub-agent with what it does.

    `mark` and `severity` are the state of a sub-agent, `name` its title for a short line, and `activity` its current
    call and the last line that it wrote.
    """

    title: str
    summary: str = ""
    name: str = ""
    mark: str = ""
    severity: Severity = Severity.INFO
    activity: str = ""
    open: bool = False
    markdown: bool = True
    began: datetime | None = None
    took: str = ""
    messages: dict[str, list[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The folded text."""
        return "\n\n".join(text for parts in self.messages.values() if (text := "".join(parts).strip()))


@dataclass(slots=True, kw_only=True)
class Notice(_Base):
    """A message of the application: a mark, one sentence, and details."""

    severity: Severity
    text: str
    details: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Card(_Base):
    """A piece of finished work; `hint` is the key that opens it, and `corpus` the file of a report's articles."""

    result: Result
    hint: str = ""
    corpus: str = ""


_Linked = Callable[[str, Style], list[Piece]]
"""Cuts a text of a style into pieces, of which those that name a file are links to it."""
Block = Heading | Verbatim | Prose | Fold | Notice | Card


@dataclass(frozen=True, slots=True)
class ConversationTheme:
    """The styles of a conversation, and those of its Markdown."""

    you: Style = PLAIN
    you_text: Style = PLAIN
    agent: Style = PLAIN
    facts: Style = PLAIN
    fold: Style = PLAIN
    thinking: Style = PLAIN
    caret: Style = PLAIN
    app: Style = PLAIN
    good: Style = PLAIN
    warning: Style = PLAIN
    bad: Style = PLAIN
    card: Style = PLAIN
    card_mark: Style = PLAIN
    card_title: Style = PLAIN
    markdown: MarkdownTheme = field(default_factory=MarkdownTheme)

    @classmethod
    def read(cls, style: Callable[[str], Style]) -> ConversationTheme:
        """Build a theme from `style`, which gives the style of a component class."""
        return read_theme(cls, "conversation-", style, markdown=MarkdownTheme.read(style))


CONVERSATION_COMPONENTS = frozenset(component_classes(ConversationTheme, "conversation-").values())


def gap_after(previous: Block | None, block: Block) -> int:
    """Return the number of blank lines between two blocks."""
    if previous is None:
        return 0
    if isinstance(previous, Heading):
        return 0
    if isinstance(previous, Notice | Fold | Card) and type(previous) is type(block):
        return 0
    return 1


def render_block(
    block: Block, width: int, theme: ConversationTheme, find_file: FindFile = no_file
) -> list[Line]:
    """Render a block, the blank lines before it included; a file that `find_file` finds becomes a link to it."""
    linked = partial(with_files, link=theme.markdown.link, find=find_file)
    match block:
        case Heading():
            lines = [_heading(block, width, theme)]
        case Verbatim():
            lines = _verbatim(block, width, theme, linked)
        case Prose():
            lines = _prose(block, width, theme, find_file)
        case Fold():
            lines = [_fold(block, width, theme, linked)]
        case Notice():
            lines = _notice(block, width, theme, linked)
        case Card():
            lines = _card(block, width, theme)
        case _:
            assert_never(block)
    return [*([] for _ in range(block.gap)), *lines]


def estimate_block(block: Block, width: int) -> int:
    """Guess the height of a block that was not rendered yet."""
    match block:
        case Heading() | Fold() | Notice():
            return block.gap + 1
        case Card():
            return block.gap + 2 + (block.result.check is not None) + bool(block.result.signed)
        case Verbatim():
            return block.gap + block.text.count("\n") + 1 + len(block.text) // width
        case Prose():
            return block.gap + block.source.count("\n") + 1 + len(block.source) // (width + width // 2 + 1)
        case _:
            assert_never(block)


def _heading(block: Heading, width: int, theme: ConversationTheme) -> Line:
    name = theme.you if block.speaker == "You" else theme.agent
    return spread([Segment(block.speaker, name)], [Segment(block.facts, theme.facts)], width)


def _verbatim(block: Verbatim, width: int, theme: ConversationTheme, linked: _Linked) -> list[Line]:
    if block.quiet:
        lines = wrap(linked(block.text, theme.thinking), max(1, width - 2))
        return [[Segment("  "), *line] for line in lines]
    inside = max(1, width - 2) if width > 4 else width
    margin = " " * ((width - inside) // 2)
    lines = []
    for line in wrap(linked(block.text, theme.you_text), inside):
        fill = " " * max(0, inside - line_width(line))
        lines.append([Segment(margin, theme.you_text), *line, Segment(fill + margin, theme.you_text)])
    return lines


def _prose(block: Prose, width: int, theme: ConversationTheme, find_file: FindFile) -> list[Line]:
    indent = block.indent if width > block.indent + 4 else 0
    source = _abridged(block.source) if block.live else block.source
    if block.live or block.incomplete:
        source = closed(source)
    lines = render_markdown(
        source, width - indent, theme.markdown, definitions=block.definitions, find_file=find_file
    )
    if indent:
        lines = [[Segment(" " * indent), *line] for line in lines]
    if block.incomplete:
        lines.append([Segment(INCOMPLETE, theme.warning)])
    if block.live:
        caret = Segment(CARET, theme.caret)
        if lines and line_width(lines[-1]) < width:
            lines[-1] = [*lines[-1], caret]
        else:
            lines.append([caret])
    return lines


def _abridged(source: str) -> str:
    """Leave out the middle of a long table while it grows: it is rendered again with every new row."""
    if len(source) <= LIVE_LIMIT:
        return source
    rows = source.split("\n")
    return "\n".join([*rows[:2], *rows[-LIVE_ROWS:]]) if len(rows) > LIVE_ROWS + 2 else source


def _fold(block: Fold, width: int, theme: ConversationTheme, linked: _Linked) -> Line:
    line: Line = [Segment(f"{UNFOLDED if block.open else FOLDED} ", theme.fold)]
    if block.mark:
        line.append(Segment(f"{block.mark} ", _mark_style(block.severity, theme)))
    room = width - line_width(line) - width_of(block.summary) - 2
    title = block.title
    if block.activity and block.name and room - width_of(title) - 2 < LEAST_ACTIVITY:
        title = block.name
    line.extend(Segment(*piece) for piece in linked(title, theme.fold))
    room -= width_of(title) + 2
    if block.activity and room >= LEAST_ACTIVITY // 2:
        activity = f"  {tail_cut(block.activity, room)}"
        line.extend(Segment(*piece) for piece in linked(activity, theme.facts))
    return spread(line, [Segment(block.summary, theme.facts)], width)


def _mark_style(severity: Severity, theme: ConversationTheme) -> Style:
    styles = {
        Severity.INFO: theme.app,
        Severity.STARTED: theme.app,
        Severity.SUCCESS: theme.good,
        Severity.ERROR: theme.bad,
    }
    return styles.get(severity, theme.warning)


def _notice(block: Notice, width: int, theme: ConversationTheme, linked: _Linked) -> list[Line]:
    mark = _mark_style(block.severity, theme)
    text = mark if block.severity in {Severity.ERROR, Severity.QUESTION} else theme.app
    other = theme.app if block.severity is Severity.ERROR else PLAIN
    texts = [(block.text, text), *((detail, other) for detail in block.details)]
    lines = [line for each in texts for line in wrap(linked(*each), max(1, width - 2))]
    return [
        [Segment(f"{'' if number else MARKS[block.severity]:<2}", mark), *line]
        for number, line in enumerate(lines)
    ]


def _links(block: Card, theme: ConversationTheme) -> Line:
    """What a click opens beside a result: its corpus, and its versions to compare, if there are several."""
    path, number = block.result.path, len(block.result.copies)
    texts = [("corpus", "file", block.corpus)] if block.corpus else []
    texts += [(quantity(number, "version"), "compare", path)] if number > 1 else []
    link, line = theme.card + theme.markdown.link, list[Segment]()
    for text, does, target in texts:
        gap = Segment(" · " if line else "", theme.card + theme.facts)
        line += [gap, Segment(text, link + Style(meta={does: target}))]
    return [*line, Segment(" ", theme.card)] if line else []


def _card(block: Card, width: int, theme: ConversationTheme) -> list[Line]:
    result, opens = block.result, Style(meta={"file": block.result.path})
    noun = "article" if result.kind == "corpus" else "source"
    facts = (
        result.kind.capitalize(),
        size(result.size) if result.size else "",
        quantity(result.sources, noun) if result.sources else "",
    )
    known = " · ".join(filter(None, facts)) + " · "
    links = _links(block, theme)
    room = width - 3 - width_of(known) - (line_width(links) + 1 if links else 0)
    path = middle_cut(clean_line(result.path, 1_000), max(8, room))
    left = [Segment(f" {CARD} ", theme.card_mark + opens), Segment(result.title, theme.card_title + opens)]
    right = [Segment(f"{block.hint} ", theme.card + theme.facts)] if block.hint else []
    below = [Segment(f"   {known}", theme.card + theme.facts + opens)]
    link = [Segment(path, theme.card + theme.markdown.link + opens)]
    return [
        spread(left, right, width, theme.card),
        spread([*below, *link], links, width, theme.card),
        *_verdict(result, width, theme),
    ]


def _verdict(result: Result, width: int, theme: ConversationTheme) -> list[Line]:
    """What the check of a report found, coloured by the worst of it."""
    check = result.check
    if check is None:
        return []
    tone = theme.bad if check.red else theme.warning if check.doubtful else theme.facts
    style = theme.card + tone + Style(meta={"file": result.path})
    # The signs of claims: nothing here says that a sentence is right.
    mark = "✗" if check.red else "?" if check.doubtful else "·"
    parts = filter(None, (check.summary, result.signed))
    found = [line for text in parts for line in wrap([(clean_line(text, 500), style)], max(8, width - 6))]
    starts = [f"   {mark} ", *["     "] * len(found)]
    return [
        spread([Segment(start, style), *line], [], width, theme.card)
        for start, line in zip(starts, found, strict=False)
    ]


_PENDING = "·"
_DOING = {
    "thinking": "thinking",
    "writing": "writing",
    "reading": "reading the result",
    "retrying": "waiting",
}


def render_progress(
    view: SessionView, width: int, height: int, theme: ConversationTheme, *, now: float, spinner: str
) -> list[Line]:
    """Render at most `height` lines; none if no query runs, or if it has made no call yet.

    `now` is the time of day in seconds.
    """
    query = view.last_query
    if query is None or query.id not in view.activity.queries or not (query.calls or view.plan) or height < 1:
        return []
    # Where there is no room for all, the first step shown is the one before what is being done.
    at = next((index for index, step in enumerate(view.plan) if not step.done), len(view.plan))
    steps = view.plan[max(0, min(at - 1, len(view.plan) - height + 2)) :][: height - 2]
    lines = [_step(step, width, theme, now, spinner) for step in steps]
    if len(lines) < len(view.plan):
        summary = describe_plan(view.plan) if not lines else describe_plan(view.plan).partition(" · ")[0]
        lines.insert(0, _line("", f"Plan: {summary}", "", width, theme))
    return [*lines[: height - 1], _running(view, width, theme, now, spinner)]


def plan_text(steps: tuple[Step, ...]) -> str:
    """Write a plan as text, a line for each step, with how long it took."""
    return "\n".join(f"{_mark(step)} {step.text}  {_took(step, None)}".rstrip() for step in steps)


def _mark(step: Step) -> str:
    return Mark.SUCCESS.glyph if step.done else Mark.RUNNING.glyph if step.running else _PENDING


def _took(step: Step, now: float | None) -> str:
    if step.began is None:
        return ""
    if step.ended is not None:
        return duration(step.ended - step.began) if step.ended - step.began >= 0.1 else ""
    return live_duration(now - step.began) if now is not None else ""


def _step(step: Step, width: int, theme: ConversationTheme, now: float, spinner: str) -> Line:
    mark = spinner if step.running else _mark(step)
    return _line(mark, step.doing if step.running else step.text, _took(step, now), width, theme, step)


def _running(view: SessionView, width: int, theme: ConversationTheme, now: float, spinner: str) -> Line:
    """The newest call of the main agent that runs, or else what the agent does."""
    own = [call for call in view.activity.calls.values() if call.parent_tool_use_id is None]
    call = view.call(own[-1].tool_use_id) if own else None
    if call is None:
        return _line(spinner, _DOING.get(view.activity.doing, "working"), "", width, theme)
    agents = [each for each in own if each.name in AGENTS]
    others = len(own) - 1
    text = call.task or f"{call.label} {call.argument}"
    if len(agents) > 1 and len(agents) == len(own):
        text, others = f"{len(agents)} sub-agents", 0
    parts = (call.done, f"+{others}" if others else "", live_duration(now - call.at.timestamp()))
    return _line(spinner, text, " · ".join(filter(None, parts)), width, theme)


def _line(
    mark: str, text: str, facts: str, width: int, theme: ConversationTheme, step: Step | None = None
) -> Line:
    style = theme.good if step is not None and step.done else theme.caret
    lead = f" {mark} " if mark else " "
    room = max(1, width - width_of(lead) - width_of(facts) - 2)
    words = theme.facts if step is not None and not step.running else theme.agent if step else theme.app
    return spread(
        [Segment(lead, theme.card + style), Segment(tail_cut(text, room), theme.card + words)],
        [Segment(f"{facts} " if facts else "", theme.card + theme.facts)],
        width,
        theme.card,
    )
