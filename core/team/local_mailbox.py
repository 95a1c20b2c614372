"""The mailbox of a session on this machine: questions, answers and commands are in a sealed file of its folder."""

from __future__ import annotations

import asyncio
import getpass
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.ownership import is_sealed, seal
from ua_tui.core.storage.workspace import LETTERS
from ua_tui.core.team.letters import Letter, command_text, encode_answer
from ua_tui.core.team.records import Answer, Answered, Command


class _Letters(msgspec.Struct):
    """What the file has, in its order: questions, answers and commands; nothing without the user's seal."""

    all: list[Letter] = []
    seal: str = ""


# Built as the module is imported: see `ua_tui.core.events.codec`.
msgspec.json.Decoder(_Letters)
_QUESTION = "question"
"""The kind of a question; an answer has none, and no text once it was read."""


class LocalMailbox:
    """Questions, answers and commands in the folder of a session, for the program that runs it and for others."""

    poll_seconds = 0.2

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = JsonStore(folder / LETTERS / "letters.json", _Letters, set_aside=True)
        self._has_begun = False

    async def ask(self, request: str, event: str) -> None:
        """Ask whoever looks what an event says; what was asked before waits again."""
        asked = _letter(event, _QUESTION, request)
        await self._change(
            lambda letters: [*(each for each in letters if each.request != request), asked], begins=True
        )

    async def withdraw(self, request: str) -> None:
        """A question no longer waits."""
        gone = (_QUESTION, request)
        await self._change(lambda letters: [each for each in letters if (each.kind, each.request) != gone])

    async def questions(self) -> list[str]:
        """The events of the questions that wait, oldest first."""
        return [each.text for each in _waiting(await self._read())]

    async def answer(self, answer: Answer) -> Answered:
        """Answer a question; only the first answer counts."""
        given = _letter(encode_answer(answer), request=answer.request)
        letters = await self._change(
            lambda letters: (
                [*letters, given]
                if any(each.request == given.request for each in _waiting(letters))
                else letters
            )
        )
        if letters and letters[-1] is given:
            return Answered(accepted=True)
        return await self.answered(answer.request) or Answered(accepted=False)

    async def answered(self, request: str) -> Answered | None:
        """Who has answered a question, and when; None if nobody has, or it is not known."""
        for each in await self._read():
            if not each.kind and each.request == request:
                return Answered(accepted=False, by=each.by, at=each.at)
        return None

    async def send(self, command: Command) -> None:
        """Send a command to the session."""
        letter = _letter(command_text(command), command.kind)
        await self._change(lambda letters: [*letters, letter])

    def listen(self, wake: asyncio.Event) -> Callable[[], None]:
        """Nothing is announced: it is looked for."""
        return lambda: None

    async def unread(self) -> list[Letter]:
        """The letters for the session that are not marked as read."""
        if not self._has_begun:
            await self._change(lambda letters: letters, begins=True)
        return [each for each in await self._read() if each.kind != _QUESTION and (each.kind or each.text)]

    async def settle(self, letter: Letter) -> None:
        """Mark a letter as read, as `PostgresMailbox` does."""
        await self._change(
            lambda letters: [
                each if each != letter else each._replace(text="")
                for each in letters
                if each != letter or not each.kind
            ]
        )

    async def _change(
        self, change: Callable[[list[Letter]], list[Letter]], *, begins: bool = False
    ) -> list[Letter]:
        """Change the letters; a program that `begins` removes what the one asked that had the session before."""

        def changed() -> list[Letter]:
            Root(self._folder).make_folder(LETTERS)
            with self._store.changed() as stored:
                letters = self._own(stored)
                if begins and not self._has_begun:
                    letters = [each for each in letters if each.kind not in ("", _QUESTION)]
                stored.all = change(letters)
                stored.seal = seal("letters", self._folder, _content(stored))
                self._has_begun |= begins
                return stored.all

        with self._reporting():
            return await asyncio.to_thread(changed)

    async def _read(self) -> list[Letter]:
        with self._reporting():
            return await asyncio.to_thread(lambda: self._own(self._store.read()))

    def _own(self, stored: _Letters) -> list[Letter]:
        return stored.all if is_sealed(stored.seal, "letters", self._folder, _content(stored)) else []

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except WorkspaceError as error:
            raise TeamError(f"the messages of the session cannot be used: {error}") from error


def _content(stored: _Letters) -> str:
    """What is sealed."""
    return msgspec.json.encode(stored.all).decode()


def _waiting(letters: Sequence[Letter]) -> list[Letter]:
    """The questions without an answer."""
    answered = {each.request for each in letters if not each.kind}
    return [each for each in letters if each.kind == _QUESTION and each.request not in answered]


def _letter(text: str, kind: str = "", request: str = "") -> Letter:
    return Letter(request, text, time.time(), 0, kind, _user())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
