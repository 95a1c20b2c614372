"""The mailbox of a team: questions, answers and commands go through its database.

One connection listens for all sessions of a program. What was sent while it was lost is read when there is one again,
and every two seconds in any case: a message that wakes nobody is late, never lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import CHANNEL, Listener, answering_within, connected, fetch
from ua_tui.core.postgres.problems import reporting
from ua_tui.core.team.letters import command_text, encode_answer, read_answer, read_command
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.records import Answer, Answered, Command, Question, SessionId

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
_ANSWER_S = 20.0
_MOST = 1_000
TAKEN_OVER = "another worker continues this session"

_ASK = """
WITH added AS (
    INSERT INTO question (session, request, attempt, event)
    SELECT id, %(request)s, attempt, %(event)s FROM session
    WHERE id = %(session)s AND attempt = %(attempt)s FOR SHARE
    -- An answer that nobody has read stays: that the question was asked may not have been known here.
    ON CONFLICT (session, request) DO UPDATE SET
        event = excluded.event, attempt = excluded.attempt, answer = NULL, answered_by = NULL, answered_at = NULL
        WHERE question.attempt <> excluded.attempt OR question.answer IS NULL OR question.answer = ''
    RETURNING session
) SELECT pg_notify(%(channel)s, 'question ' || session) FROM added
"""
_WITHDRAW = """
WITH gone AS (
    DELETE FROM question WHERE session = %(session)s AND request = %(request)s AND answer IS NULL RETURNING session
) SELECT pg_notify(%(channel)s, 'question ' || session) FROM gone
"""
_QUESTIONS = """
SELECT q.session, q.request, q.event, extract(epoch FROM q.asked_at)::float8
FROM question q JOIN session s ON s.id = q.session AND s.attempt = q.attempt
WHERE q.answer IS NULL AND (%(session)s::text IS NULL OR q.session = %(session)s)
ORDER BY q.asked_at, q.request LIMIT %(most)s
"""
# The row is locked, and read again after whoever answers at the same time: one of them finds it unanswered.
_ANSWER = """
WITH given AS (
    UPDATE question q SET answer = %(answer)s, answered_by = current_user, answered_at = now() FROM session s
    WHERE s.id = q.session AND s.attempt = q.attempt
        AND q.session = %(session)s AND q.request = %(request)s AND q.answer IS NULL
    RETURNING q.session
) SELECT pg_notify(%(channel)s, 'answer ' || session) FROM given
"""
_ANSWERED = """
SELECT answered_by::text, extract(epoch FROM answered_at)::float8 FROM question
WHERE session = %(session)s AND request = %(request)s AND answer IS NOT NULL
"""
_REOPEN = """
WITH reopened AS (
    UPDATE question SET answer = NULL, answered_by = NULL, answered_at = NULL
    WHERE session = %(session)s AND request = %(request)s AND answered_at IS NOT DISTINCT FROM %(at)s::timestamptz
    RETURNING session
) SELECT pg_notify(%(channel)s, 'question ' || session) FROM reopened
"""
_SEND = """
WITH sent AS (
    INSERT INTO command (session, kind, body) SELECT id, %(kind)s, %(body)s FROM session WHERE id = %(session)s
    RETURNING session
) SELECT pg_notify(%(channel)s, 'command ' || session) FROM sent
"""
_EARLIER = """
SELECT request, event, answer FROM question
WHERE session = %(session)s AND attempt < %(attempt)s AND answer <> '' ORDER BY answered_at DESC
"""
# Who has answered stays: the answer is that person's.
_CARRY_OVER = """
WITH given AS (
    UPDATE question q SET answer = %(answer)s, answered_by = o.answered_by, answered_at = now() FROM question o
    WHERE o.session = q.session AND o.request = %(before)s
        AND q.session = %(session)s AND q.request = %(request)s AND q.answer IS NULL
    RETURNING q.session
), emptied AS (
    UPDATE question SET answer = '' WHERE session = %(session)s AND request = %(before)s
) SELECT pg_notify(%(channel)s, 'answer ' || session) FROM given
"""
# Read, then marked as read: a connection may be lost before what a statement returns has arrived.
_NEW_ANSWERS = """
SELECT q.session, q.request, q.answer, q.answered_at
FROM unnest(%(sessions)s::text[], %(attempts)s::int[]) AS mine (id, attempt)
JOIN session s ON s.id = mine.id AND s.attempt = mine.attempt
JOIN question q ON q.session = s.id AND q.attempt = s.attempt
WHERE q.answer <> '' ORDER BY q.answered_at
"""
# Nothing of an answer stays, as it may have a secret for the form of a server; who gave it, and when, does.
_EMPTY = """
UPDATE question SET answer = ''
WHERE session = %(session)s AND request = %(request)s AND answer <> ''
    AND answered_at IS NOT DISTINCT FROM %(at)s::timestamptz
