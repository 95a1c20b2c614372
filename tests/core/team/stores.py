"""Sessions in the database of the tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.postgres_server import Database
from tests.waiting import run_ready
from ua_tui.core.events.types import ElicitationAsked, PermissionAsked
from ua_tui.core.tasks import end_tasks
from ua_tui.core.team.letters import encode_question, read_question
from ua_tui.core.team.mailbox import Inbox, Mailbox
from ua_tui.core.team.records import Answer, Command, SessionId

SESSION = SessionId(id="s1", job="j1")
WAITS = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
"""Whether somebody waits for a lock in this database; the others of the server are those of other tests."""


Received = tuple[Answer | Command, Callable[[], None]]
"""What came for a session, and what is to be called when the session has it."""


@asynccontextmanager
async def receiving(mailbox: Mailbox, inbox: Inbox | None = None) -> AsyncIterator[AsyncIterator[Received]]:
    """What comes for a session, which handles one after the other."""
    came: asyncio.Queue[Received] = asyncio.Queue()

    async def handle(item: Answer | Command) -> None:
        is_taken = asyncio.Event()
        came.put_nowait((item, is_taken.set))
        await is_taken.wait()

    async def give() -> AsyncIterator[Received]:
        while True:
            yield await came.get()

    task = asyncio.create_task((inbox or Inbox(mailbox)).receive(handle, lambda: False))
    try:
        yield give()
    finally:
        # What the session has is handled.
        await run_ready()
        await end_tasks(task)


def question_of(event: PermissionAsked | ElicitationAsked) -> tuple[str, str]:
    """What a mailbox is given to ask what an event says."""
    return event.request_id, encode_question(event)


async def requests(mailbox: Mailbox) -> list[str]:
    """The requests that wait for an answer."""
    found = [read_question(each) for each in await mailbox.questions()]
    return [each.request_id for each in found if each is not None]


def add_session(database: Database, session: SessionId = SESSION, *, owner: str = "owner") -> None:
    """Add a batch of one job, and the session that works on it."""
    database.execute("INSERT INTO batch (id) VALUES (%s) ON CONFLICT DO NOTHING", "b1")
    database.execute(
        "INSERT INTO job (id, batch, query, state, attempt, session) VALUES (%s, 'b1', 'Do it.', 'running', %s, %s)"
        " ON CONFLICT DO NOTHING",
        session.job, session.attempt, session.id,
    )  # fmt: skip
    database.execute(
        "INSERT INTO session (id, job, owner, name, attempt) VALUES (%s, %s, %s, 'session_1', %s)",
        session.id, session.job, owner, session.attempt,
    )  # fmt: skip


def take_over(database: Database, session: SessionId = SESSION) -> SessionId:
    """Have another worker take the session over; returns what it is then."""
    row = database.execute(
        "UPDATE session SET attempt = attempt + 1 WHERE id = %s RETURNING attempt", session.id
    )
    database.execute("UPDATE job SET attempt = %s WHERE id = %s", row[0][0], session.job)
    return SessionId(id=session.id, job=session.job, attempt=row[0][0])
