"""Guesses the encoding of a text that declares none, or a wrong one; runs in a worker process."""

from __future__ import annotations

import re

# The encodings of the web apart from UTF-8 and UTF-16; those of the same script stand together.
_WESTERN = ("cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257")
_CANDIDATES = [
    *(*_WESTERN, "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
# What browsers assume for the languages of a page whose letters Windows-1252 lacks.
_BY_LANGUAGE = {
    **dict.fromkeys(("cs", "hu", "pl", "sk", "sl", "hr", "bs", "ro", "sq"), ("cp1250", "iso8859_2")),
    **dict.fromkeys(("tr", "az"), ("cp1254",)),
    **dict.fromkeys(("lt", "lv", "et"), ("cp1257",)),
}
_LANGUAGE = re.compile(rb"<html[^<>]{0,300}?\slang\s*=\s*[\"']?([A-Za-z]{2})", re.IGNORECASE)
_HIDDEN = re.compile(rb"<(?:script|style)\b", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]{0,2000}>")
_SAMPLE = 64 << 10


def guess_encoding(body: bytes) -> str:
    """Guess the encoding of a text or an HTML page: the script by its letters, Windows-1252 for Western languages."""
    from charset_normalizer import from_bytes

    first, *hidden = _HIDDEN.split(body[: _SAMPLE * 8])
    text = _TAG.sub(b"\n", b"\n".join([first, *(part.partition(b"</")[2] for part in hidden)]))
    lines = [line for line in text.splitlines() if not line.isascii()]
    sample = b"\n".join(lines)[:_SAMPLE]
    if len(sample) == _SAMPLE:
        # The last character may be cut.
        sample = sample.rpartition(b"\n")[0] or sample
    if not sample:
        return "cp1252"
    found = list(from_bytes(sample, cp_isolation=_CANDIDATES, threshold=0.3, enable_fallback=False))
    if not found:
        return "cp1252"
    best = found[0]
    if best.encoding not in _WESTERN:
        return best.encoding
    language = _LANGUAGE.search(body[:4096])
    preferred = (*_BY_LANGUAGE.get(language[1].decode().lower() if language else "", ()), "cp1252")
    possible = {
        name
        for match in found
        if match.chaos <= best.chaos + 0.1
        for name in (match.encoding, *match.could_be_from_charset)
    }
    return next((name for name in preferred if name in possible), best.encoding)
