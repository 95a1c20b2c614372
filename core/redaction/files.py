"""Masks the secrets in files of text, whatever their encoding, before they are kept in the workspace."""

from __future__ import annotations

import codecs
from io import BytesIO
from typing import IO

from ua_tui.core.redaction.redactor import Redactor

_PIECE = 1 << 20
# The mark of UTF-32 begins as that of UTF-16 does.
ENCODING_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The first bytes of a text file by which its encoding is known, apart from UTF-8."""


def masked_file(file: IO[bytes], redactor: Redactor) -> IO[bytes]:
    """The file without the secrets in its text; the same file if there are none, or if it is not text.

    A text begins with the mark of its encoding, or is UTF-8 or Latin-1 without a null byte.
    """
    file.seek(0)
    text, encoding = _text(file.read())
    file.seek(0)
    if redactor.redact(text) == text:
        return file
    masked = BytesIO()
    for piece in redactor.redact_in_pieces(text, _PIECE):
        masked.write(piece.encode(encoding, "replace"))
    masked.seek(0)
    return masked


def _text(data: bytes) -> tuple[str, str]:
    """The text of a file and its encoding; empty if it is not text."""
    marked = next((encoding for mark, encoding in ENCODING_MARKS if data.startswith(mark)), None)
    for encoding in (marked,) if marked else () if b"\0" in data else ("utf-8", "latin-1"):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return "", "utf-8"
