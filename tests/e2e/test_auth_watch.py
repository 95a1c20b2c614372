"""An account that a person connects, seen through the real SDK by a real session, and the mail that is then sent."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.live import demo_settings, live
from tests.waiting import until
from ua_tui.core.agent.auth import wait
from ua_tui.core.agent.auth.wait import AccountPoll, AuthWait
from ua_tui.core.events import types as ev

MAIL = "Email the report to the team"


async def test_the_session_continues_once_the_account_is_connected_and_sends_only_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    async def note(seconds: float) -> None:
        looks.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(wait, "AccountPoll", partial(AccountPoll, sleep=note))
    async with live(demo_settings(tmp_path), interactive=True) as here:
        session, base = here.session, here.session.settings.composio_base_url
        await here.ask(MAIL)
        (required,) = here.of(ev.AuthRequired)
        # As nobody opened the link yet the session waits, however often it looks.
        await until(lambda: len(looks) >= 3)
        assert here.of(ev.AuthFinished) == []
        assert session.pending_auth is not None
        async with httpx.AsyncClient() as browser:
            page = await browser.get(f"{base}{urlsplit(required.url).path}")
            assert page.status_code == 200
        await until(lambda: here.of(ev.PermissionAsked))
        assert session.pending_auth is None
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
    assert "needs an argument that says where it may go" in answered.reason


@pytest.mark.parametrize(
    ("calls", "status", "continues"), [(0, "success", 1), (1, "success", 0), (0, "interrupted", 0)]
)
def test_an_account_that_is_connected_while_the_query_runs_is_reported_after_it(
    calls: int, status: Any, continues: int
) -> None:
    published: list[ev.Event] = []
    continued: list[str] = []
    waits = AuthWait(
        lambda *_: None,  # type: ignore[arg-type]  # nothing is polled
        lambda: None,
        publish=published.append,
        runs=lambda: True,
        continue_query=lambda: continued.append("continued"),
        polls=False,
    )
    waits.handle_event(ev.AuthRequired(toolkit="gmail", url="https://a.example"))
    waits.connected()
    assert [event.outcome for event in published if isinstance(event, ev.AuthFinished)] == ["completed"]
    assert continued == []
    # A query that made a further call needs nothing more.
    for _ in range(calls):
        waits.handle_event(ev.ToolCallStarted(query_id="q1", tool_use_id="t", name="x"))
    waits.handle_event(ev.QueryFinished(query_id="q1", status=status))
    assert len(continued) == continues
