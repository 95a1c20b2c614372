"""Opening a file outside: HTML made harmless in the browser, other files in the desktop's program for them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual.widget import Widget

from core.errors import UniversalAgentError
from core.text import clean_line

__all__ = ["open_outside"]

_NAME = 120


async def open_outside(owner: Widget, path: Path, copies: Path | None) -> bool:
    """Open a file after the rules of `handing_over`, and tell the person what came of it; True when it was opened.

    Args:
        owner: what tells it.
        path: the file.
        copies: where sanitised copies for the browser are written; the user's cache folder when None.
    """
    from tui.terminal import desktop
    from tui.viewers.export import outside_target

    try:
        target = await asyncio.to_thread(outside_target, path, copies)
        if target.sanitised:
            _check_browser(target.path)
            owner.app.open_url(target.path.as_uri())
        else:
            await asyncio.to_thread(desktop.start, target.path, os.environ)
    except UniversalAgentError as error:
        owner.notify(str(error), markup=False, severity="warning")
        return False
    if target.sanitised:
        told = "Asked the browser to open a copy without scripts and remote content"
    else:
        told = f"Asked the desktop to open {clean_line(path.name, _NAME)}"
    owner.notify(told, markup=False)
    return True


def _check_browser(path: Path) -> None:
    """Refuse where a browser would come up before nobody, or in this very terminal."""
    from tui.terminal.browser import why_no_browser
    from tui.terminal.desktop import NoDesktop

    if (why := why_no_browser(os.environ)) is not None:
        raise NoDesktop(
            f"{why} A copy without scripts and remote content is {clean_line(os.fspath(path), 1000)}"
        )
