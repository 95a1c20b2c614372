"""The person's own editor in the terminal of the program, and the terminal afterwards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import Terminal, terminal

QUESTION = "Which files are there?"
LIST = "mcp__local_toolkit__list_directory"

# Like an editor it does not end with Ctrl+C; it proves by its answer that the keys are its own.
EDITOR = """
import os, signal, sys, termios
from pathlib import Path

heard = []
signal.signal(signal.SIGINT, lambda *_: (heard.append("interrupt"), os.write(1, b"EDITOR INTERRUPTED")))
lines = bool(termios.tcgetattr(0)[3] & termios.ICANON)
print("EDITOR HAS IT", flush=True)
said = sys.stdin.readline().strip()
file = Path(sys.argv[1])
file.write_text(f"{file.read_text()}+{said}+{'-'.join(heard)}+{lines}")
"""


def put_program(path: Path, source: str, *, first: str = f"#!{sys.executable}\n") -> None:
    path.write_text(first + source)
    path.chmod(0o755)


def talk_to(screen: Terminal, name: str, line: str) -> None:
    """Say `line` to the program `name` that was asked for, after a Ctrl+C that it does not end with."""
    screen.wait_for(f"{name} HAS IT")
    assert screen.restored
    screen.type("\x03")
    screen.wait_for(f"{name} INTERRUPTED")
    # There is no shell that could continue it: Ctrl+Z must not leave everything stopped.
    screen.type("\x1a")
    screen.type(f"{line}\r")


def assert_back(screen: Terminal, *wanted: str) -> None:
    screen.wait_for(*wanted, lambda text: "HAS IT" not in text)
    assert screen.taken


def lists(_body: dict[str, Any], results: int) -> Sequence[Block]:
    return [Text("It is listed.")] if results else [Use(LIST, {"path": ""})]


def test_the_prompt_is_edited_in_another_program(tmp_path: Path) -> None:
    editor = tmp_path / "my editor"
    put_program(editor, EDITOR)
    with scripted_model(lists) as url:
        env = model_environment(tmp_path, url, EDITOR=f"'{editor}'")
        with terminal(tmp_path, "--allow", LIST, columns=160, env=env) as screen:
            screen.wait_for("● ready")
            screen.type("from the prompt\x07")
            talk_to(screen, "EDITOR", "from the editor")
            assert_back(screen, "from the prompt+from the editor+interrupt+True", "Conversation")
            # A file that can be found and yet not be started: the terminal comes back all the same.
            put_program(editor, "\0", first="")
            screen.type(" and on\x07")
            assert_back(screen, "cannot be started", "+True and on")
            screen.type(f"\x15{QUESTION}\r")
            screen.wait_for("It is listed.", "● ready")
            # A Ctrl+C that was heard late, here or by the agent, would show by now.
            screen.settle()
            screen.wait_for("● ready")
            screen.quit()
