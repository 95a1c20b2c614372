"""Sizes and keys of a person in the real program: dragged with the mouse of a terminal, there again the next time."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.running import NOWHERE, model_environment
from tests.e2e.terminal import Terminal, terminal

READY = "Ask anything"


def column_of(text: str, title: str) -> int:
    """Where the pane with this title begins."""
    return next(line.index(title) for line in text.splitlines() if title in line) - 1


def mouse(screen: Terminal, code: int, column: int, row: int, *, up: bool = False) -> None:
    """Send what a terminal sends for the mouse; 0 is the left button, 32 more that it moves."""
    screen.type(f"\x1b[<{code};{column + 1};{row + 1}{'m' if up else 'M'}")


def test_a_border_is_dragged_and_stays_where_it_was_put(tmp_path: Path) -> None:
    state = tmp_path / "state"
    env = model_environment(tmp_path, NOWHERE, XDG_STATE_HOME=str(state))
    with terminal(tmp_path, env=env) as screen:
        text = screen.wait_for(READY, "─ Trace", "ready")
        before = column_of(text, "─ Trace")
        mouse(screen, 0, before, 10)
        for column in range(before, before - 13, -3):
            mouse(screen, 32, column, 11)
        mouse(screen, 0, before - 12, 11, up=True)
        screen.wait_for(lambda text: column_of(text, "─ Trace") == before - 12)
        screen.type("\x11")
        assert screen.end() == 0
    sizes = json.loads((state / "ua-tui" / "layout.json").read_text())["sizes"]
    assert sizes["side"] == (120 - before + 12) / 120
    (tmp_path / "ua-tui.toml").write_text(
        '[keys]\npane.standard = "f9"\nquit = "ctrl+x"\nnothing.there = "f8"\n'
    )
    with terminal(tmp_path, env=env) as screen:
        # What is told of faulty keys goes again, maybe before the rest stands there.
        screen.wait_for("nothing.there in [keys] of")
        text = screen.wait_for(READY, "─ Trace", "ready")
        assert column_of(text, "─ Trace") == before - 12
        screen.type("\x1b[20~")
        screen.wait_for(lambda text: column_of(text, "─ Trace") == before)
        screen.type("\x18")
        assert screen.end() == 0
