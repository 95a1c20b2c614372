"""A session for a program of one's own: opened with settings, asked, and closed at the end of the block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from core.errors import AgentError, AgentUnavailable, CredentialsError, PluginError
from core.events.types import BudgetReached, ErrorRaised, Event, QueryFinished, QueryReceived, SessionFinished
from core.settings.model import Settings, load_settings
from core.text import clean

if TYPE_CHECKING:
    from core.connections.composio.native import Modifier
    from core.session.session import Session

__all__ = ["Askable"]

_GROUP = "ua_tui.session"


class Askable:
    """What a program needs of a session: to open one, and to ask it."""

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        interactive: bool = False,
        modifiers: Sequence[Modifier] = (),
        **overrides: Any,
    ) -> AbstractAsyncContextManager[Session]:
        """Open a session for a block of a program: `async with Session.open(demo=True) as session`.

        `overrides` are settings by name, before those of the environment and the files. Without anybody to ask
        (`interactive`), calls that need permission are denied. `modifiers` see what goes to Composio and comes back,
        in the mode `native` alone.

        Raises:
            UniversalAgentError: on entering the block: the settings are wrong, or the session cannot start.
        """
        return _open_session(settings, overrides, interactive=interactive, modifiers=modifiers)

    def ask(self, text: str) -> AsyncIterator[Event]:
        """Run a query: `async for event in session.ask(...)` gives its events, the last one a `QueryFinished`.

        Whoever leaves the loop early leaves the query running; `interrupt` stops it.

        Raises:
            AgentError: while it is iterated over: the query cannot run.
        """
        return _events_of_query(cast("Session", self), text)


@asynccontextmanager
async def _open_session(
    settings: Settings | None, overrides: dict[str, Any], *, interactive: bool, modifiers: Sequence[Modifier]
) -> AsyncIterator[Session]:
    """Put a session together as the program does, start it, and close it at the end.

    Raises:
        SettingsError: a setting is wrong.
        CredentialsError: there is no way to reach a model.
        AgentUnavailable: the agent cannot be started.
        UniversalAgentError: the session cannot be made.
    """
    whole = settings or load_settings(overrides, by_name=True)
    if not whole.has_credentials():
        raise CredentialsError("there is no way to reach a model: set ANTHROPIC_API_KEY, or demo=True")
    failures: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, ErrorRaised) and event.where == "agent":
            failures.append(event.message)

    session: Session = await _compose()(
        whole, interactive=interactive, subscribers=(note,), modifiers=modifiers
    )
    try:
        await session.start()
        if session.state == "failed":
            raise AgentUnavailable(failures[-1] if failures else "the agent could not be started")
        yield session
    finally:
        await session.close("finished")


async def _events_of_query(session: Session, text: str) -> AsyncIterator[Event]:
    """Ask, and give what happens from the query's first event to its last.

    Raises:
        AgentError: the query cannot run: the session is over, or has cost what it may.
    """
    waiting: asyncio.Queue[Event] = asyncio.Queue()
    wanted = clean(text.strip())
    if not wanted:
        raise AgentError("the query is empty")
    unsubscribe = session.bus.subscribe(waiting.put_nowait)
    try:
        if session.state == "closed":
            raise AgentError("the session is over: open another one")
        session.submit(text)
        query_id = ""
        while True:
            event = await waiting.get()
            match event:
                case QueryReceived(text=received) if not query_id and received == wanted:
                    query_id = event.query_id
                case BudgetReached(refused=True) if not query_id:
                    raise AgentError(
                        f"the session has cost ${event.spent_usd:.2f}, which is what it may: raise_budget lets it go on"
                    )
                case SessionFinished():
                    raise AgentError("the session was closed before the query came to its end")
                case _:
                    pass
            if query_id:
                yield event
            if isinstance(event, QueryFinished) and event.query_id == query_id:
                return
    finally:
        unsubscribe()


def _compose() -> Any:
    """What puts sessions together: the layer above this one, found as whatever a package brings is."""
    from importlib.metadata import entry_points

    found: Sequence[Any] = list(entry_points(group=_GROUP, name="compose"))
    if not found:
        raise PluginError("ua-tui is not installed whole: install it again")
    return found[0].load()
