"""Prepares a text for the full-text index, which knows words only where spaces or punctuation separate them."""

from __future__ import annotations

import re

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""How FTS5 makes words of a text. When it changes, the index of existing files must be made again."""
UNSPACED = "぀-ヿ㐀-䶿一-鿿"
"""The characters that are words, as ranges. When they change, the index of existing files must be made again."""

# Compiled when it is used first, which `re` remembers: a set of so many characters takes milliseconds.
_RUN = f"[{UNSPACED}]+"


def indexed(text: str) -> str:
    """Return the text as it is indexed and as queries must be: each Chinese or Japanese character is a word."""
    return text if text.isascii() else re.sub(_RUN, _spaced, text)


def _spaced(found: re.Match[str]) -> str:
    return f" {' '.join(found[0])} "
