"""`kill -9` of the screen and of `ua-tui run` at a hundred seeded moments of a session of more than 300 events."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from core.events.types import QueryFinished, SessionFinished, SessionStarted
from core.history.rebuild import DERIVED
from core.storage.workspace import SAVED_REPORTS, WORKSPACES
from tests.e2e.running import model_environment
from tests.e2e.scripted_model import scripted_model
from tests.e2e.terminal import RESTORED
from tests.faults.conftest import Report
from tests.faults.evidence import (
    ALLOWED,
    Busy,
    Left,
    indexed_differently,
    is_indexed,
    processes_in,
    wait_until,
)
from tests.faults.starter import Starter

KILLS = 10
"""In each test; together they are a hundred."""
SEEDS = range(0, 50, KILLS)
EVENTS = 300
LATEST = 0.03
"""Seconds after an event at which the program is killed at the latest: most kills hit between two events."""
PATIENCE = 60.0
REPORT = re.compile(r"work_products/(r\d+\.md)")


class Moment:
    """When to kill: so many seconds after so many lines of the journal."""

    def __init__(self, seed: str) -> None:
        generator = random.Random(seed)
        self.lines = generator.randint(1, EVENTS)
        self.delay = generator.uniform(0, LATEST)


class Kills:
    """The sessions of a folder that are killed one after the other, and what others saw of each.

    Attributes:
        acknowledged: the complete lines of the journal that were seen, by the folder of the session.
    """

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self.base = base
        self.acknowledged: dict[Path, list[bytes]] = {}
        self._models: list[Busy] = []
        self._stack = stack

    def serve_model(self) -> dict[str, str]:
        """Serve the model of the next session; returns the environment of its program."""
        self._models.append(Busy())
        return model_environment(self.base, self._stack.enter_context(scripted_model(self._models[-1])))

    def newest(self) -> Path | None:
        """The session that runs, as soon as it has a journal."""
        known = {folder.name for folder in self.acknowledged}
        with suppress(FileNotFoundError):
            for name in os.listdir(self.base / WORKSPACES):
                if name not in known and (self.base / WORKSPACES / name / "journal.jsonl").exists():
                    return self.base / WORKSPACES / name
        return None

    def kill(self, pid: int) -> None:
        """Kill the program of the newest session."""
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: is_gone(pid), 5.0) is not None
        self._models[-1].is_killed = True

    def add(self, folder: Path, lines: list[bytes]) -> None:
        """Add a session that was killed, with the lines that were seen."""
        self.acknowledged[folder] = [line for line in lines if line.endswith(b"\n")]

    def check(self) -> tuple[float, str, str]:
        """Compare what is left with what others saw; returns (after how many seconds no child ran, events, lost)."""
        waited = wait_until(lambda: not processes_in(self.base), PATIENCE)
        assert waited is not None, f"still running: {processes_in(self.base)}"
        wrong: list[str] = []
        started: set[str] = set()
        left = [Left(folder) for folder in self.acknowledged]
        for each in left:
            wrong += [f"{each.folder.name}: {problem}" for problem in each.problems()]
            wrong += [
                f"{each.folder.name}: lost {line!r}" for line in each.lost(self.acknowledged[each.folder])
            ]
            assert not any(isinstance(event, SessionFinished) for event in each.events)
            started |= {call.tool_use_id for call in each.calls()}
        received = {call for model in self._models for call in model.results}
        wrong += [
            f"the model received the result of {call}, which no journal has" for call in received - started
        ]
        assert not wrong, "\n".join(wrong)
        events = [len(each.events) for each in left]
        torn = sum(each.torn for each in left)
        return waited, f"{min(events)} to {max(events)} events", f"{torn} torn last lines, else nothing"

    def resume_newest(self) -> tuple[Path, dict[str, str]]:
        """Serve a model that answers once all is made up for; returns the session, and its environment."""
        resumed = list(self.acknowledged)[-1]
        env = self.serve_model()
        self._models[-1].before_answer = lambda: wait_until(self._is_rebuilt, PATIENCE)
        return resumed, env

    def check_rebuilt(self) -> None:
        """The next start wrote the derived files of every killed session from its events, indexed it, and swept."""
        assert self._is_rebuilt()
        assert not indexed_differently(self.base)
        for folder in self.acknowledged:
            calls = Left(folder).calls()
            trace = json.loads((folder / "trace.json").read_text())
            assert [call["id"] for call in trace["tool_calls"]][: len(calls)] == [
                call.tool_use_id for call in calls
            ]
            assert all((folder / name).stat().st_size for name in DERIVED)
        assert not [
            *self.base.glob(f"{WORKSPACES}/**/.*.ua-tmp"),
            *self.base.glob(f"{SAVED_REPORTS}/.*.ua-tmp"),
        ]

    def _is_rebuilt(self) -> bool:
        *others, _resumed = self.acknowledged
        return all((folder / DERIVED[-1]).exists() and is_indexed(folder) for folder in others)


@contextmanager
def pseudo_terminal() -> Iterator[tuple[int, str]]:
    """Our side of a new terminal, and the path of the program's side."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        yield ours, os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)


