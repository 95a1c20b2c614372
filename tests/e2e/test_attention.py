"""The real program in a terminal that tells whether it has the focus."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.running import environment
from tests.e2e.terminal import terminal

BLUR, FOCUS = "\x1b[O", "\x1b[I"
CALL = b"\x1b]777;notify;ua-tui;ua-tui: "


def test_a_question_calls_whoever_looks_elsewhere_and_nobody_else(tmp_path: Path) -> None:
    env = environment(tmp_path, UA_NOTIFY="osc777")
    with terminal(tmp_path, "--demo", "--demo-pace", "0", env=env) as screen:
        screen.wait_for("DEMO")
        screen.type("Email the report to the team\r" + BLUR)
        screen.wait_for("Connect an account", "Done")
        screen.rest()
        assert b"\x1b[?1004h" in screen.written
        assert screen.written.count(CALL) == 1
        assert CALL + b"an account needs to be connected: Email the report to the team\x07" in screen.written
        screen.type(FOCUS + "\r")
        screen.wait_for("GMAIL_SEND_EMAIL", "Deny")
        screen.rest()
        assert screen.written.count(CALL) == 1
        screen.type("\x1b")
        screen.wait_for("GMAIL_SEND_EMAIL was denied", "● ready")
        screen.type("\x11")
        assert screen.end() == 0
