"""Pictures; audio and video with their properties."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.events.units import duration
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.picture import PictureBody, read_header
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer
from ua_tui.tui.viewers.conversion import conversions
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.reader import open_regular


def _view_image(sample: Sample) -> View:
    header = read_header(sample.data)
    if header is None:
        raise Declined
    data = sample.data if sample.complete else None
    if data is None and sample.piece.packed is not None:
        body: Body = TextBody(header.description)
    else:
        body = PictureBody(header, data, sample.path)
    raw = HexBody(sample.data, sample.piece.offset)
    return View(header.kind, raw, body, (header.size_text,), all_rendered=True)


IMAGE = Viewer("image", lambda sample: read_header(sample.data) is not None, _view_image, priority=100)


_AUDIO = {b"ID3": "MP3 audio", b"OggS": "Ogg audio", b"fLaC": "FLAC audio"}
_TAGS_TASK = "ua_tui.tui.viewers.conversion:read_tags"
_TAGS_SECONDS = 5.0
_MAX_AUDIO = 256 * 1024 * 1024
_MAX_BOXES = 10_000
_MAX_HEADER = 32 * 1024 * 1024
_CONTAINERS = {b"trak", b"mdia", b"minf", b"stbl"}
_ID_SEGMENT, _ID_INFO, _ID_TRACKS, _ID_ENTRY, _ID_VIDEO = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0
_MASTERS = {_ID_SEGMENT, _ID_INFO, _ID_TRACKS, _ID_ENTRY, _ID_VIDEO}

Reader = Callable[[int, int], bytes]
"""Returns the bytes at an offset, at most the given number."""


@dataclass(slots=True)
class Video:
    """The properties of a video; duration and size are 0 if they are not found."""

    seconds: float = 0.0
    width: int = 0
    height: int = 0
    codecs: list[str] = field(default_factory=list)


def read_mp4(read: Reader, size: int) -> Video:
    """Read the properties of an MP4 or QuickTime file of `size` bytes; damaged parts are skipped."""
    video = Video()
    at = count = 0
    while at + 8 <= size and count < _MAX_BOXES:
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
            # There is only one; a file may claim thousands of 32 MiB.
            _read_movie(read(at + start, min(length - start, _MAX_HEADER)), video, 0)
            break
        if length < start:
            break
        at += length
    return video


def _read_movie(data: bytes, video: Video, depth: int) -> None:
    for kind, body in _boxes(data):
        if kind in _CONTAINERS and depth < 8:
            _read_movie(body, video, depth + 1)
        elif kind == b"mvhd" and len(body) >= 32:
            scale, length = (
                struct.unpack(">IQ", body[20:32]) if body[0] else struct.unpack(">II", body[12:20])
            )
            video.seconds = length / scale if scale else 0.0
        elif kind == b"tkhd" and len(body) >= 84:
            width, height = struct.unpack(">II", body[-8:])
            video.width, video.height = max(video.width, width >> 16), max(video.height, height >> 16)
        elif kind == b"stsd" and len(body) >= 16:
            video.codecs.append(_codec(body[12:16]))


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = count = 0
    while at + 8 <= len(data) and count < _MAX_BOXES:
        count += 1
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        length = length or len(data) - at
        if length < 8:
            return
        yield kind, data[at + 8 : at + length]
        at += length


def read_webm(data: bytes) -> Video:
    """Read the properties of a WebM or Matroska file from its beginning; damaged parts are skipped."""
    video = Video()
    scale, length = 1_000_000, 0.0
    for kind, body in _elements(data, 0):
        match kind:
            case 0x2AD7B1:
                scale = int.from_bytes(body, "big")
            case 0x4489 if len(body) in {4, 8}:
                length = struct.unpack(">f" if len(body) == 4 else ">d", body)[0]
            case 0x86:
                video.codecs.append(_codec(body))
            case 0xB0:
                video.width = int.from_bytes(body[:4], "big")
            case 0xBA:
                video.height = int.from_bytes(body[:4], "big")
            case _:
                pass
    video.seconds = length * scale / 1e9
    return video


def _elements(data: bytes, depth: int) -> Iterator[tuple[int, bytes]]:
    at = count = 0
    while at < len(data) and count < _MAX_BOXES:
        count += 1
        kind, at = _variable_int(data, at, keep_marker=True)
        length, at = _variable_int(data, at, keep_marker=False)
        if kind < 0 or length < 0:
            return
        if kind in _MASTERS and depth < 6:
            yield from _elements(data[at : at + length], depth + 1)
        elif length <= 4096:
            yield kind, data[at : at + length]
        at += length


def _variable_int(data: bytes, at: int, *, keep_marker: bool) -> tuple[int, int]:
    first = data[at] if at < len(data) else 0
    length = 9 - first.bit_length()
    if not first or at + length > len(data):
        return -1, at
    value = int.from_bytes(data[at : at + length], "big")
    return (value if keep_marker else value & ((1 << 7 * length) - 1)), at + length


def _codec(name: bytes) -> str:
    codec = clean_line(name.decode("latin-1"), 20).strip("\0 ")
    known = {"avc1": "H.264", "hev1": "H.265", "hvc1": "H.265", "av01": "AV1", "vp09": "VP9", "mp4a": "AAC"}
    return known.get(codec, codec.removeprefix("V_").removeprefix("A_"))


def _kind(data: bytes) -> str:
    if data[4:8] == b"ftyp":
        return "MP4 video" if data[8:11] != b"M4A" else "MPEG-4 audio"
    if data.startswith(b"\x1aE\xdf\xa3"):
        return "WebM video" if b"webm" in data[:64] else "Matroska video"
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "WAV audio"
    if data[:2] in {b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"}:
        return "MP3 audio"
    return next((name for magic, name in _AUDIO.items() if data.startswith(magic)), "")


def _view_media(sample: Sample) -> View:
    kind = _kind(sample.data)
    rows = _video_rows(sample) if kind.endswith("video") else _audio_rows(sample)
    if not rows:
        raise Declined
    width = max(len(name) for name, _ in rows)
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in [("", kind), *rows]).lstrip()
    facts = tuple(value for name, value in rows if name in {"Duration", "Size"})
    body = TextBody(text + "\n\nPress o to open it in another program.")
    return View(kind, HexBody(sample.data, sample.piece.offset), body, facts, all_rendered=True)


def _video_rows(sample: Sample) -> list[tuple[str, str]]:
    if sample.data[4:8] == b"ftyp":
        descriptor = open_regular(sample.path)
        try:
            video = read_mp4(lambda at, count: os.pread(descriptor, count, at), sample.piece.size)
        finally:
            os.close(descriptor)
    else:
        video = read_webm(sample.data)
    rows = []
    if 0 < video.seconds < 1e7:
        rows.append(("Duration", duration(video.seconds)))
    if video.width and video.height:
        rows.append(("Size", f"{video.width:,} × {video.height:,} pixels"))
    if video.codecs:
        rows.append(("Codecs", ", ".join(dict.fromkeys(video.codecs[:8]))))
    return rows


def _audio_rows(sample: Sample) -> list[tuple[str, str]]:
    if sample.piece.size > _MAX_AUDIO:
        return []
    try:
        tags = conversions().run(
            _TAGS_TASK, os.fsencode(sample.path), seconds=_TAGS_SECONDS, stop=sample.stop
        )
    except ConversionFailed:
        # The viewer shows the bytes of a damaged file.
        return []
    rows: list[tuple[str, str]] = []
    if 0 < (length := tags.get("duration") or 0.0) < 1e7:
        rows.append(("Duration", duration(length)))
    rate, bits = tags.get("samplerate"), tags.get("bitrate")
    for name, value in (
        ("Title", tags.get("title")),
        ("Artist", tags.get("artist")),
        ("Album", tags.get("album")),
        ("Year", tags.get("year")),
        ("Channels", tags.get("channels")),
        ("Sample rate", f"{rate:,} Hz" if rate else None),
        ("Bit rate", f"{bits:,.0f} kbit/s" if bits else None),
    ):
        if value:
            rows.append((name, clean_line(str(value), 200)))
    return rows


MEDIA = Viewer(
    "audio or video",
    lambda sample: bool(_kind(sample.data)) and sample.piece.packed is None,
    _view_media,
    priority=100,
)
