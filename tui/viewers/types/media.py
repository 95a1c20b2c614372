"""Pictures; audio and video with their properties."""

from __future__ import annotations

import os

from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.events.units import duration
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.picture import PictureBody, read_header
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer
from ua_tui.tui.viewers.conversion import conversions
from ua_tui.tui.viewers.document import Body


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
    rows = _rows(sample)
    if not rows and not kind.endswith("video"):
        raise Declined
    width = max((len(name) for name, _ in rows), default=0)
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in [("", kind), *rows]).lstrip()
    facts = tuple(value for name, value in rows if name == "Duration")
    body = TextBody(text + "\n\nPress o to open it in another program.")
    return View(kind, HexBody(sample.data, sample.piece.offset), body, facts, all_rendered=True)


def _rows(sample: Sample) -> list[tuple[str, str]]:
    if sample.piece.size > (256 * 1024 * 1024):
        return []
    try:
        tags = conversions().run(_TAGS_TASK, os.fsencode(sample.path), seconds=_TAGS_SECONDS)
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
