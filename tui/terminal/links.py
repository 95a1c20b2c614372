"""Which links may be opened in the browser, and the host to show for them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["Link", "browser_link"]


@dataclass(frozen=True)
class Link:
    """A link that may be opened; `host` is in its ASCII form, so that look-alike letters are visible."""

    url: str
    host: str


def browser_link(url: str) -> Link | None:
    """Parse `url`; None unless it is http or https, has no user name, and is printable."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or "\\" in url:
        return None
    if not url.isprintable() or " " in url:
        return None
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    shown = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
    return Link(url, f"{shown}:{port}" if port else shown)
