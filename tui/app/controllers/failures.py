"""What failed of the agent, shown where the person can do something about it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from core.errors import CredentialsError, causes_of
from core.events.types import ErrorRaised
from tui.app.controllers.setup import DEMO
from tui.render.agent_failures import known_causes

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp

__all__ = ["DEMO", "Failures", "told"]


class Failures:
    """Tells in `app` of every failure, and opens a dialog for one that leaves the session without its agent."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._last: ErrorRaised | None = None
        self._times: Counter[str] = Counter()

    def take(self, event: ErrorRaised) -> None:
        """Tell of an error in the session, which may be the one it failed of."""
        self._last = event
        if self._app.state != "failed":
            # Else a dialog opens for it.
            self._app.notice.show(event.message)

    def look(self) -> None:
        """Open the dialog once when the session has failed."""
        if self._app.state == "failed" and self._last is not None:
            last, self._last = self._last, None
            self._show(last, afterwards="The agent does not run.")

    def forget(self) -> None:
        """Take down what was told: the agent is started again."""
        self._app.notice.clear()
        self._last = None

    def of_start(self, where: str, error: BaseException) -> None:
        """Show why the agent could not be started; what is missing for it is explained."""
        if isinstance(error, CredentialsError):
            self._app.setup.explain(str(error))
        else:
            self._show(ErrorRaised(where=where, message=told(error), causes=causes_of(error)))

    def _show(self, failure: ErrorRaised, *, afterwards: str = "") -> None:
        """Open the dialog; `afterwards` is what the bar says behind it, the failure itself where nothing else does."""
        from tui.screens.application.error import ErrorScreen

        self._app.notice.clear()
        self._app.status.state = self._app.state
        if not isinstance(self._app.screen, ErrorScreen):
            self._times[failure.message] += 1
            causes = known_causes(failure.message, failure.causes)
            dialog = ErrorScreen(failure.message, causes, advice=self._advice(failure))
            self._app.push_screen(dialog, partial(self._settle, afterwards or failure.message))

    def _advice(self, failure: ErrorRaised) -> list[str]:
        from tui.screens.application.error import RESTARTS, TRIES_AGAIN

        advice = [RESTARTS if self._app.session_folder is not None else TRIES_AGAIN]
        if (again := self._times[failure.message]) > 1:
            advice = [f"It failed so {again} times: restarting alone may not help. See to the cause first."]
        if self._app.waiting:
            queries = "query waits" if self._app.waiting == 1 else "queries wait"
            advice.append(f"{self._app.waiting} {queries}: what waits is kept.")
        if self._app.session_folder is not None:
            advice.append(f"The whole story is in {self._app.session_folder / 'run.log'}")
        return advice

    def _settle(self, afterwards: str, choice: str | None) -> None:
        if choice == "restart":
            self._app.action_restart()
        elif choice == "close":
            self._app.notice.show(afterwards, f"{self._app.keys.shown('restart')} restarts it")
        elif choice == "quit":
            self._app.leaving.leave("quit")


def told(error: BaseException) -> str:
    """Return what an error says, or else what it is."""
    return str(error) or type(error).__name__
