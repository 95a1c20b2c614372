"""Cuts a text into chunks of 150 to 250 words, at headings and paragraphs where possible."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.knowledge.records import Chunk

__all__ = ["LEAST", "MOST", "split_chunks"]

LEAST, MOST = 150, 250
"""Words of a chunk; the last one before a heading may be shorter."""

_PARAGRAPH = re.compile(r"\S.*?(?=\n[ \t]*\n|\Z)", re.DOTALL)


def split_chunks(text: str) -> Iterator[Chunk]:
    """Give the chunks of a text in order; together they have all of its words."""
    start = end = words = 0
    for found in _PARAGRAPH.finditer(text):
        count = len(found[0].split())
        if words and (words + count > MOST or found[0].startswith("#")):
            yield Chunk(start, end, text[start:end])
            words = 0
        if not words:
            start = found.start()
        end, words = found.end(), words + count
    if words:
        yield Chunk(start, end, text[start:end])
