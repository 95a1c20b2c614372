"""An account that a person connects, seen through the real SDK by a real session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from core.agent.auth import wait
from core.connections.composio import session as composio
from core.events.types import (
    AuthFinished,
    AuthRequired,
    Event,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    ToolCallFinished,
)
from core.session.session import Session
from tests.e2e.test_sessions import MAIL, ask, demo_session, of, own_home
from tests.waiting import PATIENCE, until

__all__ = ["own_home"]


def address_of(session: Session) -> str:
    """Where the stand-in of this session listens."""
    base = session.settings.composio_base_url
    assert base is not None
    return base


async def test_the_session_continues_by_itself_once_the_account_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    is_connected = composio._is_connected

    def noted(*given: Any) -> bool:
        looks.append(given[-1])
        return is_connected(*given)

    monkeypatch.setattr(wait, "OFTEN_SECONDS", 0.2)
    monkeypatch.setattr(composio, "_is_connected", noted)
    events: list[Event] = []
    asked = asyncio.Event()
    async with demo_session(tmp_path, events) as session:
        session.bus.subscribe(lambda e: asked.set() if isinstance(e, PermissionAsked) else None)
        await ask(session, MAIL)
        (required,) = of(events, AuthRequired)
        # As nobody opened the link yet the session waits, however often it looks.
        await until(lambda: len(looks) >= 3)
        assert of(events, AuthFinished) == []
        assert session.pending_auth is not None
        async with httpx.AsyncClient() as browser:
            page = await browser.get(address_of(session) + urlsplit(required.url).path)
            assert page.status_code == 200
        await asyncio.wait_for(asked.wait(), PATIENCE)
        assert session.pending_auth is None
        session.answer_permission(of(events, PermissionAsked)[0].request_id, allow=False, reason="Not today.")
        await session.wait_idle()
    # The refusal reaches the model, and nothing is sent.
    (question,) = of(events, PermissionAsked)
    (denied,) = [event for event in of(events, ToolCallFinished) if event.status == "denied"]
    assert denied.tool_use_id == question.tool_use_id
    assert "Not today." in denied.observation.error
    assert of(events, QueryFinished)[-1].status == "success"
    assert [event.outcome for event in of(events, AuthFinished)] == ["completed"]
    queries = [event.text for event in of(events, QueryReceived)]
    assert len(queries) == 2
    assert queries[1].startswith("The authentication is complete")


async def test_an_account_that_is_connected_while_the_query_runs_is_reported_after_it(tmp_path: Path) -> None:
    events: list[Event] = []
    async with demo_session(tmp_path, events) as session:

        def act(event: Event) -> None:
            loop = asyncio.get_running_loop()
            if isinstance(event, AuthRequired):
                loop.call_soon(session._auth.connected)
            elif isinstance(event, PermissionAsked):
                loop.call_soon(lambda: session.answer_permission(event.request_id, allow=False))

        session.bus.subscribe(act)
        await ask(session, MAIL)
    names = [event.event_name for event in events]
    assert names.index("auth_finished") < names.index("query_finished")
    queries = [event.text for event in of(events, QueryReceived)]
    assert len(queries) == 2
    assert queries[1].startswith("The authentication is complete")
