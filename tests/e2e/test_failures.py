from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from core.events.types import ErrorRaised, QueryFinished, SessionFinished
from core.records.journal import read_journal
from tests.e2e.running import DEADLINE, NOWHERE, environment, model_environment, program, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.waiting import PATIENCE, wait_until

LIST = "mcp__local_toolkit__list_directory"


class Refusing(BaseHTTPRequestHandler):
    """A Messages API that refuses every key."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
        data = json.dumps(body).encode()
        self.send_response(401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def refusing_api() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.smoke
def test_a_refused_key_is_one_clear_line(tmp_path: Path, refusing_api: str) -> None:
    key = "sk-ant-canary-0123456789"
    env = environment(tmp_path, ANTHROPIC_BASE_URL=refusing_api, ANTHROPIC_API_KEY=key)
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


def test_without_credentials_it_says_what_to_set(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "hello")
    assert done.code == 1
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "--demo" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "AGENT_RUN_WORKSPACES").exists()


def test_a_missing_agent_is_named(tmp_path: Path) -> None:
    env = model_environment(tmp_path, NOWHERE, UA_CLI_PATH=str(tmp_path / "nowhere" / "claude"))
    done = run(tmp_path, "run", "hello", env=env)
    assert done.code == 1
    assert "nowhere/claude" in done.stderr
    assert "Traceback" not in done.stderr
    assert [type(e) for e in done.events][-1] is SessionFinished


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["run", "--nonsense", "x"], "--nonsense"),
        (["run"], "query"),
        (["run", ""], "empty"),
        (["run", "--demo", "--max-turns", "none", "x"], "max-turns"),
        (["run", "--demo", "--permission-mode", "yolo", "x"], "yolo"),
        (["--nonsense"], "--nonsense"),
        (["observe"], "--"),
    ],
)
def test_wrong_usage_is_reported_in_a_line(tmp_path: Path, args: list[str], named: str) -> None:
    done = run(tmp_path, *args)
    assert done.code == 2
    assert named in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    env = model_environment(tmp_path, NOWHERE)
    done = run(tmp_path, "run", "--workspace", "file", "hello", env=env)
    assert done.code == 1
    assert "file" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_screen_without_a_terminal_says_what_to_use(tmp_path: Path) -> None:
    done = run(tmp_path, "--demo")
    assert done.code == 1
    assert "ua-tui run" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def _journal(base: Path) -> Path | None:
    return next(base.glob("AGENT_RUN_WORKSPACES/*/journal.jsonl"), None)


def _wait_for(text: str, base: Path, process: subprocess.Popen[str]) -> None:
    def seen() -> bool:
        journal = _journal(base)
        assert process.poll() is None, process.communicate()
        return journal is not None and text in journal.read_text(encoding="utf-8", errors="replace")

    wait_until(seen)


def _children(pid: int) -> list[tuple[int, str]]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append((int(entry.name), command))
    return found


def _interfere(base: Path, act: Callable[[subprocess.Popen[str]], None]) -> tuple[int, str]:
    never = threading.Event()

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if results:
            never.wait(60)
        return [Text("I look."), Use(LIST, {"path": ""})]

    with scripted_model(reply) as url:
        process = subprocess.Popen(
            [program(), "run", "--allow", LIST, "List the files"],
            cwd=base,
            env=model_environment(base, url),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _wait_for('"event":"tool_call_finished"', base, process)
            act(process)
            _, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            never.set()
    return process.returncode, stderr


def test_a_killed_agent_is_a_clear_end(tmp_path: Path) -> None:
    def kill_agent(process: subprocess.Popen[str]) -> None:
        (agent,) = [pid for pid, command in _children(process.pid) if "claude" in command]
        os.kill(agent, signal.SIGKILL)

    code, stderr = _interfere(tmp_path, kill_agent)
    assert code == 1
    assert "SIGKILL" in stderr
    assert "Traceback" not in stderr
    journal = _journal(tmp_path)
    assert journal is not None
    events = read_journal(journal).events
    (finished,) = [e for e in events if isinstance(e, QueryFinished)]
    assert finished.status == "error"
    assert [e.where for e in events if isinstance(e, ErrorRaised)] == ["agent"]
    assert isinstance(events[-1], SessionFinished)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_everything_in_order(tmp_path: Path, number: signal.Signals, code: int) -> None:
    children: list[tuple[int, str]] = []

    def interrupt(process: subprocess.Popen[str]) -> None:
        children.extend(_children(process.pid))
        process.send_signal(number)

    returned, stderr = _interfere(tmp_path, interrupt)
    assert returned == code
    assert "Traceback" not in stderr
    journal = _journal(tmp_path)
    assert journal is not None
    events = read_journal(journal).events
    assert [e.status for e in events if isinstance(e, QueryFinished)] == ["interrupted"]
    assert isinstance(events[-1], SessionFinished)
    assert children
    for pid, command in children:
        assert not Path(f"/proc/{pid}").exists(), command


@pytest.mark.parametrize("args", [("schema",), ("--version",), ("run", "hello"), ("run", "--json", "hello")])
def test_output_that_cannot_be_written_is_one_clear_line(tmp_path: Path, args: tuple[str, ...]) -> None:
    # A terminal that has gone takes nothing more.
    master, gone = os.openpty()
    os.close(master)
    try:
        with scripted_model(lambda _body, _results: [Text("Yes.")]) as url:
            done = subprocess.run(
                [program(), *args],
                cwd=tmp_path,
                env=model_environment(tmp_path, url),
                stdin=subprocess.DEVNULL,
                stdout=gone,
                stderr=subprocess.PIPE,
                text=True,
                timeout=DEADLINE,
                check=False,
            )
    finally:
        os.close(gone)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("ua-tui: the output cannot be written: ")
    assert "Traceback" not in done.stderr
