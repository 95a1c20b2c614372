"""The titles of articles, which are listed by them: their names are made from an address and a hash."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path, PurePath

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers.reader import read_piece

_FOLDER = "extracted_articles"
_HASH = re.compile(r"(?:^|[_.-])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,64}(?=[_.-]|$)")
_SUFFIXES = frozenset({".json", ".md"})
_TITLE = re.compile(rb'(?:^|[{,\s])"?title"?[ \t]*:[ \t]*("(?:[^"\\\n]|\\.){1,1000}")')
_HEAD = 4096
_TITLE_CHARACTERS = 200


def title_of(folder: str, name: str, changed_ns: int) -> str:
    """Return the title of an article in a file, cleaned; empty for any other file. Reads the file at most once."""
    inner = PurePath(inner_name(name))
    if inner.suffix.lower() not in _SUFFIXES:
        return ""
    if PurePath(folder).name != _FOLDER and _HASH.search(inner.stem) is None:
        return ""
    return _read_title(f"{folder}/{name}", changed_ns)


@lru_cache(maxsize=8192)
def _read_title(path: str, _changed_ns: int) -> str:
    try:
        found = _TITLE.search(read_piece(Path(path), _HEAD).data)
        return clean_line(msgspec.json.decode(found[1], type=str), _TITLE_CHARACTERS) if found else ""
    except (UniversalAgentError, ValueError, OSError):
        return ""
