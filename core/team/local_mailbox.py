"""The mailbox of this machine: questions, answers and commands go through its file of jobs, which is polled."""

from __future__ import annotations

import asyncio
import getpass
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import TeamError
from ua_tui.core.team.letters import command_text, encode_answer, read_answer, read_command
from ua_tui.core.team.local_tables import is_current, local_tables
from ua_tui.core.team.records import Answer, Answered, Command, Question, SessionId

if TYPE_CHECKING:
    from ua_tui.core.team.records import Mailbox

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""How often answers are looked for while a question waits."""
_MOST = 1_000
_EMPTY = "UPDATE question SET answer = '' WHERE session = ? AND request = ?"
_REOPEN = "UPDATE question SET answer = NULL, answered_by = NULL, answered_at = NULL WHERE session = ? AND request = ?"


class SqliteMailbox:
    """Questions, answers and commands in this machine's file of jobs."""

    def __init__(self, path: Path) -> None:
        self._path = path

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

    async def answered(self, session: str, request: str) -> Answered | None:
        """Who has answered a question, and when; None if nobody has, or it is not known."""

        def read() -> Answered | None:
            with local_tables(self._path) as db:
                row = db.execute(
                    "SELECT answered_by, answered_at FROM question"
                    " WHERE session = ? AND request = ? AND answer IS NOT NULL",
                    (session, request),
                ).fetchone()
                return Answered(accepted=False, by=row[0] or "", at=row[1]) if row else None

        return await asyncio.to_thread(read)

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
        items = self._items(session)
        try:
            yield items
        finally:
            await items.aclose()

    async def _items(self, session: SessionId) -> AsyncGenerator[Answer | Command, None]:
        is_first, problem = True, ""
        while True:
            items: list[Answer | Command] = []
            waits = True
            try:
                if is_first:
                    await asyncio.to_thread(self._forget, session)
                is_first = False
                waits, has_new = await asyncio.to_thread(self._check, session)
                items = await asyncio.to_thread(self._receive, session) if has_new else []
                problem = ""
            except TeamError as error:
                if str(error) != problem:
                    log.warning("answers and commands are late: %s", error)
                    problem = str(error)
            for item in items:
                yield item
            await asyncio.sleep(POLL_SECONDS if waits else 0.5)

    def _forget(self, session: SessionId) -> None:
        """Remove what the program asked that had the session before."""
        with local_tables(self._path) as db:
            db.execute(
                "DELETE FROM question WHERE session = ? AND attempt < ? AND answer IS NULL",
                (session.id, session.attempt),
            )

    def _check(self, session: SessionId) -> tuple[bool, bool]:
        """Whether a question waits, and whether there is something new; writes nothing."""
        with local_tables(self._path, writes=False) as db:
            waits, answered, sent = db.execute(
                "SELECT EXISTS (SELECT 1 FROM question WHERE session = :id AND answer IS NULL),"
                " EXISTS (SELECT 1 FROM question WHERE session = :id AND attempt = :attempt AND answer <> ''),"
                " EXISTS (SELECT 1 FROM command WHERE session = :id AND taken_at IS NULL)",
                {"id": session.id, "attempt": session.attempt},
            ).fetchone()
            return bool(waits), bool(answered or sent)

    def _receive(self, session: SessionId) -> list[Answer | Command]:
        """Return the new answers and commands; of an answer only who gave it stays."""
        found: list[Answer | Command] = []
        with local_tables(self._path) as db:
            if not is_current(db, session):
                return []
            answers = db.execute(
                "SELECT request, answer FROM question WHERE session = ? AND attempt = ? AND answer <> ''"
                " ORDER BY answered_at",
                (session.id, session.attempt),
            ).fetchall()
            for request, text in answers:
                if (answer := read_answer(request, text)) is None:
                    log.warning("an answer that cannot be read was removed; its question waits again")
                    db.execute(_REOPEN, (session.id, request))
                else:
                    found.append(answer)
                    db.execute(_EMPTY, (session.id, request))
            commands = db.execute(
                "SELECT id, kind, body FROM command WHERE session = ? AND taken_at IS NULL ORDER BY id",
                (session.id,),
            ).fetchall()
            for number, kind, body in commands:
                db.execute("UPDATE command SET taken_at = ? WHERE id = ?", (time.time(), number))
                if (command := read_command(kind, body)) is not None:
                    found.append(command)
        return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


if TYPE_CHECKING:
    _checked: type[Mailbox] = SqliteMailbox
