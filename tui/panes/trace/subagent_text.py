"""What a sub-agent says, as rows of the trace between its calls: a line, or the whole of it when unfolded."""

from __future__ import annotations

from rich.segment import Segment

from core.events.types import MessageFinished, TextDelta
from core.text import clean, clean_line
from tui.panes.trace.rows import FOLDED, UNFOLDED, CallNode, TraceTheme
from tui.render.format import Mark, tail_cut
from tui.render.layout import Line, cut_line, wrap

__all__ = ["hear", "render_words", "words_node"]

LONGEST = 20_000
_FIRST = 400
_MARK = "“ "
_LEAST_WIDTH = 8


def words_node(message_id: str) -> CallNode:
    """Make the row of one message of a sub-agent."""
    return CallNode(key=f"words/{message_id}", kind="words", label="", mark=Mark.SUCCESS, open=False)


def hear(node: CallNode, event: TextDelta | MessageFinished) -> None:
    """Take in a piece of the message, or the whole of it; the text is cleaned here."""
    text = clean(event.text[:LONGEST])
    node.words = text if isinstance(event, MessageFinished) else (node.words + text)[:LONGEST]
    node.label = clean_line(node.words[:_FIRST])


def render_words(node: CallNode, width: int, theme: TraceTheme) -> list[Line]:
    """Render the beginning of what was said on one line, or all of it on as many as it needs."""
    indent = min(2 * node.depth, max(0, width // 3))
    arrow = f"{UNFOLDED if node.open else FOLDED} "
    room = width - indent - len(arrow) - len(_MARK)
    if room < _LEAST_WIDTH:
        return [cut_line([Segment(f"{arrow}{node.label}", theme.argument)], width)]
    lead = [Segment(" " * indent + arrow + _MARK, theme.note)]
    if not node.open:
        return [[*lead, Segment(tail_cut(node.label, room), theme.argument)]]
    lines = wrap([(node.words.strip(), theme.argument)], room)
    blank = Segment(" " * (width - room))
    return [[*(lead if at == 0 else [blank]), *line] for at, line in enumerate(lines)]
