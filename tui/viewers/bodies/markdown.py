"""Markdown as rows; the first screen of a long text is available before the rest."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from tui.render.markdown import MarkdownTheme, render_markdown
from tui.render.markdown_stream import Chunk, blocks_of, definitions
from tui.viewers.document import ListRows, Row

__all__ = ["MAX_TEXT_WIDTH", "RENDERED_CHARACTERS", "MarkdownBody"]

RENDERED_CHARACTERS = 512 * 1024
MAX_TEXT_WIDTH = 100
_FIRST_CHARACTERS = 8_000


class MarkdownBody:
    """Rendered Markdown; the width of text is limited so that it is easy to read."""

    def __init__(self, source: str) -> None:
        self.source = source

    def first_rows(self, width: int, theme: MarkdownTheme) -> ListRows | None:
        """Return the first rows of a long text quickly; None for a short text."""
        if len(self.source) <= 2 * _FIRST_CHARACTERS:
            return None
        beginning = self.source[:_FIRST_CHARACTERS]
        beginning = beginning[: beginning.rfind("\n") + 1] or beginning
        chunks = blocks_of(beginning)
        # The last block is incomplete; it is shown only if it is long, such as a table.
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
            lines = render_markdown(chunk.source, min(width, MAX_TEXT_WIDTH), theme, definitions=known)
            if rows and lines and not chunk.joined:
                rows.append(Strip([]))
            rows.extend(Strip(line) for line in lines)
        return ListRows(rows)
