"""Extracts the text of a PDF page by page; runs in a worker process of `ua_tui.tui.viewers.conversion`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.toolkit.sources.pdf import send_pages
from ua_tui.tui.viewers.reader import open_regular

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_MAX_PAGES = 40
_MAX_CHARACTERS = 800_000


def extract_pages(desk: TaskContext, path: bytes) -> None:
    """Send the properties of the PDF at `path`, then the text of each of the first pages.

    Raises:
        FileUnviewable: the path is not a regular file that can be read.
        PdfReadError: the file is damaged or is not a PDF.
    """
    with os.fdopen(open_regular(Path(os.fsdecode(path))), "rb") as file:
        send_pages(file, lambda part: desk.say("part", part), most=_MAX_PAGES, characters=_MAX_CHARACTERS)
