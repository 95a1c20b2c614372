"""`kill -9` of the screen and of `ua-tui run`: a seeded moment of every phase of a session.

`FAULTS_KILLS=100 uv run pytest tests/faults/test_kills.py` kills a hundred times.
"""

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
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.running import model_environment
from tests.e2e.scripted_model import scripted_model
from tests.e2e.terminal import RESTORED
from tests.faults.conftest import Report
from tests.faults.evidence import ALLOWED, AT_ONCE, Busy, Left, indexed_differently, is_indexed, processes_in
from tests.faults.starter import Starter
from tests.waiting import wait_until
from ua_tui.core.events.types import QueryFinished, SessionFinished, SessionStarted
from ua_tui.core.history.rebuild import DERIVED
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES

KILLS = int(os.environ.get("FAULTS_KILLS", "12")) // 2
"""In each test."""
PHASES = {
    "session_started": 1,
    "query_received": 1,
    "text_delta": 3,
    "tool_call_started": 2 * AT_ONCE,
    "tool_call_finished": 2 * AT_ONCE,
    "observer_finished": 5 * AT_ONCE,
}
"""What a session does when it is killed: an event, and the last one of its kind that is waited for."""
LATEST = 0.03
"""Seconds after an event at which the program is killed at the latest: most kills hit between two events."""
REPORT = re.compile(r"work_products/(r\d+\.md)")


class Moment:
    """When to kill: so many seconds after so many events of a kind; each phase has its turn."""

    def __init__(self, how: str, number: int) -> None:
        generator = random.Random(f"{how} {number}")
        self.name = f"{how} {number}"
        self.kind = list(PHASES)[number % len(PHASES)]
        self.count = generator.randint(1, PHASES[self.kind])
        self.delay = generator.uniform(0, LATEST)

    def has_come(self, seen: bytes) -> bool:
        """Whether the lines of a journal have these events."""
        return seen.count(f'{{"event":"{self.kind}"'.encode()) >= self.count


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
        # The last answer never comes: no session ends by itself.
        self._models.append(Busy(before_answer=threading.Event().wait))
        return model_environment(self.base, self._stack.enter_context(scripted_model(self._models[-1])))

    def newest(self) -> Path | None:
        """The session that runs, as soon as it has a journal."""
        known = {folder.name for folder in self.acknowledged}
        with suppress(FileNotFoundError):
            for name in os.listdir(self.base / WORKSPACES):
                if name not in known and (self.base / WORKSPACES / name / "journal.jsonl").exists():
                    return self.base / WORKSPACES / name
        return None

    def kill(self, pid: int, moment: Moment) -> None:
        """Kill the program of the newest session, a while after its event: real time, for a real race."""
        time.sleep(moment.delay)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: is_gone(pid))
        self._models[-1].is_killed = True

    def add(self, folder: Path | None, seen: bytes) -> None:
        """Add a session that was killed, with what was seen of its journal."""
        assert folder is not None
        self.acknowledged[folder] = [line for line in seen.splitlines(keepends=True) if line.endswith(b"\n")]

    def check(self) -> tuple[str, str]:
        """Compare what is left with what others saw, once no child runs; returns (events, lost)."""
        wait_until(lambda: not processes_in(self.base), reported=lambda: processes_in(self.base))
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
        return f"{min(events)} to {max(events)} events", f"{torn} torn last lines, else nothing"

    def resume_newest(self) -> tuple[Path, dict[str, str]]:
        """Serve a model that answers once all is made up for; returns the session, and its environment."""
        resumed = list(self.acknowledged)[-1]
        env = self.serve_model()
        self._models[-1].before_answer = lambda: wait_until(self._is_rebuilt)
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


