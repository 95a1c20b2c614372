"""The machine: full disk, read-only folder, no handles or memory, a clock that is set, two programs, hang-ups."""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.events.types import ErrorRaised, Event, QueryFinished, SessionFinished, ToolCallFinished
from core.storage.workspace import SAVED_REPORTS, WORKSPACES
from tests.e2e.running import model_environment, program, run
from tests.e2e.scripted_model import scripted_model
from tests.e2e.terminal import terminal
from tests.faults.conftest import Report
from tests.faults.evidence import (
    ALLOWED,
    CALLS,
    Busy,
    Left,
    indexed_differently,
    processes_in,
    session_of,
    wait_until,
)
from tests.faults.starter import Starter

READ_ONLY = Path("/sys")
"""A folder in which nobody can make files, whoever runs the tests."""
PATIENCE = 60.0
_DROP = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
if os.geteuid() == 0:
    for capability in CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
OBEYING_PERMISSIONS = (sys.executable, "-c", _DROP)
"""Starts a program for which the permissions of files hold even if root runs it."""


class Held:
    """A model that stops before some of its answers until it may go on."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.reached = False
        self.may_answer = False
        self._busy = Busy()

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Any]:
        """Answer one request."""
        if body.get("tools") and results >= self.at and not self.may_answer:
            self.reached = True
            wait_until(lambda: self.may_answer, PATIENCE)
        return self._busy(body, results)


@contextmanager
def running(base: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    """The program without a screen, at work."""
    process = subprocess.Popen(
        [*OBEYING_PERMISSIONS, program(), "run", "--json", *ALLOWED, "Write the reports"],
        cwd=base,
        env=model_environment(base, url),
        stdin=subprocess.DEVNULL,
        # The journal has the same events, and a pipe that nobody reads would stop the program.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def limited(
    base: Path, limit: int, value: Callable[[int, Path], int], meanwhile: Callable[[Path], object]
) -> tuple[list[Event], str]:
    """Run a session that is limited in the middle, and no longer at its end; returns its events and its messages."""
    model = Held(CALLS // 4)
    with scripted_model(model) as url, running(base, url) as process:
        assert wait_until(lambda: model.reached, PATIENCE) is not None
        folder = session_of(base)
        before = resource.prlimit(process.pid, limit)
        resource.prlimit(process.pid, limit, (value(process.pid, folder), before[1]))
        model.at, model.may_answer = CALLS // 2, True
        meanwhile(folder)
        resource.prlimit(process.pid, limit, before)
        _, messages = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, messages
    assert "Traceback" not in messages
    left = Left(folder)
    assert not left.problems()
    assert isinstance(left.events[-1], SessionFinished)
    (finished,) = [event for event in left.events if isinstance(event, QueryFinished)]
    assert finished.status == "success"
    assert len([event for event in left.events if isinstance(event, ToolCallFinished)]) == CALLS
    trace = json.loads((folder / "trace.json").read_text())
    assert len(trace["tool_results"]) == CALLS
    return left.events, messages


def results_in(folder: Path) -> list[ToolCallFinished]:
    return [event for event in Left(folder).events if isinstance(event, ToolCallFinished)]


def errors(events: Sequence[Event]) -> list[ErrorRaised]:
    return [event for event in events if isinstance(event, ErrorRaised)]


def test_a_full_disk(tmp_path: Path, report: Report) -> None:
    sizes: list[int] = []

    def fill(folder: Path) -> None:
        # A file of the session can have no further bytes for as long as the agent writes a quarter of the reports.
        wait_until(lambda: len(Left(folder).written()) >= CALLS // 2, PATIENCE)
        sizes.append((folder / "journal.jsonl").stat().st_size)

    def full(_pid: int, folder: Path) -> int:
        size = (folder / "journal.jsonl").stat().st_size + 10
        sizes.append(size)
        return size

    events, _ = limited(tmp_path, resource.RLIMIT_FSIZE, full, fill)
    assert sizes[1] <= sizes[0]
    (error,) = [each for each in errors(events) if "journal" in each.message]
    assert not indexed_differently(tmp_path)
    report(
        "no byte more fits into a file of the session",
        error.message[:60],
        lost="nothing: waiting events are written",
    )


def test_no_handles(tmp_path: Path, report: Report) -> None:
    def none_left(pid: int, _folder: Path) -> int:
        return max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1

    def until_half(folder: Path) -> None:
        wait_until(lambda: len(Left(folder).written()) >= CALLS // 2, PATIENCE)

    events, _ = limited(tmp_path, resource.RLIMIT_NOFILE, none_left, until_half)
    failed = [each for each in events if getattr(each, "status", "") == "failed"]
    reason = str(getattr(failed[0], "error", "")) if failed else "nothing failed"
    report(
        "no handle is free for a quarter of the session", reason[:70], lost=f"{len(failed)} copies of reports"
    )


def test_no_memory(tmp_path: Path, report: Report) -> None:
    def little(pid: int, _folder: Path) -> int:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        return pages * resource.getpagesize() + (1 << 20)

    def until_half(folder: Path) -> None:
        wait_until(lambda: len(Left(folder).written()) >= CALLS // 2, PATIENCE)

    events, _ = limited(tmp_path, resource.RLIMIT_AS, little, until_half)
    failed = [each for each in events if getattr(each, "status", "") == "failed"]
    report(
        "1 MiB of address space for a quarter of the session",
        "the session goes on",
        lost=f"{len(failed)} copies",
    )


def test_a_folder_that_becomes_read_only(tmp_path: Path, report: Report) -> None:
    model = Held(CALLS // 4)
    with scripted_model(model) as url, running(tmp_path, url) as process:
        assert wait_until(lambda: model.reached, PATIENCE) is not None
        folder = session_of(tmp_path)
        folders = [Path(at) for base in (folder, tmp_path / SAVED_REPORTS) for at, _, _ in os.walk(base)]
        for each in folders:
            each.chmod(0o500)
        model.at, model.reached, model.may_answer = CALLS // 2, False, True
        assert wait_until(lambda: len(results_in(folder)) >= CALLS // 2, PATIENCE) is not None
        for each in folders:
            each.chmod(0o700)
        _, messages = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, messages
    assert "Traceback" not in messages
    left = Left(folder)
    assert not left.problems()
    assert isinstance(left.events[-1], SessionFinished)
    results = results_in(folder)
    assert len(results) == CALLS
    failed = [str(each.observation.error) for each in results if each.status == "error" and each.observation]
    written = left.written()
    assert failed
    assert len(written) == CALLS - len(failed)
    assert f"work_products/r{CALLS - 1}.md" in written
    assert list((tmp_path / SAVED_REPORTS).glob(f"r{CALLS - 1}_*.md"))
    trace = json.loads((folder / "trace.json").read_text())
    assert len(trace["tool_results"]) == CALLS
    lost = f"the {len(failed)} reports of that time; the agent was told"
    report("the session's folder is read-only for a while", failed[0][:80], lost=lost)


def test_a_folder_that_cannot_be_written(tmp_path: Path, report: Report) -> None:
    with scripted_model(Busy()) as url:
        env = model_environment(tmp_path, url)
        began = time.monotonic()
        done = run(tmp_path, "run", "--workspace", str(READ_ONLY), "hello", env=env)
        took = time.monotonic() - began
        assert done.code == 1
        assert done.stderr.strip().count("\n") == 0
        assert "Traceback" not in done.stderr
        report("a read-only folder", done.stderr.strip()[:80], took)

        (tmp_path / SAVED_REPORTS).symlink_to(READ_ONLY)
        done = run(tmp_path, "run", *ALLOWED, "Write the reports", env=env)
        assert done.code == 0, done.stderr
        assert "Traceback" not in done.stderr
        failed = {
            str(getattr(event, "error", ""))
            for event in done.events
            if getattr(event, "status", "") == "failed"
        }
        assert len(Left(done.session).written()) == CALLS
        assert failed
        report(
            "SAVED_REPORTS is read-only", min(failed)[:80], lost="the copies; the reports are in the session"
        )


@pytest.mark.parametrize("step", [-86_400, 86_400])
def test_a_clock_that_is_set(step: int, tmp_path: Path, starter: Starter, report: Report) -> None:
    with scripted_model(Busy()) as url:
        env = model_environment(tmp_path, url, FAULTS_CLOCK_STEP=str(step))
        output = tmp_path / "events"
        output.touch()
        pid = starter.start(
            "run", "--json", *ALLOWED, "Write the reports", cwd=tmp_path, env=env, output=str(output)
        )
        took = wait_until(lambda: not Path(f"/proc/{pid}").exists(), PATIENCE)
    left = Left(session_of(tmp_path))
    assert not left.problems()
    assert isinstance(left.events[-1], SessionFinished)
    times = [event.at.timestamp() for event in left.events]
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert max(map(abs, steps)) > 80_000, "the clock was not set"
    lasted = [
        event.duration_ms for event in left.events if isinstance(event, QueryFinished | ToolCallFinished)
    ]
    assert all(0 <= each < PATIENCE * 1_000 for each in lasted)
    trace = json.loads((left.folder / "trace.json").read_text())
    assert 0 <= trace["total_duration_seconds"] < PATIENCE
    assert len(list((tmp_path / SAVED_REPORTS).glob("r*.md"))) == CALLS
    report(
        f"the clock is set by {step / 3_600:+.0f} hours", "durations are right, every report is saved", took
    )


def test_two_programs(tmp_path: Path, report: Report) -> None:
    model = Held(0)
    with scripted_model(model) as url, running(tmp_path, url) as first, running(tmp_path, url) as second:
        assert wait_until(lambda: len(list(tmp_path.glob(f"{WORKSPACES}/*/journal.jsonl"))) == 2, PATIENCE)
        folder = next((tmp_path / WORKSPACES).glob("session_*"))
        env = model_environment(tmp_path, url)
        began = time.monotonic()
        refused = run(tmp_path, "run", "--resume", str(folder), "Go on", env=env)
        took = time.monotonic() - began
        assert refused.code == 2
        assert refused.stderr.strip().count("\n") == 0
        rebuilt = run(tmp_path, "rebuild", str(folder), env=env)
        assert rebuilt.code == 1
        assert "runs in another program" in rebuilt.stderr
        model.may_answer = True
        for process in (first, second):
            _, messages = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, messages
    report("a session that runs in another program", refused.stderr.strip()[:80], took)
    for session in (tmp_path / WORKSPACES).glob("session_*"):
        left = Left(session)
        assert not left.problems()
        assert len(left.written()) == CALLS
    index = [json.loads(line) for line in (tmp_path / SAVED_REPORTS / "index.jsonl").read_text().splitlines()]
    names = {entry["saved_as"] for entry in index}
    assert len(index) == len(names) == 2 * CALLS
    assert all((tmp_path / SAVED_REPORTS / name).read_text().startswith("Report ") for name in names)
    assert not indexed_differently(tmp_path)
    report("two sessions of one folder at once", f"{len(names)} reports, each saved once and in the index")


@pytest.mark.parametrize("how", ["SIGHUP", "the terminal is closed"])
def test_a_hang_up(how: str, tmp_path: Path, report: Report) -> None:
    model = Held(CALLS // 2)
    with scripted_model(model) as url:
        with terminal(
            tmp_path, *ALLOWED, "Write the reports", env=model_environment(tmp_path, url)
        ) as screen:
            screen.wait_until(lambda: model.reached)
            process = screen.child.ptyproc  # type: ignore[attr-defined]
            began = time.monotonic()
            if how == "SIGHUP":
                os.kill(int(screen.child.pid or 0), signal.SIGHUP)
                assert screen.end() == 128 + signal.SIGHUP
                assert screen.restored
            else:
                process.fileobj.close()
                process.closed = screen.child.closed = True
                assert wait_until(lambda: not process.isalive(), PATIENCE) is not None
                assert process.exitstatus == 128 + signal.SIGHUP
            took = time.monotonic() - began
        model.may_answer = True
    assert wait_until(lambda: not processes_in(tmp_path), PATIENCE) is not None, processes_in(tmp_path)
    left = Left(session_of(tmp_path))
    assert not left.problems()
    assert [event.status for event in left.events if isinstance(event, QueryFinished)] == ["interrupted"]
    assert isinstance(left.events[-1], SessionFinished)
    report(f"hang-up: {how}", "the session ends in order, no child left", took)
