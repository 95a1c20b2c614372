"""The text of a PDF, page by page, extracted in a worker process that has a time and a memory limit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.content import Span

from ua_tui.core.concurrency.conversions import ConversionFailed, TooComplex
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import View, Viewer
from ua_tui.tui.viewers.conversion import conversions
from ua_tui.tui.viewers.document import Body, Rows
from ua_tui.tui.viewers.reader import FileUnviewable, open_regular

_PAGE = "── Page "
_TASK = "ua_tui.tui.viewers.conversion:extract_pages"


class PdfBody(Body):
    """The text of the first pages, extracted when it is laid out for the first time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text: TextBody | None = None

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Extract the text once, unless the flag is set, then wrap its lines to the width.

        Raises:
            Stopped: the result is no longer needed.
        """
        if self._text is None:
            self._text = TextBody(
                read_pages(self._path),
                style=lambda _, line: [Span(0, len(line), "heading")] if line.startswith(_PAGE) else [],
            )
        return self._text.lay_out(width, theme)


def read_pages(path: Path, seconds: float = 6.0) -> str:
    """Return the text of the first pages, each below a line with its number, or a message that says why not.

    Raises:
        Stopped: the result is no longer needed.
    """
    try:
        descriptor = open_regular(path)
    except FileUnviewable as error:
        return str(error)
    try:
        if os.fstat(descriptor).st_size > (100 * 1024 * 1024):
            return "This PDF is too large to be shown. Press o to open it in another program."
    finally:
        os.close(descriptor)
    parts: list[Any] = []
    problem = ""
    try:
        conversions().run(_TASK, os.fsencode(path), seconds=seconds, on_part=parts.append)
    except TooComplex as error:
        problem = f"It is too complex: {error}."
    except ConversionFailed:
        problem = "The file is damaged or is not a PDF."
    return _text_of(parts, problem).expandtabs(4)


def _text_of(parts: Sequence[Any], problem: str) -> str:
    head = parts[0] if parts else {}
    if "pages" not in head:
        why = head.get("error") or problem
        return f"The text of this PDF is not shown. {why} Press o to open it in another program."
    count, texts = int(head["pages"]), [clean(str(part["text"])).strip() for part in parts[1:]]
    lines = [clean_line(head["title"], 200), ""] if head.get("title") else []
    for number, text in enumerate(texts, 1):
        lines += [f"{_PAGE}{number} of {count}", text or "(no text; the page may be a picture)", ""]
    if len(texts) < count:
        why = f" {problem}" if problem else ""
        lines.append(
            f"… {count - len(texts):,} more pages.{why} Press o to open the file in another program."
        )
    return "\n".join(lines)


VIEWER = Viewer(
    "PDF",
    lambda sample: sample.data.startswith(b"%PDF-") and sample.piece.packed is None,
    lambda sample: View(
        "PDF", HexBody(sample.data, sample.piece.offset), PdfBody(sample.path), all_rendered=True
    ),
    priority=100,
)
