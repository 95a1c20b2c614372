"""What reaches terminals of more and of fewer colours, and with graphics, as the real program sends it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageChops

from tests.e2e.running import environment
from tests.e2e.terminal import WORKSPACE, Terminal, terminal
from tests.many_sessions import lay_sessions

COMMAND = re.compile(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\")
PLACEHOLDER = "\U0010eeee"
NAME = "a-picture.png"
FULL = re.compile(rb"[34]8;2;")
PALETTE = re.compile(rb"[34]8;5;(\d+)")
GREYS = {16, 59, 102, 145, 188, 231, *range(232, 256)}
"""The colours of the 256 that have no hue."""


def picture() -> Image.Image:
    gradient = Image.linear_gradient("L").resize((240, 180))
    return Image.merge("RGB", (gradient, gradient.transpose(Image.Transpose.ROTATE_180), gradient))


def commands(screen: Terminal) -> list[tuple[dict[str, str], bytes]]:
    """What was said in Kitty's protocol, in order."""
    return [
        (dict(part.split("=", 1) for part in match[1].decode().split(",")), match[2] or b"")
        for match in COMMAND.finditer(screen.written)
    ]


@contextmanager
def pointed_at_picture(base: Path, **extra: str) -> Iterator[Terminal]:
    """A past session with a picture, which needs no agent, and the cursor of the workspace on it."""
    (session,) = lay_sessions(base, 1)
    picture().save(session / NAME)
    env = environment(base, TERM="xterm-kitty", COLORTERM="truecolor", **extra)
    with terminal(base, "open", "latest", columns=160, rows=50, env=env) as screen:
        screen.wait_for("past session", NAME)
        screen.type(f"{WORKSPACE}/{NAME}\r")
        screen.wait_for(f"─ {NAME}")
        yield screen
        screen.quit()


def test_a_kitty_terminal_is_sent_the_picture_and_its_cells(tmp_path: Path) -> None:
    with pointed_at_picture(tmp_path) as screen:
        screen.wait_for(PLACEHOLDER, "240 × 180 pixels")
        (first, data), *rest = commands(screen)
        assert (first["a"], first["U"], first["f"]) == ("T", "1", "100")
        sent = Image.open(
            io.BytesIO(base64.b64decode(data + b"".join(each for _, each in rest), validate=True))
        )
        difference = ImageChops.difference(sent.convert("RGB"), picture().resize(sent.size))
        assert max(high for _, high in difference.getextrema()) < 8  # type: ignore[misc]
        number = int(first["i"])
        cell = rf"\x1b\[38;5;{number & 0xFFFFFF}(?:;[0-9;]+)?m{PLACEHOLDER}"
        assert re.search(cell, screen.output) is not None
        cells = int(first["c"]) * int(first["r"])
        screen.wait_for(lambda text: text.count(PLACEHOLDER) == cells)
    assert FULL.search(screen.written)
    assert commands(screen)[-1][0] == {"a": "d", "d": "I", "i": first["i"], "q": "2"}
    # It is forgotten before the other screen of the terminal, which has pictures of its own, comes back.
    assert screen.written.rindex(b"\x1b_Ga=d") < screen.written.rindex(b"\x1b[?1049l")


def test_any_other_terminal_and_tmux_are_sent_half_blocks(tmp_path: Path) -> None:
    with pointed_at_picture(tmp_path, TMUX="/nowhere,1,0") as screen:
        screen.wait_for("▀▀▀", "240 × 180 pixels")
        assert commands(screen) == []
        assert PLACEHOLDER not in screen.text


def test_a_terminal_gets_the_colours_that_it_has(tmp_path: Path) -> None:
    def written(*args: str, **extra: str) -> bytes:
        env = environment(tmp_path, **extra)
        with terminal(tmp_path, "open", "latest", *args, env=env) as screen:
            screen.wait_for("past session", "Conversation")
            screen.settle()
            screen.quit()
            return screen.written

    # A past session needs no agent.
    lay_sessions(tmp_path, 1)
    of_256 = written("--theme", "solarized-light", COLORTERM="")
    assert not FULL.search(of_256)
    used = {int(number) for number in PALETTE.findall(of_256)}
    assert len(used) > 5
    assert used - GREYS
    # The first 16 are whatever a terminal makes of them.
    assert min(used) >= 16
    of_16 = written("--theme", "ansi", COLORTERM="truecolor")
    assert not FULL.search(of_16)
    assert not PALETTE.search(of_16)
    grey = {int(number) for number in PALETTE.findall(written(NO_COLOR="1", COLORTERM=""))}
    assert grey
    assert grey <= GREYS


def test_a_theme_that_does_not_exist_is_reported_in_a_few_words(tmp_path: Path) -> None:
    with terminal(tmp_path, "--demo", env=environment(tmp_path, UA_THEME="gruvbx")) as screen:
        assert screen.end() == 2
        text = " ".join(screen.text.split())
    assert "Traceback" not in text
    assert b"\x1b[?1049h" not in screen.written
    for words in ("UA_THEME is 'gruvbx'", "did you mean gruvbox?", "dark, light, ansi"):
        assert words in text
