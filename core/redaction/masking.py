"""Masks secrets in events before anybody receives them, and in files before they are kept in the workspace.

So whoever cuts a text later cuts no secret. Files may have any encoding.
"""

from __future__ import annotations

import codecs
from io import BytesIO
from typing import IO, TypeVar

import msgspec

from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import AuthRequired, ElicitationAsked, Event
from ua_tui.core.redaction.redactor import Redactor

_Value = TypeVar("_Value")


def mask_event(event: Event, redactor: Redactor) -> Event:
    """Return an event without secrets; a link that a person is to open stays, and is masked everywhere else."""
    if isinstance(event, AuthRequired):
        redactor.add(event.url)
        return event
    if isinstance(event, ElicitationAsked) and event.url:
        redactor.add_link(event.url)
        return msgspec.structs.replace(event, message=redactor.redact(event.message))
    try:
        if redactor.finds_nothing(encode_event(event)):
            return event
    except (TypeError, ValueError, RecursionError):
        # It is not plain JSON, such as half a character: each of its texts is searched.
        pass
    return masked_copy(event, redactor)


def masked_copy(value: _Value, redactor: Redactor) -> _Value:
    """Copy an event, or a value in one, without secrets; what is nested too deeply is replaced by a note."""
    match value:
        case list() | tuple() if any(isinstance(each, msgspec.Struct) for each in value):
            return type(value)(masked_copy(each, redactor) for each in value)
        case str() | dict() | list() | tuple():
            return redactor.redact_value(value)  # type: ignore[no-any-return]
        case msgspec.Struct():
            fields = {name: masked_copy(getattr(value, name), redactor) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
        case _:
            return value


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
