"""The whole application around a session at the seam: opened, waited for, and its dialogs made to listen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.worker import WorkerState

from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import finished
from tests.waiting import until
from ua_tui.core.events.types import Event, PermissionAsked
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.widgets.dialog import Dialog

ASKED = PermissionAsked(request_id="r1", tool_name="Bash", input={"command": "ls"}, proposed=["Bash(ls)"])


@asynccontextmanager
async def opened(
    tmp_path: Path,
    size: tuple[int, int] = (80, 24),
    *,
    first_query: str | None = None,
    toasts: bool = False,
    **settings: Any,
) -> AsyncIterator[tuple[FakeSession, UaTuiApp, Pilot[str]]]:
    """Open the application around a session, and wait until it is ready; only with `toasts` it shows them."""
    session = make_session(tmp_path)
    app = make_app(tmp_path, session, first_query=first_query, **settings)
    async with app.run_test(size=size, notifications=toasts) as pilot:
        await settled(app, pilot)
        yield session, app, pilot


@asynccontextmanager
async def at_work(tmp_path: Path) -> AsyncIterator[tuple[FakeSession, UaTuiApp, Pilot[str]]]:
    """Open the application, whose session runs a query, and wait until the screen shows that."""
    async with opened(tmp_path) as (session, app, pilot):
        session.submit("x")
        await shown(app, pilot)
        yield session, app, pilot


async def ask(session: FakeSession, app: UaTuiApp, pilot: Pilot[str], question: Event = ASKED) -> None:
    """Have the agent ask something, and wait until that is on the screen."""
    session.bus.publish(question)
    await shown(app, pilot)


async def settled(app: UaTuiApp, pilot: Pilot[str]) -> None:
    """Wait until the session is open and everything published has reached the screen."""
    await until(lambda: not app.pump.is_paused)
    if workers := [worker for worker in app.workers if worker.group in ("agent", "screen")]:
        await finished(workers)
    await shown(app, pilot)


async def shown(app: UaTuiApp, pilot: Pilot[str]) -> None:
    """Wait until everything published has reached the screen."""
    await pilot.pause()
    app.pump.flush()
    await pilot.pause()


async def answerable(app: UaTuiApp, kind: type[Dialog[Any]] = Dialog) -> Dialog[Any]:
    """Wait for a dialog, and end its quiet time once that has begun."""
    await until(lambda: isinstance(app.screen, kind))
    dialog = app.screen
    assert isinstance(dialog, kind)
    await until(lambda: dialog._quiet_until is not None)
    listen(app)
    return dialog


def notices(app: App[Any]) -> str:
    """What the toasts tell."""
    return " ".join(each.message for each in app._notifications)


def listen(app: UaTuiApp) -> None:
    """End the quiet time of the dialog on top."""
    assert isinstance(app.screen, Dialog)
    app.screen._quiet_until = 0.0


async def failed(app: UaTuiApp, pilot: Pilot[str]) -> None:
    """Wait until work has failed, or a dialog tells of something that did."""
    await until(
        lambda: (
            len(app.screen_stack) > 1
            or any(worker.state is WorkerState.ERROR for worker in list(app.workers))
        )
    )
    await pilot.pause()
