"""Opens what a hit is from: its file at the passage, its tool call, or its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.knowledge.folders import folder_path, is_here
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.records.journal_reader import read_call
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.artifact_list import missing_reason
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.viewers.passage import Passage
from ua_tui.tui.widgets.modal import Modal

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace


@dataclass(frozen=True, slots=True)
class SessionAccess:
    """How sessions are opened.

    Attributes:
        read: opens a past session for reading, and returns when the person closes it. It may raise a
            `UniversalAgentError`.
        show_current: shows the panes of the running session.
        current: the folder of that session; None if there is none.
        is_read_only: whether that session is a past one, too.
    """

    read: Callable[[Path], None]
    show_current: Callable[[], None]
    current: Path | None = None
    is_read_only: bool = False


class HitOpener:
    """Opens hits for a screen; what cannot be opened is reported there.

    Args:
        screen: the screen that the others are opened above.
        database: the knowledge base with the hits.
        sessions: how sessions are opened.
    """

    def __init__(self, screen: Modal[None], database: KnowledgePlace, sessions: SessionAccess) -> None:
        self._screen = screen
        self._database = database
        self._sessions = sessions

    async def open_file(self, hit: Hit) -> None:
        """Show the file of a hit at its passage; the session of one that has no file."""
        folder = self._folder(hit)
        if not hit.path:
            await self.open_session(hit)
        elif why := await self._why_not(hit, hit.path):
            self._screen.warn(why)
        else:
            self._view(folder, hit.path, passage_of(hit))

    async def open_call(self, hit: Hit) -> None:
        """Show the tool call that a hit came from."""
        folder = self._folder(hit)
        if hit.tool_use_id is None:
            self._screen.notify("No tool call made this: it is not the result of a tool.", markup=False)
            return
        if why := await self._why_not(hit):
            self._screen.warn(why)
            return
        try:
            call = await in_thread(partial(read_call, folder, hit.tool_use_id))
        except UniversalAgentError as error:
            self._screen.warn(clean_line(str(error), 400))
            return
        if call is None:
            self._screen.warn("The call that made this is not in the journal of its session.")
            return
        screen = ToolCallScreen(
            call,
            folder=folder,
            read_only=not self._is_writable(folder),
        )

        def after(path: str | None) -> None:
            if path is not None:
                self._view(folder, path)

        self._screen.app.push_screen(screen, after)

    async def open_session(self, hit: Hit) -> None:
        """Show the session that a hit is from."""
        folder = self._folder(hit)
        if self._is_current(folder):
            self._sessions.show_current()
        elif why := await self._why_not(hit):
            self._screen.warn(why)
        else:
            try:
                self._sessions.read(folder)
            except UniversalAgentError as error:
                self._screen.warn(clean_line(str(error), 400))

    def _folder(self, hit: Hit) -> Path:
        return folder_path(self._database, hit.session)

    async def _why_not(self, hit: Hit, path: str = "") -> str:
        """Why the session of a hit, or a file of it, cannot be opened; empty if it can."""
        if not is_here(self._database, hit.session):
            host, _, folder = hit.session.partition(":")
            return (
                f"It is on another machine, {clean_line(host, 60)}, in the folder {clean_line(folder, 200)}."
            )
        return await asyncio.to_thread(_missing, self._folder(hit), path)

    def _is_current(self, folder: Path) -> bool:
        current = self._sessions.current
        return current is not None and current.resolve() == folder.resolve()

    def _view(self, folder: Path, path: str, passage: Passage | None = None) -> None:
        read_only = not self._is_writable(folder)
        self._screen.app.push_screen(
            ViewerScreen(folder / path, folder, read_only=read_only, passage=passage)
        )

    def _is_writable(self, folder: Path) -> bool:
        return self._is_current(folder) and not self._sessions.is_read_only


def passage_of(hit: Hit) -> Passage | None:
    """Return where the file of a hit is to be shown; None for its beginning."""
    start, end = hit.marks[0] if hit.marks else (0, 0)
    row = hit.part if hit.kind == "search_row" and hit.part > 0 else 0
    if not (row or hit.passage):
        return None
    return Passage(hit.passage, at=start, word=hit.passage[start:end].strip(), row=row)


def _missing(folder: Path, path: str = "") -> str:
    """Why a session, or a file of it, cannot be opened; empty if it can. Blocks."""
    if not folder.is_dir():
        return f"The session {clean_line(folder.name, 80)} no longer exists: it was deleted or moved."
    return missing_reason(folder, path) if path else ""
