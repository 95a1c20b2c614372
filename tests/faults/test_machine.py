"""The machine: full disk, read-only folder, no handles or memory, a clock that is set, two programs, hang-ups."""

from __future__ import annotations

import itertools
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import DEADLINE, model_environment, program, run
from tests.e2e.scripted_model import scripted_model
from tests.faults.conftest import Report
from tests.faults.evidence import ALLOWED, CALLS, Busy, Left, index_rest, indexed_differently, session_of
from tests.faults.starter import Starter
from tests.waiting import wait_until
from ua_tui.core.events.types import ErrorRaised, QueryFinished, SessionFinished, ToolCallFinished
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES

NEVER = CALLS + 1
"""More results than there are: no answer is held."""
READ_ONLY = Path("/sys")
"""A folder in which nobody can make files, whoever runs the tests."""
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
    """A model that stops before an answer after `at` results of tools, until that is set higher."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.reached = False
        self._busy = Busy()

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Any]:
        """Answer one request."""
        if body.get("tools") and results >= self.at:
            self.reached = True
            wait_until(lambda: results < self.at)
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


def more_bytes(_pid: int, folder: Path) -> int:
    """A file of the session can have no further bytes."""
    return (folder / "journal.jsonl").stat().st_size + 10


def no_handle(pid: int, _folder: Path) -> int:
    return max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1


def little_memory(pid: int, _folder: Path) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize() + (1 << 20)


@pytest.mark.parametrize(
    ("case", "limit", "value"),
    [
        ("no byte more fits into a file of the session", resource.RLIMIT_FSIZE, more_bytes),
        ("no handle is free for a third of the session", resource.RLIMIT_NOFILE, no_handle),
        ("1 MiB of address space for a third of the session", resource.RLIMIT_AS, little_memory),
    ],
    ids=["disk", "handles", "memory"],
)
def test_a_limit_of_the_machine(
    case: str, limit: int, value: Callable[[int, Path], int], tmp_path: Path, report: Report
) -> None:
    model = Held(CALLS // 4)
    with scripted_model(model) as url, running(tmp_path, url) as process:
        wait_until(lambda: model.reached)
        folder = session_of(tmp_path)
        before = resource.prlimit(process.pid, limit)
        allowed = value(process.pid, folder)
        resource.prlimit(process.pid, limit, (allowed, before[1]))
        model.at = CALLS // 2
        wait_until(lambda: len(Left(folder).written()) >= CALLS // 2)
        size = (folder / "journal.jsonl").stat().st_size
        resource.prlimit(process.pid, limit, before)
        model.at = NEVER
        _, messages = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, messages
    assert "Traceback" not in messages
    left = Left(folder)
    assert not left.problems()
    assert isinstance(left.events[-1], SessionFinished)
    (finished,) = [event for event in left.events if isinstance(event, QueryFinished)]
    assert finished.status == "success"
    assert len(results_in(folder)) == CALLS
    assert len(json.loads((folder / "trace.json").read_text())["tool_results"]) == CALLS
    failed = [str(each.error) for each in left.events if getattr(each, "status", "") == "failed"]  # type: ignore[attr-defined]
    seen = failed[0] if failed else "the session goes on"
    assert not any("advice.toml" in each for each in failed)
    if limit == resource.RLIMIT_FSIZE:
        assert size <= allowed
        (error,) = [
            each for each in left.events if isinstance(each, ErrorRaised) and "journal" in each.message
        ]
        seen = error.message
        index_rest(tmp_path)
        assert not indexed_differently(tmp_path)
    report(case, seen[:70], f"{len(failed)} copies of reports")


def test_a_disk_that_stays_full(tmp_path: Path, report: Report) -> None:
    model = Held(CALLS // 4)
    with scripted_model(model) as url, running(tmp_path, url) as process:
        wait_until(lambda: model.reached)
        folder = session_of(tmp_path)
        allowed = more_bytes(process.pid, folder)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (allowed, allowed))
        model.at = NEVER
        _, messages = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert "Traceback" not in messages
    said = messages.strip().splitlines()[-1]
    assert f"the journal in {folder} is incomplete" in said
    report("no byte more fits until the end of the session", said[:70], "the events that did not fit")


def results_in(folder: Path) -> list[ToolCallFinished]:
    return [event for event in Left(folder).events if isinstance(event, ToolCallFinished)]


def test_a_folder_that_becomes_read_only(tmp_path: Path, report: Report) -> None:
    model = Held(CALLS // 4)
    with scripted_model(model) as url, running(tmp_path, url) as process:
        wait_until(lambda: model.reached)
        folder = session_of(tmp_path)
        folders = [Path(at) for base in (folder, tmp_path / SAVED_REPORTS) for at, _, _ in os.walk(base)]
        for each in folders:
            each.chmod(0o500)
        model.at = CALLS // 2
        wait_until(lambda: len(results_in(folder)) >= CALLS // 2)
        for each in folders:
            each.chmod(0o700)
        model.at = NEVER
        _, messages = process.communicate(timeout=DEADLINE)
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
        done = run(tmp_path, "run", "--workspace", str(READ_ONLY), "hello", env=env)
        assert done.code == 1
        assert done.stderr.strip().count("\n") == 0
        assert "Traceback" not in done.stderr
        report("a read-only folder", done.stderr.strip()[:80])

        (tmp_path / SAVED_REPORTS).symlink_to(READ_ONLY)
        # Whoever names the folder allows the link.
        done = run(tmp_path, "run", "--workspace", str(tmp_path), *ALLOWED, "Write the reports", env=env)
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
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
    left = Left(session_of(tmp_path))
    assert not left.problems()
    assert isinstance(left.events[-1], SessionFinished)
    times = [event.at.timestamp() for event in left.events]
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert max(map(abs, steps)) > 80_000, "the clock was not set"
    lasted = [
        event.duration_ms for event in left.events if isinstance(event, QueryFinished | ToolCallFinished)
    ]
    # On a busy machine they may take minutes.
    assert all(0 <= each < abs(step) * 100 for each in lasted)
    trace = json.loads((left.folder / "trace.json").read_text())
    assert 0 <= trace["total_duration_seconds"] < abs(step) / 10
    assert len(list((tmp_path / SAVED_REPORTS).glob("r*.md"))) == CALLS
    report(f"the clock is set by {step / 3_600:+.0f} hours", "durations are right, every report is saved")


def test_two_programs(tmp_path: Path, report: Report) -> None:
    model = Held(0)
    with scripted_model(model) as url, running(tmp_path, url) as first, running(tmp_path, url) as second:
        wait_until(lambda: len(list(tmp_path.glob(f"{WORKSPACES}/*/journal.jsonl"))) == 2)
        folder = next((tmp_path / WORKSPACES).glob("session_*"))
        env = model_environment(tmp_path, url)
        rebuilt = run(tmp_path, "rebuild", str(folder), env=env)
        assert rebuilt.code == 1
        assert "is running in another program" in rebuilt.stderr
        model.at = NEVER
        for process in (first, second):
            _, messages = process.communicate(timeout=DEADLINE)
            assert process.returncode == 0, messages
    for session in (tmp_path / WORKSPACES).glob("session_*"):
        left = Left(session)
        assert not left.problems()
        assert len(left.written()) == CALLS
    index = [json.loads(line) for line in (tmp_path / SAVED_REPORTS / "index.jsonl").read_text().splitlines()]
    names = {entry["saved_as"] for entry in index}
    assert len(index) == len(names) == 2 * CALLS
    assert all((tmp_path / SAVED_REPORTS / name).read_text().startswith("Report ") for name in names)
    index_rest(tmp_path)
    assert not indexed_differently(tmp_path)
    report("two sessions of one folder at once", f"{len(names)} reports, each saved once and in the index")
