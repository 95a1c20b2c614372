from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.core.team.stores import receiving, requests
from tests.tui.fixture_types import Patch
from tests.waiting import until, until_in_thread
from ua_tui.core.errors import FormError, TeamError
from ua_tui.core.events import types as ev
from ua_tui.core.session.parts import SessionState
from ua_tui.core.team.letters import LARGEST
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.records import Answer, Command
from ua_tui.tui.team.question_relay import QuestionRelay

CALL = ev.PermissionAsked(request_id="r1", tool_name="mcp__mail__send", input={"to": "Ann"})
FORM = ev.ElicitationAsked(request_id="r2", server="desk", message="Which city?")


class NoteSession:
    """Notes what it is told; `refuses` is what is wrong with the next form."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.refuses = ""
        self.state = SessionState.IDLE

    def answer_permission(self, request: str, **given: Any) -> bool:
        self.told.append((request, given))
        return True

    def answer_elicitation(self, request: str, action: str, values: Any = None, **_more: Any) -> bool:
        if self.refuses:
            why, self.refuses = self.refuses, ""
            raise FormError(why)
        self.told.append((request, action, values))
        return True

    async def steer(self, text: str) -> bool:
        self.told.append(text)
        return True

    async def interrupt(self) -> None:
        self.told.append("interrupt")


class Desk:
    """A session whose questions are in its folder, and a person who answers them."""

    def __init__(self, path: Path) -> None:
        self.session = NoteSession()
        self.changes = 0
        self.worker, self.person = LocalMailbox(path), LocalMailbox(path)
        self.relay = QuestionRelay(self._note_change)

    def _note_change(self) -> None:
        self.changes += 1

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.relay.run(self.session, self.worker))  # type: ignore[arg-type]
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def waiting(self, *expected: str) -> None:
        """Wait until the person sees these questions."""
        await until_in_thread(lambda: asyncio.run(requests(self.person)) == list(expected))

    async def told(self, count: int) -> Any:
        """Wait until the session was told so many things; returns the last one."""
        await until(lambda: len(self.session.told) >= count)
        return self.session.told[-1]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_call_is_answered_by_the_team(desk: Desk) -> None:
    async with desk.at_work():
        desk.relay.handle_event(CALL)
        assert desk.relay.needs_you
        await desk.waiting("r1")
        # A rule for the whole machine is not somebody else's to make.
        await desk.person.answer(
            Answer(request="r1", allow=True, scope="user", patterns=("send",), input={"to": "Bob"})
        )
        request, given = await desk.told(1)
        assert (request, given["allow"], given["scope"]) == ("r1", True, "session")
        assert (given["patterns"], given["input"]) == (("send",), {"to": "Bob"})
        desk.relay.handle_event(ev.PermissionAnswered(request_id="r1", tool_name="x", decision="allow"))
        assert not desk.relay.needs_you
        assert desk.changes == 2


async def test_a_question_that_was_answered_elsewhere_is_withdrawn(desk: Desk) -> None:
    async with desk.at_work():
        desk.relay.handle_event(CALL)
        desk.relay.handle_event(FORM)
        await desk.waiting("r1", "r2")
        desk.relay.handle_event(ev.PermissionAnswered(request_id="r1", tool_name="x", decision="deny"))
        await desk.waiting("r2")
        assert not (await desk.person.answer(Answer(request="r1", allow=True))).accepted
    # So is what still waits at the end.
    assert await desk.person.questions() == []


async def test_an_answer_that_comes_while_the_session_ends_is_not_taken(desk: Desk) -> None:
    async with desk.at_work():
        desk.relay.handle_event(CALL)
        await desk.waiting("r1")
        desk.relay.is_leaving = True
        await desk.person.answer(Answer(request="r1", allow=True))
        await desk.waiting()
    async with receiving(desk.worker) as items:
        item, _ = await anext(items)
    assert item == Answer(request="r1", allow=True)
    assert desk.session.told == []


async def test_what_cannot_be_handled_is_given_up(desk: Desk, monkeypatch: Patch) -> None:
    async def fail_once(text: str) -> bool:
        monkeypatch.undo()
        raise ValueError(text)

    async with desk.at_work():
        monkeypatch.setattr(desk.session, "steer", fail_once)
        await desk.person.send(Command(kind="submit", body="One"))
        await desk.person.send(Command(kind="submit", body="Two"))
        assert await desk.told(1) == "Two"


async def test_a_form_is_asked_for_again_if_its_answer_does_not_fit(desk: Desk) -> None:
    desk.session.refuses = "nights must be a number"
    async with desk.at_work():
        desk.relay.handle_event(FORM)
        await desk.waiting("r2")
        await desk.person.answer(Answer(request="r2", action="accept", values={"nights": "many"}))
        await until(lambda: not desk.session.refuses)
        await desk.waiting("r2")
        await desk.person.answer(Answer(request="r2", action="accept", values={"nights": 2}))
        assert await desk.told(1) == ("r2", "accept", {"nights": 2})
        desk.relay.handle_event(ev.ElicitationAnswered(request_id="r2", server="desk", action="accept"))
        await desk.waiting()


async def test_commands_come_to_the_session(desk: Desk) -> None:
    async with desk.at_work():
        await desk.person.send(Command(kind="submit", body="Shorter, please"))
        await desk.person.send(Command(kind="interrupt"))
        assert await desk.told(1) == "Shorter, please"
        # It is about to begin: it is stopped when it runs.
        await until(lambda: desk.relay.stopped_by == getpass.getuser())
        assert desk.session.told == ["Shorter, please"]
        desk.session.state = SessionState.RUNNING
        assert await desk.told(2) == "interrupt"


async def test_a_question_too_large_to_be_asked_is_denied(desk: Desk) -> None:
    async with desk.at_work():
        desk.relay.handle_event(
            ev.ElicitationAsked(request_id="r3", server="desk", message="x" * (LARGEST + 1))
        )
        assert await desk.told(1) == ("r3", "decline", None)


async def test_a_question_is_asked_when_the_store_can_be_reached_again(
    desk: Desk, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("ua_tui.tui.team.question_relay._RETRY_SECONDS", 0.01)
    ask, failures = desk.worker.ask, [TeamError("no server"), RuntimeError("odd")]

    async def fail_first(request: str, event: str) -> None:
        if failures:
            raise failures.pop()
        await ask(request, event)

    monkeypatch.setattr(desk.worker, "ask", fail_first)
    async with desk.at_work():
        desk.relay.handle_event(CALL)
        await desk.waiting("r1")
        assert failures == []
