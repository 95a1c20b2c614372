from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.core.team.stores import question_of, receiving
from tests.core.team.test_fleet import lay, locked, write
from tests.waiting import PATIENCE, until
from ua_tui.core.concurrency.spawn import Work
from ua_tui.core.errors import TeamError
from ua_tui.core.events import types as ev
from ua_tui.core.team.fleet.followed_session import FollowedSession
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.records import Answer, Answered, Command

ASKED = ev.PermissionAsked(request_id="r1", tool_name="Bash", input={"command": "ls"})
ALLOWED = ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="allow")


class Followed:
    """A session that is followed, and what was told about it."""

    def __init__(self, base: Path) -> None:
        self.folder = lay(base)
        self.mailbox = LocalMailbox(self.folder)
        self.reported: list[str] = []
        self.asked_again: list[ev.Event] = []
        self.running = ExitStack()
        self.running.enter_context(locked(self.folder))
        self._tasks: list[asyncio.Task[object]] = []
        self.session = FollowedSession(
            self.folder,
            self.mailbox,
            spawn=self._spawn,
            report=self.reported.append,
            report_answer=self.reported.append,
            ask_again=self.asked_again.extend,
        )

    def _spawn(self, work: Work, name: str, group: str) -> asyncio.Task[object]:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work())
        self._tasks.append(task)
        return task

    async def settled(self) -> None:
        """Wait until everything is sent."""
        while self._tasks:
            await self._tasks.pop()

    async def ask(self, asked: ev.PermissionAsked = ASKED) -> list[ev.Event]:
        """Let the session ask; returns its questions as they are read here."""
        await self.mailbox.ask(*question_of(asked))
        return list(await self.session.questions())

    async def followed(self, *events: ev.Event) -> list[ev.Event]:
        """Let the session write these and end; returns what is given of them."""
        write(self.folder, events)
        self.running.close()
        new = [event async for events in self.session.follow() for event in events]
        for event in new:
            self.session.bus.forward(event)
        return new

    async def read(self, *events: ev.Event) -> None:
        """Let the session write these, and read them."""
        write(self.folder, events)
        for event in events:
            self.session.bus.forward(event)


@pytest.fixture
async def followed(tmp_path: Path) -> AsyncIterator[Followed]:
    one = Followed(tmp_path)
    await one.session.start()
    yield one
    one.running.close()
    await one.session.close("quit")


@asynccontextmanager
async def worker(mailbox: LocalMailbox) -> AsyncIterator[asyncio.Queue[object]]:
    """Receive like the program that runs the session."""
    received: asyncio.Queue[object] = asyncio.Queue()

    async def receive() -> None:
        async with receiving(mailbox) as items:
            async for item, take in items:
                received.put_nowait(item)
                take()

    task = asyncio.create_task(receive())
    try:
        yield received
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_answer_reaches_the_session(followed: Followed) -> None:
    (asked,) = await followed.ask()
    assert isinstance(asked, ev.PermissionAsked)
    assert asked.input == {"command": "ls"}
    async with worker(followed.mailbox) as received:
        assert followed.session.answer_permission("r1", allow=True, scope="session", patterns=["ls *"])
        answer = await asyncio.wait_for(received.get(), PATIENCE)
    assert answer == Answer(request="r1", allow=True, scope="session", patterns=("ls *",))
    await followed.read(ALLOWED)
    await followed.settled()
    assert followed.reported == []


@pytest.mark.parametrize("is_late", [True, False])
async def test_who_comes_too_late_or_watches_reads_who_has_answered(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    await followed.ask()
    monkeypatch.setattr("ua_tui.core.team.local_mailbox._user", lambda: "mary\x1b[31m")
    monkeypatch.setattr("ua_tui.core.team.local_mailbox.time.time", lambda: 1_795_183_320.0)
    await followed.mailbox.answer(Answer(request="r1", allow=True))
    if is_late:
        followed.session.answer_permission("r1", allow=False)
    else:
        assert len(await followed.followed(ALLOWED)) == 1
    await followed.settled()
    (told,) = followed.reported
    assert told.startswith("Answered by mary")
    assert told.endswith("at 14:02.")
    assert "\x1b" not in told


async def test_what_nobody_answered_in_person_names_nobody(followed: Followed) -> None:
    await followed.ask()
    await followed.mailbox.withdraw("r1")
    await followed.followed(ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="deny"))
    await followed.settled()
    assert followed.reported == []
    followed.session.answer_permission("r1", allow=True)
    await followed.settled()
    assert followed.reported == ["This question was already answered or withdrawn."]


