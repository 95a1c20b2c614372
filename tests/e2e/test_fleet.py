"""The fleet in a real terminal: a question of a real session on a real worker is answered there."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.jobs_at_work import SEND, add_outbox
from tests.e2e.running import DEADLINE, command, environment, model_environment, program
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import terminal
from tests.waiting import until

QUERY = "Send the report to Ann"
SENT = "ann@example.com: report\n"


def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
    if not body.get("tools"):
        return [Text("Send")]
    if results == 0:
        return [Use(SEND, {"to": "ann@example.com", "text": "report", "answers": True})]
    return [Text("It was sent to Ann.")]


@contextmanager
def batch(home: Path, surroundings: dict[str, str], *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A batch in a process of its own, which ends before the block does."""
    command = [program(), "batch", "queries.txt", "--ask", *options]
    with subprocess.Popen(command, cwd=home, env=surroundings, stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE)


@pytest.mark.slow
def test_a_question_of_a_batch_is_answered_on_the_screen(tmp_path: Path) -> None:
    outbox = add_outbox(tmp_path)
    (tmp_path / "queries.txt").write_text(f"{QUERY}\n")
    there = ("--workspace", str(tmp_path / "batch"))
    with scripted_model(reply) as url:
        surroundings = model_environment(tmp_path, url)
        with (
            batch(tmp_path, surroundings, *there) as running,
            terminal(tmp_path, "fleet", *there, env=surroundings) as screen,
        ):
            screen.wait_for("1 needs you", QUERY, "send_message")
            screen.type("\r")
            # It is over as soon as the session is there.
            screen.wait_until(lambda: "Opening the session" in screen.output)
            screen.type("never\x1bx")
            screen.wait_for("Allow once", "ann@example.com")
            assert not outbox.exists()
            screen.press_until("a", lambda text: "Allow once" not in text)
            screen.wait_for("It was sent to Ann.", "The session has ended.", "Esc back")
            assert outbox.read_text() == SENT
            assert running.wait(DEADLINE) == 0
            screen.press_until("\x1b", lambda text: "1 finished" in text)
            # Keys from before the session was there are neither shown nor given to it.
            assert b"never" not in screen.written
            assert b"^[x" not in screen.written
    listed = command(tmp_path, "fleet", "--json", *there)
    (row,) = json.loads(listed.stdout)["sessions"]
    assert (row["state"], row["title"]) == ("finished", QUERY)


@pytest.mark.parametrize("name", ["sessions", "fleet"])
async def test_a_list_ends_with_its_terminal(tmp_path: Path, name: str) -> None:
    """Also if the program that started it ignores the signal, as `nohup` does."""
    line = f"trap '' HUP; exec {shlex.quote(program())} {name}"
    with terminal(tmp_path, "-c", line, command="bash", env=environment(tmp_path)) as screen:
        await asyncio.to_thread(screen.wait_for, "Esc")
        # The last end of the terminal's other side is closed.
        os.dup2(os.open(os.devnull, os.O_RDWR), screen.child.fileno())
        await until(lambda: not screen.child.isalive())
