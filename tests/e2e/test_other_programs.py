"""Other programs in the terminal of this one: the person's editor and a replay, and the terminal afterwards."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Block, HeldReply, Text, Use, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.e2e.test_terminal import assert_ended, assert_restored, session_of
from tests.journals import read_journal
from tests.waiting import wait_until
from ua_tui.core.events.types import QueryFinished

LENDER = """
import asyncio, signal, sys
from functools import partial
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.app.list_apps import end_on_signals
from ua_tui.tui.terminal import foreground

foreground.KILLED_AFTER = foreground._LAST_SECONDS = 0.5
HOLDS = ["sh", "-c", "trap '' HUP; stty -echo -icanon; echo PROGRAM HAS IT: $PPID.; while :; do read it; done"]

class Lender(BaseApp):
    def on_ready(self):
        end_on_signals(self)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.call_later, self.fail)
        foreground.start_in_front(self, partial(foreground.run_suspended, self, HOLDS, "It"))

    def fail(self):
        raise RuntimeError("the screen failed")

app = Lender(Settings())
app.run()
sys.exit(app.return_code)
"""

QUESTION = "Which files are there?"
LIST = "mcp__local_toolkit__list_directory"

# Like an editor it does not end with Ctrl+C; it proves by its answer that the keys are its own.
EDITOR = """
import os, signal, sys, termios
from pathlib import Path

heard = []
signal.signal(signal.SIGINT, lambda *_: (heard.append("interrupt"), os.write(1, b"EDITOR INTERRUPTED")))
lines = bool(termios.tcgetattr(0)[3] & termios.ICANON)
print("EDITOR HAS IT", flush=True)
said = sys.stdin.readline().strip()
file = Path(sys.argv[1])
file.write_text(f"{file.read_text()}+{said}+{'-'.join(heard)}+{lines}")
"""


def put_program(path: Path, source: str, *, first: str = f"#!{sys.executable}\n") -> None:
    path.write_text(first + source)
    path.chmod(0o755)


def talk_to(screen: Terminal, name: str, line: str) -> None:
    """Say `line` to the program `name` that was asked for, after a Ctrl+C that it does not end with."""
    screen.wait_for(f"{name} HAS IT")
    assert screen.restored
    screen.type("\x03")
    screen.wait_for(f"{name} INTERRUPTED")
    # There is no shell that could continue it: Ctrl+Z must not leave everything stopped.
    screen.type("\x1a")
    screen.type(f"{line}\r")


def assert_back(screen: Terminal, *wanted: str) -> None:
    screen.wait_for(*wanted, lambda text: "HAS IT" not in text)
    assert screen.taken


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def lists(_body: dict[str, Any], results: int) -> Sequence[Block]:
    return [Text("It is listed.")] if results else [Use(LIST, {"path": ""})]


def test_the_prompt_is_edited_in_another_program(tmp_path: Path) -> None:
    editor = tmp_path / "my editor"
    put_program(editor, EDITOR)
    with scripted_model(lists) as url:
        env = model_environment(tmp_path, url, EDITOR=f"'{editor}'")
        with terminal(tmp_path, "--allow", LIST, columns=160, env=env) as screen:
            screen.wait_for("● ready")
            screen.type("from the prompt\x07")
            talk_to(screen, "EDITOR", "from the editor")
            assert_back(screen, "from the prompt+from the editor+interrupt+True", "Conversation")
            # A file that can be found and yet not be started: the terminal comes back all the same.
            put_program(editor, "\0", first="")
            screen.type(" and on\x07")
            assert_back(screen, "cannot be started", "+True and on")
            screen.type(f"\x15{QUESTION}\r")
            screen.wait_for("It is listed.", "● ready")
            # A Ctrl+C that was heard late, here or by the agent, would show by now.
            screen.settle()
            screen.wait_for("● ready")
            screen.quit()


def test_a_session_goes_on_while_it_is_replayed_in_front_and_ends_with_a_signal(tmp_path: Path) -> None:
    story = HeldReply(QUESTION, "And they lived happily.")
    with scripted_model(story) as url, terminal(tmp_path, env=model_environment(tmp_path, url)) as screen:
        try:
            screen.wait_for("● ready")
            screen.type(f"{QUESTION}\r")
            screen.wait_until(story.asked.is_set)
            screen.type("\x1br")
            screen.wait_for("REPLAY", "Esc back")
        finally:
            story.may_answer.set()
        journal = session_of(tmp_path) / "journal.jsonl"
        screen.wait_until(lambda: any(isinstance(e, QueryFinished) for e in read_journal(journal).events))
        assert "REPLAY" in screen.text
        screen.resize(100, 30)
        screen.press_until("\x1b", lambda text: "REPLAY" not in text)
        screen.wait_for("And they lived happily.", "● ready", lambda _: screen.taken)
        screen.type("\x1br")
        screen.wait_for("REPLAY", "Esc back")
        os.kill(int(screen.child.pid or 0), signal.SIGTERM)
        assert screen.end() == 128 + signal.SIGTERM
        assert_restored(screen)
    assert assert_ended(tmp_path, "success").reason == "signal"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGUSR1, 1)])
def test_a_program_that_keeps_the_terminal_is_killed_and_leaves_it_as_it_was(
    tmp_path: Path, number: int, code: int
) -> None:
    # A shell with jobs, as a process in the background is stopped only if somebody could continue it.
    shell = ("-mc", '"$0" -c "$1"; exit $?', sys.executable, LENDER)
    with terminal(tmp_path, *shell, command="bash") as screen:
        screen.wait_for(lambda text: re.search(r"PROGRAM HAS IT: \d+\.", text) is not None)
        assert not screen.cooked
        holds = os.tcgetpgrp(screen.child.child_fd)
        os.kill(int(screen.text.partition("HAS IT: ")[2].partition(".")[0]), number)
        wait_until(lambda: not screen.read())
        assert screen.cooked
        assert screen.end() == code
        assert screen.restored
        # It was killed, and goes when somebody has taken note of that.
        wait_until(lambda: not is_there(holds))
