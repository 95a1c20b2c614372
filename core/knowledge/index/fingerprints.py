"""Recognises equal texts and addresses by their hashes."""

from __future__ import annotations

import hashlib

_PIECE = 64 << 10


def body_hash(text: str) -> bytes:
    """Return the hash by which equal texts are found; the amount of white space does not count."""
    found = hashlib.sha256()
    is_empty, is_apart = True, False
    # In pieces: a long text would block all other threads.
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        words = " ".join(piece.split())
        if words:
            if not is_empty and (is_apart or piece[0].isspace()):
                found.update(b" ")
            found.update(words.encode("utf-8", "surrogatepass"))
            is_empty = False
        is_apart = piece[-1].isspace() or not words
    return found.digest()[:16]


def address_hash(url: str) -> int:
    """Return the number of a canonical address, which needs no list of addresses."""
    digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
