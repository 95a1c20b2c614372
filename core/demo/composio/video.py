"""A small real MP4 made in code: H.264 pictures stored as plain samples, in the usual boxes.

Every macroblock is coded as I_PCM (Rec. ITU-T H.264, 7.3.5), so no transform or entropy coder is needed;
players decode it like any other baseline stream.
"""

from __future__ import annotations

import re
import struct

__all__ = ["make_clip"]

WIDTH = 128
HEIGHT = 80
FRAMES_PER_SECOND = 5
MACROBLOCK = 16
START_EMULATION = re.compile(rb"\x00\x00(?=[\x00-\x03])")
UNIT_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def make_clip(seconds: int) -> bytes:
    """Make a clip of a bar of light that crosses a dark field; about 75 KB a second."""
    frames = [_picture(index) for index in range(max(1, seconds) * FRAMES_PER_SECOND)]
    samples = [struct.pack(">I", len(frame)) + frame for frame in frames]
    head = _box(b"ftyp", b"isom", struct.pack(">I", 512), b"isomiso2avc1mp41")
    offset = len(head) + len(_movie(samples, 0)) + 8
    return head + _movie(samples, offset) + _box(b"mdat", *samples)


class _Bits:
    """Writes single bits and Exp-Golomb numbers."""

    def __init__(self) -> None:
        self._bits: list[int] = []

    def fixed(self, value: int, count: int) -> None:
        self._bits += [value >> shift & 1 for shift in reversed(range(count))]

    def golomb(self, *values: int) -> None:
        for value in values:
            width = (value + 1).bit_length()
            self.fixed(value + 1, 2 * width - 1)

    def align(self) -> None:
        self._bits += [0] * (-len(self._bits) % 8)

    def getvalue(self) -> bytes:
        self.align()
        data = bytes(int("".join(map(str, self._bits[i : i + 8])), 2) for i in range(0, len(self._bits), 8))
        self._bits = []
        return data

    def close(self) -> bytes:
        self.fixed(1, 1)
        return self.getvalue()


def _unit(header: int, payload: bytes) -> bytes:
    """A network abstraction layer unit, with start codes in its payload broken up."""
    return bytes([header]) + START_EMULATION.sub(b"\x00\x00\x03", payload)


def _sequence_parameters() -> bytes:
    bits = _Bits()
    bits.fixed(66, 8)
    bits.fixed(0xC0, 8)
    bits.fixed(11, 8)
    bits.golomb(0, 0, 2, 0)
    bits.fixed(0, 1)
    bits.golomb(WIDTH // MACROBLOCK - 1, HEIGHT // MACROBLOCK - 1)
    bits.fixed(0b1100, 4)
    return _unit(0x67, bits.close())


def _picture_parameters() -> bytes:
    bits = _Bits()
    bits.golomb(0, 0)
    bits.fixed(0, 2)
    bits.golomb(0, 0, 0)
    bits.fixed(0, 3)
    bits.golomb(0, 0, 0)
    bits.fixed(0, 3)
    return _unit(0x68, bits.close())


def _picture(index: int) -> bytes:
    bits = _Bits()
    bits.golomb(0, 7, 0)
    bits.fixed(0, 4)
    bits.golomb(index % 2)
    bits.fixed(0, 2)
    bits.golomb(0)
    parts: list[bytes] = []
    for top in range(0, HEIGHT, MACROBLOCK):
        for left in range(0, WIDTH, MACROBLOCK):
            bits.golomb(25)
            parts.append(bits.getvalue())
            parts.append(_samples(index, left, top))
    parts.append(bits.close())
    return _unit(0x65, b"".join(parts))


def _samples(index: int, left: int, top: int) -> bytes:
    """256 luma and twice 64 chroma samples of one macroblock."""
    bar = index * 9 % WIDTH
    luma = bytes(
        max(32, 220 - 6 * abs(x - bar)) if 16 <= y < HEIGHT - 16 else 24 + y // 4
        for y in range(top, top + MACROBLOCK)
        for x in range(left, left + MACROBLOCK)
    )
    return luma + bytes([118 + left // 8]) * 64 + bytes([140 - top // 8]) * 64


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I", len(body) + 8) + kind + body


def _full(kind: bytes, flags: int, *parts: bytes) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)


def _movie(samples: list[bytes], offset: int) -> bytes:
    count = len(samples)
    scale = FRAMES_PER_SECOND
    header = (
        struct.pack(">4IIH10x", 0, 0, scale, count, 0x10000, 0x100) + UNIT_MATRIX + bytes(24) + b"\0\0\0\2"
    )
    track = (
        struct.pack(">5I8x4H", 0, 0, 1, 0, count, 0, 0, 0, 0)
        + UNIT_MATRIX
        + struct.pack(">2I", WIDTH << 16, HEIGHT << 16)
    )
    sequence, picture = _sequence_parameters(), _picture_parameters()
    configuration = (
        b"\x01" + sequence[1:4] + b"\xff\xe1" + struct.pack(">H", len(sequence)) + sequence
        + b"\x01" + struct.pack(">H", len(picture)) + picture
    )  # fmt: skip
    entry = _box(
        b"avc1",
        struct.pack(">6xH16x2H2I4xH32xHh", 1, WIDTH, HEIGHT, 0x480000, 0x480000, 1, 24, -1),
        _box(b"avcC", configuration),
    )
    table = _box(
        b"stbl",
        _full(b"stsd", 0, struct.pack(">I", 1), entry),
        _full(b"stts", 0, struct.pack(">3I", 1, count, 1)),
        _full(b"stsc", 0, struct.pack(">4I", 1, 1, count, 1)),
        _full(b"stsz", 0, struct.pack(">2I", 0, count), *(struct.pack(">I", len(s)) for s in samples)),
        _full(b"stco", 0, struct.pack(">2I", 1, offset)),
    )
    information = _box(
        b"minf",
        _full(b"vmhd", 1, bytes(8)),
        _box(b"dinf", _full(b"dref", 0, struct.pack(">I", 1), _full(b"url ", 1))),
        table,
    )
    media = _box(
        b"mdia",
        _full(b"mdhd", 0, struct.pack(">4I2H", 0, 0, scale, count, 0x55C4, 0)),
        _full(b"hdlr", 0, struct.pack(">I4s12x", 0, b"vide"), b"clip\0"),
        information,
    )
    return _box(b"moov", _full(b"mvhd", 0, header), _box(b"trak", _full(b"tkhd", 3, track), media))
