"""The mailbox of a session on this machine: questions, answers and commands are in a sealed file of its folder."""

from __future__ import annotations

import asyncio
import getpass
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.ownership import is_sealed, seal
from ua_tui.core.storage.workspace import LETTERS
from ua_tui.core.team.letters import Inbox, Letter, command_text, encode_answer
from ua_tui.core.team.records import Answer, Answered, Command, Question, SessionId

T = TypeVar("T")


class _Letter(msgspec.Struct, kw_only=True):
    """A text of the session, or of the person `by` that wrote it; that of an answer that was read is empty."""

    text: str
    kind: str = ""
    by: str = ""
    at: float = 0.0


class _Letters(msgspec.Struct):
    """What the file has: questions and answers by their requests, and commands; nothing without the user's seal."""

    questions: dict[str, _Letter] = {}
    answers: dict[str, _Letter] = {}
    commands: list[_Letter] = []
    seal: str = ""

    @property
    def content(self) -> str:
        """What is sealed."""
        parts = [self.questions, self.answers, self.commands]
        return msgspec.json.encode(parts, order="deterministic").decode()


# Built as the module is imported: see `ua_tui.core.events.codec`.
msgspec.json.Decoder(_Letters)


class LocalMailbox(Inbox):
    """Questions, answers and commands in the folder of a session, for the program that runs it and for others."""

    poll_seconds = 0.2

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._store = JsonStore(folder / LETTERS / "letters.json", _Letters, set_aside=True)
        self._has_begun = False

    async def ask(self, session: SessionId, question: Question) -> None:
        """Ask whoever looks; a question that was asked before waits again."""

        def ask(letters: _Letters) -> None:
            letters.answers.pop(question.request, None)
            letters.questions[question.request] = _letter(question.event)

        await self._change(ask, begins=True)

    async def withdraw(self, session: SessionId, request: str) -> None:
        """A question no longer waits."""
        await self._change(lambda letters: letters.questions.pop(request, None))

    async def questions(self, session: str | None = None) -> list[Question]:
        """The questions that wait, oldest first."""
        letters = await self._read()
        return [
            Question(session=session or "", request=request, event=each.text, asked=each.at)
            for request, each in sorted(letters.questions.items(), key=lambda item: item[1].at)
            if request not in letters.answers
        ]

    async def answer(self, session: str, answer: Answer) -> Answered:
        """Answer a question; only the first answer counts."""
        letter = _letter(encode_answer(answer))

        def give(letters: _Letters) -> bool:
            waits = answer.request in letters.questions
            return waits and letters.answers.setdefault(answer.request, letter) is letter

        if await self._change(give):
            return Answered(accepted=True)
        return await self.answered(session, answer.request) or Answered(accepted=False)

    async def answered(self, session: str, request: str) -> Answered | None:
        """Who has answered a question, and when; None if nobody has, or it is not known."""
        found = (await self._read()).answers.get(request)
        return Answered(accepted=False, by=found.by, at=found.at) if found is not None else None

    async def send(self, session: str, command: Command) -> None:
        """Send a command to a session."""
        letter = _letter(command_text(command), command.kind)
        await self._change(lambda letters: letters.commands.append(letter))

    async def _unread(self, session: SessionId) -> list[Letter]:
        if not self._has_begun:
            await self._change(lambda _: None, begins=True)
        letters = await self._read()
        found = (*letters.answers.items(), *(("", each) for each in letters.commands))
        return [
            Letter(request, each.text, each.at, 0, each.kind, each.by)
            for request, each in found
            if each.kind or each.text
        ]

    async def _settle(self, session: str, letter: Letter, *, is_read: bool = True) -> None:
        sent = _Letter(text=letter.text, kind=letter.kind, by=letter.by, at=letter.at)

        def settle(letters: _Letters) -> None:
            letters.commands[:] = [each for each in letters.commands if each != sent]
            if letters.answers.get(letter.request) == sent:
                letters.answers.pop(letter.request)
                if is_read:
                    letters.answers[letter.request] = replace(sent, text="")

        await self._change(settle)

    async def _change(self, change: Callable[[_Letters], T], *, begins: bool = False) -> T:
        """Change the letters; a program that `begins` removes what the one asked that had the session before."""

        def changed() -> T:
            Root(self._folder).make_folder(LETTERS)
            with self._store.changed() as letters:
                if not self._is_own(letters):
                    letters.questions, letters.answers, letters.commands = {}, {}, []
                elif begins and not self._has_begun:
                    letters.questions, letters.answers = {}, {}
                result = change(letters)
                letters.seal = seal("letters", self._folder, letters.content)
                self._has_begun |= begins
            return result

        with self._reporting():
            return await asyncio.to_thread(changed)

    async def _read(self) -> _Letters:
        def read() -> _Letters:
            letters = self._store.read()
            return letters if self._is_own(letters) else _Letters()

        with self._reporting():
            return await asyncio.to_thread(read)

    def _is_own(self, letters: _Letters) -> bool:
        return is_sealed(letters.seal, "letters", self._folder, letters.content)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except WorkspaceError as error:
            raise TeamError(f"the messages of the session cannot be used: {error}") from error


def _letter(text: str, kind: str = "") -> _Letter:
    return _Letter(text=text, kind=kind, by=_user(), at=time.time())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
