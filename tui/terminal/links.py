"""Which links may be opened in the browser, the host to show for them, and opening them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from textual.widget import Widget


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


def open_browser_link(widget: Widget, link: Link | None) -> bool:
    """Open a link in the browser and name its host; returns False for one that only can be copied, and says so."""
    if link is None:
        widget.notify("Only http and https links can be opened: copy the link instead.", markup=False)
        return False
    widget.app.open_url(link.url)
    widget.notify(f"Opening {link.host} in the browser", markup=False)
    return True
