"""Copying from panes and screens: it never waits, and tells the person by which route the text went."""

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
"""Characters; more than this is no matter for a clipboard."""


class CopyingApp(App[str]):
    """An application that knows the routes to a clipboard: `routes`, or those that fit the terminal."""

    def __init__(self, routes: Clipboard | None) -> None:
        super().__init__()
        self._given_routes = routes

    @cached_property
    def _routes(self) -> Clipboard:
        from tui.terminal.clipboard import Clipboard

        return self._given_routes or Clipboard()

    @property
    def session_folder(self) -> Path | None:
        """Where a file may be left when no clipboard can be reached; None when there is no session."""
        return None

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what an input has cut or copied by itself."""
        copy_text(self, text, "Text")

    def copy_named(self, text: str, what: str) -> None:
        """Copy in the background, and tell of it as `what`."""
        # What is pasted inside the application comes from here.
        self._clipboard = text
        self.run_worker(self._copy(text, what), name="copy", group="copy", exit_on_error=False)

    async def _copy(self, text: str, what: str) -> None:
        send = self._driver.write if self._driver is not None else None
        self._tell_copied(await self._routes.copy(text, send, self.session_folder), what)

    def action_save_copied(self) -> None:
        """Leave what was copied last in a file, for when the terminal did not take it."""
        if self.clipboard:
            self.run_worker(self._save_copied(), name="copy", group="copy", exit_on_error=False)
        else:
            self.notify("Nothing was copied yet.", markup=False)

    async def _save_copied(self) -> None:
        copied = await self._routes.save(self.clipboard, self.session_folder, "as asked")
        self._tell_copied(copied, "What was copied last")

    def _tell_copied(self, copied: Copied, what: str) -> None:
        level: Literal["information", "warning"] = "information" if copied.done else "warning"
        self.notify(copied.told(what), markup=False, severity=level)


def copy_text(owner: DOMNode, text: str, what: str) -> None:
    """Copy `text` by the best route there is; `what` begins the sentence that tells of it, such as "Path"."""
    app = owner.app
    if not text:
        app.notify("There is nothing to copy.", markup=False)
    elif len(text) > MOST_COPIED:
        app.notify(f"{what} not copied: too long for a clipboard.", markup=False, severity="warning")
    elif isinstance(app, CopyingApp):
        app.copy_named(text, what)
    else:
        app.copy_to_clipboard(text)
        app.notify(
            f"{what} sent to the terminal (OSC 52), which does not say whether it took it", markup=False
        )
