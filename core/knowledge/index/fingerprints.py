"""Recognises equal texts and addresses by their hashes."""

from __future__ import annotations

import hashlib

_PIECE = 64 << 10


def body_hash(text: str) -> tuple[bytes, int]:
    """Return the hash by which equal texts are found, without regard to white space, and the number of words."""
    found, count, is_apart = hashlib.sha256(), 0, False
    # In pieces: a long text would block all other threads.
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        words = piece.split()
        if words:
            if count and (is_apart or piece[0].isspace()):
                found.update(b" ")
            elif count:
                # The word began in the piece before.
                count -= 1
            found.update(" ".join(words).encode("utf-8", "surrogatepass"))
            count += len(words)
        is_apart = piece[-1].isspace() or not words
    return found.digest()[:16], count


def address_hash(url: str) -> int:
    """Return the number of a canonical address, which needs no list of addresses."""
    digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
