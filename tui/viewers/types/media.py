"""Sound and film by their facts: length, codec, size, and what their tags say."""

from __future__ import annotations

import os
from typing import Any

from core.events.units import duration
from core.text import clean_line
from tui.viewers.bodies.text import TextBody
from tui.viewers.reader import open_regular
from tui.viewers.registry import Declined, Sample, View, Viewer
from tui.viewers.types.binary import HexBody
from tui.viewers.types.film_metadata import Film, read_mp4, read_webm

__all__ = ["VIEWER"]

_SOUNDS = {b"ID3": "MP3 sound", b"OggS": "Ogg sound", b"fLaC": "FLAC sound"}
_LARGEST_SOUND = 256 * 1024 * 1024


def _kind(data: bytes) -> str:
    if data[4:8] == b"ftyp":
        return "MP4 film" if data[8:11] != b"M4A" else "MPEG-4 sound"
    if data.startswith(b"\x1aE\xdf\xa3"):
        return "WebM film" if b"webm" in data[:64] else "Matroska film"
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "WAV sound"
    if data[:2] in {b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"}:
        return "MP3 sound"
    return next((name for magic, name in _SOUNDS.items() if data.startswith(magic)), "")


def _view(sample: Sample) -> View:
    kind = _kind(sample.data)
    rows = _film_rows(sample) if kind.endswith("film") else _sound_rows(sample)
    if not rows:
        raise Declined
    width = max(len(name) for name, _ in rows)
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in [("", kind), *rows]).lstrip()
    facts = tuple(value for name, value in rows if name in {"Length", "Picture"})
    body = TextBody(text + "\n\no opens it in the browser.")
    return View(kind, HexBody(sample.data, sample.piece.offset), body, facts, all_rendered=True)


def _film_rows(sample: Sample) -> list[tuple[str, str]]:
    if sample.data[4:8] == b"ftyp":
        descriptor = open_regular(sample.path)
        try:
            film = read_mp4(lambda at, count: os.pread(descriptor, count, at), sample.piece.size)
        finally:
            os.close(descriptor)
    else:
        film = read_webm(sample.data)
    return _told(film)


def _told(film: Film) -> list[tuple[str, str]]:
    rows = []
    if 0 < film.seconds < 1e7:
        rows.append(("Length", duration(film.seconds)))
    if film.width and film.height:
        rows.append(("Picture", f"{film.width:,} × {film.height:,} pixels"))
    if film.codecs:
        rows.append(("Codecs", ", ".join(dict.fromkeys(film.codecs[:8]))))
    return rows


def _sound_rows(sample: Sample) -> list[tuple[str, str]]:
    if sample.piece.size > _LARGEST_SOUND:
        return []
    from tinytag import TinyTag

    try:
        with os.fdopen(open_regular(sample.path), "rb") as file:
            tag: Any = TinyTag.get(filename=sample.path.name, file_obj=file)
    except Exception:
        # A reader of tags fails in many ways on a damaged file; its bytes are shown then.
        return []
    rows: list[tuple[str, str]] = []
    if tag.duration and 0 < tag.duration < 1e7:
        rows.append(("Length", duration(tag.duration)))
    for name, value in (
        ("Title", tag.title),
        ("Artist", tag.artist),
        ("Album", tag.album),
        ("Year", tag.year),
        ("Channels", tag.channels),
        ("Samples", f"{tag.samplerate:,} a second" if tag.samplerate else None),
        ("Bit rate", f"{tag.bitrate:,.0f} kbit/s" if tag.bitrate else None),
    ):
        if value:
            rows.append((name, clean_line(str(value), 200)))
    return rows


VIEWER = Viewer(
    "sound or film", lambda sample: bool(_kind(sample.data)) and sample.piece.packed is None, _view
)
