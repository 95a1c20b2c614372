"""The kinds of media files, by their first bytes."""

from __future__ import annotations

import re

from ua_tui.core.json_values import table_of

HEAD_SIZE = 64
"""How many bytes of a file decide."""

_KINDS = tuple(
    (re.compile(beginning.encode(), re.DOTALL), kind, suffix)
    for beginning, kind, suffix in table_of(__file__, "media_types.json")
)


def media_type(head: bytes) -> str | None:
    """The kind of media that begins with these bytes: `video`, `audio`, `image` or None."""
    kind, _ = _kind_and_suffix(head)
    return kind


def media_suffix(head: bytes) -> str:
    """The suffix of a media file that begins with these bytes; empty if it is no media file."""
    _, suffix = _kind_and_suffix(head)
    return suffix


def _kind_and_suffix(head: bytes) -> tuple[str | None, str]:
    for beginning, kind, suffix in _KINDS:
        if beginning.match(head):
            return kind, suffix
    return ("audio", ".mp3") if _is_mpeg_audio(head) else (None, "")


def _is_mpeg_audio(head: bytes) -> bool:
    """Whether an MPEG frame begins here: layer, bit rate and sampling rate known; FF FE is text in UTF-16."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0 or head[1] == 0xFE:
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    return version != 1 and layer != 0 and head[2] >> 4 != 15 and head[2] >> 2 & 3 != 3
