"""The connections screen of the real program in a real terminal."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Text, scripted_model
from tests.e2e.terminal import terminal


def row(state: str) -> re.Pattern[str]:
    return re.compile(rf"local_toolkit +{state}\b")


def test_a_server_is_switched_off_and_on_and_everything_is_tested(tmp_path: Path) -> None:
    with (
        scripted_model(lambda _body, _results: [Text("Yes.")]) as url,
        terminal(tmp_path, columns=80, rows=40, env=model_environment(tmp_path, url)) as screen,
    ):
        screen.wait_for("Ask anything", "● ready")
        screen.type("/connections\r")
        screen.wait_for("Connections", lambda text: bool(row("connected").search(text)))
        screen.type("e")
        screen.wait_for(lambda text: bool(row("disabled").search(text)), "does not see its tools")
        screen.type(" ")
        screen.wait_for(lambda text: bool(row("connected").search(text)), "1 of 1 connected")
        screen.type("r")
        screen.wait_for(lambda text: bool(row("connected").search(text)), "1 of 1 connected")
        screen.type("t")
        text = screen.wait_for("A session can start.")
        assert "Local toolkit" in text
        screen.type("\x1b")
        screen.wait_for("Ask anything", "local_toolkit is connected again.")
        screen.type("\x11")
        assert screen.end() == 0
