"""Addresses of pages in one spelling, and the proxies, which all requests use except those to this machine."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The ports of addresses that name none."""


@lru_cache(maxsize=1_000)
def canonical_url(url: str) -> str:
    """Normalise a URL, so that different spellings compare equal; other text is only stripped."""
    stripped = url.strip()
    try:
        parts = urlsplit(stripped)
        port = parts.port
    except ValueError:
        return stripped
    name = parts.hostname
    if not name:
        return stripped
    scheme = parts.scheme.lower()
    host = f"[{name}]" if ":" in name else name
    authority = host if port in (None, DEFAULT_PORTS.get(scheme)) else f"{host}:{port}"
    if "@" in parts.netloc:
        authority = f"{parts.netloc.rpartition('@')[0]}@{authority}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{authority}{parts.path or '/'}{query}"


_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_EXEMPTIONS = ("NO_PROXY", "no_proxy")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of this machine: a proxy of another machine would look for the program there."""


def proxies_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The address of each proxy, by its variable in capital letters; the spelling in small letters counts first."""
    found = {name: environ.get(name.lower()) or environ.get(name, "") for name in _VARIABLES}
    return {
        name: address if "://" in address else f"http://{address}"
        for name, address in found.items()
        if address
    }


def exempt_loopback(environ: MutableMapping[str, str]) -> None:
    """Have programs of this machine reached directly, by this process and all that it starts.

    Without a proxy nothing is set: on macOS the variable alone would hide the proxies of the system.
    """
    if not proxies_of(environ):
        return
    given = next((environ[name] for name in reversed(_EXEMPTIONS) if environ.get(name)), "")
    exempt = [name for each in given.split(",") if (name := each.strip())]
    if "*" not in exempt:
        exempt += [each for each in LOOPBACK if each not in exempt]
    for name in _EXEMPTIONS:
        environ[name] = ",".join(exempt)


def is_loopback(address: str) -> bool:
    """Whether a URL leads to a program of this machine."""
    try:
        return urlsplit(address).hostname in LOOPBACK
    except ValueError:
        return False
