from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.waiting import PATIENCE, wait_until
from ua_tui.core.concurrency import process_tree
from ua_tui.core.concurrency.process_tree import ProcessTree

PARENT = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
child = subprocess.Popen([sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""
"""Starts a process that ends with its input, as an MCP server does, and that SIGINT ends.

Tests that run in the background of a shell inherit that SIGINT is ignored.
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a process that gets a signal end in its own time, which is long on a busy machine."""
    (_, seconds), *signals = process_tree._STEPS
    monkeypatch.setattr(
        process_tree, "_STEPS", ((None, seconds), *((number, PATIENCE) for number, _ in signals))
    )


def child_of(parent: subprocess.Popen[str]) -> psutil.Process:
    assert parent.stdout is not None
    return psutil.Process(int(parent.stdout.readline()))


def is_over(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_only_the_processes_of_a_module_are_interrupted(parent: subprocess.Popen[str]) -> None:
    child = child_of(parent)
    tree = ProcessTree(parent.pid)
    tree.refresh()
    tree.interrupt("another.module")
    assert child.is_running()
    tree.interrupt(child.cmdline()[-1])
    wait_until(lambda: is_over(child))
    assert parent.poll() is None


def test_a_stopped_child_is_ended_after_its_parent(parent: subprocess.Popen[str]) -> None:
    child = child_of(parent)
    tree = ProcessTree(parent.pid)
    tree.refresh()
    child.send_signal(signal.SIGSTOP)
    parent.kill()
    parent.wait()
    assert not is_over(child)
    assert len(tree.end()) == 1
    assert is_over(child)
    assert tree.end() == []


def test_one_that_ends_by_itself_gets_no_signal(
    parent: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "_STEPS", ((None, PATIENCE), *process_tree._STEPS[1:]))
    child = child_of(parent)
    tree = ProcessTree(parent.pid)
    tree.refresh()
    parent.kill()
    parent.wait()
    assert tree.end() == []
    assert is_over(child)
    # A process that is gone has no descendants.
    assert ProcessTree(parent.pid).end() == []


def test_a_pid_that_is_reused_is_left_alone(parent: subprocess.Popen[str]) -> None:
    child = child_of(parent)
    tree = ProcessTree(parent.pid)
    tree.refresh()
    (known,) = tree._known
    # As if the process had ended and its pid were given to one that started later.
    pid, created = vars(known)["_ident"]
    vars(known).update(_create_time=created - 100, _ident=(pid, created - 100))
    tree._root = None
    assert tree.end() == []
    assert not is_over(child)


def test_a_tree_is_ended_from_outside(parent: subprocess.Popen[str]) -> None:
    child = child_of(parent)
    for pid in (parent.pid, child.pid):
        os.kill(pid, signal.SIGSTOP)
    subprocess.run(
        [sys.executable, "-I", "-m", "ua_tui.core.concurrency.process_tree", str(parent.pid)], check=True
    )
    assert parent.wait() != 0
    wait_until(lambda: is_over(child))
