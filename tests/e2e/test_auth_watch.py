"""An account that a person connects, seen through the real SDK by a real session, and the mail that is then sent."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.live import demo_settings, live
from tests.waiting import PAUSE, until
from ua_tui.core.agent.auth.wait import AuthWait
from ua_tui.core.events import types as ev
from ua_tui.core.session import session as session_module

MAIL = "Email the report to the team"


async def test_the_session_continues_once_the_account_is_connected_and_sends_only_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    async def note(seconds: float) -> None:
        looks.append(seconds)
        # Without a pause it would take the time of what it waits for.
        await asyncio.sleep(PAUSE)

    monkeypatch.setattr(session_module, "AuthWait", partial(AuthWait, sleep=note))
    async with live(demo_settings(tmp_path), interactive=True) as here:
        session, base = here.session, here.session.settings.composio_base_url
        await here.ask(MAIL)
        (required,) = here.of(ev.AuthRequired)
        # As nobody opened the link yet the session waits, however often it looks.
        await until(lambda: len(looks) >= 3)
        assert here.of(ev.AuthFinished) == []
        assert session.auth.pending is not None
        async with httpx.AsyncClient() as browser:
            page = await browser.get(f"{base}{urlsplit(required.url).path}")
            assert page.status_code == 200
        await until(lambda: here.of(ev.PermissionAsked))
        assert session.auth.pending is None
        (first,) = here.of(ev.PermissionAsked)
        session.answer_permission(first.request_id, allow=False, reason="Not today.")
        await session.wait_idle()
        session.submit(MAIL)
        await until(lambda: len(here.of(ev.PermissionAsked)) == 2)
        second = here.of(ev.PermissionAsked)[-1]
        session.answer_permission(second.request_id, allow=True, scope="session")
        await session.wait_idle()
    assert [event.outcome for event in here.of(ev.AuthFinished)] == ["completed"]
    queries = [event.text for event in here.of(ev.QueryReceived)]
    assert (queries[0], len(queries)) == (MAIL, 3)
    assert queries[1].startswith("The authentication is complete")
    assert {event.status for event in here.of(ev.QueryFinished)} == {"success"}
    # A refusal reaches the model, and nothing is sent; what is allowed for the session is allowed for this mail.
    ended = {event.tool_use_id: event for event in here.of(ev.ToolCallFinished)}
    assert ended[first.tool_use_id].status == "denied"
    assert "Not today." in ended[first.tool_use_id].observation.error
    assert ended[second.tool_use_id].status == "success"
    assert second.subjects == ["GMAIL_SEND_EMAIL"]
    assert [each.split("=")[0] for each in second.proposed] == ["GMAIL_SEND_EMAIL(recipient_email"]
    answered = here.of(ev.PermissionAnswered)[-1]
    assert (answered.decision, answered.scope) == ("allow", "once")
    assert "needs an argument that limits where it may go" in answered.reason
