"""Recognises texts that are equal or nearly equal."""

from __future__ import annotations

import hashlib
import re
import sys
from array import array
from functools import lru_cache

__all__ = ["NEAR", "are_near", "body_hash", "simhash"]

NEAR = 3
"""Bits in which the fingerprints of nearly equal texts may differ."""

_WORD = re.compile(r"\w+")
_BITS = 64
_SPREAD = [array("H", (byte >> bit & 1 for bit in range(8))).tobytes() for byte in range(256)]
"""The bits of a byte as eight numbers of 16 bits."""


def body_hash(text: str) -> bytes:
    """Return the hash by which equal texts are found; the amount of white space does not count."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).digest()[:16]


def simhash(text: str) -> int:
    """Return the 64-bit fingerprint of a text, as a signed number; nearly equal texts differ in few bits.

    The method is M. Charikar, "Similarity estimation techniques from rounding algorithms" (2002), over distinct words.
    """
    words = set(_WORD.findall(text.lower())[:60_000])
    counts = array("H", sum(map(_lanes, words)).to_bytes(_BITS * 2, sys.byteorder))
    value = sum(1 << bit for bit, count in enumerate(counts) if 2 * count > len(words))
    return value - (1 << _BITS) if value >> (_BITS - 1) else value


def are_near(one: int, other: int) -> bool:
    """Whether two fingerprints are of nearly equal texts."""
    return ((one ^ other) & ((1 << _BITS) - 1)).bit_count() <= NEAR


@lru_cache(maxsize=50_000)
def _lanes(word: str) -> int:
    """The bits of a word's hash, each in a lane of its own, so that the words of a text can be added up."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_BITS // 8).digest()
    return int.from_bytes(b"".join(map(_SPREAD.__getitem__, digest)), sys.byteorder)
