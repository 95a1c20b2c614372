"""The real program in a pseudo-terminal, with somebody who types as a question comes up."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Self

from tests.e2e.terminal import Terminal, terminal
from tests.e2e.test_terminal import session_of

LETTERS = "adsr"
"""Each of them is an answer of the dialog."""


class Typist:
    """Somebody who types at one speed, however long this process takes to look at the screen."""

    def __init__(self, screen: Terminal) -> None:
        self.typed = ""
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
            letter = LETTERS[len(self.typed) % len(LETTERS)]
            self._screen.type(letter)
            self.typed += letter


def test_typing_into_the_prompt_as_a_permission_is_asked(tmp_path: Path) -> None:
    # Slowly: somebody has to be typing by the time that the question comes.
    with terminal(tmp_path, "--demo", "--demo-pace", "1.5") as screen:
        screen.wait_for("DEMO")
        screen.type("Email the report to the team\r")
        screen.wait_for("Connect an account", "Done")
        screen.rest()
        screen.type("\r")
        screen.wait_for(lambda text: "Connect an account" not in text)
        with Typist(screen) as typist:
            screen.wait_for("GMAIL_SEND_EMAIL?")
            screen.rest(0.5)
        screen.rest(2.5)
        assert "GMAIL_SEND_EMAIL?" in screen.text, "a letter was taken for an answer"
        screen.type("rnot now\r")
        screen.wait_for("was denied: not now", "● ready")
        # The text is whole: sent, it becomes a query.
        screen.type("\r")
        screen.wait_for("Type one of these to try it.")
        screen.rest()
        screen.wait_for("● ready")
        screen.type("\x11")
        assert screen.end() == 0
    lines = (session_of(tmp_path) / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    journal = [json.loads(line) for line in lines]
    (answered,) = [event for event in journal if event["event"] == "permission_answered"]
    assert (answered["decision"], answered["reason"]) == ("deny", "not now")
    queries = [event["text"] for event in journal if event["event"] == "query_received"]
    assert queries[-1] == typist.typed
