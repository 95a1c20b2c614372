"""Addresses of pages in one spelling, by which they are compared."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


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
    authority = host if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{host}:{port}"
    if "@" in parts.netloc:
        authority = f"{parts.netloc.rpartition('@')[0]}@{authority}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{authority}{parts.path or '/'}{query}"
