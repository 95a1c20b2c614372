"""Esc leads out of anything, and one Esc too many on the way never stops the agent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual import events
from textual.message import Message

from tests.tui.app_host import at_work, notices
from tests.tui.files_host import screen_text
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.escape import MOVED_SECONDS, REPEAT_SECONDS

WARNING = "Esc again stops the agent"
PLACES = {
    "pane": (),
    "other-pane": ("f5",),
    "enlarged": ("f3", "z"),
    "search": ("f2", "slash", "a", "enter"),
    "search-while-typed": ("f2", "slash", "a"),
    "filter": ("f3", "slash", "a", "enter"),
    "files-filter": ("f5", "slash", "a"),
    "help": ("f1",),
    "help-in-a-pane": ("f4", "question_mark"),
    "palette": ("ctrl+p",),
    "completion": tuple("/mo"),
    "file-completion": ("@",),
    "list": (*"/sessions", "enter"),
    "dialog": (*"/status", "enter"),
    "full-screen": ("f8",),
    "mode": ("alt+m",),
}
"""Keys that lead away from the prompt, or open something above it."""


class Hand:
    """Presses Esc at times of its own, all of them before the time of the first event that is not its own."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._now = Message().time - 1_000.0

    async def press(self, after: float) -> None:
        """Press Esc this many seconds after the last time, and wait for its effects."""
        self._now += after
        key = events.Key("escape", "\x1b")
        key.time = self._now
        self._app.post_message(key)
        await until(lambda: self._app.escape._pressed == self._now)
        await until(lambda: not self._app.key_queue._waiting_for)


def _is_at_prompt(app: UaTuiApp) -> bool:
    prompt = app.frame.prompt
    return len(app.screen_stack) == 1 and prompt.has_focus and not prompt._completer.list.is_open


@pytest.mark.parametrize("place", PLACES)
async def test_one_esc_too_many_stops_nothing(tmp_path: Path, place: str) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        app.frame.prompt.offer_commands(app.commands())
        if not PLACES[place]:
            app.frame.show("trace")
        await pilot.press(*PLACES[place])
        await pilot.pause()
        assert not _is_at_prompt(app)
        hand = Hand(app)
        for _ in range(6):
            await hand.press(0.3)
            await pilot.pause()
            if _is_at_prompt(app):
                break
        assert _is_at_prompt(app)
        assert (session.interrupts, WARNING in notices(app)) == (0, False)
        await hand.press(0.3)
        assert (session.interrupts, WARNING in notices(app)) == (0, True)
        await hand.press(0.3)
        await until(lambda: session.interrupts == 1)


async def test_one_esc_too_many_after_another_program_stops_nothing(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, _pilot):
        app.app_resume_signal.publish(app)
        hand = Hand(app)
        hand._now = app.escape._pressed
        await hand.press(0.3)
        assert (session.interrupts, WARNING in notices(app)) == (0, True)
        await hand.press(0.3)
        await until(lambda: session.interrupts == 1)


@pytest.mark.parametrize(
    ("waits", "stops"),
    [
        ((60.0,), 1),
        ((REPEAT_SECONDS,), 0),
        ((MOVED_SECONDS,), 1),
        # Held down: a pause before the first repetition, which is short on some keyboards.
        ((0.5, *[0.03] * 40), 0),
        ((0.25, *[0.09] * 40), 0),
        ((0.66, 0.03, 0.03, 0.3), 1),
        ((0.03, 0.03, 0.03), 0),
    ],
)
async def test_when_esc_stops_after_one_that_led_to_the_prompt(
    tmp_path: Path, waits: tuple[float, ...], stops: int
) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        app.frame.show("trace")
        hand = Hand(app)
        await hand.press(0)
        await until(lambda: _is_at_prompt(app))
        for wait in waits:
            await hand.press(wait)
        await pilot.pause()
        await until(lambda: session.interrupts >= stops)
        assert session.interrupts == stops


async def test_the_first_esc_in_the_prompt_stops_at_once(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.press("escape")
        await until(lambda: session.interrupts == 1)
        assert WARNING not in notices(app)


async def test_a_click_stops_at_once(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        app.frame.show("trace")
        hand = Hand(app)
        await hand.press(0)
        await hand.press(0.3)
        assert (session.interrupts, WARNING in notices(app)) == (0, True)
        # Until the line shows the query, its keys are at other places.
        drawn = await until(lambda: re.search(r"^.*thinking.*(?=Esc stops)", screen_text(app), re.MULTILINE))
        assert drawn
        await pilot.click("StatusLine", offset=(drawn.end() - drawn.start() + 2, 0))
        await until(lambda: session.interrupts == 1)
