"""The mailbox of a team: questions, answers and commands go through its database.

One connection listens for all sessions of a program. What was sent while it was lost is read when there is one again,
and every five seconds in any case: a message that wakes nobody is late, never lost.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import TeamError
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import CHANNEL, Listener, fetch
from ua_tui.core.tasks import pause
from ua_tui.core.team.letters import Letter, command_text, encode_answer, read_answer, read_command
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.records import Answer, Answered, Command, SessionId

_LAST_S = 2.0
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
SELECT q.event FROM question q JOIN session s ON s.id = q.session AND s.attempt = q.attempt
WHERE q.answer IS NULL AND q.session = %(session)s
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
# Read, then marked when the session has it: it may end before, and then the next attempt reads it.
_NEW = """
WITH mine AS (SELECT id, attempt FROM session WHERE id = %(session)s AND attempt = %(attempt)s)
SELECT q.request, q.answer AS text, q.answered_at AS at, 0 AS id, '' AS kind, '' AS by
FROM mine JOIN question q ON q.session = mine.id AND q.attempt = mine.attempt WHERE q.answer <> ''
UNION ALL
SELECT '', c.body, c.sent_at, c.id, c.kind, c.sent_by::text
FROM mine JOIN command c ON c.session = mine.id WHERE c.taken_at IS NULL
ORDER BY id, at
"""
# Nothing of an answer stays, as it may have a secret for the form of a server; who gave it, and when, does.
_MARK = """
WITH emptied AS (
    UPDATE question SET answer = ''
    WHERE session = %(session)s AND request = %(request)s AND answer <> ''
        AND answered_at IS NOT DISTINCT FROM %(at)s::timestamptz
) UPDATE command SET taken_at = now() WHERE id = %(id)s
"""


_ASKED = ("tool_name", "input", "subjects", "reason", "server", "message", "mode", "fields", "url")
"""What two questions have in common that ask the same; what may be answered depends on what is known of a server."""
_TIME = re.compile(r"\b\d\d:\d\d(?: on \d\d \w+)?")
"""Since when the agent has read what others wrote: a reason to ask says it, and the next attempt reads it anew."""


class PostgresMailbox:
    """Questions, answers and commands of a session in the database of a team. Belongs to one event loop."""

    poll_seconds = 5.0
    """How often is looked for letters that nobody announced."""

    def __init__(self, address: Address, session: SessionId) -> None:
        self._address = address
        self._session = session
        shared = address.connections
        self._listener = Listener(address) if shared is None else shared.listener

    async def ask(self, request: str, event: str) -> None:
        """Ask the team what an event says, as `encode_question` gives it; what was asked before waits again."""
        if not await self._run(_ASK, request=request, event=event) and await self.answered(request) is None:
            raise TeamError(TAKEN_OVER)
        for before, earlier, text in await self._run(_EARLIER) if self._session.attempt > 1 else ():
            # An earlier attempt, which gave its place back, asked the same: it is answered as that was.
            if _is_same(earlier, event):
                again = encode_answer(replace(read_answer(before, text), request=request))
                await self._run(_CARRY_OVER, request=request, answer=again, before=before)
                return

    async def withdraw(self, request: str) -> None:
        """A question no longer waits."""
        await self._run(_WITHDRAW, request=request)

    async def questions(self) -> list[str]:
        """The events of the questions that wait, oldest first."""
        return [event for (event,) in await self._run(_QUESTIONS, most=_MOST)]

    async def answer(self, answer: Answer) -> Answered:
        """Answer a question; only the first answer counts."""
        if await self._run(_ANSWER, request=answer.request, answer=encode_answer(answer)):
            return Answered(accepted=True)
        return await self.answered(answer.request) or Answered(accepted=False)

    async def answered(self, request: str) -> Answered | None:
        """Who has answered a question, and when; None if nobody has, or it is not known."""
        for by, at in await self._run(_ANSWERED, request=request):
            return Answered(accepted=False, by=by or "", at=at)
        return None

    async def send(self, command: Command) -> None:
        """Send a command to the session."""
        if not await self._run(_SEND, kind=command.kind, body=command_text(command)):
            raise TeamError("the team's database has no such session")

    def listen(self, wake: asyncio.Event) -> Callable[[], None]:
        """Set `wake` when a letter for the session is announced; returns what ends it."""
        news = ("", f"answer {self._session.id}", f"command {self._session.id}")
        return self._listener.subscribe(lambda payload: wake.set() if payload in news else None)

    async def unread(self) -> list[Letter]:
        """The letters for the session that are not marked as read."""
        return [Letter(*row) for row in await self._run(_NEW)]

    async def settle(self, letter: Letter) -> None:
        """Mark a letter as read: of an answer stays only who gave it, as it may have a secret for a form."""
        await self._run(_MARK, **letter._asdict())

    async def _run(self, statement: str, **values: Any) -> list[Any]:
        given = {"channel": CHANNEL, "session": self._session.id, "attempt": self._session.attempt, **values}
        return await fetch(self._address, statement, given)


def _is_same(before: str, now: str) -> bool:
    """Whether two questions are about the same call, or the same request of a server."""
    try:
        first, second = (msgspec.json.decode(each, type=dict[str, Any]) for each in (before, now))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    for each in (first, second):
        each["reason"] = _TIME.sub("", str(each.get("reason", "")))
    return [first.get(name) for name in _ASKED] == [second.get(name) for name in _ASKED]


Mailbox = PostgresMailbox | LocalMailbox
"""Brings questions of a session to people, and their answers and commands to the session, each once."""


class Inbox:
    """Brings the letters of a mailbox to its session, each once; a session is received by one program at a time."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._wake = asyncio.Event()
        self._taken: list[Letter] = []
        """What the session has that is not yet marked."""

    async def receive(
        self, handle: Callable[[Answer | Command], Awaitable[None]], is_leaving: Callable[[], bool]
    ) -> None:
        """Hand on answers and commands as they come; while the mailbox cannot be used, they are late.

        What is not handled comes again, also to a later attempt at the session. It ends when the session `is_leaving`.
        """
        end_listening = self._mailbox.listen(self._wake)
        problem = ""
        try:
            while True:
                self._wake.clear()
                try:
                    await self.mark_taken()
                    for letter in await self._mailbox.unread():
                        if is_leaving():
                            return
                        if is_interrupt := letter.kind == "interrupt":
                            # Handling it may end the session, and it is not for the next attempt.
                            self._take(letter)
                        item = (
                            read_command(letter.kind, letter.text, letter.by)
                            if letter.kind
                            else read_answer(letter.request, letter.text)
                        )
                        if item is not None:
                            await handle(item)
                        if not is_interrupt:
                            self._take(letter)
                    problem = ""
                except Exception as error:
                    if str(error) != problem:
                        problem = str(error)
                        unknown = None if isinstance(error, TeamError) else error
                        log.warning("answers and commands are delayed: %s", error, exc_info=unknown)
                await pause(self._mailbox.poll_seconds, self._wake)
        finally:
            end_listening()
            with suppress(TeamError, TimeoutError):
                async with asyncio.timeout(_LAST_S):
                    await self.mark_taken()

    def _take(self, letter: Letter) -> None:
        self._taken.append(letter)
        self._wake.set()

    async def mark_taken(self) -> None:
        """Mark as read what the session has; what cannot be marked now is marked later."""
        while self._taken:
            letter = self._taken[0]
            await self._mailbox.settle(letter)
            # It may have been marked twice, at the same time.
            if letter in self._taken:
                self._taken.remove(letter)
