"""Reads the tags of an audio file; runs in a worker process of `ua_tui.tui.viewers.conversion`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.tui.viewers.reader import open_regular

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_NAMES = ("duration", "title", "artist", "album", "year", "channels", "samplerate", "bitrate")


def read_tags(_: TaskContext, path: bytes) -> dict[str, str | float]:
    """Return the tags and properties of the audio file at `path` that it has.

    Raises:
        FileUnviewable: the path is not a regular file that can be read.
        Exception: the tag reader fails in many ways on a damaged file.
    """
    from tinytag import TinyTag

    where = Path(os.fsdecode(path))
    with os.fdopen(open_regular(where), "rb") as file:
        tag = TinyTag.get(filename=where.name, file_obj=file)
    found = {name: getattr(tag, name) for name in _NAMES}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float)}
