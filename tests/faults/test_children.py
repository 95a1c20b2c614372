"""`kill -9` and `SIGSTOP` of what the program starts: command line, toolkit, MCP server."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.bench.processes import descendants
from tests.e2e import own_server
from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.faults.conftest import Report
from tests.faults.evidence import LIST, Left, processes_in
from tests.waiting import PATIENCE, wait_until
from ua_tui.core.events import types as ev
from ua_tui.core.storage.folders import WORKSPACES

NOTE = "mcp__notes__take_note"
AGENT, TOOLKIT, NOTES = "stream-json", "ua_tui.core.toolkit", "own_server.py"
ARGUMENTS: dict[str, dict[str, Any]] = {LIST: {"path": ""}, NOTE: {"text": "milk"}}


class Model:
    """Makes the call that a query names, or thinks for as long as it has to."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.asked = threading.Event()

    def __call__(self, body: dict[str, Any], _results: int) -> Sequence[Block]:
        """Answer one request."""
        last = next(each["content"] for each in reversed(body["messages"]) if each["role"] == "user")
        if isinstance(last, list) and any(block.get("type") == "tool_result" for block in last):
            return (Text("Done."),)
        asked = re.findall(r"Call (\w+)|(Think) about", json.dumps(body["messages"]))[-1]
        if asked[1]:
            self.asked.set()
            self.may_answer.wait(PATIENCE)
            return (Text("Thought."),)
        return (Use(asked[0], ARGUMENTS[asked[0]]),)


class Desk:
    """A session on a real screen, its journal, and the processes of the program."""

    def __init__(self, screen: Terminal, base: Path, model: Model) -> None:
        self.screen = screen
        self.base = base
        self.model = model

    @property
    def events(self) -> list[ev.Event]:
        """What was recorded so far."""
        for journal in self.base.glob(f"{WORKSPACES}/*/journal.jsonl"):
            return Left(journal.parent).events
        return []

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def process(self, command: str) -> int:
        """The process of the program whose command line has this; 0 if there is none."""
        for pid in descendants(int(self.screen.child.pid or 0)):
            with suppress(OSError):
                if command.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
        return 0

    def submit(self, query: str) -> None:
        """Send a query."""
        self.screen.type(query)
        self.screen.wait_for(query)
        self.screen.type("\r")

    def wait(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        self.screen.wait_until(lambda: bool(holds()))

    def ask(self, query: str) -> ev.QueryFinished:
        """Send a query and wait for its end."""
        before = len(self.of(ev.QueryFinished))
        self.submit(query)
        self.wait(lambda: len(self.of(ev.QueryFinished)) > before)
        finished: ev.QueryFinished = self.of(ev.QueryFinished)[-1]
        return finished

    def call(self, tool: str) -> ev.ToolCallFinished:
        """Have a tool called; returns the end of the call."""
        self.ask(f"Call {tool}")
        finished: ev.ToolCallFinished = self.of(ev.ToolCallFinished)[-1]
        return finished

    def leave(self) -> None:
        """Quit, and wait until no process is left."""
        self.screen.quit()
        wait_until(lambda: not processes_in(self.base), reported=lambda: processes_in(self.base))
        assert isinstance(self.events[-1], ev.SessionFinished)


@contextmanager
def desk(base: Path) -> Iterator[Desk]:
    """A session with an MCP server of the person's own."""
    settings = base / ".config" / "ua-tui" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"[mcp_servers.notes]\ncommand = {sys.executable!r}\nargs = [{own_server.__file__!r}, 'stdio']\nacts = 'here'\n"
    )
    model = Model()
    with scripted_model(model) as url:
        try:
            with terminal(base, "--allow", "mcp__*", env=model_environment(base, url)) as screen:
                here = Desk(screen, base, model)
                screen.wait_for("ready")
                yield here
        finally:
            model.may_answer.set()
            # After a failed test.
            for pid in processes_in(base):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def stop_query(here: Desk) -> None:
    """Press Esc and wait until the running query ends."""
    before = len(here.of(ev.QueryFinished))
    # The screen may still show the query before.
    here.wait(lambda: len(here.of(ev.QueryReceived)) > before)
    here.screen.wait_for("Esc stops")
    here.screen.type("\x1b")
    here.wait(lambda: len(here.of(ev.QueryFinished)) > before)
    finished = here.of(ev.QueryFinished)[-1]
    assert finished.status == "interrupted", finished.error


