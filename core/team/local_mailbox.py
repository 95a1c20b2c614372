"""The mailbox of this machine: questions, answers and commands go through its file of jobs, which is polled."""

from __future__ import annotations

import asyncio
import getpass
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import TeamError
from core.team.letters import command_text, encode_answer, read_answer, read_command
from core.team.local_tables import is_current, local_tables
from core.team.records import Answer, Answered, Command, Question, SessionId

if TYPE_CHECKING:
    from core.team.records import Mailbox

__all__ = ["SqliteMailbox"]

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""How often answers are looked for while a question waits."""
_POLL_IDLE = 0.5
_MOST = 1_000


class SqliteMailbox:
    """Questions, answers and commands in this machine's file of jobs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, set[str]] = {}

    async def ask(self, session: SessionId, question: Question) -> None:
        """Ask whoever looks; a question that was asked before waits again."""

        def ask() -> None:
            with local_tables(self._path) as db:
                if not is_current(db, session):
                    raise TeamError("another program continues this session")
                db.execute(
                    "INSERT INTO question (session, request, attempt, event, asked_at) VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT DO UPDATE SET event = excluded.event, attempt = excluded.attempt,"
                    " answer = NULL, answered_by = NULL, answered_at = NULL",
                    (session.id, question.request, session.attempt, question.event, time.time()),
                )

        await asyncio.to_thread(ask)
        self._known.get(session.id, set()).discard(question.request)

    async def withdraw(self, session: SessionId, request: str) -> None:
        """A question no longer waits."""

        def withdraw() -> None:
            with local_tables(self._path) as db:
                db.execute(
                    "DELETE FROM question WHERE session = ? AND request = ? AND answer IS NULL",
                    (session.id, request),
                )

        await asyncio.to_thread(withdraw)

    async def questions(self, session: str | None = None) -> list[Question]:
        """The questions that wait, oldest first."""

        def read() -> list[Question]:
            with local_tables(self._path) as db:
                rows = db.execute(
                    "SELECT session, request, event, asked_at FROM question"
                    " WHERE answer IS NULL AND (? IS NULL OR session = ?) ORDER BY asked_at, request LIMIT ?",
                    (session, session, _MOST),
                )
                return [
                    Question(session=of, request=id_, event=event, asked=at) for of, id_, event, at in rows
                ]

        return await asyncio.to_thread(read)

    async def answer(self, session: str, answer: Answer) -> Answered:
        """Answer a question; only the first answer counts."""
        text = encode_answer(answer)

        def give() -> Answered:
            with local_tables(self._path) as db:
                given = db.execute(
                    "UPDATE question SET answer = ?, answered_by = ?, answered_at = ?"
                    " WHERE session = ? AND request = ? AND answer IS NULL",
                    (text, _user(), time.time(), session, answer.request),
                )
                if given.rowcount:
                    return Answered(accepted=True)
                row = db.execute(
                    "SELECT answered_by, answered_at FROM question WHERE session = ? AND request = ?",
                    (session, answer.request),
                ).fetchone()
                by, at = row or ("", None)
                return Answered(accepted=False, by=by or "", at=at)

        return await asyncio.to_thread(give)

    async def send(self, session: str, command: Command) -> None:
        """Send a command to a session."""
        body = command_text(command)

        def send() -> None:
            with local_tables(self._path) as db:
                db.execute(
                    "INSERT INTO command (session, kind, body, sent_by, sent_at) VALUES (?, ?, ?, ?, ?)",
                    (session, command.kind, body, _user(), time.time()),
                )

        await asyncio.to_thread(send)

    @asynccontextmanager
    async def received(self, session: SessionId) -> AsyncIterator[AsyncIterator[Answer | Command]]:
        """The answers and commands for a session as they come."""
        self._known[session.id] = set()
        try:
            yield self._items(session)
        finally:
            self._known.pop(session.id, None)

    async def _items(self, session: SessionId) -> AsyncIterator[Answer | Command]:
        is_first, problem = True, ""
        while True:
            known = self._known.get(session.id, set())
            items: list[Answer | Command] = []
            waits = True
            try:
                items, waits = await asyncio.to_thread(self._fetch, session, set(known), is_first)
                is_first, problem = False, ""
            except TeamError as error:
                if str(error) != problem:
                    log.warning("answers and commands are late: %s", error)
                    problem = str(error)
            for item in items:
                if isinstance(item, Answer):
                    known.add(item.request)
                yield item
            await asyncio.sleep(POLL_SECONDS if waits else _POLL_IDLE)

    def _fetch(
        self, session: SessionId, known: set[str], is_first: bool
    ) -> tuple[list[Answer | Command], bool]:
        """What is new, and whether a question waits; a poll that finds nothing writes nothing."""
        with local_tables(self._path, writes=is_first) as db:
            if is_first:
                # What the program asked that had the session before.
                db.execute(
                    "DELETE FROM question WHERE session = ? AND attempt < ? AND answer IS NULL",
                    (session.id, session.attempt),
                )
            answers = db.execute(
                "SELECT request, answer FROM question WHERE session = ? AND attempt = ? AND answer IS NOT NULL"
                " ORDER BY answered_at",
                (session.id, session.attempt),
            ).fetchall()
            waits = db.execute(
                "SELECT EXISTS (SELECT 1 FROM question WHERE session = ? AND answer IS NULL)", (session.id,)
            ).fetchone()
            has_commands = db.execute(
                "SELECT EXISTS (SELECT 1 FROM command WHERE session = ? AND taken_at IS NULL)", (session.id,)
            ).fetchone()
        read = [(request, text, read_answer(request, text)) for request, text in answers]
        found: list[Answer | Command] = [
            answer for request, _, answer in read if answer is not None and request not in known
        ]
        unreadable = [(session.id, request, text) for request, text, answer in read if answer is None]
        if unreadable or has_commands[0]:
            found += self._take(session, unreadable)
        return found, bool(waits[0] or unreadable)

    def _take(self, session: SessionId, unreadable: list[tuple[str, str, str]]) -> list[Command]:
        """Take the commands, and have questions wait again whose answers cannot be read."""
        with local_tables(self._path) as db:
            db.executemany(
                "UPDATE question SET answer = NULL, answered_by = NULL, answered_at = NULL"
                " WHERE session = ? AND request = ? AND answer = ?",
                unreadable,
            )
            if not is_current(db, session):
                return []
            rows = db.execute(
                "SELECT id, kind, body FROM command WHERE session = ? AND taken_at IS NULL ORDER BY id",
                (session.id,),
            ).fetchall()
            db.executemany(
                "UPDATE command SET taken_at = ? WHERE id = ?", [(time.time(), row[0]) for row in rows]
            )
        commands = [read_command(kind, body) for _, kind, body in rows]
        return [command for command in commands if command is not None]


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


if TYPE_CHECKING:
    _checked: type[Mailbox] = SqliteMailbox
