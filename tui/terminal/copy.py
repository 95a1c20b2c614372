"""Copying from panes and screens, in the background, with a notification that names the route."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.app import App
from textual.dom import DOMNode

if TYPE_CHECKING:
    from tui.terminal.clipboard import Clipboard, Copied

__all__ = ["MOST_COPIED", "CopyingApp", "copy_text"]

MOST_COPIED = 4 * 1024 * 1024
"""Characters; a longer text is not copied."""


class CopyingApp(App[str]):
    """An application with a clipboard: `routes`, or the one that fits the terminal."""

    def __init__(self, routes: Clipboard | None) -> None:
        super().__init__()
        self._clipboard_routes = routes

    @cached_property
    def _routes(self) -> Clipboard:
        from tui.terminal.clipboard import Clipboard

        return self._clipboard_routes or Clipboard()

    @property
    def session_folder(self) -> Path | None:
        """Where a file may be written if no clipboard is available; None if there is no session."""
        return None

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what an input has cut or copied."""
        copy_text(self, text, "Text")

    def copy_named(self, text: str, what: str) -> None:
        """Copy in the background and report it as `what`."""
        # Textual pastes this text inside the application.
        self._clipboard = text
        self.run_worker(self._copy(text, what), name="copy", group="copy", exit_on_error=False)

    async def _copy(self, text: str, what: str) -> None:
        send = self._driver.write if self._driver is not None else None
        self._report(await self._routes.copy(text, send, self.session_folder), what)

    def action_save_copied(self) -> None:
        """Save what was copied last in a file, in case the terminal ignored it."""
        if self.clipboard:
            self.run_worker(self._save_copied(), name="copy", group="copy", exit_on_error=False)
        else:
            self.notify("Nothing copied yet.", markup=False)

    async def _save_copied(self) -> None:
        copied = await self._routes.save(self.clipboard, self.session_folder, "as requested")
        self._report(copied, "Last copied text")

    def _report(self, copied: Copied, what: str) -> None:
        level: Literal["information", "warning"] = "information" if copied.done else "warning"
        self.notify(copied.describe(what), markup=False, severity=level)


def copy_text(owner: DOMNode, text: str, what: str) -> None:
    """Copy `text` by the best route; the notification starts with `what`, such as "Path"."""
    app = owner.app
    if not text:
        app.notify("There is nothing to copy.", markup=False)
    elif len(text) > MOST_COPIED:
        app.notify(f"{what} not copied: too long for a clipboard.", markup=False, severity="warning")
    elif isinstance(app, CopyingApp):
        app.copy_named(text, what)
    else:
        app.copy_to_clipboard(text)
        app.notify(f"{what} sent to the terminal (OSC 52), which does not confirm it", markup=False)
