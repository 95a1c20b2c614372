"""Length, size and codecs of MP4 and WebM films, read from their boxes without decoding anything."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from core.text import clean_line

__all__ = ["Film", "read_mp4", "read_webm"]

_MOST_BOXES = 10_000
_LARGEST_HEAD = 32 * 1024 * 1024
_INSIDE = {b"trak", b"mdia", b"minf", b"stbl"}
_ID_SEGMENT, _ID_INFO, _ID_TRACKS, _ID_ENTRY, _ID_VIDEO = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0
_MASTERS = {_ID_SEGMENT, _ID_INFO, _ID_TRACKS, _ID_ENTRY, _ID_VIDEO}

Reader = Callable[[int, int], bytes]
"""Gives the bytes at an offset, at most so many."""


@dataclass(slots=True)
class Film:
    """What is known of a film; seconds and pixels are 0 when they are not found."""

    seconds: float = 0.0
    width: int = 0
    height: int = 0
    codecs: list[str] = field(default_factory=list)


def read_mp4(read: Reader, size: int) -> Film:
    """The facts of an MP4 or QuickTime file of `size` bytes; what is damaged is left out."""
    film = Film()
    at = count = 0
    while at + 8 <= size and count < _MOST_BOXES:
        count += 1
        head = read(at, 16)
        if len(head) < 8:
            break
        length, kind = struct.unpack(">I4s", head[:8])
        start = 8
        if length == 1 and len(head) == 16:
            length, start = struct.unpack(">Q", head[8:])[0], 16
        length = length or size - at
        if kind == b"moov":
            _read_movie(read(at + start, min(length - start, _LARGEST_HEAD)), film, 0)
        if length < start:
            break
        at += length
    return film


def _read_movie(data: bytes, film: Film, depth: int) -> None:
    for kind, body in _boxes(data):
        if kind in _INSIDE and depth < 8:
            _read_movie(body, film, depth + 1)
        elif kind == b"mvhd" and len(body) >= 32:
            scale, length = (
                struct.unpack(">IQ", body[20:32]) if body[0] else struct.unpack(">II", body[12:20])
            )
            film.seconds = length / scale if scale else 0.0
        elif kind == b"tkhd" and len(body) >= 84:
            width, height = struct.unpack(">II", body[-8:])
            film.width, film.height = max(film.width, width >> 16), max(film.height, height >> 16)
        elif kind == b"stsd" and len(body) >= 16:
            film.codecs.append(_codec(body[12:16]))


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        length = length or len(data) - at
        if length < 8:
            return
        yield kind, data[at + 8 : at + length]
        at += length


def read_webm(data: bytes) -> Film:
    """The facts in the beginning of a WebM or Matroska file; what is damaged is left out."""
    film = Film()
    scale, length = 1_000_000, 0.0
    for kind, body in _elements(data, 0):
        match kind:
            case 0x2AD7B1:
                scale = int.from_bytes(body, "big")
            case 0x4489 if len(body) in {4, 8}:
                length = struct.unpack(">f" if len(body) == 4 else ">d", body)[0]
            case 0x86:
                film.codecs.append(_codec(body))
            case 0xB0:
                film.width = int.from_bytes(body[:4], "big")
            case 0xBA:
                film.height = int.from_bytes(body[:4], "big")
            case _:
                pass
    film.seconds = length * scale / 1e9
    return film


def _elements(data: bytes, depth: int) -> Iterator[tuple[int, bytes]]:
    at = count = 0
    while at < len(data) and count < _MOST_BOXES:
        count += 1
        kind, at = _number(data, at, keep=True)
        length, at = _number(data, at, keep=False)
        if kind < 0 or length < 0:
            return
        if kind in _MASTERS and depth < 6:
            yield from _elements(data[at : at + length], depth + 1)
        elif length <= 4096:
            yield kind, data[at : at + length]
        at += length


def _number(data: bytes, at: int, *, keep: bool) -> tuple[int, int]:
    first = data[at] if at < len(data) else 0
    length = 9 - first.bit_length()
    if not first or at + length > len(data):
        return -1, at
    value = int.from_bytes(data[at : at + length], "big")
    return (value if keep else value & ((1 << 7 * length) - 1)), at + length


def _codec(name: bytes) -> str:
    told = clean_line(name.decode("latin-1"), 20).strip("\0 ")
    known = {"avc1": "H.264", "hev1": "H.265", "hvc1": "H.265", "av01": "AV1", "vp09": "VP9", "mp4a": "AAC"}
    return known.get(told, told.removeprefix("V_").removeprefix("A_"))
