"""The bodies of fetched pages: decompressed within limits, and decoded to text."""

from __future__ import annotations

import codecs
import re
import zlib
from email.message import Message

from core.errors import ConnectionFailed, FetchRefused

__all__ = ["MEDIA_TYPES", "Inflater", "content_type", "guess_media_type", "is_html", "text_encoding"]

MEDIA_TYPES = frozenset(
    {
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "application/json",
        "application/pdf",
        "text/markdown",
    }
)
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RATIO = 100
_RATIO_COUNTS_FROM = 1 << 20
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Encodings of Python that a web page must not choose: they are slow, or do not encode characters.
_NO_WEB_ENCODING = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7"}


class Inflater:
    """Decompresses a body piece by piece, and stops as soon as it exceeds its limits.

    `encoding` is the Content-Encoding. `limit` counts decoded bytes; above 1 MiB a body may also not be
    more than 100 times its compressed size.

    Raises:
        FetchRefused: the encoding is not supported.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        name = encoding.strip().lower()
        if name not in {"", "identity", *_WINDOW_BITS}:
            raise FetchRefused(
                f"its body is compressed as {name[:40]!r}, which is not supported; choose another source",
                code="not_readable",
            )
        self._name = name
        self._limit = limit
        self._raw = 0
        self._size = 0
        self._inflate = zlib.decompressobj(_WINDOW_BITS[name]) if name in _WINDOW_BITS else None

    def feed(self, data: bytes) -> bytes:
        """Decode the next piece of the body.

        Raises:
            FetchRefused: the body is too large, or swells too much.
            ConnectionFailed: the body is damaged.
        """
        first, self._raw = self._raw == 0, self._raw + len(data)
        pieces = []
        while data:
            piece, data = self._step(data, first=first)
            first = False
            self._size += len(piece)
            if self._size > self._limit:
                raise FetchRefused(
                    f"its body is larger than {self._limit} bytes; choose another source", code="too_large"
                )
            if self._size > max(_RATIO_COUNTS_FROM, self._raw * _RATIO):
                raise FetchRefused(
                    f"its body swells to more than {_RATIO} times its compressed size; choose another source",
                    code="too_large",
                )
            pieces.append(piece)
        return b"".join(pieces)

    def finish(self) -> None:
        """Check that the body is complete.

        Raises:
            ConnectionFailed: it is cut off.
        """
        if self._inflate is not None and self._raw and not self._inflate.eof:
            raise ConnectionFailed("its compressed body is cut off; try again", code="unreachable")

    def _step(self, data: bytes, *, first: bool) -> tuple[bytes, bytes]:
        if self._inflate is None:
            return data, b""
        if self._inflate.eof:
            return b"", b""
        try:
            piece = self._inflate.decompress(data, 1 << 16)
        except zlib.error as error:
            if first and self._name == "deflate":
                # Some servers send the raw format, without the zlib header that the standard requires.
                self._inflate = zlib.decompressobj(-15)
                return self._step(data, first=False)
            raise ConnectionFailed(
                f"its compressed body is damaged ({error}); try again", code="unreachable"
            ) from error
        rest = self._inflate.unconsumed_tail
        if not rest and len(piece) == 1 << 16:
            piece += self._inflate.decompress(b"", self._limit - self._size + 1)
        return piece, rest


def content_type(header: str) -> tuple[str, str]:
    """Split a Content-Type into the media type and the charset, each empty if missing."""
    message = Message()
    message["content-type"] = header[:500].replace("\r", " ").replace("\n", " ")
    if not header.strip():
        return "", ""
    charset = message.get_param("charset", "")
    return message.get_content_type(), charset if isinstance(charset, str) else ""


def guess_media_type(start: bytes) -> str:
    """Guess the media type of a body without one from its first bytes; empty if uncertain."""
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    if b"\0" in start[:1024]:
        return ""
    return "text/html" if start.lstrip()[:1] == b"<" else "text/plain"


def is_html(start: bytes) -> bool:
    """Whether a body begins like a web page."""
    return start[:512].lstrip().lower().startswith((b"<!doctype html", b"<html", b"<head"))


def text_encoding(body: bytes, media_type: str, charset: str) -> str:
    """Choose the encoding of a text: byte order mark, charset, `<meta>`, UTF-8 if it fits, Windows-1252."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    if known := _usable(charset):
        return known
    if "html" in media_type and (found := _META_CHARSET.search(body[:4096])):
        known = _usable(found[1].decode("ascii"))
        if known and not known.startswith(("utf-16", "utf-32")):
            return known
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _usable(charset: str) -> str:
    name = charset.strip().strip("\"'").lower()
    if name in {"iso-8859-1", "latin-1", "latin1", "ascii", "us-ascii"}:
        return "windows-1252"  # what browsers take these for
    try:
        known = codecs.lookup(name).name
        b"a".decode(known, "replace")
    except (LookupError, ValueError):
        return ""
    return "" if known.replace("_", "-") in _NO_WEB_ENCODING else known
