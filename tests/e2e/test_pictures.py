"""Pictures by the graphics of terminals, as the real program sends them."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

from PIL import Image, ImageChops

from tests.e2e.running import NOWHERE, model_environment
from tests.e2e.terminal import WORKSPACE, Terminal, terminal

COMMAND = re.compile(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\")
PLACEHOLDER = "\U0010eeee"
NAME = "a-picture.png"


def picture() -> Image.Image:
    gradient = Image.linear_gradient("L").resize((240, 180))
    return Image.merge("RGB", (gradient, gradient.transpose(Image.Transpose.ROTATE_180), gradient))


def commands(screen: Terminal) -> list[tuple[dict[str, str], bytes]]:
    """What was said in Kitty's protocol, in order."""
    return [
        (dict(part.split("=", 1) for part in match[1].decode().split(",")), match[2] or b"")
        for match in COMMAND.finditer(screen.written)
    ]


def point_at_picture(screen: Terminal, base: Path) -> None:
    """Put a picture into the session and the cursor of the workspace on it."""
    screen.wait_for("● ready", "run.log")
    (session,) = (base / "AGENT_RUN_WORKSPACES").glob("session_*")
    picture().save(session / NAME)
    screen.wait_for(NAME)
    screen.type(WORKSPACE)
    rows = screen.wait_for("▸ downloads", NAME).splitlines()
    first, wanted = (next(at for at, row in enumerate(rows) if name in row) for name in ("▸ downloads", NAME))
    screen.type("\x1b[H" + "\x1b[B" * (wanted - first))
    screen.wait_for(f"─ {NAME}")


def test_a_kitty_terminal_is_sent_the_picture_and_its_cells(tmp_path: Path) -> None:
    env = model_environment(tmp_path, NOWHERE, TERM="xterm-kitty", COLORTERM="truecolor")
    with terminal(tmp_path, columns=160, rows=50, env=env) as screen:
        point_at_picture(screen, tmp_path)
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
        assert re.search(cell, screen.written.decode()) is not None
        cells = int(first["c"]) * int(first["r"])
        screen.wait_for(lambda text: text.count(PLACEHOLDER) == cells)
        screen.type("\x11")
        assert screen.end() == 0
        assert commands(screen)[-1][0] == {"a": "d", "d": "I", "i": first["i"], "q": "2"}
        # It is forgotten before the other screen of the terminal, which has pictures of its own, comes back.
        assert screen.written.rindex(b"\x1b_Ga=d") < screen.written.rindex(b"\x1b[?1049l")


def test_any_other_terminal_and_tmux_are_sent_half_blocks(tmp_path: Path) -> None:
    env = model_environment(tmp_path, NOWHERE, TERM="xterm-kitty", COLORTERM="truecolor", TMUX="/nowhere,1,0")
    with terminal(tmp_path, columns=160, rows=50, env=env) as screen:
        point_at_picture(screen, tmp_path)
        screen.wait_for("▀▀▀", "240 × 180 pixels")
        assert commands(screen) == []
        assert PLACEHOLDER not in screen.text
        screen.type("\x11")
        assert screen.end() == 0
