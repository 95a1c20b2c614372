"""Opens a hit at its passage, in its file or as a page, and what it is from: its tool call, or its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import KnowledgeError, UniversalAgentError
from ua_tui.core.knowledge.place import folder_path, is_here
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.records.journal_reader import read_call
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.articles import Article
from ua_tui.tui.screens.files.article import ArticleScreen
from ua_tui.tui.screens.files.artifact_list import missing_reason
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.knowledge.hit_text import kind_name, title_of
from ua_tui.tui.screens.knowledge.reader import KnowledgeReader
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
    show_current: Callable[[], object] = lambda: None
    current: Path | None = None
    is_read_only: bool = False


class HitOpener:
    """Opens hits for a screen; what cannot be opened is reported there.

    Args:
        screen: the screen that the others are opened above.
        place: the knowledge base with the hits.
        reader: reads it.
        sessions: how sessions are opened.
    """

    def __init__(
        self, screen: Modal[None], place: KnowledgePlace, reader: KnowledgeReader, sessions: SessionAccess
    ) -> None:
        self._screen = screen
        self._place = place
        self._reader = reader
        self._sessions = sessions

    async def open(self, hit: Hit, what: Literal["passage", "call", "session"]) -> None:
        """Show a hit at its passage, its tool call, or its session."""
        try:
            if what == "passage" and not (hit.path and is_here(self._place, hit.session)):
                await self._open_text(hit)
            elif what == "call" and hit.tool_use_id is None:
                self._screen.notify("No tool call made this: it is not the result of a tool.", markup=False)
            else:
                await self._open_in_session(hit, await self._folder(hit), what)
        except UniversalAgentError as error:
            self._screen.warn(clean_line(str(error), 400))

    async def _open_text(self, hit: Hit) -> None:
        """Show the text of the knowledge base, for what has no file on this machine."""
        document = await self._reader.read(hit.id)
        if document is None:
            raise KnowledgeError("This is not in the knowledge base any more.")
        article = Article(
            title=title_of(hit),
            url=hit.url,
            author=hit.author,
            site=hit.site,
            date=document.date,
            text=document.text,
        )
        kind = kind_name(hit.kind).capitalize()
        self._screen.app.push_screen(ArticleScreen(article, kind, passage=passage_of(hit)))

    async def _open_in_session(self, hit: Hit, folder: Path, what: str) -> None:
        is_current = self._is_current(folder)
        read_only = not is_current or self._sessions.is_read_only

        def view(path: str | None, passage: Passage | None = None) -> None:
            if path:
                screen = ViewerScreen(folder / path, folder, read_only=read_only, passage=passage)
                self._screen.app.push_screen(screen)

        if what == "session" and is_current:
            self._sessions.show_current()
        elif what == "session":
            self._sessions.read(folder)
        elif what == "passage":
            if why := await asyncio.to_thread(missing_reason, folder, hit.path):
                raise KnowledgeError(why)
            view(hit.path, passage_of(hit))
        else:
            call = await in_thread(partial(read_call, folder, hit.tool_use_id or ""))
            if call is None:
                raise KnowledgeError("The call that made this is not in the journal of its session.")
            self._screen.app.push_screen(ToolCallScreen(call, folder=folder, read_only=read_only), view)

    def _is_current(self, folder: Path) -> bool:
        current = self._sessions.current
        return current is not None and current.resolve() == folder.resolve()

    async def _folder(self, hit: Hit) -> Path:
        """The folder of the session of a hit; raises a `KnowledgeError` if it is not here."""
        if not is_here(self._place, hit.session):
            host, _, there = hit.session.partition(":")
            raise KnowledgeError(
                f"It is on another machine, {clean_line(host, 60)}, in the folder {clean_line(there, 200)}."
            )
        folder = folder_path(self._place, hit.session)
        if not await asyncio.to_thread(folder.is_dir):
            name = clean_line(folder.name, 80)
            raise KnowledgeError(f"The session {name} no longer exists: it was deleted or moved.")
        return folder


def passage_of(hit: Hit) -> Passage | None:
    """Return where the file of a hit is to be shown; None for its beginning."""
    start, end = hit.marks[0] if hit.marks else (0, 0)
    row = hit.part if hit.kind == "search_row" and hit.part > 0 else 0
    if not (row or hit.passage):
        return None
    return Passage(hit.passage, at=start, word=hit.passage[start:end].strip(), row=row)
