from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import environment, model_environment
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import CONVERSATION, OBSERVERS, TRACE, WORKSPACE, Terminal, terminal
from tests.faults.evidence import processes_in
from tests.journals import read_journal
from tests.waiting import PATIENCE, wait_until
from ua_tui.core.events.types import QueryFinished, SessionFinished

BLUR, FOCUS = "\x1b[O", "\x1b[I"
NOTIFICATION = b"\x1b]777;notify;ua-tui;ua-tui: "
QUESTION, QUIT = "The agent is still working.", "\x11"
LIST = "mcp__local_toolkit__list_directory"


def assert_restored(screen: Terminal) -> None:
    assert screen.restored
    assert b"Traceback" not in screen.written


def session_of(base: Path) -> Path:
    (found,) = (base / "AGENT_RUN_WORKSPACES").glob("session_*")
    return found


@pytest.mark.slow
def test_a_narrow_terminal_has_tabs_the_same_keys_and_questions(tmp_path: Path) -> None:
    """Also: one key starts a report; a question notifies only a person who is elsewhere, and Escape means no."""
    env = environment(tmp_path, UA_NOTIFY="osc777")
    with terminal(tmp_path, "--demo", "--demo-pace", "0", columns=80, rows=24, env=env) as screen:
        # Pressed before the session is ready: it may not be lost.
        screen.wait_for("DEMO", "› Research the latest AI chip news")
        screen.type("\r")
        screen.wait_for("AI chips", "Ctrl+O", "ready")
        screen.type(TRACE)
        screen.wait_for("SEARCH_WEB", "DEMO")
        screen.type(OBSERVERS)
        screen.wait_for("10 results saved")
        screen.type(WORKSPACE)
        screen.wait_for("work_products")
        screen.type(CONVERSATION)
        screen.wait_for("Ctrl+O")
        screen.type("\x1b")
        screen.wait_for("Ask anything")
        screen.type("Email the report to the team\r" + BLUR)
        waits = NOTIFICATION + b"an account needs to be connected: Email the report to the team\x07"
        screen.wait_for("Connect an account", "Done", lambda _: waits in screen.written)
        assert b"\x1b[?1004h" in screen.written
        screen.type(FOCUS)
        screen.press_until("\r", lambda text: "Connect an account" not in text)
        # Who took a slow machine's time to look may have been told of the end of the query, too.
        told = screen.written.count(NOTIFICATION)
        screen.wait_for("Send this e-mail?", "Deny")
        # Once more it would stop the query.
        screen.press_until("\x1b", lambda text: "Send this e-mail?" not in text)
        screen.wait_for("was denied", "● ready")
        assert screen.written.count(NOTIFICATION) == told
        assert screen.written.count(waits) == 1
        screen.quit()
    journal = (session_of(tmp_path) / "journal.jsonl").read_text(encoding="utf-8")
    assert '"decision":"COMPLEX"' in journal
    assert '"decision":"deny"' in journal
    assert '"status":"denied"' in journal


def test_keys_typed_ahead_go_where_the_ones_before_them_lead(tmp_path: Path) -> None:
    with (
        scripted_model(lambda _body, _results: [Text("Yes.")]) as url,
        terminal(tmp_path, env=model_environment(tmp_path, url)) as screen,
    ):
        screen.wait_for("● ready")
        screen.type(f"old words\x15new words{CONVERSATION}/first needle\r{TRACE}1/second\x15third needle")
        screen.wait_for("third needle", "new words")
        assert "old words" not in screen.text
        assert "second" not in screen.text
        # Nothing could continue the program, so Ctrl+Z does not suspend it.
        screen.type("\x1a")
        screen.wait_for("Ctrl+Z needs a shell", "● ready", lambda _: screen.taken)
        screen.type(" and on")
        screen.wait_for("third needle and on")
        screen.quit()


