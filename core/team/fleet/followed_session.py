"""A session that runs elsewhere, followed here: its events come from its journal, answers and commands go to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ua_tui.core.agent.mcp.elicitation import ElicitationAction
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.errors import TeamError
from ua_tui.core.events.types import (
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.history.session import PastSession
from ua_tui.core.team.letters import read_question
from ua_tui.core.team.mailbox import Mailbox
from ua_tui.core.team.records import Answer, Answered, Command
from ua_tui.core.text import clean, clean_line

E = TypeVar("E", bound=Event)
AGAIN_SECONDS = 1.0
"""How long a question that nobody knows yet is waited for: it may still be on its way."""

Asked = PermissionAsked | ElicitationAsked
_STATES: dict[type[Event], str] = {
    QueryReceived: "running", QueryFinished: "idle", SessionStarted: "idle", SessionFinished: "closed",
}  # fmt: skip
_SCOPES = ("session",)
"""For how long a call can be allowed from elsewhere: rules of the machine where it runs are for its own user."""


class FollowedSession(PastSession):
    """Follows a session through its journal, and sends what a person says through a mailbox.

    The commands return at once; `report` is given a sentence if one could not be sent, or came too late.

    Args:
        folder: the folder with its journal.
        mailbox: brings answers and commands to it.
        spawn: sends in the background.
        report: shows a sentence to the person.
        report_answer: shows who has answered a question.
        ask_again: shows a question again, whose answer could not be sent.

    Raises:
        JournalError: there is no journal that can be read.
    """

    def __init__(
        self,
        folder: Path,
        mailbox: Mailbox,
        *,
        spawn: Spawn,
        report: Callable[[str], None],
        report_answer: Callable[[str], None],
        ask_again: Callable[[Sequence[Event]], None],
    ) -> None:
        super().__init__(folder)
        self.state = "starting"
        self.answered_here: set[str] = set()
        """The questions that were answered from here."""
        self._mailbox = mailbox
        self._spawn = spawn
        self._report = report
        self._report_answer = report_answer
        self._ask_again = ask_again
        self._questions: dict[str, Asked] = {}
        self._sent: list[str] = []
        self.bus.subscribe(self._note)

    async def questions(self) -> list[Asked]:
        """The questions that wait, oldest first.

        Raises:
            TeamError: the mailbox cannot be used.
        """
        found = [read_question(each) for each in await self._mailbox.questions()]
        waiting = [_limited(event) for event in found if event is not None]
        self._questions.update((event.request_id, event) for event in waiting)
        return waiting

    async def follow(self) -> AsyncIterator[list[Event]]:
        """Give new events while the session runs; who has answered a question is reported before its end is given.

        Raises:
            JournalError: the journal can no longer be read.
        """
        async for events in super().follow():
            for event in events:
                if isinstance(event, PermissionAnswered | ElicitationAnswered):
                    await self._find_answer(event.request_id)
            yield [_limited(event) for event in events]

    def _note(self, event: Event) -> None:
        self.state = _STATES.get(type(event), self.state)
        match event:
            case QueryReceived(text=text) | QuerySteered(text=text):
                self._arrived(text)
            case SessionStarted():
                self._questions.clear()
            case PermissionAsked() | ElicitationAsked():
                self._questions[event.request_id] = event
            case PermissionAnswered(request_id=request) | ElicitationAnswered(request_id=request):
                self._questions.pop(request, None)
            case _:
                pass

    def _arrived(self, text: str) -> None:
        if text in self._sent:
            self._sent.remove(text)

    @property
    def inbox(self) -> FollowedSession:
        """The session itself, which sends on what a person says."""
        return self

    # -- questions ----------------------------------------------------------------------------------

    def answer_permission(self, request_id: str, **given: Any) -> bool:
        """Send the answer to a call that waits; `given` is what `Session.answer_permission` takes."""
        return self._answer(Answer(request=request_id, **given))

    def answer_elicitation(
        self, request_id: str, action: ElicitationAction, values: Mapping[str, object] | None = None
    ) -> bool:
        """Send the answer to a request of an MCP server."""
        given = None if values is None else dict(values)
        return self._answer(Answer(request=request_id, action=action, values=given))

    def _answer(self, answer: Answer) -> bool:
        self.answered_here.add(answer.request)
        self._spawn(partial(self._send_answer, answer), "answer", "team")
        return True

    async def _send_answer(self, answer: Answer) -> None:
        try:
            found = await self._mailbox.answer(answer)
            if not found.accepted and not found.by and answer.request in self._questions:
                await asyncio.sleep(AGAIN_SECONDS)
                found = await self._mailbox.answer(answer)
        except TeamError as error:
            self.answered_here.discard(answer.request)
            self._report(f"The answer was not sent: {error}")
            if (asked := self._questions.get(answer.request)) is not None:
                self._ask_again([asked])
            return
        if not found.accepted:
            self._report(self._sentence(found))

    async def _find_answer(self, request: str) -> None:
        """Report who has answered a question that is on this screen."""
        if request not in self._questions or request in self.answered_here:
            return
        with suppress(TeamError):
            found = await self._mailbox.answered(request)
            if found is not None and found.by:
                self._report_answer(self._sentence(found))

    def _sentence(self, found: Answered) -> str:
        if not found.by:
            return "This question was already answered or withdrawn."
        at = "" if found.at is None else f" at {datetime.fromtimestamp(found.at).astimezone():%H:%M}"
        return f"Answered by {clean_line(found.by, 60)}{at}."

    # -- commands -----------------------------------------------------------------------------------

    @property
    def queued(self) -> tuple[str, ...]:
        """The queries that were sent from here and did not begin yet."""
        return tuple(self._sent)

    def submit(self, text: str) -> None:
        """Send a query to the session."""
        text = clean(text.strip())
        if text and self.state != "closed":
            self._sent.append(text)
            self._spawn(partial(self._submit, text), "submit", "team")

    async def _submit(self, text: str) -> None:
        if not await self._send(Command(kind="submit", body=text)):
            self._arrived(text)

    async def steer(self, text: str) -> bool:
        """Send a message to the running query; it becomes the next one if the agent cannot read it now."""
        self.submit(text)
        return False

    async def interrupt(self) -> None:
        """Ask the session to stop the running query."""
        if self.state != "running":
            return
        self.state = "stopping"
        if not await self._send(Command(kind="interrupt")) and self.state == "stopping":
            self.state = "running"

    async def _send(self, command: Command) -> bool:
        try:
            await self._mailbox.send(command)
        except TeamError as error:
            what = "query" if command.kind == "submit" else "command"
            self._report(f"The {what} was not sent: {error}")
            return False
        return True


def _limited(event: E) -> E:
    """The event, with the scopes that can be chosen from here if it asks about a call."""
    if isinstance(event, PermissionAsked):
        return msgspec.structs.replace(event, scopes=[each for each in event.scopes if each in _SCOPES])
    return event
