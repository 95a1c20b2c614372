"""Ctrl+Z in the real program under a real shell, and `fg`: the terminal, the work, and the screen afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.running import environment, model_environment, program
from tests.e2e.scripted_model import HeldReply, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.e2e.test_terminal import session_of
from tests.journals import read_journal
from tests.many_sessions import lay_sessions
from ua_tui.core.events.types import QueryFinished

ASKED = "Tell a long story"
PROMPT = "shell-prompt> "
STOP = "\x1a"
FOCUS_ON, FOCUS_OFF = b"\x1b[?1004h", b"\x1b[?1004l"


@contextmanager
def shell(base: Path, env: dict[str, str]) -> Iterator[Terminal]:
    """A shell with job control in a pseudo-terminal."""
    arguments = ("--norc", "--noprofile", "--noediting", "-i")
    with terminal(base, *arguments, command="bash", env={**env, "PS1": PROMPT}) as screen:
        screen.wait_for(PROMPT)
        yield screen


def stop(screen: Terminal) -> None:
    """Press Ctrl+Z and wait until the terminal is the shell's."""
    screen.type(STOP)
    screen.wait_for("Stopped", PROMPT, lambda _: screen.restored)
    assert screen.written.rfind(FOCUS_OFF) > screen.written.rfind(FOCUS_ON)
    assert screen.cooked
    screen.type("echo $((6*7))-from-the-shell\r")
    screen.wait_for("42-from-the-shell")


def test_the_shell_gets_its_terminal_and_the_work_continues_after_fg(tmp_path: Path) -> None:
    story = HeldReply(ASKED, "And they lived happily.")
    with scripted_model(story) as url:
        env = model_environment(tmp_path, url)
        try:
            with shell(tmp_path, env) as screen:
                screen.type(f"{shlex.quote(program())}\r")
                screen.wait_for("● ready", "Conversation")
                screen.type(f"{ASKED}\r")
                screen.wait_until(story.asked.is_set)
                screen.type("a draft")
                screen.wait_for("a draft", "Conversation")
                stop(screen)
                journal = session_of(tmp_path) / "journal.jsonl"
                before = journal.read_bytes()
                # The answer comes, and nobody is there to take it: the work stands still.
                story.may_answer.set()
                screen.type("echo $((5*5))-later\r")
                screen.wait_for("25-later")
                assert journal.read_bytes() == before
                # In the background it has no terminal, and stops again.
                screen.type("bg\r")
                screen.press_until("jobs\r", lambda text: text.count("Stopped") >= 2)
                assert screen.restored
                assert journal.read_bytes() == before
                screen.type("fg\r")
                screen.wait_for(
                    "a draft",
                    "And they lived happily.",
                    "● ready",
                    "Trace",
                    lambda text: "from-the-shell" not in text,
                )
                assert screen.taken
                assert screen.written.rfind(FOCUS_ON) > screen.written.rfind(FOCUS_OFF)
                screen.type(" goes on")
                screen.wait_for("a draft goes on")
                # And once more, when nothing runs.
                stop(screen)
                screen.type("fg\r")
                screen.wait_for("a draft goes on", "● ready")
                assert screen.taken
                screen.type("\x11")
                screen.wait_for("Session saved in", PROMPT, lambda _: screen.restored)
                screen.type("exit\r")
                assert screen.end() == 0
                assert b"Traceback" not in screen.written
        finally:
            story.may_answer.set()
    events = read_journal(session_of(tmp_path) / "journal.jsonl").events
    assert [event.status for event in events if isinstance(event, QueryFinished)] == ["success"]


def test_a_session_that_is_read_from_the_list_is_stopped_with_the_list(tmp_path: Path) -> None:
    lay_sessions(tmp_path, 1)
    with shell(tmp_path, environment(tmp_path)) as screen:
        screen.type(f"{shlex.quote(program())} sessions\r")
        screen.wait_for("1 session", "news of AI chips")
        stop(screen)
        screen.type("fg\r")
        screen.wait_for("1 session", lambda text: "from-the-shell" not in text)
        screen.type("\r")
        screen.wait_for("past session · finished", "Two of the sources agree")
        stop(screen)
        screen.type("fg\r")
        screen.wait_for(
            "past session · finished", "Two of the sources agree", lambda text: "from-the-shell" not in text
        )
        screen.type("\x11")
        screen.wait_for("1 session", "news of AI chips")
        screen.type("q")
        screen.wait_for(PROMPT, lambda _: screen.restored)
        screen.type("exit\r")
        assert screen.end() == 0
