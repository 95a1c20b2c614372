from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from core.agent.auth.wait import AccountPoll
from core.concurrency.spawn import spawn_task
from core.errors import ConnectionFailed
from core.events.types import AuthRequired

LINK = AuthRequired(toolkit="gmail", url="https://connect.example/link/lk_1")


class Service:
    """Gives these answers one after the other, the last one for good; an exception is raised."""

    def __init__(self, answers: Iterable[bool | Exception]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.found: list[str] = []

    async def is_connected(self, toolkit: str) -> bool:
        self.asked.append(toolkit)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self) -> AccountPoll:
        return AccountPoll(
            spawn_task, lambda: self.is_connected, lambda: self.found.append("found"), often=0.0
        )


async def until(true: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come true")


async def test_an_account_that_becomes_active_is_reported_once() -> None:
    service = Service([False, ConnectionFailed("no network"), False, True])
    service.watch().start(LINK)
    await until(lambda: bool(service.found))
    asked = len(service.asked)
    await asyncio.sleep(0.01)
    assert service.found == ["found"]
    assert service.asked == ["gmail"] * asked


async def test_an_account_that_was_active_before_reports_nothing() -> None:
    service = Service([True])
    service.watch().start(LINK)
    await until(lambda: bool(service.asked))
    await asyncio.sleep(0.01)
    assert service.found == []
    assert len(service.asked) == 1


async def test_nobody_is_asked_any_more_once_the_dialog_is_answered() -> None:
    service = Service([False])
    watch = service.watch()
    watch.start(LINK)
    await until(lambda: len(service.asked) > 3)
    watch.stop()
    await asyncio.sleep(0)
    asked = len(service.asked)
    service.answers = [True]
    await asyncio.sleep(0.01)
    assert (len(service.asked), service.found) == (asked, [])


async def test_a_link_of_no_known_account_and_a_session_without_a_service_are_left_alone() -> None:
    service = Service([False])
    service.watch().start(AuthRequired(toolkit="", url=LINK.url))
    AccountPoll(spawn_task, lambda: None, lambda: service.found.append("found")).start(LINK)
    await asyncio.sleep(0.01)
    assert (service.asked, service.found) == ([], [])