def kill_each(here: Desk, report: Report) -> None:
    for name, command, tool in (("the toolkit", TOOLKIT, LIST), ("an MCP server", NOTES, NOTE)):
        assert here.call(tool).status == "success"
        first = here.process(command)
        os.kill(first, signal.SIGKILL)
        failed: list[str] = []
        # The command line notices it at the next call, which fails; the server is then started again.
        while (call := here.call(tool)).status != "success":
            failed.append(str(call.observation.error if call.observation is not None else None))
            assert len(failed) < 9
        assert here.process(command) not in {0, first}
        seen = f"{len(failed)} calls failed ({failed[-1][:40] if failed else 'none'}), then started again"
        report(f"kill -9 of {name}", seen)

    here.submit("Think about it")
    here.screen.wait_until(here.model.asked.is_set)
    agent = here.process(AGENT)
    os.kill(agent, signal.SIGKILL)
    here.wait(lambda: here.of(ev.ErrorRaised))
    (error,) = here.of(ev.ErrorRaised)
    here.screen.wait_for("SIGKILL")
    here.wait(lambda: len(here.of(ev.QueryFinished)) == len(here.of(ev.QueryReceived)))
    assert [each.status for each in here.of(ev.QueryFinished)][-1] == "error"
    here.model.may_answer.set()
    here.screen.press_until("r", lambda text: "ready" in text)
    assert here.process(AGENT) not in {0, agent}
    assert here.call(LIST).status == "success"
    report("kill -9 of the command line", f"{error.message[:60]}; restarted with one key")


def stop_each(here: Desk, report: Report) -> None:
    here.model.may_answer.set()
    for name, command, tool in (("the toolkit", TOOLKIT, LIST), ("an MCP server", NOTES, NOTE)):
        assert here.call(tool).status == "success"
        stopped = here.process(command)
        os.kill(stopped, signal.SIGSTOP)
        here.submit(f"Call {tool}")
        stop_query(here)
        assert here.ask("Think about it").status == "success"
        os.kill(stopped, signal.SIGCONT)
        assert here.call(tool).status == "success"
        report(f"SIGSTOP of {name}", "Esc stops the call; the next query is answered")

    program = int(here.screen.child.pid or 0)
    os.kill(program, signal.SIGSTOP)
    here.screen.type("typed while stopped")
    os.kill(program, signal.SIGCONT)
    here.screen.wait_for("typed while stopped")
    report("SIGSTOP of the screen", "after SIGCONT it has what was typed meanwhile")
    here.screen.type("\x15")

    here.model.may_answer.clear()
    here.model.asked.clear()
    here.submit("Think about it")
    here.screen.wait_until(here.model.asked.is_set)
    os.kill(here.process(AGENT), signal.SIGSTOP)
    here.screen.type("keys work")
    here.screen.wait_for("keys work")
    here.screen.type("\x15")
    stop_query(here)
    report("SIGSTOP of the command line", "keys work; Esc ends it by force, and the query")
    here.model.may_answer.set()
    assert here.ask("Think about it").status == "success"

    for command in (AGENT, TOOLKIT, NOTES):
        os.kill(here.process(command), signal.SIGSTOP)
    here.leave()
    report("quit while command line, toolkit and MCP server are stopped", "no child left")


@pytest.mark.slow
def test_the_children_are_killed_and_stopped(tmp_path: Path, report: Report) -> None:
    with desk(tmp_path) as here:
        kill_each(here, report)
        stop_each(here, report)
