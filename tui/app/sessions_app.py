"""The full screen of `ua-tui sessions`: the sessions of a folder, with nothing around them."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.app.open_session import open_read_only
from ua_tui.tui.app.results import resume_result

if TYPE_CHECKING:
    from ua_tui.core.history.index import SessionIndex
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.tui.keys.keymap import Keys


class SessionsApp(BaseApp):
    """The list of sessions; returns which one is to be resumed.

    Args:
        index: lists them.
        theme: the name of the colour theme in the settings; None for the default.
        keys: the active keys.
        database: the knowledge base; None if there is none.
        zone: the time zone of what is shown; by default that of this machine.
    """

    TITLE = "ua-tui sessions"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        index: SessionIndex,
        theme: str | None = None,
        *,
        keys: Keys | None = None,
        database: KnowledgePlace | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        super().__init__(None, theme, keys)
        self._index = index
        self._database = database
        self._zone = zone

    def on_mount(self) -> None:
        """Show the sessions."""
        from ua_tui.tui.screens.session.sessions import SessionsScreen

        self.read_other_styles()
        screen = SessionsScreen(
            self._index,
            lambda folder: open_read_only(self, folder),
            database=self._database,
            zone=self._zone,
        )
        self.push_screen(screen, self._on_closed)

    def _on_closed(self, folder: Path | None) -> None:
        self.exit(None if folder is None else resume_result(folder))
