"""Which types of files are read as pages, and why the others are not."""

from __future__ import annotations

from ua_tui.core.media_types import media_suffix, media_type
from ua_tui.core.text import clean_line

_TEXTS = frozenset((
    "application/xhtml+xml", "application/json", "application/pdf", "application/x-pdf", "application/xml",
    "application/x-ndjson", "application/yaml",
))  # fmt: skip
# Servers send any file with these types.
_UNSPECIFIC = frozenset((
    "", "binary/octet-stream", "application/octet-stream", "application/binary", "application/download",
    "application/force-download", "application/x-download", "application/unknown",
))  # fmt: skip
_WITHOUT_TEXT = frozenset({"image/svg+xml", "text/css", "text/javascript"})
_MEDIA = {"image": "a picture", "audio": "a sound file", "video": "a video"}
_ARCHIVES = ("zip", "gzip", "x-tar", "x-7z", "x-rar", "vnd.rar", "x-bzip", "x-xz", "zstd", "java-archive")
_DOCUMENTS = (
    "msword", "officedocument", "opendocument", "ms-excel", "ms-powerpoint", "epub", "rtf", "postscript",
)  # fmt: skip
_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"Rar!", "application/vnd.rar"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
)
_WORKBENCH = "if its content matters, fetch it in the remote workbench"


def is_unspecific(given: str) -> bool:
    """Whether a type says nothing, so that the first bytes decide."""
    return given in _UNSPECIFIC


def recognised_type(start: bytes) -> str:
    """The media type of a file by its first bytes; empty if uncertain."""
    for signature, found in _SIGNATURES:
        if start.startswith(signature):
            return found
    if (kind := media_type(start)) is not None:
        return f"{kind}/{media_suffix(start)[1:]}"
    if b"\0" in start[:1024] and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    return "text/html" if start.lstrip()[:1] == b"<" else "text/plain"


def check_type(given: str) -> tuple[str, str] | None:
    """Return None if files of a type can be read as pages; otherwise the reason and a sentence about it.

    The sentence says what the file is and what can be tried instead.
    """
    kind, _, subtype = given.partition("/")
    shown = f"its type is '{clean_line(given, 80)}'"
    if given in _WITHOUT_TEXT:
        return "other", f"{shown}, which holds no article; choose another source"
    if kind == "text" or given in _TEXTS or given.endswith(("+json", "+xml")):
        return None
    if kind in _MEDIA:
        return kind, f"{shown}, {_MEDIA[kind]}; read the page that shows it, or {_WORKBENCH}"
    if any(name in subtype for name in _DOCUMENTS):
        return "document", f"{shown}, an office document; look for a page or a PDF of it, or {_WORKBENCH}"
    if any(name in subtype for name in _ARCHIVES):
        return "archive", f"{shown}, an archive; {_WORKBENCH}"
    return "other", f"{shown}; only pages, texts, feeds and PDFs are read; choose another source"
