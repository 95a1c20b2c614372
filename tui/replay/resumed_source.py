"""A resumed session as the source of the screen: its past is read from the journal, then it is live."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.widget import Widget

from core.errors import ConversationGone
from core.history.session import PastSession
from core.records.counters import TokenCount
from core.settings.model import Settings
from tui.app.session_source import LiveSource, SessionSource, live_status
from tui.replay.loader import SessionLoader
from tui.replay.past_source import saved_reports

if TYPE_CHECKING:
    from core.session.resume import Resume
    from tui.app.port import SessionHost
    from tui.panes.status.bar import StatusLine
    from tui.ports import Build

__all__ = ["ResumedSource"]


class ResumedSource(SessionSource):
    """Shows the past of a session, then opens it again.

    While a long journal is read its end is on the screen and new events are kept back; the agent starts meanwhile.

    Args:
        build: makes the session that is resumed, according to `resume` at that time.
        past: the session from its journal, not started yet.
        resume: which session is resumed, and how.
    """

    def __init__(self, build: Build, past: PastSession, resume: Resume) -> None:
        self.resume = resume
        self._live = LiveSource(build)
        self._past = past
        self._past_shown = False

    def pane_classes(self) -> Mapping[str, Callable[..., Widget]]:
        """Return panes that show a past, and then what happens."""
        from tui.replay.panes import PastConversation, PastObservers, PastTrace, PastWorkspace

        return {
            "conversation": PastConversation,
            "trace": partial(PastTrace, resumed=True),
            "observers": PastObservers,
            "workspace": partial(PastWorkspace, resumed=True),
        }

    def make_status(self, settings: Settings) -> StatusLine:
        """Make the status line."""
        return live_status(settings)

    async def open(self, host: SessionHost) -> None:
        """Show the past once, then open the session; ask what to do if its conversation is gone."""
        if not self._past_shown:
            host.pump.pause()
            await self._show_past(host)
            # A journal that could not be read is read again when the user restarts the agent.
            self._past_shown = True
        try:
            await self._live.open(host)
        except ConversationGone as error:
            host.set_state("failed")
            self._offer_new_conversation(host, str(error))

    async def close(self) -> None:
        """Close the journal."""
        await self._past.close("quit")

    async def _show_past(self, host: SessionHost) -> None:
        from tui.replay.footer import resumed_message
        from tui.replay.panes import PastWorkspace

        past, frame = self._past, host.frame
        folder = past.workspace.path
        frame.folder = folder
        frame.query_one("#workspace", PastWorkspace).set_root(folder, saved_reports(folder))
        loader = SessionLoader(
            frame,
            past,
            message=resumed_message,
            report_progress=partial(_show_progress, host),
            notify=host.notice.show,
        )
        await loader.show_end()
        if past.complete:
            self._go_live(host)
        else:
            host.spawn(self._load_all(host, loader), "past session", "past")

    async def _load_all(self, host: SessionHost, loader: SessionLoader) -> None:
        try:
            await loader.load_all()
        finally:
            host.status.hint = ""
            self._go_live(host)

    def _go_live(self, host: SessionHost) -> None:
        from tui.replay.panes import PastTrace, PastWorkspace

        host.frame.query_one("#trace", PastTrace).go_live()
        host.frame.query_one("#workspace", PastWorkspace).go_live()
        # Cost and tokens count on from those of the past.
        facts = self._past.facts
        host.status.facts.cost, host.status.facts.tokens = facts.cost, TokenCount(facts.tokens)
        host.status.refresh()
        host.pump.resume()

    def _offer_new_conversation(self, host: SessionHost, why: str) -> None:
        from tui.screens.session.confirm_fresh import FreshScreen

        host.push_screen(FreshScreen(why), partial(self._on_choice, host))

    def _on_choice(self, host: SessionHost, fresh: bool | None) -> None:
        if fresh:
            self.resume = replace(self.resume, fresh=True)
            host.restart_agent()
        else:
            host.shut_down()


def _show_progress(host: SessionHost, read: float) -> None:
    host.status.hint = f"reading the past session {read:.0%}" if read < 1.0 else ""
