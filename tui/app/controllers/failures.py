"""Failures of the agent and of queries: a notice, or a dialog when the session cannot continue without an action."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.errors import Advice, CredentialsError, causes_of
from ua_tui.core.events.types import KNOWLEDGE, AgentSilent, ErrorRaised, Event, QueryFinished, QueryReceived
from ua_tui.core.view.session import SessionView
from ua_tui.tui.app.controllers.setup import open_first_setup

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp


class Failures:
    """Shows every failure, and opens a dialog for one that leaves the session without its agent."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._last: ErrorRaised | None = None
        self._times: Counter[str] = Counter()
        self._noticed = ""

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Show a failure in the notice bar."""
        match event:
            case QueryReceived():
                self._app.notice.clear()
            case AgentSilent(over=False, waits_for="model" | "process" | "server"):
                self._show_silence(event)
            case AgentSilent(over=True) | QueryFinished() if self._app.notice.is_counting:
                self._app.notice.clear()
            case _:
                pass
        match event:
            case QueryFinished(status="error", error=error) if self._is_news(error):
                self._notice(error or "The query failed.")
            case ErrorRaised():
                if event.where != KNOWLEDGE:
                    self._last = event
                # A failed session gets a dialog.
                if self._app.state != "failed" and self._is_news(event.message):
                    self._notice(event.message)
            case _:
                pass

    def show_view(self, view: SessionView) -> None:
        """Open the dialog if the session failed."""
        if self._app.state == "failed" and self._last is not None:
            last, self._last = self._last, None
            self._open(last, afterwards="The agent is not running.")

    def _show_silence(self, event: AgentSilent) -> None:
        """Show how long there has been no answer, and what to do, until something comes."""
        from ua_tui.core.events.describe import describe

        since = time.monotonic() - event.silent_ms / 1000

        def text() -> str:
            silent = 1000.0 * round(time.monotonic() - since)
            return describe(msgspec.structs.replace(event, silent_ms=silent)).sentence

        stops = self._app.keys.shown("stop")
        what = (
            "the query, and ends the process if it does not respond"
            if event.waits_for == "process"
            else "the query"
        )
        self._app.notice.count(text, f"{stops} stops {what}")

    def _notice(self, message: str) -> None:
        """Show a failure until the conversation pane that reports it is visible."""
        hint = f"{self._app.keys.shown('show.conversation')} shows the conversation"
        notice = self._app.notice
        notice.show(message, hint, follow=lambda: self._app.frame.show("conversation"))
        self._noticed = notice.text

    def on_laid_out(self) -> None:
        """Clear the notice of a failure that the conversation shows now."""
        if self._noticed and self._app.frame.shows("conversation"):
            if self._app.notice.text == self._noticed:
                self._app.notice.clear()
            self._noticed = ""

    def _is_news(self, error: str | None) -> bool:
        """Whether an error is shown nowhere else: neither in a visible conversation nor in a dialog."""
        from ua_tui.core.provider.error_messages import AT_LIMIT

        in_dialog = error == AT_LIMIT or self._app.state == "failed"
        return not (in_dialog or self._app.frame.shows("conversation"))

    def clear(self) -> None:
        """Forget the last failure because the agent is started again."""
        self._app.notice.clear()
        self._last = None

    def handle_start_failure(self, where: str, error: BaseException) -> None:
        """Show why the agent could not be started; missing credentials open the setup."""
        if isinstance(error, CredentialsError):
            open_first_setup(self._app, Advice(error.advice.problem).sentence)
        else:
            self._open(ErrorRaised(where=where, message=error_text(error), causes=causes_of(error)))

    def _open(self, failure: ErrorRaised, *, afterwards: str = "") -> None:
        """Open the dialog; after it the notice bar shows `afterwards`, or else the message of the failure."""
        from ua_tui.tui.render.agent_failures import known_causes
        from ua_tui.tui.screens.application.error import ErrorScreen

        self._app.notice.clear()
        self._app.status.state = self._app.state
        if not isinstance(self._app.screen, ErrorScreen):
            self._times[failure.message] += 1
            causes = known_causes(failure.message, failure.causes)
            dialog = ErrorScreen(failure.message, causes, advice=self._advice(failure))
            self._app.push_screen(dialog, partial(self._on_choice, afterwards or failure.message))

    def _advice(self, failure: ErrorRaised) -> list[str]:
        from ua_tui.tui.screens.application.error import RESTARTS, TRIES_AGAIN

        folder = self._app.session_folder
        advice = [RESTARTS if folder is not None else TRIES_AGAIN]
        if (times := self._times[failure.message]) > 1:
            advice = [f"This failed {times} times: restarting alone may not help. Fix the cause first."]
        if waiting := len(self._app.queries.waiting):
            queries = "1 query is" if waiting == 1 else f"{waiting} queries are"
            advice.append(f"{queries} waiting, and will be kept.")
        if folder is not None:
            advice.append(f"Details are in {folder / 'run.log'}")
        return advice

    def _on_choice(self, afterwards: str, choice: str | None) -> None:
        if choice == "restart":
            self._app.restart_agent()
        elif choice == "close":
            self._app.notice.show(afterwards, f"{self._app.keys.shown('restart')} restarts it")
        elif choice == "quit":
            self._app.shutdown.begin("quit")


def error_text(error: BaseException) -> str:
    """Return the message of an error, or the name of its class if it has none."""
    return str(error) or type(error).__name__