def read_for(descriptor: int, seconds: float) -> bytes:
    """What comes within so many seconds, at the first of it."""
    if select.select([descriptor], [], [], seconds)[0]:
        try:
            return os.read(descriptor, 1 << 20)
        except OSError as error:
            if error.errno not in {errno.EIO, errno.EAGAIN}:
                raise
    return b""


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def kills(tmp_path: Path) -> Iterator[Kills]:
    with ExitStack() as stack:
        yield Kills(tmp_path, stack)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_of_run(seed: int, tmp_path: Path, starter: Starter, kills: Kills, report: Report) -> None:
    def start(env: dict[str, str], *args: str) -> tuple[int, int]:
        pipe = tmp_path / "events"
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        return starter.start(
            "run", "--json", *ALLOWED, *args, cwd=tmp_path, env=env, output=str(pipe)
        ), reader

    for number in range(seed, seed + KILLS):
        moment = Moment(f"run {number}")
        pid, reader = start(kills.serve_model(), "Write reports")
        seen, until = b"", time.monotonic() + PATIENCE
        while seen.count(b"\n") < moment.lines:
            assert time.monotonic() < until, (
                f"run {number}: {moment.lines} events did not come: {seen[-500:]!r}"
            )
            assert not is_gone(pid), f"run {number} ended by itself: {seen[-500:]!r}"
            seen += read_for(reader, 1.0)
            if not seen:
                time.sleep(0.01)
        time.sleep(moment.delay)
        kills.kill(pid)
        while more := read_for(reader, 0.2):
            seen += more
        os.close(reader)
        folder = kills.newest()
        assert folder is not None
        kills.add(folder, seen.splitlines(keepends=True))
    waited, events, lost = kills.check()

    resumed, env = kills.resume_newest()
    pid, reader = start(env, "--resume", str(resumed), "Go on")
    output = b""
    while not is_gone(pid):
        output += read_for(reader, 0.1)
    os.close(reader)
    kills.check_rebuilt()
    after = Left(resumed).events
    assert isinstance(after[-1], SessionFinished)
    (finished,) = [each for each in after if isinstance(each, QueryFinished) and each.status == "success"]
    assert finished.text == "All is written."
    assert sum(isinstance(event, SessionStarted) for event in after) == 2
    case = f"kill -9 of run, seeds {seed} to {seed + KILLS - 1}"
    report(case, f"{events}; derived files rebuilt; resumed; children gone", waited, lost)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_of_the_screen(
    seed: int, tmp_path: Path, starter: Starter, kills: Kills, report: Report
) -> None:
    with pseudo_terminal() as (ours, theirs):
        for number in range(seed, seed + KILLS):
            moment = Moment(f"screen {number}")
            env = kills.serve_model()
            pid = starter.start(*ALLOWED, "Write the reports", cwd=tmp_path, env=env, terminal=theirs)
            folder, until = None, time.monotonic() + PATIENCE
            seen, shown = b"", b""
            while seen.count(b"\n") < moment.lines:
                assert time.monotonic() < until, f"screen {number}: {moment.lines} events did not come"
                assert not is_gone(pid), f"screen {number} ended by itself"
                shown += read_for(ours, 0.01)
                folder = folder or kills.newest()
                if folder is not None:
                    with (folder / "journal.jsonl").open("rb") as journal:
                        journal.seek(len(seen))
                        seen += journal.read()
            time.sleep(moment.delay)
            kills.kill(pid)
            assert folder is not None
            while more := read_for(ours, 0.05):
                shown += more
            kills.add(folder, seen.splitlines(keepends=True))
            called = {str(call.input.get("path")) for call in Left(folder).calls()}
            unrecorded = {
                f"work_products/{name}" for name in REPORT.findall(shown.decode(errors="replace"))
            } - called
            assert not unrecorded, f"screen {number}: a person saw calls that no journal has: {unrecorded}"
        waited, events, lost = kills.check()

        # The next start in the same terminal leaves it as it was before the first one.
        resumed, env = kills.resume_newest()
        pid = starter.start("resume", str(resumed), *ALLOWED, "Go on", cwd=tmp_path, env=env, terminal=theirs)
        written, until = b"", time.monotonic() + PATIENCE
        while not any(isinstance(each, QueryFinished) and each.text for each in Left(resumed).events):
            written += read_for(ours, 0.1)
            assert time.monotonic() < until, written[-2000:]
        while not is_gone(pid):
            assert time.monotonic() < until, written[-2000:]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            written += read_for(ours, 0.5)
        while more := read_for(ours, 0.2):
            written += more
    assert all(written.rfind(mode) > written.rfind(mode[:-1] + bytes([mode[-1] ^ 4])) for mode in RESTORED)
    kills.check_rebuilt()
    assert isinstance(Left(resumed).events[-1], SessionFinished)
    case = f"kill -9 of the screen, seeds {seed} to {seed + KILLS - 1}"
    report(case, f"{events}; derived files rebuilt; resumed; terminal restored", waited, lost)
