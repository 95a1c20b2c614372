"""A past session as the source of the screen: its end is shown first, all of it as soon as it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from core.history.session import PastSession
from core.settings.model import Settings
from core.storage.workspace import SAVED_REPORTS, WORKSPACES
from tui.app.session_source import SessionSource
from tui.panes.spec import PaneSpec
from tui.replay.loader import SessionLoader
from tui.replay.status import PastStatus

if TYPE_CHECKING:
    from tui.app.port import SessionHost
    from tui.panes.status.bar import StatusLine

__all__ = ["PastSource", "saved_reports"]

READ_ONLY = "Read-only: past session."
FOLLOWED = "Read-only: the session runs in another program and is followed here."


class PastSource(SessionSource):
    """Shows one session from its journal. It accepts no query, and writes nothing.

    Args:
        session: the session, not started yet.
        from_list: whether it was opened from a list of sessions, to which Esc returns.
    """

    placeholder = READ_ONLY
    is_read_only = True

    def __init__(self, session: PastSession, *, from_list: bool = False) -> None:
        self._session = session
        self.closes_on_escape = from_list
        self.end_shown = asyncio.Event()
        """Set when the end of the session is on the screen."""
        self.all_shown = asyncio.Event()
        """Set when the whole session is on the screen."""

    def make_pane(self, spec: PaneSpec) -> Widget:
        """Make a pane that can be filled from its beginning while it shows the end, or a prompt without input."""
        if spec.name != "prompt":
            return super().make_pane(spec)
        from tui.panes.prompt.pane import Prompt

        prompt = Prompt(id=spec.name, placeholder=self.placeholder)
        prompt.disabled = True
        return prompt

    def pane_classes(self) -> Mapping[str, Callable[..., Widget]]:
        """Return the panes for a past session."""
        from tui.replay.panes import PastConversation, PastObservers, PastTrace, PastWorkspace

        return {
            "conversation": PastConversation,
            "trace": PastTrace,
            "observers": PastObservers,
            "workspace": PastWorkspace,
        }

    def make_status(self, settings: Settings) -> StatusLine:
        """Make the status line."""
        return PastStatus(back=self.closes_on_escape)

    async def open(self, host: SessionHost) -> None:
        """Show the end of the session, then all of it, then what still happens in it."""
        from tui.replay.footer import past_message
        from tui.replay.panes import PastWorkspace

        past, frame = self._session, host.frame
        host.attach(past)
        folder = past.workspace.path
        frame.folder = folder
        frame.query_one("#workspace", PastWorkspace).set_root(folder, saved_reports(folder))
        loader = SessionLoader(
            frame,
            past,
            message=past_message,
            report_progress=self._status(host).show_progress,
            notify=host.notice.show,
            follows=True,
        )
        await loader.show_end()
        self._show_facts(host)
        if host.screen.focused is None:
            frame.show("conversation")
        self.end_shown.set()
        host.spawn(self._load_rest(host, loader), "past session", "past")

    async def _load_rest(self, host: SessionHost, loader: SessionLoader) -> None:
        if not self._session.complete:
            if not await loader.load_all():
                return
            self._show_facts(host)
        self.all_shown.set()
        if loader.follows:
            await loader.follow(lambda: self._show_facts(host))

    def _show_facts(self, host: SessionHost) -> None:
        self._status(host).show(self._session.facts)
        self.placeholder = FOLLOWED if self._session.runs_elsewhere else READ_ONLY
        host.frame.prompt.placeholder = Content(self.placeholder)

    def _status(self, host: SessionHost) -> PastStatus:
        status = host.status
        assert isinstance(status, PastStatus)
        return status


def saved_reports(folder: Path) -> Path | None:
    """Return the folder of the saved reports beside a session's `folder`; None if it is not where ua-tui puts it."""
    return folder.parent.parent / SAVED_REPORTS if folder.parent.name == WORKSPACES else None
