"""The full screen around a session that goes on: what was before is read from its journal, then it lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.widget import Widget

from core.errors import ConversationGone
from core.history.session import PastSession
from core.history.stats import PastFacts
from core.records.counters import TokenCount
from core.settings.model import Settings
from core.storage.workspace import SAVED_REPORTS, WORKSPACES
from tui.app.app import UaTuiApp
from tui.layout.frame import Frame
from tui.panes.status.bar import StatusLine, traces
from tui.panes.status.notice import NoticeBar
from tui.ports import Build
from tui.replay.loader import Filling

if TYPE_CHECKING:
    from core.session.resume import Resume
    from tui.terminal.clipboard import Clipboard

__all__ = ["ResumedApp", "ResumedFrame", "ResumedStatus"]


class ResumedFrame(Frame):
    """The panes of a living session that can show what was before."""

    def make_panes(self) -> Sequence[Widget]:
        """Make the panes; they are imported only here, behind the first frame."""
        from tui.panes.prompt.pane import Prompt
        from tui.panes.workspace.preview import PreviewPane
        from tui.replay.panes import PastConversation, PastObservers
        from tui.replay.resumed_panes import ResumedTrace, ResumedWorkspace

        return (
            PastConversation(id="conversation"),
            Prompt(id="prompt"),
            ResumedTrace(id="trace"),
            PastObservers(id="observers"),
            ResumedWorkspace(id="workspace"),
            PreviewPane(id="preview"),
        )

    def go_on(self) -> None:
        """Let everything from here on be the present."""
        from tui.replay.resumed_panes import ResumedTrace, ResumedWorkspace

        self.query_one("#trace", ResumedTrace).calls.past = False
        self.query_one("#workspace", ResumedWorkspace).past = False


class ResumedStatus(StatusLine):
    """The status line, which counts on from what the session took before."""

    def carry_on(self, facts: PastFacts) -> None:
        """Take up money and tokens."""
        self.facts.cost, self.facts.tokens = facts.cost, TokenCount(facts.tokens)
        self.refresh()


class ResumedApp(UaTuiApp):
    """Shows what a session was before, then lets it go on.

    While a long journal is read the end of it is on the screen, and what happens meanwhile is kept back; the agent
    starts beside that.

    Args:
        settings: what the person configured.
        build: makes the session that goes on, as `resume` says by then.
        past: the session as its journal tells it, not started yet.
        resume: which session goes on, and how.
        first_query: sent by itself as soon as the session is ready.
        state_dir, clipboard: as for `UaTuiApp`.
    """

    def __init__(
        self,
        settings: Settings,
        build: Build,
        past: PastSession,
        resume: Resume,
        first_query: str | None = None,
        *,
        state_dir: Path | None = None,
        clipboard: Clipboard | None = None,
    ) -> None:
        super().__init__(settings, build, first_query, state_dir=state_dir, clipboard=clipboard)
        self.resume = resume
        self._past = past
        self._shown = False

    def compose(self) -> ComposeResult:
        """Put down what the first frame shows."""
        yield ResumedFrame(self.size.width, self.kept_layout)
        yield NoticeBar()
        yield ResumedStatus(
            demo=self.settings.demo,
            model=self.settings.model,
            mode=self.settings.effective_permission_mode,
            limit=self.settings.max_cost_usd,
            tracing=traces(self.settings),
        )

    async def _start_session(self) -> None:
        if not self._shown:
            self._pump.hold()
            await self._show_past()
            # What could not be read is read again when the person starts the agent again.
            self._shown = True
        try:
            await super()._start_session()
        except ConversationGone as error:
            self._early_state = "failed"
            self._ask_for_fresh(str(error))

    async def _show_past(self) -> None:
        from tui.replay.footer import resumed_message

        past, frame = self._past, self.frame
        folder = past.workspace.path
        frame.folder = folder
        reports = folder.parent.parent / SAVED_REPORTS if folder.parent.name == WORKSPACES else None
        workspace: Any = frame.query_one("#workspace")
        workspace.set_root(folder, reports)
        filling = Filling(
            frame,
            past,
            message=resumed_message,
            progress=self._tell_progress,
            notice=self.notice.show,
        )
        await filling.show_end()
        if past.complete:
            self._begin_present()
        else:
            self.spawn(self._fill_in(filling), "past session", "past")

    async def _fill_in(self, filling: Filling) -> None:
        try:
            await filling.fill_in()
        finally:
            self.status.hint = ""
            self._begin_present()

    def _begin_present(self) -> None:
        frame, status = self.frame, self.status
        assert isinstance(frame, ResumedFrame)
        assert isinstance(status, ResumedStatus)
        frame.go_on()
        status.carry_on(self._past.facts)
        self._pump.release()

    def _tell_progress(self, read: float) -> None:
        self.status.hint = f"reading {read:.0%} of what was before" if read < 1.0 else ""

    def _ask_for_fresh(self, why: str) -> None:
        from tui.screens.session.confirm_fresh import FreshScreen

        self.push_screen(FreshScreen(why), partial(self._settle_fresh))

    def _settle_fresh(self, fresh: bool | None) -> None:
        if fresh:
            self.resume = replace(self.resume, fresh=True)
            self.action_restart()
        else:
            self.leaving.leave("quit")

    async def on_unmount(self) -> None:
        """Let go of the journal."""
        await self._past.close("quit")