"""
_NEW_COMMANDS = """
SELECT c.id, c.session, c.kind, c.body, c.sent_by::text
FROM unnest(%(sessions)s::text[], %(attempts)s::int[]) AS mine (id, attempt)
JOIN session s ON s.id = mine.id AND s.attempt = mine.attempt
JOIN command c ON c.session = s.id AND c.taken_at IS NULL ORDER BY c.id
"""
_TAKEN = "UPDATE command SET taken_at = now() WHERE id = ANY(%(ids)s)"
# What the worker asked that had the session before.
_FORGET = """
DELETE FROM question q USING unnest(%(sessions)s::text[], %(attempts)s::int[]) AS mine (id, attempt)
WHERE q.session = mine.id AND q.attempt < mine.attempt AND q.answer IS NULL
"""


_OF_ONE = dict.fromkeys(("request_id", "tool_use_id", "seq", "at"))
"""What two events have that ask the same, and differs."""


@dataclass
class _Inbox:
    """What is received for a session of this program."""

    session: SessionId
    received: asyncio.Queue[Answer | Command] = field(default_factory=asyncio.Queue)
    seen: set[object] = field(default_factory=set)

    def add(self, key: object, item: Answer | Command | None) -> None:
        """Add what was read, unless it was read before and could not be marked."""
        if item is not None and key not in self.seen:
            self.seen.add(key)
            self.received.put_nowait(item)


class PostgresMailbox:
    """Questions, answers and commands in the database of a team. Belongs to one event loop."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._inboxes: dict[str, _Inbox] = {}
        self._receiving: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    async def ask(self, session: SessionId, question: Question) -> None:
        """Ask the team; a question that was asked before waits again."""
        rows = await self._run(
            _ASK,
            session=session.id,
            attempt=session.attempt,
            request=question.request,
            event=question.event,
        )
        if not rows and await self.answered(session.id, question.request) is None:
            raise TeamError(TAKEN_OVER)
        if session.attempt > 1:
            await self._carry_over(session, question)

    async def _carry_over(self, session: SessionId, question: Question) -> None:
        """Answer a question as the same one was answered that an earlier attempt asked, which gave its place back."""
        for request, event, text in await self._run(_EARLIER, session=session.id, attempt=session.attempt):
            answer = read_answer(request, text)
            if answer is None or not _is_same(event, question.event):
                continue
            again = encode_answer(replace(answer, request=question.request))
            values = {"session": session.id, "request": question.request, "answer": again, "before": request}
            await self._run(_CARRY_OVER, **values)
            return

    async def withdraw(self, session: SessionId, request: str) -> None:
        """A question no longer waits."""
        await self._run(_WITHDRAW, session=session.id, request=request)

    async def questions(self, session: str | None = None) -> list[Question]:
        """The questions that wait, oldest first."""
        rows = await self._run(_QUESTIONS, session=session, most=_MOST)
        return [Question(session=of, request=id_, event=event, asked=at) for of, id_, event, at in rows]

    async def answer(self, session: str, answer: Answer) -> Answered:
        """Answer a question; only the first answer counts."""
        text = encode_answer(answer)
        if await self._run(_ANSWER, session=session, request=answer.request, answer=text):
            return Answered(accepted=True)
        return await self.answered(session, answer.request) or Answered(accepted=False)

    async def answered(self, session: str, request: str) -> Answered | None:
        """Who has answered a question, and when; None if nobody has, or it is not known."""
        for by, at in await self._run(_ANSWERED, session=session, request=request):
            return Answered(accepted=False, by=by or "", at=at)
        return None

    async def send(self, session: str, command: Command) -> None:
        """Send a command to a session."""
        if not await self._run(_SEND, session=session, kind=command.kind, body=command_text(command)):
            raise TeamError("the team's database has no such session")

    @asynccontextmanager
    async def received(self, session: SessionId) -> AsyncIterator[AsyncIterator[Answer | Command]]:
        """The answers and commands for a session as they come; a session is received once at a time."""
        inbox = self._inboxes[session.id] = _Inbox(session)
        self._wake.set()
        if self._receiving is None or self._receiving.done():
            self._receiving = asyncio.create_task(self._receive(), name="team: mailbox")
        try:
            yield _items(inbox.received)
        finally:
            if self._inboxes.get(session.id) is inbox:
                del self._inboxes[session.id]
            if not self._inboxes and self._receiving is not None:
                receiving, self._receiving = self._receiving, None
                receiving.cancel()
                await asyncio.gather(receiving, return_exceptions=True)

    def _handle_notice(self, payload: str) -> None:
        kind, _, session = payload.partition(" ")
        if not kind or (kind in ("answer", "command") and session in self._inboxes):
            self._wake.set()

    async def _receive(self) -> None:
        """Receive for all sessions, whenever something may have come for one of them."""
        shared = self._address.connections
        listener = Listener(self._address) if shared is None else shared.listener
        end_listening = listener.subscribe(self._handle_notice)
        try:
            while True:
                self._wake.clear()
                try:
                    async with connected(self._address) as db:
                        with reporting(self._address), answering_within(db, _ANSWER_S):
                            await self._fetch(db, list(self._inboxes.values()))
                except TeamError as error:
                    log.warning("answers and commands of the team are late: %s", error)
                except Exception:
                    log.exception("receiving the messages of the team failed")
                # Not `wait_for`: Python 3.11 loses a cancellation that comes together with what is waited for.
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._wake.wait()
        finally:
            end_listening()

    async def _fetch(self, connection: psycopg.AsyncConnection[Any], inboxes: list[_Inbox]) -> None:
        """Read what is new for these sessions."""
        if not inboxes:
            return
        by_id = {inbox.session.id: inbox for inbox in inboxes}
        values = {
            "sessions": list(by_id),
            "attempts": [inbox.session.attempt for inbox in inboxes],
        }
        await connection.execute(_FORGET.encode(), values)
        cursor = await connection.execute(_NEW_ANSWERS.encode(), values)
        for session, request, text, at in await cursor.fetchall():
            answer = read_answer(request, text)
            if answer is None:
                log.warning("an answer that cannot be read was removed; its question waits again")
            read = {"session": session, "request": request, "at": at, "channel": CHANNEL}
            try:
                await connection.execute((_REOPEN if answer is None else _EMPTY).encode(), read)
            finally:
                # Afterwards, as the same question may be asked again; whether it was marked may never be known.
                by_id[session].add((request, at), answer)
        cursor = await connection.execute(_NEW_COMMANDS.encode(), values)
        commands = await cursor.fetchall()
        for number, session, kind, body, by in commands:
            by_id[session].add(number, read_command(kind, body, by))
        if commands:
            await connection.execute(_TAKEN.encode(), {"ids": [number for number, *_ in commands]})

    async def _run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        return await fetch(self._address, statement, {"channel": CHANNEL, **values}, within=_ANSWER_S)


def _is_same(before: str, now: str) -> bool:
    """Whether two questions are about the same call, or the same request of a server."""
    try:
        first, second = (msgspec.json.decode(each, type=dict[str, Any]) for each in (before, now))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return {**first, **_OF_ONE} == {**second, **_OF_ONE}


async def _items(queue: asyncio.Queue[Answer | Command]) -> AsyncIterator[Answer | Command]:
    while True:
        yield await queue.get()


Mailbox = PostgresMailbox | LocalMailbox
"""Brings questions of sessions to people, and their answers and commands to the sessions, each once."""
