"""Pictures with their facts: format, width and height."""

from __future__ import annotations

import struct

from tui.viewers.bodies.picture import PictureBody
from tui.viewers.bodies.text import TextBody
from tui.viewers.registry import Declined, Sample, View, Viewer
from tui.viewers.types.binary import HexBody
from tui.viewers.view.document import Body

__all__ = ["VIEWER", "image_facts"]


def image_facts(data: bytes) -> tuple[str, int, int] | None:
    """The format, width and height of a picture by its first bytes; None when they are no picture."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            width, height = struct.unpack(">II", data[16:24])
            return ("PNG image", width, height)
        if data[:6] in {b"GIF87a", b"GIF89a"}:
            width, height = struct.unpack("<HH", data[6:10])
            return ("GIF image", width, height)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return ("WebP image", *_webp_size(data))
        if data.startswith(b"\xff\xd8\xff"):
            return ("JPEG image", *_jpeg_size(data))
        if data[:2] == b"BM" and len(data) > 26:
            width, height = struct.unpack("<ii", data[18:26])
            return ("BMP image", width, abs(height))
    except struct.error:
        return None
    return None


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return (
                int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1,
            )
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return ((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
        case _:
            width, height = struct.unpack("<HH", data[26:30])
            return (width & 0x3FFF, height & 0x3FFF)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return (width, height)
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    return (0, 0)


def _view(sample: Sample) -> View:
    facts = image_facts(sample.data)
    if facts is None:
        raise Declined
    kind, width, height = facts
    size = f"{width:,} × {height:,} pixels" if width and height else "size not found"
    told = [kind, size]
    if width * height >= 100_000:
        told.append(f"{width * height / 1_000_000:.1f} megapixels")
    whole = sample.data if sample.complete else None
    if whole is None and sample.piece.packed is not None:
        body: Body = TextBody(" · ".join(told))
    else:
        body = PictureBody(sample.path, whole, (width, height), " · ".join(told))
    return View(kind, HexBody(sample.data, sample.piece.offset), body, (size,), all_rendered=True)


VIEWER = Viewer("image", lambda sample: image_facts(sample.data) is not None, _view)
