"""Tasks that one thread runs when they are due."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from core.concurrency.schedule import Schedule

PATIENCE = 10.0


@pytest.fixture
def schedule() -> Iterator[Schedule]:
    schedule = Schedule("test")
    yield schedule
    assert schedule.stop(PATIENCE)


def test_the_earliest_task_runs_first_and_all_run_in_one_thread(schedule: Schedule) -> None:
    ran: list[tuple[str, int]] = []
    done = threading.Event()

    def late() -> None:
        ran.append(("late", threading.get_ident()))
        done.set()

    schedule.plan(late, 0.1)
    schedule.plan(lambda: ran.append(("early", threading.get_ident())))
    assert done.wait(PATIENCE)
    assert [name for name, _ in ran] == ["early", "late"]
    assert len({thread for _, thread in ran}) == 1


def test_a_planned_task_keeps_its_time_unless_it_is_planned_again(schedule: Schedule) -> None:
    runs: list[int] = []
    done = threading.Event()

    def task() -> None:
        runs.append(1)
        done.set()

    schedule.plan(task, 3_600)
    schedule.plan(task)
    assert not runs
    schedule.plan(task, again=True)
    assert done.wait(PATIENCE)
    assert len(runs) == 1


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
