"""The question of whether to trust the current folder: asked before there is a session, and answered by a person."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.trust import Answer
    from ua_tui.core.trust_question import FolderQuestion
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.screens.requests.folder_trust import FolderAnswer


class FolderTrustQuestion:
    """Asks about the files of the folder behind the first frame; the session starts after the answer."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._asked = False
        self.answered = asyncio.Event()
        """Set as soon as the settings are those with which the session starts."""

    async def ask(self) -> None:
        """Ask if there is a question, store the answer, and have the settings follow it."""
        try:
            if not self._asked and _may_need_answer(self._app.settings):
                self._asked = True
                await self._ask()
        finally:
            self.answered.set()

    async def _ask(self) -> None:
        while (question := await asyncio.to_thread(_find)) is not None:
            if (answer := await self._answer(question)) is None:
                return
            try:
                await asyncio.to_thread(question.store, answer)
            except UniversalAgentError as error:
                why = f"Your answer could not be stored: {error}"
                self._app.notice.show(why, "the files of the folder have no effect")
                return
        await self._reload()

    async def _answer(self, question: FolderQuestion) -> Answer | None:
        """Show the question, and the files as often as a person wants to see them; None means not now."""
        from ua_tui.tui.screens.requests.folder_trust import FolderFilesScreen, FolderTrustScreen

        requested = False
        self._app.status.state = "needs you"
        while True:
            answer: FolderAnswer | None = await self._app.push_screen_wait(
                FolderTrustScreen(question, requested=requested)
            )
            if answer == "view":
                await self._app.push_screen_wait(FolderFilesScreen(question))
                requested = True
            else:
                self._app.status.state = self._app.state
                return None if answer == "not_now" else answer

    async def _reload(self) -> None:
        from ua_tui.core.settings.loading import reload_folder
        from ua_tui.tui.app.session_source import show_settings

        self._app.settings = await asyncio.to_thread(reload_folder, self._app.settings)
        show_settings(self._app.settings, self._app.status.facts)
        self._app.status.refresh()


def _may_need_answer(settings: Settings) -> bool:
    """Whether it is worth while to read the files: a folder without any needs no imports."""
    if settings.demo or settings.folder.once or settings.folder.folder is None:
        return False
    servers = settings.folder.folder / ".mcp.json"
    return (
        settings.folder.needs_answer
        or servers.exists()
        or any(each.in_folder for each in settings.mcp_servers)
    )


def _find() -> FolderQuestion | None:
    from ua_tui.core.settings.places import Places
    from ua_tui.core.trust_question import find_question

    return find_question(Places())
