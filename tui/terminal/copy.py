"""Copying from panes and screens, in the background, with a notification that names the route."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App
from textual.dom import DOMNode

from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.tui.terminal.clipboard import Clipboard, Copied

MOST_COPIED = 4 * 1024 * 1024
"""Characters; a longer text is not copied."""


class Copying:
    """Copies in the background of an application, by `routes` or those that fit the terminal.

    Args:
        folder: where a file may be written if no clipboard is available; None if there is no session.
    """

    def __init__(self, app: App[Any], routes: Clipboard | None, folder: Callable[[], Path | None]) -> None:
        self._app = app
        self._given = routes
        self._folder = folder

    @cached_property
    def _routes(self) -> Clipboard:
        from ua_tui.tui.terminal.clipboard import Clipboard

        return self._given or Clipboard()

    def copy(self, text: str, what: str) -> None:
        """Copy in the background and report it as `what`."""
        # Textual pastes this text inside the application.
        self._app._clipboard = text
        start_job(self._app, self._copy, "copy", text, what, replacing=False)

    async def _copy(self, text: str, what: str) -> None:
        driver = self._app._driver
        send = driver.write if driver is not None else None
        self._report(await self._routes.copy(text, send, self._folder()), what)

    def save(self) -> None:
        """Save what was copied last in a file, in case the terminal ignored it."""
        if self._app.clipboard:
            start_job(self._app, self._save, "copy", replacing=False)
        else:
            self._app.notify("Nothing copied yet.")

    async def _save(self) -> None:
        copied = await self._routes.save(self._app.clipboard, self._folder(), "as requested")
        self._report(copied, "Last copied text")

    def _report(self, copied: Copied, what: str) -> None:
        level: Literal["information", "warning"] = "information" if copied.done else "warning"
        self._app.notify(copied.describe(what), severity=level)


def copy_text(owner: DOMNode, text: str, what: str) -> None:
    """Copy `text` by the best route; the notification starts with `what`, such as "Path"."""
    app = owner.app
    if not text:
        app.notify("There is nothing to copy.")
    elif len(text) > MOST_COPIED:
        app.notify(f"{what} not copied: too long for the clipboard.", severity="warning")
    elif isinstance(copying := getattr(app, "copying", None), Copying):
        copying.copy(text, what)
    else:
        app.copy_to_clipboard(text)
        app.notify(f"{what} sent to the terminal (OSC 52), which does not confirm it")
