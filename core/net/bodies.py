"""The bodies of fetched pages: decompressed within limits, and decoded to text; and which types are read."""

from __future__ import annotations

import codecs
import re
import zlib
from typing import Any

from ua_tui.core.errors import ConnectionFailed, FetchRefused
from ua_tui.core.json_values import table_of
from ua_tui.core.media_types import media_suffix, media_type
from ua_tui.core.text import clean_line

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
# Some sites send it although it was not asked for.
_ZSTD = "zstd"
# A block of zstd makes at most 128 KiB of 4 bytes: of so many bytes come at most 4 MiB at a time.
_ZSTD_STEP = 128
_RATIO = 100
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(
    rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE
)
_WIDE = ("utf-16", "utf_16", "utf-32", "utf_32")
_SAMPLE = 1 << 20
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DATA: Any = table_of(__file__, "bodies.toml")
"""Types and encodings; the file describes them."""
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
        if name not in {"", "identity", _ZSTD, *_WINDOW_BITS}:
            raise FetchRefused(
                f"its body is compressed as {name[:40]!r}, which is not supported; choose another source",
                code="not_readable",
            )
        self._name = name
        self._limit = limit
        self._raw = 0
        self._size = 0
        self._damage: type[Exception] = zlib.error
        self._inflate: Any = zlib.decompressobj(_WINDOW_BITS[name]) if name in _WINDOW_BITS else None
        if name == _ZSTD:
            import zstandard

            self._damage = zstandard.ZstdError
            self._inflate = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()

    def feed(self, data: bytes) -> bytes:
        """Decode the next piece of the body.

        Raises:
            FetchRefused: the body is too large, or swells too much.
            ConnectionFailed: the body is damaged.
        """
        pieces = []
        self._raw += len(data)
        step = _ZSTD_STEP if self._name == _ZSTD else len(data)
        for at in range(0, len(data), step or 1):
            piece = self._decoded(data[at : at + step])
            self._size += len(piece)
            if self._size > self._limit:
                raise FetchRefused(
                    f"its body is larger than {self._limit} bytes; choose another source", code="too_large"
                )
            if self._size > max(1 << 20, self._raw * _RATIO):
                raise FetchRefused(
                    f"its body expands to more than {_RATIO} times its compressed size; choose another source",
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

    def _decoded(self, data: bytes) -> bytes:
        if self._inflate is None or self._inflate.eof:
            return data if self._inflate is None else b""
        # One byte more than allowed shows that there is more.
        allowed = min(self._limit, max(1 << 20, self._raw * _RATIO))
        most = () if self._name == _ZSTD else (allowed - self._size + 1,)
        try:
            decoded: bytes = self._inflate.decompress(data, *most)
        except self._damage as error:
            if self._raw == len(data) and self._name == "deflate":
                # Some servers send the raw format, without the zlib header that the standard requires.
                self._name, self._inflate = "", zlib.decompressobj(-15)
                return self._decoded(data)
            raise ConnectionFailed(
                f"its compressed body is damaged ({error}); try again", code="unreachable"
            ) from error
        return decoded


def content_type(header: str) -> tuple[str, str]:
    """Split a Content-Type into the media type and the charset, each empty if missing."""
    from email.message import Message

    message = Message()
    message["content-type"] = header[:500].replace("\r", " ").replace("\n", " ")
    if not header.strip():
        return "", ""
    charset = message.get_param("charset", "")
    return message.get_content_type(), charset if isinstance(charset, str) else ""


def is_html(start: bytes) -> bool:
    """Whether a body begins like a web page."""
    return start[:512].lstrip().lower().startswith((b"<!doctype html", b"<html", b"<head"))


def declared_encoding(body: bytes, media_type: str, charset: str) -> str:
    """Find the encoding of a text; empty if it must be guessed.

    A byte order mark decides, then UTF-8 if the text fits it. What the header and then the page itself declare counts
    only if the text fits it: servers often declare one encoding for all their files.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    sample = body[:_SAMPLE]
    is_ascii = sample.isascii()
    # A text in a wide encoding has zero bytes, at least in its spaces and line ends.
    may_be_wide = b"\0" in sample
    pattern = _META_CHARSET if "html" in media_type else _XML_ENCODING if "xml" in media_type else None
    found = pattern.search(body[:4096]) if pattern is not None else None
    in_text = found[1].decode("ascii") if found is not None else ""
    declared = [
        known
        # A wide encoding that the text declares could not be read if it were true.
        for each in (charset, "" if in_text.lower().startswith(_WIDE) else in_text)
        if (known := _usable(each)) and (may_be_wide or not known.startswith(_WIDE))
    ]
    if is_ascii:
        return declared[0] if declared else "utf-8"
    if not any(name.startswith(_WIDE) for name in declared[:1]) and _fits(sample, "utf-8", exactly=True):
        return "utf-8"
    return next((name for name in (*declared, "utf-8") if _fits(sample, name)), "")


def _fits(sample: bytes, encoding: str, *, exactly: bool = False) -> bool:
    """Whether a text is one of an encoding, apart from a few damaged characters."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample, len(sample) < _SAMPLE)
    wrong = text.count("\ufffd")
    return not wrong if exactly else wrong * 4 <= len(text) - len(text.encode("ascii", "ignore"))


def _usable(charset: str) -> str:
    name = charset.strip().strip("\"'").lower()
    name = str(_DATA["browsers"].get(name, name))
    if name == "windows-1252":
        return name
    try:
        known = codecs.lookup(name).name
        b"a".decode(known, "replace")
    except (LookupError, ValueError):
        return ""
    # Without a byte order mark, browsers take these for little-endian; Python's decoders need the mark.
    known = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(known, known)
    return "" if known.replace("_", "-") in _NO_WEB_ENCODING else known


_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"Rar!", "application/vnd.rar"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
)


def is_unspecific(given: str) -> bool:
    """Whether a type says nothing, so that the first bytes decide."""
    return given in _DATA["types"]["unspecific"]


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


def check_type(given: str) -> None:
    """Check that files of a type can be read as pages.

    Raises:
        FetchRefused: they cannot; says what the file is and what can be tried instead.
    """
    types = _DATA["types"]
    is_text = given.partition("/")[0] == "text" or given in types["read"] or given.endswith(("+json", "+xml"))
    if is_text and given not in _DATA["refused"][0]["parts"]:
        return
    found = next(each for each in _DATA["refused"] if any(part in given for part in each["parts"]))
    shown = f"its type is '{clean_line(given, 80)}'{found['advice']}"
    raise FetchRefused(shown, code="not_readable", reason=found["reason"])
