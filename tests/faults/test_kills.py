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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from core.events.types import QueryFinished, SessionFinished, SessionStarted
from core.history.rebuild import DERIVED
from core.storage.workspace import SAVED_REPORTS, WORKSPACES
from tests.e2e.running import model_environment
from tests.e2e.scripted_model import scripted_model
from tests.e2e.terminal import RESTORED
from tests.faults.conftest import Report
from tests.faults.evidence import ALLOWED, Busy, Left, processes_in, wait_until
from tests.faults.starter import Starter

KILLS = 10
"""In each test; together they are a hundred."""
SEEDS = range(0, 50, KILLS)
EVENTS = 300
LATEST = 0.03
"""Seconds after an event at which the program is killed at the latest: most kills hit between two events."""
PATIENCE = 60.0
REPORT = re.compile(r"work_products/(r\d+\.md)")
CHILDREN_END_WITHIN = 15.0


class Moment:
    """When to kill: so many seconds after so many lines of the journal."""

    def __init__(self, seed: str) -> None:
        generator = random.Random(seed)
        self.lines = generator.randint(1, EVENTS)
        self.delay = generator.uniform(0, LATEST)


class Sessions:
    """The sessions of a folder, of which the newest is the one that runs."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.known: set[str] = set()

    def added(self) -> Path | None:
        """The session that is not known yet, as soon as it has a journal."""
        with suppress(FileNotFoundError):
            for name in os.listdir(self.base / WORKSPACES):
                if name not in self.known and (self.base / WORKSPACES / name / "journal.jsonl").exists():
                    return self.base / WORKSPACES / name
        return None


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


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: is_gone(pid), 5.0) is not None


def check_all(base: Path, killed: dict[Path, list[bytes]], model: Busy) -> None:
    """Compare what is left of each killed session with what others saw of it."""
    wrong: list[str] = []
    started: set[str] = set()
    for folder, acknowledged in killed.items():
        left = Left(folder)
        wrong += [f"{folder.name}: {problem}" for problem in left.problems()]
        wrong += [f"{folder.name}: lost {line!r}" for line in left.lost(acknowledged)]
        assert not any(isinstance(event, SessionFinished) for event in left.events)
        started |= {call.tool_use_id for call in left.calls()}
    wrong += [
        f"the model received the result of {call}, which no journal has" for call in model.results - started
    ]
    assert not wrong, "\n".join(wrong)


def check_rebuilt(killed: dict[Path, list[bytes]]) -> None:
    """The next start wrote the derived files of every killed session, from all of its events."""
    for folder in killed:
        calls = Left(folder).calls()
        trace = json.loads((folder / "trace.json").read_text())
        assert [call["id"] for call in trace["tool_calls"]][: len(calls)] == [
            call.tool_use_id for call in calls
        ]
        assert all((folder / name).stat().st_size for name in DERIVED)


def temporary_files(base: Path) -> list[Path]:
    return [*base.glob(f"{WORKSPACES}/**/.*.ua-tmp"), *base.glob(f"{SAVED_REPORTS}/.*.ua-tmp")]


def rebuilt_by_next_start(killed: dict[Path, list[bytes]], resumed: Path) -> Callable[[], bool]:
    return lambda: all((folder / DERIVED[-1]).exists() for folder in killed if folder != resumed)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_of_run(seed: int, tmp_path: Path, starter: Starter, report: Report) -> None:
    model, sessions = Busy(), Sessions(tmp_path)
    killed: dict[Path, list[bytes]] = {}
    with scripted_model(model) as url:
        env = model_environment(tmp_path, url)

        def start(*args: str) -> tuple[int, int]:
            pipe = tmp_path / "events"
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            return starter.start(
                "run", "--json", *ALLOWED, *args, cwd=tmp_path, env=env, output=str(pipe)
            ), reader

        for number in range(seed, seed + KILLS):
            moment = Moment(f"run {number}")
            pid, reader = start("Write reports")
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
            kill(pid)
            while more := read_for(reader, 0.2):
                seen += more
            os.close(reader)
            folder = sessions.added()
            assert folder is not None
            sessions.known.add(folder.name)
            killed[folder] = [line for line in seen.splitlines(keepends=True) if line.endswith(b"\n")]
        waited = wait_until(lambda: not processes_in(tmp_path), CHILDREN_END_WITHIN)
        assert waited is not None, f"still running: {processes_in(tmp_path)}"
        check_all(tmp_path, killed, model)
        torn = sum(Left(folder).torn for folder in killed)
        events = [len(Left(folder).events) for folder in killed]

        resumed = list(killed)[-1]
        rebuilt = rebuilt_by_next_start(killed, resumed)
        model.before_answer = lambda: wait_until(rebuilt, PATIENCE)
        pid, reader = start("--resume", str(resumed), "Go on")
        output = b""
        while not is_gone(pid):
            output += read_for(reader, 0.1)
        os.close(reader)
    assert rebuilt()
    check_rebuilt(killed)
    assert not temporary_files(tmp_path)
    after = Left(resumed).events
    assert isinstance(after[-1], SessionFinished)
    (finished,) = [each for each in after if isinstance(each, QueryFinished) and each.status == "success"]
    assert finished.text == "All is written."
    assert sum(isinstance(event, SessionStarted) for event in after) == 2
    case = f"kill -9 of run, seeds {seed} to {seed + KILLS - 1}"
    seen_text = f"{min(events)} to {max(events)} events; derived files rebuilt; resumed; children gone"
    report(case, seen_text, waited, f"{torn} torn last lines, else nothing")


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_of_the_screen(seed: int, tmp_path: Path, starter: Starter, report: Report) -> None:
    model, sessions = Busy(), Sessions(tmp_path)
    killed: dict[Path, list[bytes]] = {}
    with scripted_model(model) as url, pseudo_terminal() as (ours, theirs):
        env = model_environment(tmp_path, url)
        for number in range(seed, seed + KILLS):
            moment = Moment(f"screen {number}")
            pid = starter.start(*ALLOWED, "Write the reports", cwd=tmp_path, env=env, terminal=theirs)
            folder, until = None, time.monotonic() + PATIENCE
            journal: list[bytes] = []
            shown = b""
            while len(journal) < moment.lines:
                assert time.monotonic() < until, f"screen {number}: {moment.lines} events did not come"
                assert not is_gone(pid), f"screen {number} ended by itself"
                shown += read_for(ours, 0.01)
                folder = folder or sessions.added()
                if folder is not None:
                    journal = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
            time.sleep(moment.delay)
            kill(pid)
            assert folder is not None
            sessions.known.add(folder.name)
            while more := read_for(ours, 0.05):
                shown += more
            killed[folder] = [line for line in journal if line.endswith(b"\n")]
            called = {str(call.input.get("path")) for call in Left(folder).calls()}
            unrecorded = {
                f"work_products/{name}" for name in REPORT.findall(shown.decode(errors="replace"))
            } - called
            assert not unrecorded, f"screen {number}: a person saw calls that no journal has: {unrecorded}"
        waited = wait_until(lambda: not processes_in(tmp_path), CHILDREN_END_WITHIN)
        assert waited is not None, f"still running: {processes_in(tmp_path)}"
        check_all(tmp_path, killed, model)
        torn = sum(Left(folder).torn for folder in killed)
        events = [len(Left(folder).events) for folder in killed]

        # The next start in the same terminal leaves it as it was before the first one.
        resumed = list(killed)[-1]
        rebuilt = rebuilt_by_next_start(killed, resumed)
        model.before_answer = lambda: wait_until(rebuilt, PATIENCE)
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
    assert rebuilt()
    check_rebuilt(killed)
    assert not temporary_files(tmp_path)
    assert isinstance(Left(resumed).events[-1], SessionFinished)
    case = f"kill -9 of the screen, seeds {seed} to {seed + KILLS - 1}"
    seen_text = f"{min(events)} to {max(events)} events; derived files rebuilt; resumed; terminal restored"
    report(case, seen_text, waited, f"{torn} torn last lines, else nothing")
