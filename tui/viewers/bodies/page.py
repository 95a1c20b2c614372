"""A text of a readable width, in the middle of a view that is wider."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.markdown import MAX_TEXT_WIDTH, MarkdownBody
from ua_tui.tui.viewers.document import Body, JoinedBody, Rows, ShiftedRows

LEAST_HEADINGS = 3
"""A page of fewer headings needs no outline."""
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageBody(Body):
    """Lays out another body for at most the width that is easy to read, and centres it."""

    body: Body

    @property
    def has_outline(self) -> bool:
        """Whether the text looks as if it had enough headings for an outline; known before it is laid out."""
        bodies = self.body.bodies if isinstance(self.body, JoinedBody) else (self.body,)
        count = sum(len(_HEADING.findall(each.source)) for each in bodies if isinstance(each, MarkdownBody))
        return count >= LEAST_HEADINGS

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Lay out the text, unless the flag is set."""
        rows = self.body.lay_out(min(width, MAX_TEXT_WIDTH), theme)
        margin = (width - MAX_TEXT_WIDTH) // 2
        return ShiftedRows(rows, margin) if margin > 0 else rows
