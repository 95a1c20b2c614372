"""Checks pictures and PDF files for the model, and scales pictures to its limits; runs in a worker process.

The model's service refuses a whole conversation for one picture that is damaged or too large, so nothing is sent that
was not decoded here.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from ua_tui.core.json_values import JsonObject

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

MAX_EDGE = 2000
"""The maximum width and height of a picture that is sent, in pixels: what the agent scales to, too."""
LARGEST_SENT = 3_750_000
"""The maximum size of a picture that is sent, in bytes: 5 MB in Base64."""
MAX_PAGES = 100
_MAX_PIXELS = 50_000_000
_SENT_AS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_FORMATS = (*_SENT_AS, "BMP", "TIFF")
_OPAQUE = frozenset({"RGB", "L", "CMYK", "YCbCr", "1"})


def prepare_media(_: TaskContext, data: bytes) -> JsonObject:
    """Prepare a picture or a PDF file; returns its media type, what to send, and its properties.

    The result has `problem`, a clause, if it cannot be sent.
    """
    return _prepare_pdf(data) if data.startswith(b"%PDF-") else _prepare_picture(data)


def _prepare_pdf(data: bytes) -> JsonObject:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        return {"problem": "it is protected by a password"}
    pages = len(reader.pages)
    if pages > MAX_PAGES:
        return {"problem": f"it has {pages:,} pages, but the model reads at most {MAX_PAGES}"}
    return {"media_type": "application/pdf", "data": data, "pages": pages}


def _prepare_picture(data: bytes) -> JsonObject:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            picture = Image.open(io.BytesIO(data), formats=_FORMATS)
        except Image.DecompressionBombError:
            return {"problem": f"it has more than {_MAX_PIXELS // 1_000_000} megapixels"}
        with picture:
            width, height = picture.size
            if width * height > _MAX_PIXELS:
                return {"problem": f"it has more than {_MAX_PIXELS // 1_000_000} megapixels"}
            kind = picture.format or ""
            size = {"width": width, "height": height}
            if kind in _SENT_AS and max(width, height) <= MAX_EDGE and len(data) <= LARGEST_SENT:
                # Decoding finds out whether it is damaged.
                picture.load()
                return {"media_type": _SENT_AS[kind], "data": data, **size}
            return _scaled(picture) | size


def _scaled(picture: Any) -> JsonObject:
    from PIL import Image, ImageOps

    picture.draft("RGB", (MAX_EDGE, MAX_EDGE))
    opaque = picture.mode in _OPAQUE and "transparency" not in picture.info
    scaled = picture.convert("RGB" if opaque else "RGBA")
    scaled.thumbnail((MAX_EDGE, MAX_EDGE), Image.Resampling.LANCZOS)
    ImageOps.exif_transpose(scaled, in_place=True)
    if not opaque and len(sent := _encoded(scaled, "PNG")) <= LARGEST_SENT:
        return {"media_type": "image/png", "data": sent}
    if not opaque:
        background = Image.new("RGB", scaled.size, "white")
        background.paste(scaled, mask=scaled.getchannel("A"))
        scaled = background
    while len(sent := _encoded(scaled, "JPEG")) > LARGEST_SENT:
        scaled = scaled.resize((scaled.width * 7 // 10, scaled.height * 7 // 10))
    return {"media_type": "image/jpeg", "data": sent}


def _encoded(picture: Any, kind: str) -> bytes:
    target = io.BytesIO()
    picture.save(target, kind, **({"quality": 85} if kind == "JPEG" else {}))
    return target.getvalue()
