"""Conversions of untrusted content: limits of time and memory, crashes, and conversions that nobody needs any more."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.paths import PROJECT
from tests.waiting import PATIENCE
from ua_tui.core.concurrency.cancellation import Stopped, stoppable
from ua_tui.core.concurrency.conversions import ConversionFailed, Conversions, TooComplex
from ua_tui.core.concurrency.worker_child import TaskContext


def work_for_ever(desk: TaskContext, _: Any) -> None:
    """Report the process, then be busy in one call of compiled code."""
    desk.say("part", os.getpid())
    ctypes.PyDLL(None).pause()


def need_memory(_: TaskContext, size: int) -> int:
    """Use `size` bytes."""
    return len(bytes(size))


def crash(_: TaskContext, __: Any) -> None:
    """Crash as a parser may."""
    os.abort()


def fail(_: TaskContext, text: str) -> None:
    """Raise an exception."""
    raise ValueError(text)


def echo(desk: TaskContext, value: Any) -> Any:
    """Return the process and the argument."""
    desk.say("part", value)
    return [os.getpid(), value]


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Conversions]:
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    conversions = Conversions(1)
    yield conversions
    conversions.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def convert(conversions: Conversions, task: Any, argument: Any = None, **options: Any) -> Any:
    name = f"{task.__module__}:{task.__qualname__}"
    return conversions.run(name, argument, **{"seconds": PATIENCE, **options})


def test_conversions_share_a_process_which_is_ended_if_one_takes_too_long(conversions: Conversions) -> None:
    parts: list[Any] = []
    first, _ = convert(conversions, echo, "a")
    second, value = convert(conversions, echo, ["b" * 300_000], on_part=parts.append)
    assert (first, value) == (second, ["b" * 300_000])
    assert parts == [["b" * 300_000]]
    assert first != os.getpid()
    pid, _ = convert(conversions, echo, "first")
    with pytest.raises(TooComplex, match=r"it takes longer than 0\.2 s"):
        convert(conversions, work_for_ever, seconds=0.2)
    assert not is_running(pid)
    assert convert(conversions, echo, "next")[1] == "next"


@pytest.mark.parametrize(("task", "argument"), [(need_memory, 2 << 30), (crash, None)])
def test_too_much_memory_or_a_crash_ends_it(conversions: Conversions, task: Any, argument: Any) -> None:
    with pytest.raises(TooComplex, match="too much memory, or crashes"):
        convert(conversions, task, argument)
    assert convert(conversions, echo, "next")[1] == "next"


def test_one_that_fails_says_why_and_keeps_its_process(conversions: Conversions) -> None:
    pid, _ = convert(conversions, echo, "")
    with pytest.raises(ConversionFailed, match="ValueError: no page"):
        convert(conversions, fail, "no page")
    assert convert(conversions, echo, "")[0] == pid


def test_one_that_nobody_needs_is_ended_at_once(conversions: Conversions) -> None:
    stop = threading.Event()
    begun: list[int] = []

    def on_part(pid: int) -> None:
        begun.append(pid)
        stop.set()

    with stoppable(stop), pytest.raises(Stopped):
        convert(conversions, work_for_ever, seconds=600.0, on_part=on_part)
    assert not is_running(begun[0])


def test_one_that_waits_for_another_can_be_stopped(conversions: Conversions) -> None:
    busy, begun, over = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        with stoppable(busy), pytest.raises(Stopped):
            convert(conversions, work_for_ever, seconds=600.0, on_part=lambda _: begun.set())
        over.set()

    threading.Thread(target=work, daemon=True).start()
    assert begun.wait(PATIENCE)
    stop = threading.Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        convert(conversions, echo)
    busy.set()
    assert over.wait(PATIENCE)


def test_a_failure_to_start_is_reported(conversions: Conversions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(ConversionFailed, match="cannot be started"):
        convert(conversions, echo)