@pytest.mark.smoke
def test_without_credentials_the_screen_explains_and_offers_the_demo(tmp_path: Path) -> None:
    with terminal(tmp_path) as screen:
        screen.wait_for("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "emo")
        screen.type("\x11")
        screen.end()
        assert_restored(screen)
    assert not (tmp_path / "AGENT_RUN_WORKSPACES").exists()


@contextmanager
def at_work(base: Path) -> Iterator[tuple[Terminal, threading.Event]]:
    """A session in which a tool was called, and whose model goes on only once it may."""
    may_answer = threading.Event()

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if not results:
            return [Use(LIST, {"path": ""})]
        may_answer.wait(PATIENCE)
        return [Text("This is the whole answer.")]

    with scripted_model(reply) as url:
        try:
            with terminal(
                base, "--allow", LIST, "List the files", env=model_environment(base, url)
            ) as screen:
                screen.wait_for("list_directory", "Esc stops")
                yield screen, may_answer
        finally:
            may_answer.set()


def assert_ended(base: Path, status: str) -> SessionFinished:
    wait_until(lambda: not processes_in(base), reported=lambda: processes_in(base))
    events = read_journal(session_of(base) / "journal.jsonl").events
    assert [e.status for e in events if isinstance(e, QueryFinished)] == [status]
    assert isinstance(events[-1], SessionFinished)
    return events[-1]


def test_a_signal_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with at_work(tmp_path) as (screen, _):
        os.kill(int(screen.child.pid or 0), signal.SIGTERM)
        assert screen.end() == 128 + signal.SIGTERM
        assert_restored(screen)
    assert_ended(tmp_path, "interrupted")


def test_a_terminal_that_is_closed_ends_the_session_in_order(tmp_path: Path) -> None:
    with at_work(tmp_path) as (screen, _):
        process = screen.child.ptyproc  # type: ignore[attr-defined]
        process.fileobj.close()
        process.closed = screen.child.closed = True
        wait_until(lambda: not process.isalive(), reported=lambda: "it waits for a terminal that is gone")
        assert process.exitstatus == 128 + signal.SIGHUP
    assert_ended(tmp_path, "interrupted")


def test_whoever_stays_can_wait_for_the_end_of_the_work(tmp_path: Path) -> None:
    with at_work(tmp_path) as (screen, may_answer):
        for key in ("n", "\x1b", "\r"):
            screen.type(QUIT)
            screen.wait_for(QUESTION, "Quit when done", "Stop and quit")
            screen.press_until(key, lambda text: QUESTION not in text)
        screen.type(QUIT)
        screen.wait_for(QUESTION)
        screen.press_until("w", lambda text: QUESTION not in text)
        screen.wait_for("quits when this is done")
        may_answer.set()
        assert screen.end() == 0
        assert_restored(screen)
    assert assert_ended(tmp_path, "success").reason == "quit"


def test_whoever_quits_while_a_query_runs_stops_the_session(tmp_path: Path) -> None:
    with at_work(tmp_path) as (screen, _):
        screen.type(QUIT)
        screen.wait_for(QUESTION)
        screen.press_until("y", lambda text: QUESTION not in text)
        assert screen.end() == 0
    ended = assert_ended(tmp_path, "interrupted")
    assert (ended.reason, ended.state) == ("interrupted", "stopped")


HANGS = """
import time
from textual.app import App
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.shutdown import end_within

class Hangs(App):
    is_suspended = False
    restore_terminal = UaTuiApp.restore_terminal

    def on_ready(self):
        end_within(0.3, 7, self.restore_terminal)
        self._running = False  # as soon as Textual begins to end
        time.sleep(600)  # another program, which hangs

Hangs().run()
"""


def test_a_screen_that_hangs_at_its_end_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with terminal(tmp_path, "-c", HANGS, command=sys.executable) as screen:
        assert screen.end() == 7
        assert screen.restored


TAKES_LONG = """
import time
from ua_tui.tui.app.controllers.shutdown import end_within

end_within(0.3, 7, lambda: None)
until = time.monotonic() + 1.0
while time.monotonic() < until:
    pass
print("saved")
"""


def test_an_end_that_takes_a_busy_machine_long_is_not_cut_off() -> None:
    done = subprocess.run([sys.executable, "-c", TAKES_LONG], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "saved\n"), done.stderr
