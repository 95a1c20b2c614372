"""The text of a PDF, page by page, extracted in a process that is killed if it takes too long."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from textual.content import Span

from core.text import clean, clean_line
from tui.render.markdown import MarkdownTheme
from tui.viewers.bodies.hex import HexBody
from tui.viewers.bodies.text import TextBody
from tui.viewers.contract import Sample, View, Viewer
from tui.viewers.document import Rows
from tui.viewers.reader import FileUnviewable, open_regular

__all__ = ["VIEWER", "PdfBody", "read_pages"]

_SECONDS = 6.0
_MAX_BYTES = 100 * 1024 * 1024
_PAGE = "── Page "


class PdfBody:
    """The text of the first pages, extracted when it is laid out for the first time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text: TextBody | None = None

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Extract the text once, then wrap its lines to the width."""
        if self._text is None:
            self._text = TextBody(read_pages(self._path), style=_style)
        return self._text.lay_out(width, theme)


def read_pages(path: Path, seconds: float = _SECONDS) -> str:
    """Return the text of the first pages, each below a line with its number, or a message that says why not."""
    try:
        descriptor = open_regular(path)
    except FileUnviewable as error:
        return str(error)
    try:
        if os.fstat(descriptor).st_size > _MAX_BYTES:
            return "This PDF is too large to be shown. Press o to open it in another program."
        lines, ended = _child_lines(descriptor, seconds)
    finally:
        os.close(descriptor)
    if not lines or "pages" not in lines[0]:
        why = lines[0].get("error") if lines else None
        if why is None:
            why = "The file is damaged or is not a PDF." if ended else "Reading it took too long."
        return f"The text of this PDF is not shown. {clean_line(str(why))} Press o to open it in another program."
    count, texts = lines[0]["pages"], [clean(str(line.get("text", ""))).strip() for line in lines[1:]]
    parts = [clean_line(lines[0]["title"], 200), ""] if lines[0].get("title") else []
    for number, text in enumerate(texts, 1):
        parts += [f"{_PAGE}{number} of {count}", text or "(no text; the page may be a picture)", ""]
    if len(texts) < count:
        why = "" if ended else " Reading took too long."
        parts.append(
            f"… {count - len(texts):,} more pages.{why} Press o to open the file in another program."
        )
    return "\n".join(parts).expandtabs(4)


def _child_lines(descriptor: int, seconds: float) -> tuple[list[dict[str, Any]], bool]:
    """Return the output of the child, and whether it ended by itself."""
    command = [sys.executable, "-I", "-m", "tui.viewers.types.pdf_child"]
    try:
        # No part of this command comes from outside.
        done = subprocess.run(  # noqa: S603
            command,
            stdin=descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
        output, ended = done.stdout, True
    except subprocess.TimeoutExpired as error:
        output, ended = error.stdout or b"", False
    except OSError:
        return [], True
    lines: list[dict[str, Any]] = []
    for line in output.splitlines():
        with suppress(ValueError):
            lines.append(msgspec.json.decode(line, type=dict[str, Any]))
    return lines, ended


def _style(number: int, line: str) -> Sequence[Span]:
    return [Span(0, len(line), "heading")] if line.startswith(_PAGE) else []


def _view(sample: Sample) -> View:
    return View("PDF", HexBody(sample.data, sample.piece.offset), PdfBody(sample.path), all_rendered=True)


VIEWER = Viewer(
    "PDF",
    lambda sample: sample.data.startswith(b"%PDF-") and sample.piece.packed is None,
    _view,
    priority=100,
)
