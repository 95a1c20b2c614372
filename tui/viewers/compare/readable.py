"""Reads a version as the text that is compared: HTML as its readable text, unless its source is requested."""

from __future__ import annotations

from pathlib import PurePath

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.history.versions import Version
from ua_tui.core.storage.compression import inner_name
from ua_tui.tui.viewers.reader import FileUnviewable, decode, looks_binary, read_piece
from ua_tui.tui.viewers.safe_html import convert_to_markdown

LARGEST = 4 << 20
"""Bytes; longer texts are not compared."""
_HTML = frozenset({".html", ".htm", ".xhtml"})


def has_source(version: Version) -> bool:
    """Whether the readable text of a version differs from its source."""
    return PurePath(inner_name(version.name)).suffix.lower() in _HTML


def readable_text(version: Version, stop: Stop = NEVER, *, source: bool = False) -> str:
    """Return the cleaned text of a version. Blocks.

    Raises:
        FileUnviewable: it cannot be read, is not text, or is too long.
        Stopped: the flag was set.
    """
    if version.text is not None:
        data = version.text.encode("utf-8", "replace")
    elif version.path is not None:
        data = read_piece(version.path, LARGEST + 1, stop=stop).data
    else:
        data = b""
    if len(data) > LARGEST:
        raise FileUnviewable(f"Texts of more than {LARGEST >> 20} MiB are not compared.")
    if looks_binary(data):
        raise FileUnviewable("This file is not text, so its versions cannot be compared.")
    text = decode(data)
    if source or not has_source(version):
        return text
    try:
        return convert_to_markdown(text, stop)
    except ConversionFailed as error:
        raise FileUnviewable(
            f"This page is too complex to be read as text ({error}). Press m for its source."
        ) from error
