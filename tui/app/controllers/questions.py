"""The questions of a session: one dialog after another, whose answers go to the session."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    PermissionAnswered,
    PermissionAsked,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.app.controllers.session_settings import change_mode

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.widgets.dialog import Dialog

Question = PermissionAsked | ElicitationAsked | AuthRequired
_ACCOUNT = ""


class Questions:
    """Keeps the open questions in their order, and shows a dialog for the oldest.

    A dialog closes by itself when its question was answered elsewhere; text that was being typed into it stays in the
    prompt. A dialog that is closed without an answer leaves its question open: `reopen` shows it again. In a session
    that another program runs Esc does that, and after a question that somebody else has answered, the first key in the
    next dialog answers nothing.
    """

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._open: deque[Question] = deque()
        self._later: list[Question] = []
        self._answered = ""
        self._shown: tuple[Question, Dialog[object]] | None = None

    def ask(self, questions: Iterable[Event]) -> None:
        """Show dialogs for questions that were asked before."""
        for event in questions:
            if isinstance(event, PermissionAsked | ElicitationAsked | AuthRequired):
                self._add(event)
        self._show_next()

    def reopen(self) -> None:
        """Show the questions again that were left open, or say that there are none."""
        if not self._later and self._shown is None:
            self._app.notify("No question is open.")
        self._open.extendleft(reversed(self._later))
        self._later.clear()
        self._show_next()

    def report_answer(self, text: str) -> None:
        """Say who has answered a question on another screen; its dialog closes when the session has the answer."""
        self._answered = text
        self._app.notify(text, timeout=10.0)

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note what is asked; what is answered in the same batch is never shown."""
        match event:
            case PermissionAsked() | ElicitationAsked() | AuthRequired():
                self._add(event)
            case PermissionAnswered():
                self._close(event.request_id)
            case ElicitationAnswered():
                self._close(event.request_id)
                if event.by == "withdrawn":
                    self._app.notify(f"{clean_line(event.server)} is no longer waiting for your answer.")
            case AuthFinished():
                self._close(_ACCOUNT)
            case SessionFinished() | SessionStarted():
                # A program that continues a session asks again what it needs to know.
                self._close(None)
            case _:
                pass

    def show_view(self, view: SessionView) -> None:
        """Show the oldest question."""
        self._show_next()

    def _add(self, question: Question) -> None:
        # It may wait or be shown already: what is asked elsewhere can arrive on two ways.
        known = [*self._open, *self._later, *([] if self._shown is None else [self._shown[0]])]
        if (request_id := _id_of(question)) == _ACCOUNT or request_id not in map(_id_of, known):
            self._open.append(question)

    def _close(self, request_id: str | None) -> None:
        """Ask one question no longer; None stands for all of them."""

        def is_open(event: Question) -> bool:
            return request_id not in (None, _id_of(event))

        self._open = deque(filter(is_open, self._open))
        self._later = [*filter(is_open, self._later)]
        if self._shown is not None and not is_open(self._shown[0]):
            _, dialog = self._shown
            self._shown = None
            self._answered = self._answered or "The previous question was answered or withdrawn."
            self._return_drafts(dialog)
            dialog.withdraw()

    def _return_drafts(self, dialog: Dialog[Any]) -> None:
        """Write what a person is typing into a dialog into the prompt, before the dialog closes by itself."""
        from ua_tui.tui.screens.requests.form_fields import FieldRow
        from ua_tui.tui.screens.requests.text_answer import TextAnswer

        prompt = self._app.frame.prompt
        for line in (*dialog.query(TextAnswer), *dialog.query(FieldRow)):
            if line.draft:
                prompt.put(f"{prompt.value}\n{line.draft}".lstrip("\n"))

    def _show_next(self) -> None:
        if self._shown is None and self._open:
            event = self._open.popleft()
            dialog = self._dialog(event)
            dialog.can_wait = self._is_elsewhere
            if self._answered and self._is_elsewhere:
                dialog.hold_keys(f"{self._answered} This is the next question.")
            self._answered = ""
            self._shown = (event, dialog)
            self._app.push_screen(dialog, lambda answer: self._on_answer(event, answer))
        self._show_waiting()

    @property
    def _is_elsewhere(self) -> bool:
        """Whether another program runs the session."""
        return self._app.controls is None

    def _dialog(self, event: Question) -> Dialog[Any]:
        from ua_tui.tui.screens.requests.auth import AuthScreen
        from ua_tui.tui.screens.requests.permission import PermissionScreen
        from ua_tui.tui.screens.requests.plan import PlanScreen
        from ua_tui.tui.screens.requests.question import QuestionScreen
        from ua_tui.tui.screens.requests.server_request import ServerFormScreen, ServerLinkScreen

        match event:
            case AuthRequired():
                return AuthScreen(event)
            case PermissionAsked(is_plan=True):
                return PlanScreen(event)
            case PermissionAsked(is_question=True):
                return QuestionScreen(event)
            case ElicitationAsked(mode="url"):
                return ServerLinkScreen(event)
            case ElicitationAsked():
                return ServerFormScreen(event)
            case PermissionAsked():
                session = self._app.session
                folder = session.workspace.path if session is not None else Path()
                return PermissionScreen(event, folder=folder)

    def _show_waiting(self) -> None:
        if self._shown is None:
            return
        from ua_tui.tui.screens.requests.permission import PermissionScreen

        (event, dialog), count = self._shown, len(self._open)
        if isinstance(dialog, PermissionScreen):
            dialog.show_waiting(count)
        elif isinstance(event, ElicitationAsked):
            dialog.show_note(f"{count} more waiting" if count else "")

    def _on_answer(self, event: Question, answer: object) -> None:
        if self._shown is not None and self._shown[0] is event:
            self._shown = None
            if answer is None:
                self._leave_open(event)
        self._send_answer(event, answer)
        self._show_next()

    def _leave_open(self, event: Question) -> None:
        """Let a question and those behind it wait until the person wants to see them."""
        self._later += [event, *self._open]
        self._open.clear()
        which = "1 question stays" if len(self._later) == 1 else f"{len(self._later)} questions stay"
        key = self._app.keys.shown("questions.open")
        self._app.notify(f"{which} open: {key} shows what is waiting.", timeout=10.0)

    def _send_answer(self, event: Question, answer: object) -> None:
        from ua_tui.core.agent.permissions.gate import PermissionReply
        from ua_tui.tui.screens.requests.server_request import ServerAnswer

        session = self._app.session
        inbox, controls = (session.inbox, session.controls) if session is not None else (None, None)
        match event, answer:
            case PermissionAsked(), PermissionReply() if inbox is not None:
                inbox.answer_permission(
                    event.request_id,
                    allow=answer.allow,
                    scope=answer.scope,
                    reason=answer.reason,
                    patterns=answer.patterns,
                    input=answer.input,
                )
            case ElicitationAsked(), ServerAnswer() if inbox is not None:
                inbox.answer_elicitation(event.request_id, answer.action, answer.values)
            case PermissionAsked(), "acceptEdits":
                change_mode(self._app, "acceptEdits")
            case AuthRequired(), "completed" | "cancelled" | "expired" as outcome if controls is not None:
                controls.finish_auth(outcome)
            case _:
                pass


def _id_of(question: Question) -> str:
    """What names a question in its answer; of a question about an account, of which there is one, it is empty."""
    return _ACCOUNT if isinstance(question, AuthRequired) else question.request_id
