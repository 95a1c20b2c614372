"""What is to happen after an application ends, and the controls of its session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session
    from ua_tui.tui.app.app import UaTuiApp

DEMO = "demo"
"""The user asked for the demo."""
SET_UP = "set up"
"""The session is to be resumed with the application's settings, which were changed."""


class ToResume(str):
    """The folder of a session that is to be resumed."""


class ToAskAgain(str):
    """The path of a report whose query is to be asked again, in a new session."""


def controls_or_notify(app: UaTuiApp) -> Session | None:
    """The controls of the session that a person wants to change; without any, the person is notified why."""
    if app.controls is None:
        app.notify("The session has not started yet." if app.session is None else app.source.refusal)
    return app.controls


@contextmanager
def refusals_notified(app: UaTuiApp) -> Iterator[None]:
    """Notify the person of an error that ends what is done inside."""
    try:
        yield
    except UniversalAgentError as error:
        app.notify(error.advice.sentence, severity="warning")
