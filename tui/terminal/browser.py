"""Opens web links in a browser in the background, and never in this terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from textual.app import App

__all__ = ["BrowsingApp", "why_no_browser"]

# These would draw over the screen and read the keyboard.
_IN_TERMINALS = frozenset({"browsh", "elinks", "links", "links2", "lynx", "w3m", "www-browser"})


def why_no_browser(environment: Mapping[str, str]) -> str | None:
    """Return why no browser can be started; None if one can."""
    if not (setting := environment.get("BROWSER", "")):
        from tui.terminal.desktop import why_no_desktop

        return why_no_desktop(environment)
    command = setting.split(os.pathsep)[0].split()
    name = os.path.basename(command[0]) if command else ""
    return f"$BROWSER names {name}, which would run in this terminal." if name in _IN_TERMINALS else None


class BrowsingApp(App[str]):
    """Opens links in a thread, and notifies the person if there is no browser."""

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        """Open a link; a browser that shows this screen opens it itself."""
        if self.is_web:
            super().open_url(url, new_tab=new_tab)
        elif (why := why_no_browser(os.environ)) is not None:
            self._notify_unopened(why)
        else:
            self.run_worker(self._browse(url), name="link", group="link", exit_on_error=False)

    async def _browse(self, url: str) -> None:
        import webbrowser

        if not await asyncio.to_thread(webbrowser.open, url):
            self._notify_unopened("No browser could be started.")

    def _notify_unopened(self, why: str) -> None:
        self.notify(f"{why} Copy the link instead.", markup=False, severity="warning")
