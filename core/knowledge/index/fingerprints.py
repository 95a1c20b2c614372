"""Recognises texts that are equal or nearly equal."""

from __future__ import annotations

import hashlib

from ua_tui.core.knowledge.index.segments import indexed

NEAR = 3
"""Bits in which the fingerprints of nearly equal texts may differ."""

_BITS = 64
_PIECE = 64 << 10
_LANE = 8
_MOST_WORDS = 255
"""As many as a lane can count, and a chunk has."""
_ONES = sum(1 << bit * _LANE for bit in range(_BITS))
_LANES_OF_BYTE = tuple(bytes(byte >> bit & 1 for bit in range(7, -1, -1)) for byte in range(256))
_HALF = 1 << (_LANE - 1)
_DIGITS = bytes(ord("1") if byte >> 7 else ord("0") for byte in range(256))
# Everything but ASCII's letters and digits, and what is beyond ASCII, separates words.
_WORDS = bytes(byte if byte >= 0x80 or chr(byte).isalnum() else ord(" ") for byte in range(256))


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


def simhash(text: str) -> int:
    """Return the 64-bit fingerprint of a chunk, as a signed number; nearly equal texts differ in few bits.

    The method is M. Charikar, "Similarity estimation techniques from rounding algorithms" (2002), over
    words: the first 255 of a text. A text without words has 0.
    """
    encoded = indexed(text).lower().encode("utf-8", "surrogatepass")
    words = encoded.translate(_WORDS).split()[:_MOST_WORDS]
    # Bit by bit, the words whose hash has it are counted; it is set if it is in more than half of them.
    sums = sum(map(_lanes_of.__getitem__, words)) + _ONES * (_HALF - len(words) // 2 - 1)
    value = int(sums.to_bytes(_BITS, "big").translate(_DIGITS), 2)
    return value - (1 << _BITS) if value >> (_BITS - 1) else value


def are_near(one: int, other: int) -> bool:
    """Whether two fingerprints are of nearly equal texts."""
    return ((one ^ other) & ((1 << _BITS) - 1)).bit_count() <= NEAR


class _LanesOfWords(dict[bytes, int]):
    """The bits of the hash of each word, each in a lane of its own, so that the words of a text can be added up."""

    _MOST = 50_000

    def __missing__(self, word: bytes) -> int:
        digest = hashlib.blake2b(word, digest_size=_BITS // 8).digest()
        lanes = int.from_bytes(b"".join([_LANES_OF_BYTE[byte] for byte in digest]), "big")
        if len(self) >= self._MOST:
            self.clear()
        self[word] = lanes
        return lanes


_lanes_of = _LanesOfWords()
