"""The mailbox of a session on this machine: questions, answers and commands are files in its folder."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import msgspec
from msgspec.structs import astuple, replace

from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.storage.files import AlreadyThere, Root
from ua_tui.core.storage.ownership import is_sealed, seal
from ua_tui.core.storage.workspace import LETTERS
from ua_tui.core.tasks import pause
from ua_tui.core.team.letters import (
    LARGEST,
    command_text,
    encode_answer,
    items_of,
    read_answer,
    read_command,
)
from ua_tui.core.team.records import Answer, Answered, Command, Question, Received, SessionId

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""How often answers and commands are looked for."""
_QUESTION, _ANSWER, _COMMAND = "question-", "answer-", "command-"

T = TypeVar("T")


class _Letter(msgspec.Struct, frozen=True, kw_only=True):
    """What a file has; it is nothing without the seal of this user. The text of an answer that was read is empty."""

    id: str
    text: str
    kind: str = ""
    by: str = ""
    at: float = 0.0
    seal: str = ""


# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(_Letter)


class LocalMailbox:
    """Questions, answers and commands in the folder of a session, for the program that runs it and for others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: list[tuple[str, _Letter]] = []
        self._has_begun = False
        # A thread goes on when whoever waits for it is cancelled.
        self._working = threading.Lock()

    async def ask(self, session: SessionId, question: Question) -> None:
        """Ask whoever looks; a question that was asked before waits again."""

        def ask(root: Root) -> None:
            self._mark(root)
            root.remove(_name(_ANSWER, question.request))
            self._write(root, _QUESTION, _Letter(id=question.request, text=question.event))

        await self._do(ask)

    async def withdraw(self, session: SessionId, request: str) -> None:
        """A question no longer waits."""
        await self._do(lambda root: root.remove(_name(_QUESTION, request)))

    async def questions(self, session: str | None = None) -> list[Question]:
        """The questions that wait, oldest first."""

        def read(root: Root) -> list[Question]:
            return [
                Question(session=session or "", request=each.id, event=each.text, asked=each.at)
                for _, each in self._letters(root, _QUESTION)
                if not root.exists(_name(_ANSWER, each.id))
            ]

        return await self._do(read)

    async def answer(self, session: str, answer: Answer) -> Answered:
        """Answer a question; only the first answer counts."""
        letter = _Letter(id=answer.request, text=encode_answer(answer))

        def give(root: Root) -> bool:
            if not root.exists(_name(_QUESTION, letter.id)):
                return False
            with suppress(AlreadyThere):
                self._write(root, _ANSWER, letter, replaces=False)
                return True
            return False

        if await self._do(give):
            return Answered(accepted=True)
        return await self.answered(session, answer.request) or Answered(accepted=False)

    async def answered(self, session: str, request: str) -> Answered | None:
        """Who has answered a question, and when; None if nobody has, or it is not known."""
        found = await self._do(lambda root: self._read(root, _name(_ANSWER, request)))
        return Answered(accepted=False, by=found.by, at=found.at) if found is not None else None

    async def send(self, session: str, command: Command) -> None:
        """Send a command to a session."""
        letter = _Letter(id=uuid4().hex, text=command_text(command), kind=command.kind)
        await self._do(lambda root: self._write(root, _COMMAND, letter))

    @asynccontextmanager
    async def received(self, session: SessionId) -> AsyncIterator[AsyncIterator[Received]]:
        """The answers and commands for a session as they come."""
        await self._do(self._mark)
        items = items_of(lambda: self._do(self._receive), lambda: pause(POLL_SECONDS))
        try:
            yield items
        finally:
            await items.aclose()
            with suppress(TeamError):
                await self._do(self._mark)

    def _receive(self, root: Root) -> list[Received]:
        """The answers and commands that the session does not have."""
        self._mark(root)
        found: list[Received] = []
        for name, letter in self._letters(root, _ANSWER, _COMMAND):
            if letter.kind or letter.text:
                item = (
                    read_command(letter.kind, letter.text, letter.by)
                    if letter.kind
                    else read_answer(letter.id, letter.text)
                )
                if item is not None:
                    found.append((item, partial(self._taken.append, (name, letter))))
                else:
                    log.warning("a message that cannot be read was removed; a question of it waits again")
                    root.remove(name)
        return found

    def _mark(self, root: Root) -> None:
        """Remove what the session has, and at first what the program asked that had the session before.

        Of an answer stays who gave it; its text may have a secret for a form.
        """
        for each in () if self._has_begun else root.list(LETTERS):
            if not each.name.startswith(_COMMAND):
                root.remove(f"{LETTERS}/{each.name}")
        self._has_begun = True
        while self._taken:
            name, letter = self._taken[0]
            if letter.kind:
                root.remove(name)
            elif self._read(root, name) == letter:
                self._write(root, _ANSWER, replace(letter, text=""))
            del self._taken[0]

    async def _do(self, work: Callable[[Root], T]) -> T:
        def in_folder() -> T:
            with self._working:
                root = Root(self._folder)
                root.make_folder(LETTERS)
                return work(root)

        try:
            return await asyncio.to_thread(in_folder)
        except WorkspaceError as error:
            raise TeamError(f"the messages of the session cannot be used: {error}") from error

    def _letters(self, root: Root, *kinds: str) -> Iterator[tuple[str, _Letter]]:
        """The letters of some kinds with the names of their files, the oldest first."""
        names = [f"{LETTERS}/{each.name}" for each in root.list(LETTERS) if each.name.startswith(kinds)]
        found = [(name, letter) for name in names if (letter := self._read(root, name)) is not None]
        yield from sorted(found, key=lambda each: each[1].at)

    def _read(self, root: Root, name: str) -> _Letter | None:
        try:
            letter = _DECODER.decode(root.read(name, 4 * LARGEST))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        except WorkspaceError:
            # Who it was for may have removed it just now.
            if root.exists(name):
                raise
            return None
        return letter if is_sealed(letter.seal, "letter", root.path, name, *astuple(letter)[:-1]) else None

    def _write(self, root: Root, kind: str, letter: _Letter, *, replaces: bool = True) -> None:
        if not letter.seal:
            letter = replace(letter, by=_user(), at=time.time())
        name = _name(kind, letter.id)
        code = seal("letter", root.path, name, *astuple(letter)[:-1])
        root.write(name, msgspec.json.encode(replace(letter, seal=code)), replace=replaces)


def _name(kind: str, id_: str) -> str:
    return f"{LETTERS}/{kind}{hashlib.sha256(id_.encode('utf-8', 'replace')).hexdigest()[:32]}.json"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