async def test_answers_wait_for_their_question(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ua_tui.core.team.fleet.followed_session.AGAIN_SECONDS", 0.05)
    await followed.read(ASKED)
    answer = followed.mailbox.answer
    tries = 0

    async def late(given: Answer) -> Answered:
        nonlocal tries
        tries += 1
        if tries == 2:
            await followed.mailbox.ask(*question_of(ASKED))
        return await answer(given)

    monkeypatch.setattr(followed.mailbox, "answer", late)
    followed.session.answer_permission("r1", allow=True)
    await followed.settled()
    assert (tries, followed.reported) == (2, [])


async def test_an_unsent_answer_is_asked_again(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    await followed.read(ASKED)

    async def fail(*_: object) -> None:
        raise TeamError("the server does not answer")

    monkeypatch.setattr(followed.mailbox, "answer", fail)
    monkeypatch.setattr(followed.mailbox, "send", fail)
    followed.session.answer_permission("r1", allow=True)
    await followed.settled()
    assert followed.reported == ["The answer was not sent: the server does not answer"]
    assert followed.asked_again == [ASKED]
    followed.session.submit("And then?")
    await followed.session.interrupt()
    await followed.settled()
    assert sorted(followed.reported[1:]) == [
        "The command was not sent: the server does not answer",
        "The query was not sent: the server does not answer",
    ]
    assert followed.session.queued == ()
    assert followed.session.state == "running"


async def test_queries_and_commands_reach_the_session(followed: Followed) -> None:
    async with worker(followed.mailbox) as received:
        assert followed.session.state == "running"
        followed.session.submit("  And then?  ")
        assert await followed.session.steer("Shorter, please") is False
        assert followed.session.queued == ("And then?", "Shorter, please")
        await followed.settled()
        sent = [await asyncio.wait_for(received.get(), PATIENCE) for _ in range(2)]
        assert Command(kind="submit", body="And then?", sent_by=getpass.getuser()) in sent
        await followed.session.interrupt()
        assert followed.session.state == "stopping"
        stop = await asyncio.wait_for(received.get(), PATIENCE)
        assert stop == Command(kind="interrupt", sent_by=getpass.getuser())
    await followed.read(ev.QuerySteered(query_id="q1", text="Shorter, please"))
    await followed.read(ev.QueryFinished(query_id="q1", status="interrupted"))
    await followed.session.interrupt()
    assert followed.session.state == "idle"
    await followed.read(ev.QueryReceived(query_id="q2", text="And then?"))
    assert (followed.session.state, list(followed.session.queued)) == ("running", [])
    await followed.read(ev.SessionFinished(reason="quit"))
    followed.session.submit("Too late")
    assert (followed.session.state, list(followed.session.queued)) == ("closed", [])


async def test_rules_of_the_other_machine_are_not_offered(followed: Followed) -> None:
    wide = msgspec.structs.replace(ASKED, scopes=["session", "folder", "everywhere"])
    asked = await followed.ask(wide)
    write(followed.folder, [wide])
    followed.running.close()
    new = [event async for events in followed.session.follow() for event in events]
    found = [each for each in (*asked, *new) if isinstance(each, ev.PermissionAsked)]
    assert [each.scopes for each in found] == [["session"], ["session"]]


async def test_new_events_are_given_until_the_session_ends(followed: Followed) -> None:
    seen: list[Sequence[ev.Event]] = []

    async def follow() -> None:
        async for events in followed.session.follow():
            seen.append(events)

    task = asyncio.create_task(follow())
    write(followed.folder, [ev.QueryFinished(query_id="q1", status="success")])
    await until(lambda: seen)
    followed.running.close()
    await asyncio.wait_for(task, PATIENCE)
    assert [type(event) for events in seen for event in events] == [ev.QueryFinished]


async def test_a_question_that_is_no_question_is_left_out(followed: Followed) -> None:
    for request, event in (("x", "no JSON"), ("y", '{"event": "query_received"}'), ("z", "[]")):
        await followed.mailbox.ask(request, event)
    assert await followed.session.questions() == []
