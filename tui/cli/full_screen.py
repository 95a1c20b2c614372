"""Runs the full screen, and again for the next session when the user asked for one."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ua_tui.core.errors import CredentialsError
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import SessionFinished
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.port import DEMO, SET_UP, ToAskAgain, ToResume
from ua_tui.tui.app.session_source import LiveSource, SessionSource
from ua_tui.tui.layout.store import LayoutStore
from ua_tui.tui.theme.store import store_theme

if TYPE_CHECKING:
    from ua_tui.core.concurrency.spawn import Spawn
    from ua_tui.core.session.resume import Resume
    from ua_tui.core.session.session import Session


class NextSession(NamedTuple):
    """A session to be opened.

    Attributes:
        first_query: the query that it begins with.
        resume: which past session it resumes.
        compared_with: the folder of a session with which it is compared once its first query has ended.
        quits: what its end is called: `quit`, or `back` if it leads to a list.
    """

    settings: Settings
    first_query: str | None = None
    resume: Resume | None = None
    compared_with: Path | None = None
    quits: str = "quit"


def next_session(result: object, settings: Settings) -> NextSession | None:
    """The session that the result of a screen asks for; None if the user has quit.

    Raises:
        SettingsError: the session cannot be resumed, or the query cannot be asked again.
    """
    if isinstance(result, ToResume):
        from ua_tui.core.session.resume import prepare_resume

        resumed, resume = prepare_resume(replace(settings, demo=False), Path(result))
        return NextSession(resumed, resume=resume)
    if isinstance(result, ToAskAgain):
        from ua_tui.core.history.report_query import PAGE_AGE, find_query

        query = find_query(Path(result))
        asking = replace(settings, demo=query.is_demo, page_age=max(PAGE_AGE, settings.page_age))
        return NextSession(asking, query.text, compared_with=query.origin.session)
    return None


def make_app(session: NextSession) -> UaTuiApp:
    """Make the application around a real session, for the command line and for tests alike.

    Raises:
        JournalError: the past session has no journal that can be read.
        SettingsError: there is no such theme.
    """

    async def build(spawn: Spawn) -> Session:
        # The user may have set up a model, or asked for a new conversation, since the start.
        settings = app.settings
        if not settings.has_credentials():
            raise CredentialsError
        # Behind the first frame, and beside the event loop: this imports everything the session needs.
        await asyncio.to_thread(import_module, "ua_tui.tui.compose")
        from ua_tui.tui.compose import compose_session

        current = resumed.resume if resumed is not None else None
        return await compose_session(settings, interactive=True, spawn=spawn, resume=current)

    resumed: ResumedSource | None = None
    source: SessionSource = LiveSource(build, session.compared_with)
    if (resume := session.resume) is not None:
        from ua_tui.core.history.session import PastSession
        from ua_tui.tui.replay.resumed_source import ResumedSource

        past = PastSession(resume.folder)
        source = resumed = ResumedSource(build, past, resume, offers_draft=session.first_query is None)
    source.quits = session.quits
    app = screen_of(session.settings, source, session.first_query)
    return app


def screen_of(settings: Settings, source: SessionSource, first_query: str | None = None) -> UaTuiApp:
    """Make the application around a source; what is chosen in it is stored."""
    app = UaTuiApp(settings, source, first_query, layout=LayoutStore())
    app.theme_store = store_theme
    return app


def run_read_only(settings: Settings, source: SessionSource) -> int:
    """Run a screen that only shows a session, then the session that was chosen on it; returns the exit code."""
    # Nothing that happened before calls anybody back.
    app = screen_of(replace(settings, notify="off"), source)
    result = app.run()
    settings = replace(settings, theme=app.chosen_theme or settings.theme)
    following = next_session(result, settings)
    if following is None:
        return app.return_code or 0
    return run_screen(following._replace(quits="back" if app.source.closes_on_escape else "quit"))


def run_screen(session: NextSession) -> int:
    """Run the full screen until the user quits, one session after the other; returns the exit code.

    Raises:
        SettingsError: there is no such theme, or the session cannot be resumed.
    """
    while True:
        app = make_app(session)
        result = app.run()
        was = session.settings
        # The chosen theme is used for the next screen of this run, too.
        theme = app.chosen_theme or was.theme
        if result == DEMO:
            session = NextSession(replace(was, theme=theme, demo=True), quits=session.quits)
            continue
        if result == SET_UP:
            settings, resume = replace(app.settings, theme=theme), None
            # A session in which nothing was asked left no folder.
            if app.session_folder is not None and app.session_folder.exists() and not was.demo:
                from ua_tui.core.session.resume import OVERRIDABLE, Resume

                # Another server has other models, and may refuse the conversation with the previous one.
                moved = settings.base_url != was.base_url
                changed = {name for name in OVERRIDABLE if getattr(settings, name) != getattr(was, name)}
                changed |= {"model", "fallback_model"} if moved else set()
                resume = Resume(app.session_folder, fresh=moved, named=frozenset(changed))
            session = NextSession(settings, resume=resume, quits=session.quits)
            continue
        if app.session_folder is not None and app.session_folder.exists():
            # After a hangup nobody reads this, and the exit code says how it ended.
            with suppress(OSError) if app.return_code else nullcontext():
                if isinstance(app.pump.last, SessionFinished):
                    sys.stdout.write(f"{describe(app.pump.last).details[0]}\n")
                sys.stdout.write(f"Session saved in {clean_line(str(app.session_folder), 1000)}\n")
        if (following := next_session(result, replace(was, theme=theme))) is None:
            return app.return_code or 0
        session = following._replace(quits=session.quits)
