"""Web links leave for the browser without holding the screen up, and never come up in this very terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from textual.app import App

__all__ = ["BrowsingApp", "why_no_browser"]

# They would draw over the screen and read what is typed into it.
_IN_TERMINALS = frozenset({"browsh", "elinks", "links", "links2", "lynx", "w3m", "www-browser"})


def why_no_browser(environment: Mapping[str, str]) -> str | None:
    """Why no browser can be started beside the terminal; None when one can be."""
    if not (named := environment.get("BROWSER", "")):
        from tui.terminal.desktop import why_out_of_reach

        return why_out_of_reach(environment)
    command = named.split(os.pathsep)[0].split()
    name = os.path.basename(command[0]) if command else ""
    return f"$BROWSER names {name}, which would run in this terminal." if name in _IN_TERMINALS else None


class BrowsingApp(App[str]):
    """Opens links in a thread, and says so when there is no browser to open them with."""

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        """Hand a link to the browser; one that shows this very screen opens it itself."""
        if self.is_web:
            super().open_url(url, new_tab=new_tab)
        elif (why := why_no_browser(os.environ)) is not None:
            self._tell_unopened(why)
        else:
            self.run_worker(self._browse(url), name="link", group="link", exit_on_error=False)

    async def _browse(self, url: str) -> None:
        import webbrowser

        if not await asyncio.to_thread(webbrowser.open, url):
            self._tell_unopened("No browser could be started.")

    def _tell_unopened(self, why: str) -> None:
        self.notify(f"{why} Copy the link instead.", markup=False, severity="warning")
