"""Binary files: the format by its first bytes, and a hex dump."""

from __future__ import annotations

from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.contract import Sample, View, Viewer

_MAGIC = (
    (b"%PDF-", 0, "PDF"),
    (b"PK\x03\x04", 0, "Zip archive"),
    (b"\x1f\x8b", 0, "Gzip data"),
    (b"\x28\xb5\x2f\xfd", 0, "Zstandard data"),
    (b"SQLite format 3\0", 0, "SQLite database"),
    (b"ftyp", 4, "MP4 video or audio"),
    (b"\x1aE\xdf\xa3", 0, "Matroska or WebM video"),
    (b"ID3", 0, "MP3 audio"),
    (b"OggS", 0, "Ogg audio or video"),
    (b"fLaC", 0, "FLAC audio"),
    (b"WAVE", 8, "WAV audio"),
    (b"AVI ", 8, "AVI video"),
    (b"\x7fELF", 0, "Program (ELF)"),
)


def _view(sample: Sample) -> View:
    kind = next(
        (name for magic, at, name in _MAGIC if sample.data[at : at + len(magic)] == magic), "Binary file"
    )
    return View(kind, HexBody(sample.data, sample.piece.offset))


VIEWER = Viewer("binary", lambda sample: sample.binary, _view, priority=90)