@pytest.mark.slow
def test_kills_of_run(tmp_path: Path, starter: Starter, kills: Kills, report: Report) -> None:
    def start(env: dict[str, str], *args: str) -> tuple[int, int]:
        pipe = tmp_path / "events"
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        command = ("run", "--json", *ALLOWED, *args)
        return starter.start(*command, cwd=tmp_path, env=env, output=str(pipe)), reader

    def start_and_kill(moment: Moment) -> None:
        pid, reader = start(kills.serve_model(), "Write reports")
        seen = b""

        def come() -> bool:
            nonlocal seen
            seen += read_for(reader, 0.01)
            assert not is_gone(pid), f"{moment.name} ended by itself: {seen[-500:]!r}"
            return moment.has_come(seen)

        wait_until(come, reported=lambda: seen[-500:])
        kills.kill(pid, moment)
        while more := read_for(reader, 0.2):
            seen += more
        os.close(reader)
        kills.add(kills.newest(), seen)

    for number in range(KILLS):
        start_and_kill(Moment("run", number))
    events, lost = kills.check()

    resumed, env = kills.resume_newest()
    pid, reader = start(env, "--resume", str(resumed), "Go on")
    while not is_gone(pid):
        read_for(reader, 0.1)
    os.close(reader)
    kills.check_rebuilt()
    after = Left(resumed).events
    assert isinstance(after[-1], SessionFinished)
    (finished,) = [each for each in after if isinstance(each, QueryFinished) and each.status == "success"]
    assert finished.text == "All is written."
    assert sum(isinstance(event, SessionStarted) for event in after) == 2
    report(f"kill -9 of run, {KILLS} times", f"{events}; derived files rebuilt; resumed; children gone", lost)


@pytest.mark.slow
def test_kills_of_the_screen(tmp_path: Path, starter: Starter, kills: Kills, report: Report) -> None:
    with pseudo_terminal() as (ours, theirs):

        def start_and_kill(moment: Moment) -> None:
            env = kills.serve_model()
            pid = starter.start(*ALLOWED, "Write the reports", cwd=tmp_path, env=env, terminal=theirs)
            seen, shown = b"", b""

            def come() -> bool:
                nonlocal seen, shown
                shown += read_for(ours, 0.01)
                assert not is_gone(pid), f"{moment.name} ended by itself"
                if (folder := kills.newest()) is not None:
                    with (folder / "journal.jsonl").open("rb") as journal:
                        journal.seek(len(seen))
                        seen += journal.read()
                return moment.has_come(seen)

            wait_until(come, reported=lambda: seen[-500:])
            kills.kill(pid, moment)
            while more := read_for(ours, 0.05):
                shown += more
            folder = kills.newest()
            kills.add(folder, seen)
            assert folder is not None
            called = {str(call.input.get("path")) for call in Left(folder).calls()}
            unrecorded = {
                f"work_products/{name}" for name in REPORT.findall(shown.decode(errors="replace"))
            } - called
            assert not unrecorded, f"{moment.name}: a person saw calls that no journal has: {unrecorded}"

        for number in range(KILLS):
            start_and_kill(Moment("screen", number))
        events, lost = kills.check()

        # The next start in the same terminal leaves it as it was before the first one.
        resumed, env = kills.resume_newest()
        pid = starter.start("resume", str(resumed), *ALLOWED, "Go on", cwd=tmp_path, env=env, terminal=theirs)
        written = b""

        def answered() -> bool:
            nonlocal written
            written += read_for(ours, 0.1)
            return any(isinstance(each, QueryFinished) and each.text for each in Left(resumed).events)

        def ended() -> bool:
            nonlocal written
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            written += read_for(ours, 0.5)
            return is_gone(pid)

        wait_until(answered, reported=lambda: written[-2000:])
        wait_until(ended, reported=lambda: written[-2000:])
        while more := read_for(ours, 0.2):
            written += more
    assert all(written.rfind(mode) > written.rfind(mode[:-1] + bytes([mode[-1] ^ 4])) for mode in RESTORED)
    kills.check_rebuilt()
    assert isinstance(Left(resumed).events[-1], SessionFinished)
    case = f"kill -9 of the screen, {KILLS} times"
    report(case, f"{events}; derived files rebuilt; resumed; terminal restored", lost)
