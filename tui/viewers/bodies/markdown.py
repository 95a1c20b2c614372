"""Markdown as rows, the first screen of a long text before the rest."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from tui.render.markdown import MarkdownTheme, render_markdown
from tui.render.markdown_stream import Chunk, blocks_of, definitions
from tui.viewers.document import ListRows, Row

__all__ = ["RENDERED_CHARACTERS", "WIDEST_TEXT", "MarkdownBody"]

RENDERED_CHARACTERS = 512 * 1024
WIDEST_TEXT = 100
_GLANCE_CHARACTERS = 8_000


class MarkdownBody:
    """Rendered Markdown; text is kept to a width that is easy to read."""

    def __init__(self, source: str) -> None:
        self.source = source

    def first_rows(self, width: int, theme: MarkdownTheme) -> ListRows | None:
        """The first rows of a long text, quickly; None when all of it is quick."""
        if len(self.source) <= 2 * _GLANCE_CHARACTERS:
            return None
        beginning = self.source[:_GLANCE_CHARACTERS]
        beginning = beginning[: beginning.rfind("\n") + 1] or beginning
        chunks = blocks_of(beginning)
        # The last block is torn; only a long one, as a table is, is better than nothing.
        if chunks and len(chunks[-1].source) < len(beginning) // 2:
            chunks.pop()
        return self._render(chunks, width, theme)

    def lay_out(self, width: int, theme: MarkdownTheme) -> ListRows:
        """Render all of it for the width."""
        return self._render(blocks_of(self.source), width, theme)

    def _render(self, chunks: Sequence[Chunk], width: int, theme: MarkdownTheme) -> ListRows:
        known = definitions(self.source)
        rows: list[Row] = []
        for chunk in chunks:
            lines = render_markdown(chunk.source, min(width, WIDEST_TEXT), theme, definitions=known)
            if rows and lines and not chunk.joined:
                rows.append(Strip([]))
            rows.extend(Strip(line) for line in lines)
        return ListRows(rows)
