"""Opens a file externally: HTML without scripts in the browser, other files in the desktop's program for them."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

from textual.widget import Widget

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line

_NAME = 120


async def open_outside(owner: Widget, path: Path, copies: Path | None) -> bool:
    """Open a file by the rules of `ua_tui.tui.viewers.export`, and notify the user; True if it was opened.

    Args:
        owner: the widget that notifies the user.
        path: the file.
        copies: the folder of sanitised copies for the browser; None for the user's cache folder.
    """
    from ua_tui.tui.terminal import desktop
    from ua_tui.tui.viewers.export import outside_target

    try:
        target = await in_thread(partial(outside_target, path, copies))
        if target.sanitised:
            _check_browser(target.path)
            owner.app.open_url(target.path.as_uri())
        else:
            await asyncio.to_thread(desktop.start, target.path, os.environ)
    except UniversalAgentError as error:
        owner.notify(str(error), markup=False, severity="warning")
        return False
    if target.sanitised:
        message = "Opening a copy without scripts and remote content in the browser."
    else:
        message = f"Opening {clean_line(path.name, _NAME)} in another program."
    owner.notify(message, markup=False)
    return True


def _check_browser(path: Path) -> None:
    """Raise if there is no desktop session, or if the browser would run in this terminal."""
    from ua_tui.tui.terminal.desktop import NoDesktop
    from ua_tui.tui.terminal.links import why_no_browser

    if (why := why_no_browser(os.environ)) is not None:
        raise NoDesktop(f"{why.rstrip('.')}: a copy without scripts is {clean_line(os.fspath(path), 1000)}")
