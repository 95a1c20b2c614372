"""The worker processes of the viewers, and what runs in them: text of PDFs, pixels of pictures."""

from __future__ import annotations

import atexit
import io
import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.toolkit.sources.pdf import send_pages
from ua_tui.tui.viewers.reader import open_regular

if TYPE_CHECKING:
    from ua_tui.core.concurrency.conversions import Conversions
    from ua_tui.core.concurrency.worker_child import TaskContext

MAX_PIXELS = 50_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_OPAQUE = frozenset({"RGB", "L", "CMYK", "YCbCr"})


def scale_picture(_: TaskContext, argument: tuple[str, bytes, int, int]) -> tuple[str, bytes]:
    """Return the picture of width and height as RGB, or as RGBA if parts of it may be transparent, and its mode.

    The argument is the kind of source ("path" or "data"), the path or the bytes, the width and the height.

    Raises:
        FileUnviewable: the path is not a regular file that can be read.
        Exception: Pillow raises many kinds of errors for a damaged picture.
    """
    from PIL import Image

    kind, data, *size = argument
    if kind == "path":
        with os.fdopen(open_regular(Path(os.fsdecode(data))), "rb") as file:
            data = file.read(64 * 1024 * 1024)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                raise ValueError("too many pixels")
            scaled = _scaled(picture, (size[0], size[1]))
    return scaled.mode, scaled.tobytes()


def _scaled(picture: Any, size: tuple[int, int]) -> Any:
    from PIL import Image

    picture.draft("RGB", size)
    if picture.mode not in _OPAQUE or "transparency" in picture.info:
        return picture.convert("RGBA").resize(size, Image.Resampling.BOX)
    # Converting a large picture before scaling it would take longer than everything else.
    return picture.resize(size, Image.Resampling.BOX).convert("RGB")


def extract_pages(desk: TaskContext, path: bytes) -> None:
    """Send the properties of the PDF at `path`, then the text of each of the first pages.

    Raises:
        FileUnviewable: the path is not a regular file that can be read.
        PdfReadError: the file is damaged or is not a PDF.
    """
    with os.fdopen(open_regular(Path(os.fsdecode(path))), "rb") as file:
        send_pages(file, lambda part: desk.say("part", part), most=40, characters=800_000)


@cache
def conversions() -> Conversions:
    """Return the worker processes, which end with this one."""
    from ua_tui.core.concurrency.conversions import Conversions

    made = Conversions()
    atexit.register(made.close)
    return made
