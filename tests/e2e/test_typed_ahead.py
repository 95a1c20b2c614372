"""The real program in a pseudo-terminal, with somebody who types as a question comes up."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.terminal import terminal
from tests.e2e.test_terminal import session_of

LETTERS = "adsr"
"""Each of them is an answer of the dialog."""
MOST = 400


def test_typing_into_the_prompt_as_a_permission_is_asked(tmp_path: Path) -> None:
    # Not at once: somebody has to be typing by the time that the question comes.
    with terminal(tmp_path, "--demo", "--demo-pace", "0.5") as screen:
        screen.wait_for("DEMO")
        screen.type("Email the report to the team\r")
        screen.wait_for("Connect an account", "Done")
        screen.rest()
        screen.type("\r")
        screen.wait_for(lambda text: "Connect an account" not in text)
        typed = ""
        after = 0
        while after < 12:
            letter = LETTERS[len(typed) % len(LETTERS)]
            screen.type(letter)
            typed += letter
            screen.read(0.04)
            after += "GMAIL_SEND_EMAIL?" in screen.text
            assert len(typed) < MOST, screen.text
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
    assert queries[-1] == typed
