"""Runs the full screen, and runs it again as the demo when the person asks for that."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from core.errors import CredentialsError
from core.settings.model import Settings
from core.text import clean_line
from tui.app.app import DEMO, UaTuiApp
from tui.app.controllers.attention import Attention
from tui.app.controllers.setup import SET_UP
from tui.theme.store import ThemeStore

if TYPE_CHECKING:
    from core.session.resume import Resume
    from core.session.session import Session, Spawn

__all__ = ["make_app", "run_screen"]


def make_app(settings: Settings, first_query: str | None = None, resume: Resume | None = None) -> UaTuiApp:
    """Make the app around a real session, for the command line and for tests alike.

    With `resume` a past session goes on.

    Raises:
        JournalError: it has no journal that can be read.
        SettingsError: there is no such theme.
    """

    async def build(spawn: Spawn) -> Session:
        # What the person set up meanwhile.
        settings = app.settings
        if not settings.has_credentials():
            raise CredentialsError("There is no key, no token, no login and no server of your own.")
        # Behind the first frame, and beside the event loop: this brings everything the session needs.
        await asyncio.to_thread(import_module, "tui.compose")
        from tui.compose import compose_session

        # The person may want a fresh conversation by now.
        wanted = resumed.resume if resumed is not None else None
        return await compose_session(settings, interactive=True, spawn=spawn, resume=wanted)

    resumed: ResumedApp | None = None
    if resume is None:
        app = UaTuiApp(settings, build, first_query)
    else:
        from core.history.session import PastSession
        from tui.replay.resumed_app import ResumedApp

        app = resumed = ResumedApp(settings, build, PastSession(resume.folder), resume, first_query)
    app.attention = Attention(settings, app.write_to_terminal)
    app.theme_store = ThemeStore()
    return app


def run_screen(settings: Settings, first_query: str | None = None, resume: Resume | None = None) -> int:
    """Run the full screen until the person leaves, one session after the other; returns the exit code.

    Raises:
        SettingsError: there is no such theme, or the session that is to go on cannot.
    """
    from core.session.overrides import OVERRIDABLE
    from core.session.resume import Resume, prepare_resume
    from tui.app.sessions_app import resumed_folder

    while True:
        app = make_app(settings, first_query, resume)
        result = app.run()
        first_query = None
        # What was chosen for this run holds for the next screen of it, wherever it is kept.
        theme = app.chosen_theme or settings.theme
        settings = replace(settings, theme=theme)
        if result == DEMO:
            settings, resume = replace(settings, demo=True), None
            continue
        if result == SET_UP:
            was, settings = settings, replace(app.settings, theme=theme)
            resume = None
            if app.session_folder is not None and not was.demo:
                # What another server said may be refused by this one, which has models of its own, too.
                moved = settings.base_url != was.base_url
                changed = {name for name in OVERRIDABLE if getattr(settings, name) != getattr(was, name)}
                changed |= {"model", "fallback_model"} if moved else set()
                resume = Resume(app.session_folder, fresh=moved, named=frozenset(changed))
            continue
        if app.session_folder is not None:
            # After a hangup there is nobody to tell, and the exit code says how it ended.
            with suppress(OSError) if app.return_code else nullcontext():
                sys.stdout.write(f"The session is kept in {clean_line(str(app.session_folder), 1000)}\n")
        folder = resumed_folder(result)
        if folder is None:
            return app.return_code or 0
        settings, resume = prepare_resume(replace(settings, demo=False), folder)
