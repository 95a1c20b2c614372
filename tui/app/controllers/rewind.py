"""Rewinds to the point before a query: asks a person which query, and what is to change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.app.port import controls_or_notify

if TYPE_CHECKING:
    from ua_tui.core.session.rewinding import Prospect
    from ua_tui.core.session.session import Session
    from ua_tui.core.view.records import Query
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.screens.session.rewind import Answer


class Rewind:
    """Opens the list of queries, then what going back would change, and goes back."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app

    def open(self) -> None:
        """Open the list of queries."""
        from ua_tui.tui.screens.session.rewind import RewindScreen

        if (controls := controls_or_notify(self._app)) is None:
            return
        queries = [query for query in self._app.view.queries if not query.undone]
        if self._app.state == "starting":
            self._app.notify("The agent is not ready yet.")
        elif self._app.state not in ("idle", "failed"):
            stop = self._app.keys.shown("session.stop")
            self._app.notify(f"The agent is running: stop it with {stop}, then rewind.")
        elif not queries:
            self._app.notify("There is no query to rewind to.")
        else:
            self._app.push_screen(RewindScreen(queries), partial(self._look, controls))

    def _look(self, controls: Session, query: Query | None) -> None:
        if query is not None:
            self._app.spawn(partial(self._ask, controls, query), "look back", "agent")

    async def _ask(self, controls: Session, query: Query) -> None:
        from ua_tui.tui.screens.session.rewind import ReturnScreen

        try:
            prospect = await controls.look_back(query.id)
        except UniversalAgentError as error:
            self._report(error)
            return
        undone = [each for each in self._app.view.queries if not each.undone and each.number >= query.number]
        screen = ReturnScreen(query, undone, prospect, len(controls.queued))
        self._app.push_screen(screen, partial(self._answered, controls, query, prospect))

    def _answered(self, controls: Session, query: Query, prospect: Prospect, answer: Answer | None) -> None:
        if answer in ("conversation", "files"):
            work = partial(self._go_back, controls, query, prospect, with_files=answer == "files")
            self._app.spawn(work, "rewind", "agent")

    async def _go_back(
        self, controls: Session, query: Query, prospect: Prospect, *, with_files: bool
    ) -> None:
        changes = prospect.plan.changes if with_files and prospect.plan is not None else ()
        try:
            await controls.rewind(query.id, changes)
        except UniversalAgentError as error:
            self._report(error)
            return
        self._app.frame.show("prompt")
        self._app.frame.prompt.put_aside(query.text)
        self._app.frame.follow_conversation()

    def _report(self, error: UniversalAgentError) -> None:
        message = f"Nothing was changed: {clean_line(str(error), 400)}"
        self._app.notify(message, severity="error", timeout=20.0)
