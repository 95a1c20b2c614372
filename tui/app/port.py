"""What an application is asked for when it ends, and the controls of its session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session
    from ua_tui.tui.app.app import UaTuiApp

    SessionHost = UaTuiApp
    """The application, as the source of a session sees it."""

DEMO = "demo"
"""The user asked for the demo."""
SET_UP = "set up"
"""The session is to be resumed with the application's settings, which were changed."""
_RESUME = "resume "
_ASK_AGAIN = "ask again "


def resume_result(folder: Path) -> str:
    """Return the result that asks for the session in `folder` to be resumed."""
    return f"{_RESUME}{folder}"


def resumed_folder(result: object) -> Path | None:
    """Return the folder of the session that `result` asks to resume; None if it asks for none."""
    if not isinstance(result, str) or not result.startswith(_RESUME):
        return None
    return Path(result.removeprefix(_RESUME))


def asking_result(report: Path) -> str:
    """Return the result that asks for a new session with the query of a report."""
    return f"{_ASK_AGAIN}{report}"


def report_to_ask(result: object) -> Path | None:
    """Return the report whose query `result` asks to ask again; None if it asks for none."""
    if not isinstance(result, str) or not result.startswith(_ASK_AGAIN):
        return None
    return Path(result.removeprefix(_ASK_AGAIN))


def controls_or_notify(app: UaTuiApp) -> Session | None:
    """The controls of the session that a person wants to change; without any, the person is notified why."""
    if app.controls is None:
        app.notify("The session has not started yet." if app.session is None else app.refusal, markup=False)
    return app.controls
