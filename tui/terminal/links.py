"""Which links may be opened, the host to show for them, and opening them in a browser, never in this terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from textual.app import App
    from textual.widget import Widget


async def open_link(url: str) -> None:
    """Open a link in the browser, if there is one beside the terminal and it is no other kind of link."""
    parts = urlsplit(url)
    is_here = parts.hostname in {"127.0.0.1", "localhost", "::1"}
    if browser_link(url) is None or not (parts.scheme == "https" or is_here):
        return
    if why_no_browser(os.environ) is not None:
        return
    import webbrowser

    with _quiet():
        await asyncio.to_thread(webbrowser.open, url)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what a browser writes to the terminal off it."""
    null, kept = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


# These would draw over the screen and read the keyboard.
_IN_TERMINALS = frozenset({"browsh", "elinks", "links", "links2", "lynx", "w3m", "www-browser"})


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


def leads_to(link: Link | None) -> str:
    """Say where a link leads; None is one that a browser does not open."""
    return link.host if link is not None else "nothing: not a web link, copy only"


def open_browser_link(widget: Widget, link: Link | None) -> bool:
    """Open a link in the browser and name its host; returns False for one that only can be copied, and says so."""
    if link is None:
        widget.notify("Only http and https links can be opened: copy the link instead.")
        return False
    widget.app.open_url(link.url)
    if getattr(widget.app, "is_web", False) or why_no_browser(os.environ) is None:
        widget.notify(f"Opening {link.host} in the browser")
    return True


def why_no_browser(environment: Mapping[str, str]) -> str | None:
    """Return why no browser can be started; None if one can."""
    if not (setting := environment.get("BROWSER", "")):
        from ua_tui.tui.terminal.desktop import why_no_desktop

        return why_no_desktop(environment)
    command = setting.split(os.pathsep)[0].split()
    name = os.path.basename(command[0]) if command else ""
    return f"$BROWSER names {name}, which would run in this terminal." if name in _IN_TERMINALS else None


def browse(app: App[Any], url: str) -> None:
    """Open a link in a browser of the desktop; the person is notified if there is none."""
    from ua_tui.tui.workers import start_job

    if (why := why_no_browser(os.environ)) is not None:
        _notify_unopened(app, why)
    else:
        start_job(app, _browse, "link", app, url, replacing=False)


async def _browse(app: App[Any], url: str) -> None:
    import webbrowser

    if not await asyncio.to_thread(webbrowser.open, url):
        _notify_unopened(app, "No browser could be started.")


def _notify_unopened(app: App[Any], why: str) -> None:
    app.notify(f"{why.rstrip('.')}: copy the link instead.", severity="warning")
