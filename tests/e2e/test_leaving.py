"""Quitting the real program while work runs: the question, and what becomes of the work with each answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.events.types import Event, QueryFinished, SessionFinished
from core.records.journal import read_journal
from tests.e2e.running import model_environment
from tests.e2e.scripted_model import HeldReply, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.e2e.test_terminal import session_of

ASKED = "Research something long"
QUESTION = "The agent is still working."
QUIT = "\x11"


@contextmanager
def at_work(base: Path) -> Iterator[tuple[Terminal, HeldReply]]:
    """A session whose model was asked and does not answer yet, with the question whether to quit on the screen."""
    model = HeldReply(ASKED, "This is the whole answer.")
    with scripted_model(model) as url:
        env = model_environment(base, url)
        with terminal(base, env=env) as screen:
            try:
                screen.wait_for("● ready")
                screen.type(f"{ASKED}\r")
                screen.wait_until(model.asked.is_set)
                screen.type(QUIT)
                screen.wait_for(QUESTION, "Quit when done", "Stop and quit")
                yield screen, model
            finally:
                # The server must not wait for whom nobody asks any more.
                model.may_answer.set()


def assert_left(screen: Terminal, base: Path, status: str) -> list[Event]:
    assert screen.end() == 0
    assert screen.restored
    assert b"Traceback" not in screen.written
    events = read_journal(session_of(base) / "journal.jsonl").events
    assert [event.status for event in events if isinstance(event, QueryFinished)] == [status]
    assert isinstance(events[-1], SessionFinished)
    assert events[-1].reason == "quit"
    return events


def test_whoever_stays_can_wait_for_the_end_of_the_work(tmp_path: Path) -> None:
    with at_work(tmp_path) as (screen, model):
        for key in ("n", "\x1b", "\r"):
            screen.press_until(key, lambda text: QUESTION not in text)
            screen.type(QUIT)
            screen.wait_for(QUESTION)
        screen.press_until("w", lambda text: QUESTION not in text)
        screen.wait_for("quits when this is done")
        model.may_answer.set()
        events = assert_left(screen, tmp_path, "success")
    assert [event.text for event in events if isinstance(event, QueryFinished)] == [
        "This is the whole answer."
    ]


HANGS = """
import time
from textual.app import App
from tui.app.app import UaTuiApp
from tui.app.controllers.shutdown import end_within

class Hangs(App):
    restore_terminal = UaTuiApp.restore_terminal

    def on_ready(self):
        end_within(0.3, 7, self.restore_terminal)
        self._running = False  # as soon as Textual begins to end
        time.sleep(60)

Hangs().run()
"""


def test_a_screen_that_hangs_at_its_end_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with terminal(tmp_path, "-c", HANGS, command=sys.executable) as screen:
        assert screen.end(20.0) == 7
        assert screen.restored


def test_stopping_quits_at_once(tmp_path: Path) -> None:
    with at_work(tmp_path) as (screen, model):
        screen.press_until(QUIT)
        assert not model.may_answer.is_set()
        assert_left(screen, tmp_path, "interrupted")
