"""Prepares a text for the full-text index, which knows words only where spaces or punctuation separate them."""

from __future__ import annotations

import re

__all__ = ["indexed"]

_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿]")


def indexed(text: str) -> str:
    """Return the text as it is indexed and as queries must be: each Chinese or Japanese character is a word."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)
