"""Quitting while observers are at work, once and twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.running import model_environment
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.faults.conftest import Report
from tests.faults.evidence import ALLOWED, LIST, Left, processes_in, session_of
from tests.observers.plugin_package import install
from tests.waiting import wait_until
from ua_tui.core.events.types import ObserverFinished, QueryFinished, SessionFinished

CALLS = 20
OBSERVER = """
import time
from pathlib import Path

from ua_tui.core.storage.paths import safe_name
from ua_tui.observers.base import ObserverSpec, Outcome, Saved


class Slow:
    name = "slow"

    def wants(self, call):
        return True

    def observe(self, result, context):
        while not Path({gate!r}).exists():
            time.sleep(0.01)
        path = f"slow/{{safe_name(result.call.tool_use_id)}}.txt"
        written = context.workspace.write(path, "seen")
        return Outcome((Saved(path, "note", written.size, written.sha256),), items=1)
"""
QUIT = "\x11"


def calls_and_answer(_body: dict[str, Any], results: int) -> Sequence[Block]:
    """Answer one request."""
    return (Text("Done."),) if results else [Use(LIST, {"path": ""})] * CALLS


@contextmanager
def observed(base: Path) -> Iterator[Terminal]:
    """A session whose query has ended while observers are at work until there is a file named `gate`."""
    site = install(
        base / "site", "slow_package", OBSERVER.format(gate=str(base / "gate")), slow="slow_package:Slow"
    )
    with scripted_model(calls_and_answer) as url:
        env = model_environment(base, url, PYTHONPATH=str(site))
        with terminal(base, *ALLOWED, "List", env=env) as screen:
            screen.wait_for("Done.", "ready")
            yield screen


def assert_ended(screen: Terminal, base: Path, code: int) -> Left:
    assert screen.end() == code
    assert screen.restored
    assert b"Traceback" not in screen.written
    wait_until(lambda: not processes_in(base), reported=lambda: processes_in(base))
    left = Left(session_of(base))
    assert not left.problems()
    assert [event.status for event in left.events if isinstance(event, QueryFinished)] == ["success"]
    return left


def test_quitting_waits_for_observers(tmp_path: Path, report: Report) -> None:
    with observed(tmp_path) as screen:
        folder = session_of(tmp_path)
        screen.type(QUIT)
        screen.wait_for("quits at once")
        assert not list(folder.glob("slow/*.txt"))
        (tmp_path / "gate").touch()
        left = assert_ended(screen, tmp_path, 0)
    assert len(list(folder.glob("slow/*.txt"))) == CALLS
    saved = [
        event for event in left.events if isinstance(event, ObserverFinished) and event.observer == "slow"
    ]
    assert [event.status for event in saved] == ["saved"] * CALLS
    assert isinstance(left.events[-1], SessionFinished)
    report("quit while 20 observers are at work", f"{CALLS} artifacts")


def test_quitting_twice_ends_at_once(tmp_path: Path, report: Report) -> None:
    with observed(tmp_path) as screen:
        screen.type(QUIT)
        screen.wait_for("quits at once")
        screen.type(QUIT)
        assert_ended(screen, tmp_path, 1)
        written = re.sub(rb"\s+", b" ", screen.written)
    assert b"stopped before everything was saved; unfinished: slow" in written
    report("quit twice while observers never end", "says what was not finished", "what they would have saved")
