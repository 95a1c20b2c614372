"""The kinds of media files, by their first bytes."""

from __future__ import annotations

__all__ = ["HEAD_SIZE", "media_suffix", "media_type"]

HEAD_SIZE = 64
"""How many bytes of a file decide."""

_SUFFIXES = (
    (b"\x89PNG\r\n\x1a\n", ".png"), (b"\xff\xd8\xff", ".jpg"), (b"GIF8", ".gif"), (b"ID3", ".mp3"),
    (b"fLaC", ".flac"), (b"OggS", ".ogg"), (b"\xff\xf1", ".aac"), (b"\xff\xf9", ".aac"),
)  # fmt: skip
_OF_BRANDS = {b"M4A ": ".m4a", b"M4B ": ".m4a", b"avif": ".avif", b"heic": ".heic", b"qt  ": ".mov"}
_OF_RIFF = {b"AVI ": ".avi", b"WAVE": ".wav", b"WEBP": ".webp"}


def media_type(head: bytes) -> str | None:
    """The kind of media that begins with these bytes: `video`, `audio`, `image` or None."""
    match head:
        case _ if head[4:8] == b"ftyp":
            return (
                "audio"
                if head[8:12] in (b"M4A ", b"M4B ")
                else "image"
                if head[8:12] in (b"avif", b"heic")
                else "video"
            )
        case _ if head.startswith(b"\x1a\x45\xdf\xa3"):
            return "video"
        case _ if head.startswith(b"RIFF"):
            return {b"AVI ": "video", b"WAVE": "audio", b"WEBP": "image"}.get(head[8:12])
        case _ if head.startswith((b"ID3", b"fLaC", b"OggS")) or _is_mpeg_audio(head):
            return "audio"
        case _ if head.startswith((b"\xff\xf1", b"\xff\xf9")):
            return "audio"
        case _ if head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")):
            return "image"
        case _:
            return None


def _is_mpeg_audio(head: bytes) -> bool:
    """Whether an MPEG frame begins here: layer, bit rate and sampling rate known; FF FE is text in UTF-16."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0 or head[1] == 0xFE:
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    return version != 1 and layer != 0 and head[2] >> 4 != 15 and head[2] >> 2 & 3 != 3


def media_suffix(head: bytes) -> str:
    """The suffix of a media file that begins with these bytes, which `media_type` knows."""
    if head[4:8] == b"ftyp":
        return _OF_BRANDS.get(head[8:12], ".mp4")
    if head.startswith(b"RIFF"):
        return _OF_RIFF.get(head[8:12], "")
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return ".webm" if b"webm" in head else ".mkv"
    found = next((suffix for magic, suffix in _SUFFIXES if head.startswith(magic)), "")
    return found or (".mp3" if _is_mpeg_audio(head) else "")
