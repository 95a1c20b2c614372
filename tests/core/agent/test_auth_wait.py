from __future__ import annotations

from tests.waiting import ManualClock
from ua_tui.core.agent.auth.wait import OFTEN_FOR_SECONDS, OFTEN_SECONDS, SELDOM_SECONDS, AccountPoll
from ua_tui.core.concurrency.spawn import spawn_task
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.events.types import AuthRequired

LINK = AuthRequired(toolkit="gmail", url="https://connect.example/link/lk_1")


class Service:
    """Gives these answers one after the other, the last one for good; an exception is raised."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.found: list[str] = []
        self.clock = ManualClock()

    async def is_connected(self, toolkit: str) -> bool:
        self.asked.append(toolkit)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, *, exists: bool = True) -> AccountPoll:
        return AccountPoll(
            spawn_task, lambda: self.is_connected if exists else None, lambda: self.found.append("found"),
            clock=self.clock, sleep=self.clock.sleep,
        )  # fmt: skip

    async def times(self, seconds: float) -> int:
        """How often it is asked in this time."""
        before = len(self.asked)
        await self.clock.advance(seconds)
        return len(self.asked) - before


async def test_an_account_that_becomes_active_is_reported_once_and_one_that_was_never() -> None:
    service = Service(False, ConnectionFailed("no network"), False, True)
    service.watch().start(LINK)
    await service.clock.advance(100)
    assert (service.found, service.asked) == (["found"], ["gmail"] * 4)
    service = Service(True)
    service.watch().start(LINK)
    await service.clock.advance(100)
    assert (service.found, service.asked) == ([], ["gmail"])


async def test_it_is_asked_less_often_once_the_link_is_old_and_no_more_once_the_dialog_is_answered() -> None:
    service = Service(False)
    watch = service.watch()
    watch.start(LINK)
    assert await service.times(OFTEN_SECONDS) == 2
    assert await service.times(OFTEN_FOR_SECONDS) == OFTEN_FOR_SECONDS / OFTEN_SECONDS
    assert await service.times(10 * SELDOM_SECONDS) == 10
    watch.stop()
    service.answers = [True]
    assert (await service.times(OFTEN_FOR_SECONDS), service.found) == (0, [])


async def test_a_link_of_no_known_account_and_a_session_without_a_service_are_left_alone() -> None:
    service = Service(False)
    service.watch().start(AuthRequired(toolkit="", url=LINK.url))
    service.watch(exists=False).start(LINK)
    await service.clock.advance(100)
    assert (service.asked, service.found) == ([], [])
