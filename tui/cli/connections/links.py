"""Opens the link that a command prints in the browser."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


async def open_link(url: str) -> None:
    """Open a link in the browser, if there is one beside the terminal and it is no other kind of link."""
    from ua_tui.tui.terminal.links import browser_link, why_no_browser

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
