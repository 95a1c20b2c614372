from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.live import children, of
from tests.e2e.running import DEADLINE, command, environment, model_environment, program, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.journals import read_journal
from tests.model_server import Answer, model_server, refusal
from tests.waiting import PATIENCE, wait_until
from ua_tui.core.events.types import Event, QueryFinished, SessionFinished, ToolCallFinished

LIST = "mcp__local_toolkit__list_directory"


@pytest.mark.smoke
def test_a_refused_key_is_one_clear_line(tmp_path: Path) -> None:
    key = "sk-ant-canary-0123456789"
    with model_server(Answer(401, refusal("authentication_error", "invalid x-api-key"))) as server:
        env = environment(tmp_path, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY=key)
        done = run(tmp_path, "run", "What is the capital of France?", env=env)
    assert done.code == 1
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ua-tui: the query failed: ")
    assert "Traceback" not in done.stderr
    (finished,) = done.of(QueryFinished)
    assert finished.status == "error"
    assert finished.error
    # Without Composio the session says so and continues.
    assert "Composio is off" in (done.session / "run.log").read_text(encoding="utf-8")
    for path in done.base.rglob("*"):
        if path.is_file():
            assert key not in path.read_text(encoding="utf-8", errors="replace"), path


@pytest.mark.parametrize(
    ("code", "named", "args"),
    [
        (2, "query", ["run"]),
        (2, "empty", ["run", ""]),
        (2, "max-turns", ["run", "--demo", "--max-turns", "none", "x"]),
        (2, "gone.csv cannot be added: No such file", ["run", "--demo", "--attach", "gone.csv", "x"]),
        (2, "rule Nope((", ["run", "--demo", "--allow", "Nope((", "x"]),
        (2, "rule Nope((", ["batch", "--demo", "--allow", "Nope((", "gone.txt"]),
        (2, "yolo", ["run", "--demo", "--permission-mode", "yolo", "x"]),
        (2, "--", ["observe"]),
        (2, "SESSION", ["open"]),
        (2, "--permission-mode", ["doctor", "--permission-mode", "yolo"]),
        (2, "--token", ["serve", "--demo", "--token", "short"]),
        (2, "--no-token", ["serve", "--demo", "--token", "a-token-that-nobody-guesses", "--no-token"]),
        (2, "other machines", ["serve", "--demo", "--no-token", "--host", "0.0.0.0"]),
        (2, "max-turns", ["serve", "--demo", "--theme", "x", "--max-turns", "0"]),
        (1, "ANTHROPIC_API_KEY", ["run", "hello"]),
        (1, "--demo", ["run", "hello"]),
        (2, "ua-tui run", ["--demo"]),
        (1, "file", ["run", "--demo", "--workspace", "/dev/null", "hello"]),
    ],
)
def test_what_cannot_be_done_is_reported_in_a_line(
    code: int, named: str, args: list[str], tmp_path: Path
) -> None:
    done = command(tmp_path, *args)
    assert (done.code, done.stdout) == (code, "")
    assert named in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_signal_ends_everything_in_order(tmp_path: Path) -> None:
    never = threading.Event()

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if results:
            never.wait(PATIENCE)
        return [Text("I look."), Use(LIST, {"path": ""})]

    def events() -> list[Event]:
        (journal,) = tmp_path.glob("AGENT_RUN_WORKSPACES/*/journal.jsonl")
        return read_journal(journal).events

    with scripted_model(reply) as url:
        process = subprocess.Popen(
            [program(), "run", "--allow", LIST, "List the files"],
            cwd=tmp_path, env=model_environment(tmp_path, url),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or list(tmp_path.glob("*/*/journal.jsonl")))
            wait_until(lambda: process.poll() is not None or of(events(), ToolCallFinished))
            started = children(process.pid)
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            never.set()
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in stderr
    assert [e.status for e in of(events(), QueryFinished)] == ["interrupted"]
    assert isinstance(events()[-1], SessionFinished)
    assert started
    for pid, what in started:
        assert not Path(f"/proc/{pid}").exists(), what


@pytest.mark.parametrize("args", [("schema",), ("run", "--json", "hello")])
def test_output_that_cannot_be_written_is_one_clear_line(tmp_path: Path, args: tuple[str, ...]) -> None:
    # A terminal that has gone takes nothing more.
    master, gone = os.openpty()
    os.close(master)
    try:
        with scripted_model(lambda _body, _results: [Text("Yes.")]) as url:
            done = subprocess.run(
                [program(), *args], cwd=tmp_path, env=model_environment(tmp_path, url), stdin=subprocess.DEVNULL,
                stdout=gone, stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False,
            )  # fmt: skip
    finally:
        os.close(gone)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("ua-tui: the output cannot be written: ")
    assert "Traceback" not in done.stderr
