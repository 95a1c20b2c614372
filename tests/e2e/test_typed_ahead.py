"""The real program in a pseudo-terminal, with somebody who types as a dialog opens by itself."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.e2e.live import children
from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.e2e.test_terminal import session_of
from tests.waiting import PATIENCE

LETTERS = "adsr"
"""Each of them is an answer of the permission dialog."""
ENDS = "rq"
"""Each of them is an answer of the dialog of a failure."""


class Typist:
    """Somebody who types at one speed, however long this process takes to look at the screen."""

    def __init__(self, screen: Terminal, letters: str) -> None:
        self.typed = ""
        self._letters = letters
        self._screen = screen
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._type)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._enough.set()
        self._thread.join()

    def _type(self) -> None:
        while not self._enough.wait(0.04):
            letter = self._letters[len(self.typed) % len(self._letters)]
            self._screen.type(letter)
            self.typed += letter


def test_typing_into_the_prompt_as_a_permission_is_asked(tmp_path: Path) -> None:
    typing = threading.Event()

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        # Somebody is typing by the time that the question comes.
        typing.wait(PATIENCE)
        return (
            [Text("It is fetched.")]
            if results
            else [Use("WebFetch", {"url": "https://a.example", "prompt": "x"})]
        )

    with (
        scripted_model(reply) as url,
        terminal(tmp_path, "--tool", "WebFetch", env=model_environment(tmp_path, url)) as screen,
    ):
        screen.wait_for("● ready")
        screen.type("Fetch the page\r")
        screen.wait_for("Esc stops")
        with Typist(screen, LETTERS) as typist:
            screen.wait_until(lambda: len(typist.typed) > len(LETTERS))
            typing.set()
            screen.wait_for("WebFetch?")
            typed = len(typist.typed)
            screen.wait_until(lambda: len(typist.typed) > typed + 2 * len(LETTERS))
        screen.wait_for(lambda text: "in a moment" not in text)
        assert "WebFetch?" in screen.text, "a letter was taken for an answer"
        screen.type("rnot now\r")
        screen.wait_for("was denied: not now", "It is fetched.", "● ready")
        # The text is whole: sent, it becomes a query.
        screen.type("\r")
        screen.wait_for(lambda text: text.count("It is fetched.") == 2, "● ready")
        screen.type("\x11")
        assert screen.end() == 0
    lines = (session_of(tmp_path) / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    journal = [json.loads(line) for line in lines]
    (answered,) = [event for event in journal if event["event"] == "permission_answered"]
    assert (answered["decision"], answered["reason"]) == ("deny", "not now")
    queries = [event["text"] for event in journal if event["event"] == "query_received"]
    assert queries[-1] == typist.typed


def test_typing_into_the_prompt_as_the_agent_dies(tmp_path: Path) -> None:
    with (
        scripted_model(lambda _body, _results: [Text("I am back.")]) as url,
        terminal(tmp_path, env=model_environment(tmp_path, url)) as screen,
    ):
        screen.wait_for("● ready")
        assert screen.child.pid is not None
        (agent,) = [pid for pid, command in children(screen.child.pid) if "claude" in command]
        with Typist(screen, ENDS) as typist:
            screen.wait_until(lambda: len(typist.typed) > len(ENDS))
            os.kill(agent, signal.SIGKILL)
            screen.wait_for("The agent stopped", "typing goes to the prompt")
        screen.wait_for("The agent stopped", lambda text: "in a moment" not in text)
        # Every key is in the prompt, and none was an answer; a second one would be typed into it.
        screen.type("r")
        screen.wait_for("● ready")
        screen.type("\r")
        screen.wait_for("I am back.", "● ready")
        screen.type("\x11")
        assert screen.end() == 0
    lines = (session_of(tmp_path) / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    received = [event for event in map(json.loads, lines) if event["event"] == "query_received"]
    assert [event["text"] for event in received] == [typist.typed]
