"""Addresses as the check compares them: in one spelling, and found in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from ua_tui.observers.decoding.urls import normal_form, repaired_url

LONGEST = 8_192
"""Characters of an address that is brought into one spelling; a longer one is compared as it is."""

_WEB = re.compile(r"(?:https?:)?//[^/]|www\.", re.IGNORECASE)
_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2}){1,8192}")
# What would be read as another part of the address if it were decoded.
_KEPT = frozenset("/?#%&=+;\\<>\"'") | {chr(code) for code in range(33)} | {"\x7f"}
_AMPERSAND = re.compile(r"&(?:amp|#38|#x26);", re.IGNORECASE)
_IN_TEXT = re.compile(r"https?://[^\s<>\"`\\|{}\u3000-\u303f\uff01-\uff0f]{1,2000}", re.IGNORECASE)
_ESCAPED = (("\\/", "/"), ("\\u0026", "&"), ("\\u003d", "="), ("\\u003f", "?"))
_END = ".,;:!?*_~'’”»)]…"
_PAIRS = (("(", ")"), ("[", "]"))
_MOST_PLACES = 1_000
_CUT = re.compile(r"[)\]'’”»]")
_GOES_ON_BEFORE = re.compile(r"[\w@./-]$")
# A full stop and a slash end an address, unless something follows them.
_GOES_ON = re.compile(r"[\w%&=+~-]|[./?:][\w%]|/[?]")


def is_web(url: str) -> bool:
    """Whether an address leads to the web; one without a scheme does if it begins with `//` or `www.`."""
    return _WEB.match(url.lstrip()) is not None


def address_key(url: str) -> str:
    """The same text for all spellings of an address.

    Scheme, `www.`, case of the host, default port, fragment, tracking parameters, a final slash, the entity for `&` and
    percent encoding that means nothing do not count.
    """
    url = url.strip()
    return _key(url) if len(url) <= LONGEST else url


@lru_cache(maxsize=1 << 14)
def _key(url: str) -> str:
    url = _AMPERSAND.sub("&", url)
    if not url.lower().startswith(("http://", "https://")):
        repaired = repaired_url(url)
        if repaired is None:
            # A file, or an address of another kind.
            return unquote(url)
        url = repaired
    host, slash, path = normal_form(_ENCODED.sub(_decoded, url)).partition("/")
    host, question, query = host.partition("?")
    return f"{_plain_host(host)}{question}{query}{slash}{path.replace(' ', '%20')}"


def host_of(url: str) -> str:
    """The host of a web address in small letters, as it is written; empty if there is none."""
    try:
        return (urlsplit(url if "://" in url else f"https://{url.lstrip('/')}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def addresses_in(text: str) -> Iterator[str]:
    """Give the web addresses in a text, also in JSON and Markdown.

    If it is not clear where one ends, it is given in each of the possible ways.
    """
    for escaped, plain in _ESCAPED:
        if escaped in text:
            text = text.replace(escaped, plain)
    for match in _IN_TEXT.finditer(text):
        found = match[0]
        yield _balanced(found)
        if cut := _CUT.search(found):
            yield found[: cut.start()].rstrip(_END)


def key_is_in(key: str, text: str) -> bool:
    """Whether a text, in small letters, names an address without its scheme; `key` is that of the address."""
    key = key.lower()
    at = text.find(key)
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        before, after = text[max(at - 4, 0) : at], text[at + len(key) : at + len(key) + 2]
        if (before == "www." or not _GOES_ON_BEFORE.search(before)) and not _GOES_ON.match(after):
            return True
        at = text.find(key, at + 1)
    return False


def _balanced(url: str) -> str:
    """An address without what follows it in a sentence; brackets that were opened in it stay."""
    end = len(url)
    unopened = {right: url.count(right) - url.count(left) for left, right in _PAIRS}
    while end and url[end - 1] in _END:
        last = url[end - 1]
        if last in unopened:
            if unopened[last] <= 0:
                break
            unopened[last] -= 1
        end -= 1
    return url[:end]


def _decoded(match: re.Match[str]) -> str:
    try:
        text = bytes.fromhex(match[0].replace("%", "")).decode()
    except ValueError:
        return match[0].upper()
    return "".join(f"%{ord(each):02X}" if each in _KEPT else each for each in text)


def _plain_host(host: str) -> str:
    """A host in ASCII, without the dot at its end."""
    host = host.rstrip(".")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return host
