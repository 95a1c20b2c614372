"""Reads a file for a view, and reports that it is being read if that takes a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.tui.viewers.document import Document
from ua_tui.tui.viewers.registry import load

READING = "Reading the file…"
_PATIENCE_SECONDS = 0.4


async def read_document(path: Path, limit: int, on_slow: Callable[[], object]) -> Document:
    """Read a file as `ua_tui.tui.viewers.registry.load` does; `on_slow` is called if it takes a while.

    The reading and the conversion of the file stop when the caller is cancelled.

    Raises:
        FileUnviewable: the file cannot be read.
    """
    reading = asyncio.ensure_future(in_thread(partial(load, path, limit)))
    try:
        await asyncio.wait({reading}, timeout=_PATIENCE_SECONDS)
        if not reading.done():
            on_slow()
        return await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
