"""Finds the viewers, and turns a path into a document with the first viewer that can show the file."""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path

from ua_tui.core.concurrency.cancellation import check_stopped, in_thread
from ua_tui.core.log import log
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers import types
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import (
    FULL_LIMIT,
    PAGE,
    PREVIEW_LIMIT,
    Declined,
    Document,
    Sample,
    View,
    Viewer,
)
from ua_tui.tui.viewers.reader import looks_binary, read_piece

READING = "Reading the file…"


async def read_document(
    path: Path, limit: int, on_slow: Callable[[], object], patience: float = 0.4
) -> Document:
    """Read a file as `ua_tui.tui.viewers.registry.load` does.

    `on_slow` is called if that takes longer than `patience` seconds. The reading and the conversion of the file stop
    when the caller is cancelled.

    Raises:
        FileUnviewable: the file cannot be read.
    """
    reading = asyncio.ensure_future(in_thread(load, path, limit))
    try:
        await asyncio.wait({reading}, timeout=patience)
        if not reading.done():
            on_slow()
        return await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


_plugged: list[Viewer] = []


def add_viewers(plugged: Sequence[Viewer]) -> None:
    """Add the viewers of plug-ins, for the whole process."""
    _plugged[:] = plugged
    viewers.cache_clear()


@cache
def viewers() -> tuple[Viewer, ...]:
    """Return every `Viewer` of the modules in `tui/viewers/types` and of plug-ins, the highest priority first."""
    modules = (
        import_module(f"{types.__name__}.{found.name}") for found in pkgutil.iter_modules(types.__path__)
    )
    found = [
        each for module in modules for each in vars(module).values() if isinstance(each, Viewer)
    ] + _plugged
    return tuple(sorted(found, key=lambda viewer: (-viewer.priority, viewer.name)))


def load(path: Path, limit: int = PREVIEW_LIMIT) -> Document:
    """Read at most `limit` bytes of a file and show them with the first viewer that can. Runs in a thread.

    More is read for a viewer that allows more: up to `Viewer.limit` if `limit` is at least `FULL_LIMIT`, otherwise
    up to `Viewer.preview_limit`. Only the first page is read of a file that exceeds the limit; `load_page` reads
    further pages.

    Raises:
        FileUnviewable: the path does not exist, is not readable, or is not a regular file.
        Stopped: the result is no longer needed.
    """
    piece = read_piece(path, min(limit, PAGE))
    sample = Sample(piece.cut_to_lines())
    if not piece.complete:
        is_full = limit >= FULL_LIMIT
        accepting = [viewer for viewer in viewers() if _accepts(viewer, sample)]
        limit = max([limit, *(viewer.limit if is_full else viewer.preview_limit for viewer in accepting)])
        if PAGE < piece.size <= limit:
            sample = Sample(read_piece(path, limit).cut_to_lines())
    view, damaged = _view(sample)
    # A part of a file may end anywhere: only a complete file can be called damaged.
    notice = f"Not valid {damaged}; shown unformatted." if damaged and sample.complete else None
    return _document(sample, view, notice)


def load_page(path: Path, offset: int, *, at_line: bool = False) -> Document:
    """Read one page of text or bytes from the middle of a large file. Runs in a thread.

    With `at_line`, text begins after the first line break of the page, if there is one.
    """
    piece = read_piece(path, PAGE, offset)
    if at_line and offset and not looks_binary(piece.data):
        skipped = piece.data.find(b"\n") + 1
        piece = replace(piece, data=piece.data[skipped:], offset=offset + skipped)
    sample = Sample(piece.cut_to_lines())
    view, _ = _view(sample)
    if isinstance(view.raw, TextBody) and piece.offset:
        # The number of preceding lines is unknown.
        view.raw.numbers = False
    return _document(sample, View(view.kind, view.raw), None)


def _view(sample: Sample) -> tuple[View, str]:
    """Return the view of the first viewer that can show a sample, and the format that it is damaged as, if any."""
    damaged = ""
    for viewer in viewers():
        check_stopped()
        if not _accepts(viewer, sample):
            continue
        try:
            return viewer.view(sample), damaged
        except Declined:
            continue
        except (ValueError, RecursionError):
            damaged = damaged or viewer.name
        except Exception:
            if viewer not in _plugged:
                raise
            log.warning("the viewer %s failed", viewer.name, exc_info=True)
    raise AssertionError("the text viewer accepts every file")


def _accepts(viewer: Viewer, sample: Sample) -> bool:
    try:
        return viewer.accepts(sample)
    except Exception:
        if viewer not in _plugged:
            raise
        log.warning("the viewer %s failed", viewer.name, exc_info=True)
        return False


def _document(sample: Sample, view: View, notice: str | None) -> Document:
    piece = sample.piece
    known = {each.name: getattr(view, each.name) for each in fields(view)}
    known |= {"notice": view.notice or notice, "title": clean_line(view.title, 300)}
    end = piece.offset + sample.beginning_end
    return Document(
        path=piece.path, size=piece.size, start=piece.offset, end=end, packed=piece.packed, **known
    )
