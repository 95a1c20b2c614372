"""Markdown as rows.

It is rendered in blocks of bounded size. Text can be made that takes a second for each block, so after some seconds the
rest is shown as source.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual.strip import Strip

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.tui.render.markdown.renderer import MarkdownTheme, render_with_headings
from ua_tui.tui.render.markdown.stream import Chunk, blocks_of, definitions
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.document import Body, Landmark, ListRows, Row, styled

RENDERED_CHARACTERS = 512 * 1024
MAX_TEXT_WIDTH = 100
_MOST_SECONDS = 3.0


class MarkdownBody(Body):
    """Rendered Markdown; the width of text is limited so that it is easy to read.

    `links` are link definitions that precede those in the text.
    """

    def __init__(self, source: str, links: str = "") -> None:
        self.source = source
        self._links = links

    def lay_out(self, width: int, theme: MarkdownTheme) -> ListRows:
        """Render all of it for the width, unless the flag is set.

        Raises:
            Stopped: the result is no longer needed.
        """
        chunks = blocks_of(self.source)
        known = f"{self._links}\n{definitions(self.source)}"[: 128 * 1024]
        rows: list[Row] = []
        headings: list[Landmark] = []
        # Processor time: a busy machine shows the same.
        end = time.thread_time() + _MOST_SECONDS
        for number, chunk in enumerate(chunks):
            check_stopped()
            if time.thread_time() > end or len(chunk.source) > 128 * 1024:
                return ListRows([*rows, *_source_rows(chunks[number:], width, theme)], headings)
            measure = min(width, MAX_TEXT_WIDTH)
            lines, found = render_with_headings(chunk.source, measure, theme, definitions=known)
            if rows and lines and not chunk.joined:
                rows.append(Strip([]))
            headings += (Landmark(len(rows) + line, text, level) for line, level, text in found)
            rows.extend(Strip(line) for line in lines)
        return ListRows(rows, headings)


def _source_rows(chunks: Sequence[Chunk], width: int, theme: MarkdownTheme) -> list[Row]:
    """Return the source of blocks that take too long to render, below a note."""
    source = "".join(chunk.source[chunk.opener :] for chunk in chunks)
    rows = TextBody(source).lay_out(width, theme)
    note = "Too complex to render: the rest is shown as source."[: max(1, width)]
    return [styled(note, "warn"), *(rows.row(y) for y in range(len(rows)))]
