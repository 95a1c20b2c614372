"""Rewinds to the point before a query: asks a person which query, and what is to change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.app.port import controls_or_notify

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session
    from ua_tui.core.view.records import Query
    from ua_tui.tui.app.app import UaTuiApp


def open_rewind(app: UaTuiApp) -> None:
    """Open the list of queries."""
    from ua_tui.tui.screens.session.rewind import RewindScreen

    if (controls := controls_or_notify(app)) is None:
        return
    queries = [query for query in app.view.queries if not query.undone]
    if app.state == "starting":
        app.notify("The agent is not ready yet.")
    elif app.state not in ("idle", "failed"):
        stop = app.keys.shown("session.stop")
        app.notify(f"The agent is running: stop it with {stop}, then rewind.")
    elif not queries:
        app.notify("There is no query to rewind to.")
    else:
        app.push_screen(RewindScreen(queries), partial(_choose, app, controls))


def _choose(app: UaTuiApp, controls: Session, query: Query | None) -> None:
    if query is not None:
        app.spawn(partial(_rewind, app, controls, query), "rewind", "agent")


async def _rewind(app: UaTuiApp, controls: Session, query: Query) -> None:
    """Show what would change, and rewind if the person wants that."""
    from ua_tui.tui.screens.session.rewind import ReturnScreen

    try:
        prospect = await controls.look_back(query.id)
        undone = [each for each in app.view.queries if not each.undone and each.number >= query.number]
        screen = ReturnScreen(query, undone, prospect, len(controls.queued))
        answer = await app.push_screen_wait(screen)
        if answer not in ("conversation", "files"):
            return
        changes = prospect.plan.changes if answer == "files" and prospect.plan is not None else ()
        await controls.rewind(query.id, changes)
    except UniversalAgentError as error:
        message = f"Nothing was changed: {clean_line(str(error), 400)}"
        app.notify(message, severity="error", timeout=20.0)
        return
    app.frame.show("prompt")
    app.frame.prompt.put_aside(query.text)
    app.frame.follow_conversation()
