"""Extracts the text of a PDF page by page; runs in a worker process of `tui.viewers.conversion`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tui.viewers.reader import open_regular

if TYPE_CHECKING:
    from core.concurrency.worker_child import TaskContext

__all__ = ["extract_pages"]

_MAX_PAGES = 40
_MAX_CHARACTERS = 20_000


def extract_pages(desk: TaskContext, path: bytes) -> None:
    """Send the number of pages and the title of the PDF at `path`, then the text of each of the first pages.

    Raises:
        FileUnviewable: the path is not a regular file that can be read.
        PdfReadError: the file is damaged or is not a PDF.
    """
    from pypdf import PdfReader

    with os.fdopen(open_regular(Path(os.fsdecode(path))), "rb") as file:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            desk.say("part", {"error": "The file is protected by a password."})
            return
        title = reader.metadata.title if reader.metadata is not None else None
        count = len(reader.pages)
        desk.say("part", {"pages": count, "title": title if isinstance(title, str) else None})
        for number in range(min(count, _MAX_PAGES)):
            try:
                text = reader.pages[number].extract_text()
            except MemoryError:
                raise
            except Exception as error:
                text = f"(this page cannot be read: {type(error).__name__})"
            desk.say("part", {"text": text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode()})
