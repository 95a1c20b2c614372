"""What reaches terminals of more and of fewer colours, and what is said where the screen cannot be shown."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.running import environment
from tests.e2e.terminal import terminal

FULL = re.compile(rb"[34]8;2;")
PALETTE = re.compile(rb"[34]8;5;(\d+)")
GREYS = {16, 59, 102, 145, 188, 231, *range(232, 256)}
"""The colours of the 256 that have no hue."""


def shown(base: Path, *args: str, **extra: str) -> bytes:
    """Everything the program writes while it shows a past session, which needs no agent."""
    folder = base / "session"
    folder.mkdir()
    (folder / "journal.jsonl").touch()
    with terminal(base, "open", "session", *args, env=environment(base, **extra)) as screen:
        screen.wait_for("past session", "Conversation")
        screen.settle()
        screen.type("\x11")
        assert screen.end() == 0
        return screen.written


def test_a_terminal_of_256_colours_gets_none_but_these(tmp_path: Path) -> None:
    written = shown(tmp_path, "--theme", "solarized-light", COLORTERM="")
    assert not FULL.search(written)
    used = {int(number) for number in PALETTE.findall(written)}
    assert len(used) > 5
    assert used - GREYS
    # The first 16 are whatever a terminal makes of them.
    assert min(used) >= 16


def test_a_terminal_of_all_colours_gets_them(tmp_path: Path) -> None:
    assert FULL.search(shown(tmp_path, COLORTERM="truecolor"))


def test_the_theme_of_16_colours_uses_no_others(tmp_path: Path) -> None:
    written = shown(tmp_path, "--theme", "ansi", COLORTERM="truecolor")
    assert not FULL.search(written)
    assert not PALETTE.search(written)


def test_without_colours_there_is_no_hue(tmp_path: Path) -> None:
    written = shown(tmp_path, NO_COLOR="1", COLORTERM="")
    used = {int(number) for number in PALETTE.findall(written)}
    assert used
    assert used <= GREYS


def test_a_theme_that_does_not_exist_is_reported_in_a_few_words(tmp_path: Path) -> None:
    with terminal(tmp_path, "--demo", env=environment(tmp_path, UA_THEME="gruvbx")) as screen:
        assert screen.end() == 2
        text = " ".join(screen.text.split())
    assert "Traceback" not in text
    assert b"\x1b[?1049h" not in screen.written
    for words in ("UA_THEME is 'gruvbx'", "did you mean gruvbox?", "dark, light, ansi"):
        assert words in text
