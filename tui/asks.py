"""What waits for the person: one dialog after another, closed again when the answer came from elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal

from textual.app import App

from core.events import (
    AuthFinished,
    AuthRequired,
    Event,
    PermissionAnswered,
    PermissionAsked,
    SessionFinished,
)

if TYPE_CHECKING:
    from tui.screens.dialog import Dialog

__all__ = ["Asks"]

AnswerPermission = Callable[[PermissionAsked, bool, str], None]
FinishAuth = Callable[[Literal["completed", "cancelled"]], None]


class Asks:
    """Keeps the open questions in the order they came and shows the oldest.

    Args:
        app: where dialogs are shown.
        answer_permission: gets the question, whether it is allowed, and the scope.
        finish_auth: gets how the visit to an auth link ended.
    """

    def __init__(self, app: App[str], answer_permission: AnswerPermission, finish_auth: FinishAuth) -> None:
        self._app = app
        self._answer_permission = answer_permission
        self._finish_auth = finish_auth
        self._open: deque[PermissionAsked | AuthRequired] = deque()
        self._shown: tuple[PermissionAsked | AuthRequired, Dialog[object]] | None = None

    def take(self, events: Iterable[Event]) -> None:
        """Take up a batch of events; questions answered within it are never shown."""
        for event in events:
            match event:
                case PermissionAsked() | AuthRequired():
                    self._open.append(event)
                case PermissionAnswered():
                    self._settle(partial(_asks_for, event.request_id))
                case AuthFinished():
                    self._settle(lambda question: isinstance(question, AuthRequired))
                case SessionFinished():
                    self._settle(lambda _: True)
                case _:
                    pass
        self._show_next()

    def _settle(self, is_done: Callable[[PermissionAsked | AuthRequired], bool]) -> None:
        self._open = deque(event for event in self._open if not is_done(event))
        if self._shown is not None and is_done(self._shown[0]):
            _, dialog = self._shown
            self._shown = None
            dialog.withdraw()

    def _show_next(self) -> None:
        if self._shown is None and self._open:
            event = self._open.popleft()
            dialog = self._dialog(event)
            self._shown = (event, dialog)
            self._app.push_screen(dialog, lambda answer: self._answered(event, answer))
        self._tell_waiting()

    def _dialog(self, event: PermissionAsked | AuthRequired) -> Dialog[object]:
        from tui.screens.auth import AuthScreen
        from tui.screens.permission import PermissionScreen

        if isinstance(event, AuthRequired):
            return AuthScreen(event)  # type: ignore[return-value]  # only its answer is of interest here
        return PermissionScreen(event)  # type: ignore[return-value]  # only its answer is of interest here

    def _tell_waiting(self) -> None:
        from tui.screens.permission import PermissionScreen

        if self._shown is not None and isinstance(self._shown[1], PermissionScreen):
            self._shown[1].show_waiting(len(self._open))

    def _answered(self, event: PermissionAsked | AuthRequired, answer: object) -> None:
        from tui.screens.permission import PermissionAnswer

        if self._shown is not None and self._shown[0] is event:
            self._shown = None
        match event, answer:
            case PermissionAsked(), PermissionAnswer(allow=allow, scope=scope):
                self._answer_permission(event, allow, scope)
            case AuthRequired(), "completed" | "cancelled" as outcome:
                self._finish_auth("completed" if outcome == "completed" else "cancelled")
            case _:
                pass
        self._show_next()


def _asks_for(request_id: str, question: PermissionAsked | AuthRequired) -> bool:
    return isinstance(question, PermissionAsked) and question.request_id == request_id
