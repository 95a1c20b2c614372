from __future__ import annotations

from tests.waiting import ManualClock
from ua_tui.core.agent.auth.wait import AuthWait
from ua_tui.core.concurrency.spawn import spawn_task
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.events.types import AuthFinished, AuthRequired, Event, QueryFinished, ToolCallStarted

LINK = AuthRequired(toolkit="gmail", url="https://connect.example/link/lk_1")


class Service:
    """Gives these answers one after the other, the last one for good; an exception is raised."""

    def __init__(self, *answers: bool | Exception, exists: bool = True) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.events: list[Event] = []
        self.continued = 0
        self.runs = False
        self.clock = ManualClock()
        self.wait = AuthWait(
            spawn_task, lambda: self.is_connected if exists else None, publish=self.events.append,
            runs=lambda: self.runs, continue_query=self.go_on, polls=True, sleep=self.clock.sleep,
        )  # fmt: skip

    def go_on(self) -> None:
        self.continued += 1

    async def is_connected(self, toolkit: str) -> bool:
        self.asked.append(toolkit)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_an_account_that_becomes_active_is_reported_once_and_one_that_was_never() -> None:
    service = Service(False, ConnectionFailed("no network"), False, True)
    service.wait.handle_event(LINK)
    await service.clock.advance(100)
    assert service.events == [AuthFinished(toolkit="gmail", outcome="completed")]
    assert (service.asked, service.continued) == (["gmail"] * 4, 1)
    service = Service(True)
    service.wait.handle_event(LINK)
    await service.clock.advance(100)
    assert (service.events, service.asked) == ([], ["gmail"])


async def test_a_running_query_continues_itself_or_after_its_end() -> None:
    for calls in (False, True):
        service = Service(False, True)
        service.runs = True
        service.wait.handle_event(LINK)
        await service.clock.advance(100)
        assert (service.wait.pending, service.continued) == (None, 0)
        if calls:
            service.wait.handle_event(ToolCallStarted(query_id="q", tool_use_id="t", name="Read"))
        service.wait.handle_event(QueryFinished(query_id="q", status="success"))
        assert service.continued == (0 if calls else 1)


async def test_nothing_is_asked_once_the_dialog_is_answered() -> None:
    service = Service(False)
    service.wait.handle_event(LINK)
    await service.clock.advance(10)
    service.wait.finish("cancelled")
    service.answers, asked = [True], len(service.asked)
    await service.clock.advance(100)
    assert (len(service.asked), service.continued) == (asked, 0)


async def test_a_link_of_no_known_account_and_a_session_without_a_service_are_left_alone() -> None:
    for service, toolkit in ((Service(False), ""), (Service(False, exists=False), "gmail")):
        service.wait.handle_event(AuthRequired(toolkit=toolkit, url=LINK.url))
        await service.clock.advance(100)
        assert service.asked == []
