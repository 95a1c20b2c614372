"""The dialogs of /rewind: which query, what would change, and what then happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot

from tests.tui.app_host import answerable, notices, shown
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import screen_text
from tests.waiting import until
from ua_tui.core.history.kept_versions import Change, KeptFile, Plan
from ua_tui.core.session.rewinding import Prospect
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.rewind import open_rewind
from ua_tui.tui.screens.session.rewind import ReturnScreen, RewindScreen
from ua_tui.tui.widgets.dialog import Choice

FILE = KeptFile("0" * 64, 1, kept=True)
PLAN = Plan(
    (Change("report.md", FILE, KeptFile("1" * 64, 1, kept=True)), Change("new.md", FILE)),
    {"mine.txt": "by_hand"},
)


@asynccontextmanager
async def opened(
    tmp_path: Path, prospect: Prospect, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[FakeSession, UaTuiApp, Pilot[str]]]:
    """The application after two queries, with what going back to the second one would change."""
    session = make_session(tmp_path, prospect=prospect)
    app = make_app(tmp_path, session)
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.state == "idle")
        for text in ("First?", "Second?"):
            session.submit(text)
            session.finish(text=f"Answer to {text}")
        await shown(app, pilot)
        # In a hurry the key comes twice, before anybody could have paused.
        first, second = Key("alt+z", "z"), Key("alt+z", "z")
        app.post_message(first)
        await until(lambda: isinstance(app.screen, RewindScreen) and app.screen.is_drawn)
        second.time = first.time + 0.3
        app.post_message(second)
        await shown(app, pilot)
        assert "Second?" in screen_text(app)
        await pilot.press("enter")
        await answerable(app, ReturnScreen)
        assert app.frame.prompt.text == ""
        yield session, app, pilot


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_would_change_is_shown_and_both_answers_go_back(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(tmp_path, Prospect(PLAN, ("GMAIL_SEND_EMAIL",)), size) as (session, app, pilot):
        shows = screen_text(app)
        files = ("report.md", "new.md", "mine.txt (changed while no query ran)", "Conversation and 2 files")
        for text in ("Rewind to query 2", "Not undone", "GMAIL_SEND_EMAIL", *files):
            assert text in shows
        # No answer is wider than its words.
        assert len({each.size.width - len(str(each.label)) for each in app.screen.query(Choice)}) == 1
        # The answer with the focus changes nothing.
        await pilot.press("enter")
        await until(lambda: len(app.screen_stack) == 1)
        assert session.rewound == []
        app.frame.prompt.put("typed before")
        for answer, changes in (("c", 0), ("f", 2)):
            open_rewind(app)
            await until(lambda: isinstance(app.screen, RewindScreen))
            await pilot.press("end" if changes else "home", "enter")
            await answerable(app, ReturnScreen)
            await pilot.press(answer)
            await until(partial(_has_gone_back, session, ("q1" if changes else "q2", changes)))
        await until(lambda: app.frame.prompt.text == "First?")
        await shown(app, pilot)
        assert screen_text(app).count("undone ·") >= 2
        # What was typed there is in its history, as is what the first answer put there.
        await pilot.press("up", "up")
        assert app.frame.prompt.text == "typed before"
        # There is nothing left to go back to.
        open_rewind(app)
        await until(lambda: "no query to rewind to" in notices(app))


def _has_gone_back(session: FakeSession, to: tuple[str, int]) -> bool:
    return session.rewound[-1:] == [to]


async def test_without_known_files_only_the_conversation_goes_back(tmp_path: Path) -> None:
    async with opened(tmp_path, Prospect()) as (session, app, pilot):
        assert "is unknown" in screen_text(app)
        assert not app.screen.query("#rewind-files")
        await pilot.press("f")
        await shown(app, pilot)
        assert session.rewound == []
        session.refuses = "the disk is full"
        await pilot.press("c")
        await until(lambda: "Nothing was changed: the disk is full" in notices(app))


async def test_while_the_agent_works_nothing_goes_back(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await until(lambda: app.state == "idle")
        session.submit("First?")
        await shown(app, pilot)
        await pilot.press("alt+z")
        await until(lambda: "The agent is running: stop it" in notices(app))
        assert len(app.screen_stack) == 1
