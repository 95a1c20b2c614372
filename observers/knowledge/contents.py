"""Reads the untrusted files of a session: never through links, and within bounds."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Any

import msgspec

from ua_tui.core.events.codec import from_json
from ua_tui.core.redaction.masking import ENCODING_MARKS
from ua_tui.core.storage.compression import SUFFIX, Unpacked
from ua_tui.core.storage.files import Root
from ua_tui.observers.decoding.truncated_json import CUT_OFF, repair

LARGEST = 8 << 20
"""Bytes of a file that are read; of a longer one only its beginning is indexed."""

_HEAD = 8 << 10
_LONGEST_WORD = 64 << 10
_MARKS = ((codecs.BOM_UTF8, "utf-8"), *ENCODING_MARKS)


class Content(msgspec.Struct, frozen=True):
    """The text of a file, or the beginning of it if it `is_cut`, and the digest of the file on the disk if wanted."""

    text: str
    is_cut: bool
    sha256: str | None


def read_content(root: Root, path: str, *, digest: bool = False) -> Content | None:
    """Read a file below a folder, also a compressed one; None if it is not text.

    Raises:
        WorkspaceError: there is no such file, it is damaged, or it cannot be read.
    """
    with opened(root, path) as (file, is_packed):
        # Of a film, say, only the beginning is read.
        if not is_packed and is_binary(file.peek(_HEAD)):
            return None
        data = (Unpacked(file) if is_packed else file).read(LARGEST + 1)
        if is_binary(data):
            return None
        found = None
        if digest:
            file.seek(0)
            found = hashlib.file_digest(file, "sha256").hexdigest()
    return Content(decoded(data[:LARGEST]), len(data) > LARGEST, found)


@contextmanager
def opened(root: Root, path: str) -> Iterator[tuple[BufferedReader, bool]]:
    """Open an artifact, whichever form it has, and say whether it is compressed.

    Raises:
        WorkspaceError: there is no such file, or it cannot be opened.
    """
    plain = path.removesuffix(SUFFIX)
    is_packed = not root.exists(plain)
    with root.opened(plain + SUFFIX if is_packed else plain) as file:
        yield file, is_packed


def whole_words(text: str, limit: int) -> str:
    """Cut a text without cutting a word: half of a secret would not be recognised as one."""
    if len(text) <= limit:
        return text
    end = max(text.rfind(space, limit - _LONGEST_WORD, limit) for space in " \n\t")
    return text[: max(end, limit - _LONGEST_WORD)]


def is_binary(data: bytes) -> bool:
    """Whether data is no text, by its beginning."""
    return b"\0" in data[:_HEAD] and not data.startswith(tuple(mark for mark, _ in _MARKS))


def decoded(data: bytes) -> str:
    """The text of data in the encoding that its first bytes mark, by default UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return data.decode("utf-8", "replace")


def read_object(text: str, items: str = "") -> tuple[dict[str, Any], list[Any]]:
    """Return the members of a JSON object but the list named `items`, and the items of that list.

    Of a text that is cut off or damaged it is what is complete before that place; nothing of what is no object.
    """
    found = from_json(text)
    if found is None and text.lstrip()[:1] == "{":
        found = from_json(repair(text.lstrip()) or "")
    if not isinstance(found, dict):
        return {}, []
    found.pop(CUT_OFF, None)
    listed = found.pop(items) if isinstance(found.get(items), list) else []
    return found, [item for item in listed if not (isinstance(item, dict) and CUT_OFF in item)]
