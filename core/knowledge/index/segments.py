"""Prepares a text for the full-text index, which knows words only where spaces or punctuation separate them."""

from __future__ import annotations

import re

UNSPACED = "぀-ヿ㐀-䶿一-鿿"
"""The characters that are words, as ranges. When they change, the index of existing files must be made again."""

_ONE = re.compile(f"[{UNSPACED}]")
_RUN = re.compile(f"[{UNSPACED}]+")


def indexed(text: str) -> str:
    """Return the text as it is indexed and as queries must be: each Chinese or Japanese character is a word."""
    if text.isascii() or not _ONE.search(text):
        return text
    return _RUN.sub(_spaced, text)


def _spaced(found: re.Match[str]) -> str:
    return f" {' '.join(found[0])} "
