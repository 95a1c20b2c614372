"""Embeds the pictures of a report that are files of its session, within bounds."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.media_types import HEAD_SIZE, media_suffix
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.tui.export.convert import PICTURE

LARGEST = 1 << 20
"""Bytes of a picture that is embedded."""
MOST = 200
_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_REFERENCE = re.compile(rf'\bsrc="{re.escape(PICTURE)}([^"]*)"')
_DATA = re.compile(r"data:image/[a-z]+;base64,([A-Za-z0-9+/=\s]+)\Z", re.IGNORECASE)


def embedded_pictures(text: str, report: str, root: Root, redactor: Redactor) -> tuple[dict[str, str], int]:
    """Read the pictures that converted HTML refers to; returns data addresses by theirs, and how many are left out."""
    found: dict[str, str] = {}
    total = left_out = 0
    for address in dict.fromkeys(_addresses(text)):
        data = _data(address, report, root) if len(found) < MOST else b""
        kind = _TYPES.get(media_suffix(data[:HEAD_SIZE]), "")
        # The text in a picture, such as its description, may hold a secret.
        is_safe = kind and redactor.redact(plain := data.decode("latin-1")) == plain
        if not is_safe or total + len(data) > (3 << 20):
            left_out += 1
            continue
        total += len(data)
        found[address] = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return found, left_out


def _addresses(text: str) -> Iterator[str]:
    for match in _REFERENCE.finditer(text):
        yield unquote(match[1])


def _data(address: str, report: str, root: Root) -> bytes:
    if embedded := _DATA.match(address):
        try:
            data = base64.b64decode(embedded[1], validate=False)
        except (binascii.Error, ValueError):
            return b""
        return data if len(data) <= LARGEST else b""
    if ":" in address or address.startswith("/"):
        return b""
    path = unquote(address.partition("?")[0].partition("#")[0])
    for base in (posixpath.dirname(report), ""):
        inside = posixpath.normpath(posixpath.join(base, path))
        try:
            data = root.read(inside, LARGEST + 1)
        except (PathRefused, WorkspaceError, ValueError):
            continue
        return data if len(data) <= LARGEST else b""
    return b""
