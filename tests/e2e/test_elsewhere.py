"""A session that runs in one terminal, seen from another: in the list, and followed as it goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import DEADLINE, model_environment
from tests.e2e.scripted_model import Block, Text, scripted_model
from tests.e2e.terminal import terminal
from tests.e2e.test_terminal import session_of
from tests.journals import read_journal
from ua_tui.core.events.types import QueryFinished

FIRST, SECOND = "What is the first thing", "And the second thing"


class Model:
    """Answers the first query at once, and the second when it is let."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.may_answer = threading.Event()

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Block]:
        asked = str(body["messages"])
        self.sent.append(asked)
        if SECOND in asked:
            self.may_answer.wait(DEADLINE)
            return [Text("It is a second answer.")]
        return [Text("It is a first answer.")]


@pytest.mark.slow
def test_a_session_is_followed_from_another_terminal_and_continues_after_it_was_killed(
    tmp_path: Path,
) -> None:
    model = Model()
    with scripted_model(model) as url:
        env = model_environment(tmp_path, url)
        try:
            with terminal(tmp_path, env=env) as one, terminal(tmp_path, "sessions", env=env) as other:
                one.wait_for("● ready")
                other.wait_for("1 session", "nothing was asked", "running")
                one.type(f"{FIRST}\r")
                one.wait_for("It is a first answer.", "● ready")
                # Its row moves on by itself.
                other.wait_for(FIRST, "running")
                other.type("r")
                other.wait_for("This session is running in another program")
                other.type("\r")
                other.wait_for("running elsewhere · followed", "It is a first answer.")
                one.type(f"{SECOND}\r")
                other.wait_for(SECOND)
                assert "second answer" not in other.text
                model.may_answer.set()
                other.wait_for("It is a second answer.")
                assert "past session" not in other.text
                one.wait_for("It is a second answer.", "● ready")
                assert one.child.pid is not None
                os.kill(one.child.pid, signal.SIGKILL)
                other.wait_for("past session · crashed", "The program ended in the middle of this session")
                other.type("\x11")
                other.wait_for("1 session", "crashed", lambda text: "running" not in text)
                other.type("r")
                other.wait_for("Resumed", "It is a second answer.", "● ready")
                other.type("And the third thing\r")
                other.wait_until(lambda: "the third thing" in model.sent[-1])
                assert "It is a second answer." in model.sent[-1]
                other.wait_for("● ready", lambda text: text.count("It is a second answer.") >= 2)
                other.type("\x11")
                other.wait_for("Sessions", "1 session", "finished")
                other.quit()
        finally:
            model.may_answer.set()
    events = read_journal(session_of(tmp_path) / "journal.jsonl").events
    assert [event.status for event in events if isinstance(event, QueryFinished)] == ["success"] * 3
