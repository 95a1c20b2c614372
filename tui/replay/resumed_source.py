"""A resumed session as the source of the screen: its past is read from the journal, then it is live."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ua_tui.core.errors import ConversationGone
from ua_tui.core.history.session import PastSession
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.costs import Costs, TokenCount
from ua_tui.core.view.setup import Setup
from ua_tui.tui.app.session_source import LiveSource, SessionSource, show_settings

if TYPE_CHECKING:
    from ua_tui.core.session.resume import Resume
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.ports import Build
    from ua_tui.tui.replay.loader import SessionLoader


class ResumedSource(SessionSource):
    """Shows the past of a session, then opens it again.

    While a long journal is read its end is on the screen and new events are kept back; the agent starts meanwhile.

    Args:
        build: makes the session that is resumed, according to `resume` at that time.
        past: the session from its journal, not started yet.
        resume: which session is resumed, and how.
        offers_draft: whether the prompt of a fork has the query before which it was forked.
    """

    def __init__(self, build: Build, past: PastSession, resume: Resume, *, offers_draft: bool = True) -> None:
        self._offers_draft = offers_draft
        self.resume = resume
        self._live = LiveSource(build, resume.compared_with)
        self._past = past
        self._past_shown = False

    async def open(self, host: UaTuiApp) -> None:
        """Show the past once, then open the session; ask what to do if its conversation is gone."""
        if not self._past_shown:
            host.pump.pause()
            await self._show_past(host)
            # A journal that could not be read is read again when the user restarts the agent.
            self._past_shown = True
        try:
            await self._live.open(host)
        except ConversationGone as error:
            from ua_tui.tui.screens.session.confirm import FreshScreen

            host.early_state = "failed"
            host.push_screen(FreshScreen(str(error)), partial(self._on_choice, host))

    async def close(self) -> None:
        """Close the journal."""
        await self._past.close("quit")

    async def _show_past(self, host: UaTuiApp) -> None:
        from ua_tui.tui.replay.footer import resumed_message
        from ua_tui.tui.replay.loader import SessionLoader

        def report_progress(read: float) -> None:
            host.status.hint = f"reading the past session {read:.0%}" if read < 1.0 else ""

        loader = SessionLoader(
            host, self._past, message=resumed_message, report_progress=report_progress, read_only=False
        )
        await loader.show_end()
        if self._past.complete:
            self._go_live(host)
        else:
            host.spawn(partial(self._load_all, host, loader), "past session", "past")

    async def _load_all(self, host: UaTuiApp, loader: SessionLoader) -> None:
        try:
            await loader.load_all()
        finally:
            host.status.hint = ""
            self._go_live(host)

    def _go_live(self, host: UaTuiApp) -> None:
        from ua_tui.tui.panes.trace.pane import TracePane

        host.frame.query_one("#trace", TracePane).calls.go_live()
        # Cost and tokens count on from those of the past.
        stats, facts, view = self._past.stats, host.status.facts, host.view
        tokens = TokenCount(done=stats.tokens)
        if stats.draft and self._offers_draft:
            host.frame.prompt.put(stats.draft)
        view.setup, view.activity = Setup(), Activity()
        view.costs = Costs(
            spent=stats.cost_of_ended,
            tokens=tokens,
            unpriced=tuple(stats.unpriced),
            inherited=stats.inherited,
            context=0 if self.resume.fresh else view.costs.context,
            window=view.costs.window,
        )
        facts.view = view
        show_settings(host.settings, facts)
        host.status.refresh()
        host.pump.resume()

    def _on_choice(self, host: UaTuiApp, fresh: bool | None) -> None:
        if fresh:
            self.resume = replace(self.resume, fresh=True)
            host.view.costs = replace(host.view.costs, context=0)
            host.restart_agent()
        else:
            host.shutdown.begin("quit")
