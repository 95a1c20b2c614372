"""The person's own editor and pager in the terminal of the program, and the terminal afterwards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import CONVERSATION, TRACE, WORKSPACE, Terminal, terminal
from tests.e2e.test_terminal import session_of

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

# The text comes in by the pipe, keys by the terminal itself, as with every pager.
PAGER = """
import os, signal, sys
from pathlib import Path

signal.signal(signal.SIGINT, lambda *_: os.write(1, b"PAGER INTERRUPTED"))
text = sys.stdin.read()
print("PAGER HAS IT", flush=True)
with open("/dev/tty") as keys:
    Path(sys.argv[1]).write_text(text + keys.readline())
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


def leave(screen: Terminal) -> None:
    # A Ctrl+C that was heard late, here or by the agent, would show by now.
    screen.settle()
    screen.wait_for("● ready")
    screen.type("\x11")
    assert screen.end() == 0
    assert screen.restored
    assert b"Traceback" not in screen.written


def lists(_body: dict[str, Any], results: int) -> Sequence[Block]:
    return [Text("It is listed.")] if results else [Use(LIST, {"path": ""})]


def test_the_prompt_and_a_file_are_edited_and_a_call_is_read_in_the_pager(tmp_path: Path) -> None:
    editor, pager, read = tmp_path / "my editor", tmp_path / "pager", tmp_path / "read.txt"
    put_program(editor, EDITOR)
    put_program(pager, PAGER)
    with scripted_model(lists) as url:
        env = model_environment(tmp_path, url, EDITOR=f"'{editor}'", PAGER=f"{pager} {read}")
        with terminal(tmp_path, "--allow", LIST, columns=160, env=env) as screen:
            screen.wait_for("● ready")
            edit_the_prompt(screen, editor)
            screen.type("\x15")
            notes = session_of(tmp_path) / "a-note.md"
            notes.write_text("found")
            screen.wait_for("a-note.md", lambda text: "and on!" not in text)
            # The first file stands below the folders.
            screen.type(WORKSPACE + "\x1b[H" + "\x1b[B" * screen.text.count("▸"))
            screen.wait_for("─ a-note.md")
            put_program(editor, EDITOR)
            screen.type("e")
            talk_to(screen, "EDITOR", "changed")
            assert_back(screen, "found+changed+interrupt+True", "a-note.md")
            put_program(editor, "raise SystemExit(3)")
            screen.type("e")
            assert_back(screen, "exited with code 3", "a-note.md")
            screen.type(CONVERSATION)
            screen.settle()
            screen.type("\x1b")
            screen.settle()
            screen.type(f"{QUESTION}\r")
            screen.wait_for("It is listed.", "● ready")
            screen.type(TRACE)
            screen.wait_for("list_directory")
            screen.type("\x1b[F\r")
            screen.wait_for("list_directory", "pager")
            screen.type("P")
            talk_to(screen, "PAGER", "a key")
            assert_back(screen, "list_directory", "pager")
            pager.unlink()
            screen.type("P")
            assert_back(screen, "was not found")
            screen.type("\x1b")
            screen.wait_for("Conversation", "● ready")
            leave(screen)
    assert notes.read_text() == "found+changed+interrupt+True"
    text = read.read_text()
    assert "a-note.md" in text
    assert text.endswith("a key\n")


def edit_the_prompt(screen: Terminal, editor: Path) -> None:
    screen.type("from the prompt\x07")
    talk_to(screen, "EDITOR", "from the editor")
    assert_back(screen, "from the prompt+from the editor+interrupt+True", "Conversation")
    screen.type(" and on")
    screen.wait_for("+True and on")
    put_program(editor, "raise SystemExit(1)")
    screen.type("\x07")
    assert_back(screen, "exited with code 1", "+True and on")
    # A file that can be found and yet not be started: the terminal comes back all the same.
    put_program(editor, "\0", first="")
    screen.type("\x07")
    assert_back(screen, "cannot be started", "+True and on")
    editor.unlink()
    screen.type("\x07")
    assert_back(screen, "was not found", "$EDITOR", "+True and on")
    screen.type("!")
    screen.wait_for("+True and on!")
