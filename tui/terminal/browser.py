"""Opens web links in a browser in the background, and never in this terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from textual.app import App

from ua_tui.tui.workers import start_job

# These would draw over the screen and read the keyboard.
_IN_TERMINALS = frozenset({"browsh", "elinks", "links", "links2", "lynx", "w3m", "www-browser"})


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
    if (why := why_no_browser(os.environ)) is not None:
        _notify_unopened(app, why)
    else:
        start_job(app, partial(_browse, app, url), "link", replacing=False)


async def _browse(app: App[Any], url: str) -> None:
    import webbrowser

    if not await asyncio.to_thread(webbrowser.open, url):
        _notify_unopened(app, "No browser could be started.")


def _notify_unopened(app: App[Any], why: str) -> None:
    app.notify(f"{why.rstrip('.')}: copy the link instead.", markup=False, severity="warning")
