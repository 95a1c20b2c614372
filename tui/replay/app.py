"""The full screen around a past session: its end is shown first, the whole of it as soon as it is read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from core.history.session import PastSession
from core.settings.model import Settings
from core.storage.workspace import SAVED_REPORTS, WORKSPACES
from tui.app.app import UaTuiApp
from tui.layout.store import KeptLayout
from tui.panes.status.notice import NoticeBar
from tui.ports import SessionPort, Spawn
from tui.replay.frame import PastFrame
from tui.replay.loader import Filling
from tui.replay.status import PastStatus

if TYPE_CHECKING:
    from tui.terminal.clipboard import Clipboard

__all__ = ["PastApp"]


class PastApp(UaTuiApp):
    """Shows one session as its journal tells it; nothing can be asked of it, and nothing is written.

    Args:
        settings: what the person configured; only the looks matter.
        session: the session, not started yet.
        clipboard: knows the routes to one; by default those that fit this terminal.
        layout: where the sizes of the panes are kept; None forgets them.
        back: it was opened from a list of sessions, to which Esc leads back.
    """

    AUTO_FOCUS = ""

    def __init__(
        self,
        settings: Settings,
        session: PastSession,
        *,
        clipboard: Clipboard | None = None,
        layout: KeptLayout | None = None,
        back: bool = False,
    ) -> None:
        async def build(_: Spawn) -> SessionPort:
            return session

        super().__init__(settings, build, clipboard=clipboard)
        self.kept_layout = layout
        self._past = session
        self._back = back
        self.begun = asyncio.Event()
        """Set when the end of the session is on the screen."""
        self.filled = asyncio.Event()
        """Set when the whole session is on the screen."""

    def compose(self) -> ComposeResult:
        """Put down what the first frame shows."""
        yield PastFrame(self.size.width, self.kept_layout)
        yield NoticeBar()
        yield PastStatus(back=self._back)

    @property
    def session_folder(self) -> Path | None:
        """There is no folder where a file may be left."""
        return None

    async def _start_session(self) -> None:
        from tui.replay.footer import past_message
        from tui.replay.workspace import PastWorkspace

        past = self._past
        self._session = past
        folder = past.workspace.path
        self.frame.folder = folder
        # Beside sessions, as they lie where the program made them, are the reports.
        reports = folder.parent.parent / SAVED_REPORTS if folder.parent.name == WORKSPACES else None
        self.frame.query_one("#workspace", PastWorkspace).set_root(folder, reports)
        filling = Filling(
            self.frame,
            past,
            message=past_message,
            progress=self.past_status.progress,
            notice=self.notice.show,
            follows=True,
        )
        await filling.show_end()
        self._show_facts()
        if self.focused is None:
            self.frame.show("conversation")
        self.begun.set()
        if not past.complete:
            self.spawn(self._fill_in(filling), "past session", "past")
            return
        self.filled.set()
        if filling.follows:
            self.spawn(filling.follow(self._show_facts), "past session", "past")

    async def _open_history(self) -> None:
        """Leave the history of the prompt alone: nothing is typed here."""

    @property
    def past_status(self) -> PastStatus:
        """The status line."""
        return self.screen_stack[0].query_one(PastStatus)

    async def _fill_in(self, filling: Filling) -> None:
        """Show the whole session, if it can be read, and what still happens in it."""
        if await filling.fill_in():
            self._show_facts()
            self.filled.set()
            if filling.follows:
                await filling.follow(self._show_facts)

    def _show_facts(self) -> None:
        facts, frame = self._past.facts, self.frame
        self.past_status.show(facts)
        if isinstance(frame, PastFrame):
            frame.tell(runs=self._past.runs_elsewhere)

    # -- keys -------------------------------------------------------------------------------------

    def action_escape(self) -> None:
        """Share the screen again, or go back to the list the session was opened from."""
        if self._back and not self.frame.maximised:
            self.leaving.ask()
        else:
            super().action_escape()

    def action_restart(self) -> None:
        """Say that there is nothing to restart."""
        self.notify("A past session is only to be read: nothing to restart.", markup=False)
