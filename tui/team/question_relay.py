"""Brings the questions of a session to the team, and the team's answers and commands to the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from ua_tui.core.agent.mcp.elicitation import ElicitationAction
from ua_tui.core.errors import FormError, TeamError
from ua_tui.core.events.types import (
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    PermissionAnswered,
    PermissionAsked,
)
from ua_tui.core.log import log
from ua_tui.core.session.parts import SessionState
from ua_tui.core.session.session import Session
from ua_tui.core.tasks import pause
from ua_tui.core.team.letters import encode_question
from ua_tui.core.team.mailbox import Inbox, Mailbox
from ua_tui.core.team.records import Answer, Command
from ua_tui.core.text import clean_line

_RETRY_SECONDS = 1.0
# A rule for all sessions of the worker's machine is not for somebody of the team to make.
_SCOPES = ("once", "session")


class QuestionRelay:
    """Relays between one session and a mailbox, while it runs; a subscriber of the session's bus.

    `needs_you` says whether a question waits, and `stopped_by` who stopped the work; None if nobody did.
    `changed` is called when a question begins or ceases to wait. With `is_leaving` the session is about to end, and is
    given nothing more: what comes is for whoever resumes it. With `keeps_questions` they wait on after the end.
    """

    _mailbox: Mailbox
    _inbox: Inbox

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._waiting: dict[str, PermissionAsked | ElicitationAsked] = {}
        self._asked: set[str] = set()
        self._wake = asyncio.Event()
        self.stopped_by: str | None = None
        self.is_leaving = self.keeps_questions = False

    @property
    def needs_you(self) -> bool:
        """Whether a question waits for somebody."""
        return bool(self._waiting)

    def handle_event(self, event: Event) -> None:
        """Handle one event of the session."""
        match event:
            case PermissionAsked() | ElicitationAsked():
                self._waiting[event.request_id] = event
            case PermissionAnswered() | ElicitationAnswered():
                self._waiting.pop(event.request_id, None)
            case _:
                return
        self._wake.set()
        self._changed()

    async def run(self, session: Session, mailbox: Mailbox) -> None:
        """Relay until it is cancelled; what still waits then is withdrawn."""
        self._mailbox, self._inbox = mailbox, Inbox(mailbox)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send(session))
                handle = partial(self._handle_item, session)
                tasks.create_task(self._inbox.receive(handle, lambda: self.is_leaving))
        finally:
            with suppress(TeamError, TimeoutError):
                async with asyncio.timeout(2.0):
                    for request in () if self.keeps_questions else list(self._asked):
                        await self._mailbox.withdraw(request)

    async def _send(self, session: Session) -> None:
        """Keep the questions of the mailbox equal to those that wait."""
        while True:
            await pause(None, self._wake)
            self._wake.clear()
            try:
                for request, event in list(self._waiting.items()):
                    if request not in self._asked:
                        await self._ask(session, event)
                for request in self._asked - self._waiting.keys():
                    await self._mailbox.withdraw(request)
                    self._asked.discard(request)
            except TeamError as error:
                log.warning("a question could not be shown to the team yet: %s", error)
            except Exception:
                log.exception("a question could not be passed on")
            else:
                continue
            self._wake.set()
            await pause(_RETRY_SECONDS)

    async def _ask(self, session: Session, event: PermissionAsked | ElicitationAsked) -> None:
        try:
            question = encode_question(event)
        except TeamError as error:
            if isinstance(event, PermissionAsked):
                why = f"No one could be asked: {error}."
                session.answer_permission(event.request_id, allow=False, reason=why)
            else:
                session.answer_elicitation(event.request_id, "decline", unattended=True)
            return
        # Its answer may have been taken, and did not fit.
        await self._inbox.mark_taken()
        await self._mailbox.ask(event.request_id, question)
        self._asked.add(event.request_id)

    async def _handle_item(self, session: Session, item: Answer | Command) -> None:
        try:
            match item:
                case Answer():
                    self._handle_answer(session, item)
                case Command(kind="submit", body=text, sent_by=by):
                    log.info("%s submitted: %s", clean_line(by, 60), clean_line(text, 200))
                    await session.steer(text)
                case Command(kind="interrupt", sent_by=by):
                    await self._interrupt(session, by)
        except Exception:
            log.exception("an answer or a command of the team could not be handled")

    def _handle_answer(self, session: Session, answer: Answer) -> None:
        match self._waiting.get(answer.request):
            case PermissionAsked():
                session.answer_permission(
                    answer.request,
                    allow=answer.allow,
                    scope=answer.scope if answer.scope in _SCOPES else "session",
                    reason=answer.reason,
                    patterns=answer.patterns,
                    input=answer.input,
                )
            case ElicitationAsked():
                action: ElicitationAction = answer.action or ("accept" if answer.allow else "decline")
                try:
                    session.answer_elicitation(answer.request, action, answer.values)
                except FormError as error:
                    log.warning("an answer of the team does not fit the form: %s", error)
                    self._asked.discard(answer.request)
                    self._wake.set()
            case None:
                log.info("an answer came when its question was no longer waiting")

    async def _interrupt(self, session: Session, by: str) -> None:
        self.stopped_by = clean_line(by, 60) or "someone"
        # What is about to begin is stopped when it has; after the end of the work this is cancelled.
        while session.state in (SessionState.STARTING, SessionState.IDLE):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await session.interrupt()
