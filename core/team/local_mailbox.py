"""The mailbox of a session on this machine: questions, answers and commands are in a sealed file of its folder."""

from __future__ import annotations

import asyncio
import getpass
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.ownership import is_sealed, seal
from ua_tui.core.storage.workspace import LETTERS
from ua_tui.core.tasks import pause
from ua_tui.core.team.letters import LARGEST, command_text, encode_answer, items_of, read_answer, read_command
from ua_tui.core.team.records import Answer, Answered, Command, Question, Received, SessionId

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""How often answers and commands are looked for."""

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


class _Earlier(_Letter, kw_only=True):
    """A letter of an earlier version, which had each of them in a file of its own."""

    id: str
    seal: str = ""


# Built as the module is imported: see `ua_tui.core.events.codec`.
_EARLIER = msgspec.json.Decoder(_Earlier)
msgspec.json.Decoder(_Letters)


class LocalMailbox:
    """Questions, answers and commands in the folder of a session, for the program that runs it and for others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = JsonStore(folder / LETTERS / "letters.json", _Letters, set_aside=True)
        self._taken: list[tuple[str, _Letter]] = []
        self._has_begun = False
        self._changing = threading.Lock()

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

    @asynccontextmanager
    async def received(self, session: SessionId) -> AsyncIterator[AsyncIterator[Received]]:
        """The answers and commands for a session as they come."""
        await self._change(lambda _: None, begins=True)
        items = items_of(self._receive, lambda: pause(POLL_SECONDS))
        try:
            yield items
        finally:
            await items.aclose()
            with suppress(TeamError):
                await self._change(lambda _: None, begins=True)

    async def _receive(self) -> list[Received]:
        """The answers and commands that the session does not have."""
        if self._taken:
            await self._change(lambda _: None, begins=True)
        letters, found = await self._read(), list[Received]()
        for request, letter in (*letters.answers.items(), *(("", each) for each in letters.commands)):
            item = (
                read_command(letter.kind, letter.text, letter.by)
                if letter.kind
                else read_answer(request, letter.text)
            )
            if item is not None:
                found.append((item, partial(self._taken.append, (request, letter))))
            elif letter.kind:
                self._taken.append((request, letter))
            elif letter.text:
                log.warning("an answer that cannot be read was removed; its question waits again")
                await self._change(partial(_discard_answer, request))
        return found

    async def _change(self, change: Callable[[_Letters], T], *, begins: bool = False) -> T:
        """Change the letters, and remove what the session has; of an answer stays who gave it.

        A program that `begins` removes what the one asked that had the session before. The text of an answer may have a
        secret for a form.
        """

        def changed() -> T:
            root = Root(self._folder)
            root.make_folder(LETTERS)
            # A thread goes on when whoever waits for it is cancelled.
            with self._changing:
                taken = list(self._taken)
                earlier = _earlier(root) if begins and not self._has_begun else {}
                with self._store.changed() as letters:
                    if not self._is_own(letters):
                        letters.questions, letters.answers, letters.commands = {}, {}, []
                    elif begins and not self._has_begun:
                        letters.questions, letters.answers = {}, {}
                    letters.commands += [each for each in earlier.values() if each is not None]
                    for request, letter in taken:
                        if letter.kind:
                            letters.commands[:] = [each for each in letters.commands if each != letter]
                        elif letters.answers.get(request) == letter:
                            letters.answers[request].text = ""
                    result = change(letters)
                    letters.seal = seal("letters", self._folder, letters.content)
                # Answers may have secrets.
                for name in earlier:
                    root.remove(name)
                self._has_begun |= begins
                del self._taken[: len(taken)]
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


def _earlier(root: Root) -> dict[str, _Letter | None]:
    """The files of an earlier version, the oldest first, with the commands that the user has sent."""
    found: dict[str, _Letter | None] = {}
    for each in root.list(LETTERS):
        if each.name.startswith(("question-", "answer-", "command-")):
            name = f"{LETTERS}/{each.name}"
            found[name] = None
            with suppress(WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError):
                old = _EARLIER.decode(root.read(name, 4 * LARGEST))
                parts = (name, old.id, old.text, old.kind, old.by, old.at)
                if old.kind and is_sealed(old.seal, "letter", root.path, *parts):
                    found[name] = _Letter(text=old.text, kind=old.kind, by=old.by, at=old.at)
    return dict(sorted(found.items(), key=lambda item: item[1].at if item[1] is not None else 0.0))


def _discard_answer(request: str, letters: _Letters) -> None:
    letters.answers.pop(request, None)


def _letter(text: str, kind: str = "") -> _Letter:
    return _Letter(text=text, kind=kind, by=_user(), at=time.time())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
