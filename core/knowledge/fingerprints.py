"""Recognises texts that are equal or nearly equal."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

__all__ = ["NEAR", "are_near", "body_hash", "simhash"]

NEAR = 3
"""Bits in which the fingerprints of nearly equal texts may differ."""

_WORD = re.compile(r"\w+")
_LANE = 16
_BITS = 64


def body_hash(text: str) -> bytes:
    """Return the hash by which equal texts are found; the amount of white space does not count."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).digest()[:16]


def simhash(text: str) -> int:
    """Return the 64-bit fingerprint of a text, as a signed number; nearly equal texts differ in few bits.

    The method is M. Charikar, "Similarity estimation techniques from rounding algorithms" (2002), over words.
    """
    words = _WORD.findall(text.lower())[:60_000]
    counts = sum(map(_lanes, words))
    value = sum(1 << bit for bit in range(_BITS) if 2 * (counts >> (bit * _LANE) & 0xFFFF) > len(words))
    return value - (1 << _BITS) if value >> (_BITS - 1) else value


def are_near(one: int, other: int) -> bool:
    """Whether two fingerprints are of nearly equal texts."""
    return ((one ^ other) & ((1 << _BITS) - 1)).bit_count() <= NEAR


@lru_cache(maxsize=50_000)
def _lanes(word: str) -> int:
    """The bits of a word's hash, each in a lane of its own, so that the words of a text can be added up."""
    bits = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return sum(1 << (bit * _LANE) for bit in range(_BITS) if bits >> bit & 1)
