"""Tasks that one thread runs when they are due."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.waiting import PATIENCE
from ua_tui.core.concurrency.cancellation import Stopped, check_stopped, stoppable
from ua_tui.core.concurrency.threads import Schedule, begin_apart


@pytest.fixture
def schedule() -> Iterator[Schedule]:
    schedule = Schedule("test")
    yield schedule
    assert schedule.stop(PATIENCE)


def test_the_earliest_task_runs_first_and_a_planned_one_keeps_its_time(schedule: Schedule) -> None:
    ran: list[tuple[str, int]] = []
    early_ran, late_ran = threading.Event(), threading.Event()

    def early() -> None:
        ran.append(("early", threading.get_ident()))
        early_ran.set()

    def late() -> None:
        ran.append(("late", threading.get_ident()))
        late_ran.set()

    schedule.plan(late, 3_600)
    schedule.plan(late)
    schedule.plan(early)
    assert early_ran.wait(PATIENCE)
    schedule.plan(late, again=True)
    assert late_ran.wait(PATIENCE)
    assert [name for name, _ in ran] == ["early", "late"]
    assert len({thread for _, thread in ran}) == 1


def test_a_task_that_fails_does_not_end_the_thread(schedule: Schedule) -> None:
    done = threading.Event()

    def fail() -> None:
        raise ValueError("no")

    schedule.plan(fail)
    schedule.plan(done.set)
    assert done.wait(PATIENCE)


def test_nothing_runs_after_the_stop() -> None:
    schedule = Schedule("test")
    ran = threading.Event()
    schedule.plan(ran.set, 3_600)
    assert schedule.stop(PATIENCE)
    schedule.plan(ran.set)
    assert not ran.is_set()


def test_repeated_work_has_one_thread_until_it_is_finished() -> None:
    done = threading.Semaphore(0)
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        done.release()

    schedule = Schedule("work")
    for _ in range(3):
        schedule.plan(work)
        assert done.acquire(timeout=PATIENCE)
    assert len(set(threads)) == 1
    assert schedule.finish(PATIENCE)
    assert not threads[0].is_alive()

    schedule.plan(work)
    assert schedule.finish(PATIENCE)
    assert len(threads) == 4


def test_work_apart_that_is_stopped_keeps_nobody_waiting() -> None:
    stop = threading.Event()
    stop.set()
    with stoppable(stop):
        done = begin_apart(check_stopped)
    assert isinstance(done.exception(PATIENCE), Stopped)
