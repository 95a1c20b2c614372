"""Composio through its real SDK, against the stand-in on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.composio_server import HTML, KEY, Fault, StandIn, stand_in
from tests.waiting import PATIENCE
from ua_tui.core.connections.base import Connection
from ua_tui.core.connections.composio import session as composio
from ua_tui.core.connections.composio.process import SdkProcess
from ua_tui.core.connections.composio.sdk import import_sdk, sdk_client, sdk_http
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest, ServiceRequest


class SdkHere(SdkProcess):
    """Runs the functions in the process of the tests, which has the SDK already."""

    def __init__(self, settings: Settings, on_request: OnRequest | None = None) -> None:
        super().__init__(settings, on_request)
        self._first = settings, on_request

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*self._first, *args)


async def open_here(settings: Settings, **more: Any) -> Connection:
    """Open a session without a process for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composio, "SdkProcess", SdkHere)
        return await composio.open_composio(settings, **more)


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    with stand_in() as here:
        yield here


@pytest.fixture
def service(server: StandIn) -> Iterator[StandIn]:
    server.requests.clear()
    yield server
    server.faults.clear()


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({}, {"disable": ["exa", "firecrawl"]}),
        ({"composio_disabled_toolkits": ("exa",)}, {"disable": ["exa"]}),
        ({"composio_disabled_toolkits": ()}, None),
        ({"composio_toolkits": ("gmail", "exa")}, {"enable": ["gmail", "exa"]}),
    ],
)
async def test_a_session_has_the_toolkits_of_the_settings(
    service: StandIn, asked: dict[str, Any], sent: dict[str, Any] | None
) -> None:
    connection = await open_here(service.settings(**asked))
    assert connection.remote is not None
    session = service.composio._sessions[connection.remote.session_id]
    assert session.settings.get("toolkits") == sent
    (server,) = connection.servers.values()
    assert server["headers"] == {"x-api-key": KEY}
    assert server["url"].startswith(service.url)


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (Fault("session$", 200, HTML, "text/html"), "unreachable", "a web page instead of JSON"),
        (Fault("session$", 502, HTML, "text/html"), "http_502", "a web page instead of JSON"),
        (Fault("session$", 200, b"{}"), "unreachable", "unexpected answer"),
        (Fault("session$", 429, headers={"retry-after": "55"}), "http_429", "it asks for a wait of 55 s"),
        (Fault("session$", 503), "http_503", "failed"),
        (Fault("session$", 400), "http_400", "composio_toolkits"),
        (Fault("session$", 403), "http_403", "set COMPOSIO_API_KEY to a valid key"),
    ],
    ids=lambda value: str(getattr(value, "status", "")),
)
async def test_a_failure_has_advice(service: StandIn, fault: Fault, code: str, words: str) -> None:
    fault.headers.setdefault("retry-after", "0")
    service.faults.append(fault)
    with pytest.raises(ConnectionFailed) as reported:
        await open_here(service.settings())
    assert reported.value.code == code
    assert words in str(reported.value)
    assert "the session continues without its tools" in str(reported.value)
    assert service.url.removeprefix("http://") in str(reported.value)


async def test_a_wrong_key_is_reported_and_not_repeated(service: StandIn) -> None:
    with pytest.raises(ConnectionFailed, match="rejected the key") as reported:
        await open_here(service.settings(composio_api_key="ak_wrong0123456789"))
    assert reported.value.code == "http_401"
    assert "ak_wrong" not in str(reported.value)


async def test_a_short_wait_that_is_asked_for_is_kept(service: StandIn) -> None:
    service.faults.append(Fault("session$", 429, headers={"retry-after": "0"}, times=1))
    connection = await open_here(service.settings())
    assert connection.url is not None
    assert service.asked("POST .*session$") == 2


async def test_a_session_that_is_over_is_known(service: StandIn) -> None:
    expiry = (await open_here(service.settings())).expiry
    assert expiry is not None
    assert not await expiry.is_over()
    service.drop_sessions()
    assert await expiry.is_over()
    service.faults.append(Fault("GET .*session/", 500, headers={"x-should-retry": "false"}))
    with pytest.raises(ConnectionFailed, match="failed"):
        await expiry.is_over()
    shown_text = {"error": {"message": "Session trs_1 not found", "slug": "NOT_FOUND", "status": 404}}
    assert expiry.matches(f"Error POSTing to endpoint: {json.dumps(shown_text)}")
    assert expiry.matches("Dynamic Client Registration rejected (HTTP 404): Not Found")
    assert not expiry.matches("Mail msg_1 not found")


@pytest.mark.slow
async def test_a_session_needs_no_sdk_in_this_process(service: StandIn) -> None:
    reported: list[ServiceRequest] = []
    connection = await composio.open_composio(service.settings(), on_request=reported.append)
    assert connection.expiry is not None
    assert connection.close is not None
    assert not await connection.expiry.is_over()
    service.drop_sessions()
    assert await connection.expiry.is_over()
    service.faults.append(Fault("GET .*session/", 500, headers={"x-should-retry": "false"}))
    with pytest.raises(ConnectionFailed, match="failed") as failed:
        await connection.expiry.is_over()
    assert failed.value.code == "http_500"
    assert [request.method for request in reported] == ["POST", "GET", "GET", "GET"]
    connection.close()


async def test_every_request_is_known_by_its_route_and_by_how_it_went(service: StandIn) -> None:
    reported: list[ServiceRequest] = []
    connection = await open_here(service.settings(), on_request=reported.append)
    assert connection.is_connected is not None
    assert connection.expiry is not None
    service.drop_sessions()
    assert await connection.expiry.is_over()
    refused = service.settings(composio_base_url="http://127.0.0.1:9/")
    with pytest.raises(ConnectionFailed):
        await open_here(refused, on_request=reported.append)
    created, asked, *unreached = reported
    session = "/api/v3.1/tool_router/session"
    assert (created.method, created.route, created.status) == ("POST", session, 201)
    assert (asked.method, asked.route, asked.status) == ("GET", f"{session}/*", 404)
    assert f"{created.host}:{created.port}" in service.url
    assert {(each.port, each.status, each.error) for each in unreached} == {(9, None, "ConnectError")}
    assert all(each.began <= each.ended for each in reported)


async def test_nothing_is_reported_to_anybody_about_what_the_sdk_is_used_for(
    service: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_sdk()
    from composio.core.models import _telemetry as telemetry

    sent: list[object] = []
    # The last step before the network, in the worker that the first event starts.
    monkeypatch.setattr(telemetry, "_push", sent.append)

    with sdk_http(PATIENCE) as http:
        # What the SDK is told about this holds in the context alone in which the client is made.
        client = await asyncio.to_thread(sdk_client, service.settings(), http)

        def work() -> None:
            session = client.create(user_id="u", mcp=True)
            session.toolkits()
            with pytest.raises(Exception, match="nope"):
                session.authorize("nope")

        plain = threading.Thread(target=work)
        plain.start()
        await asyncio.to_thread(plain.join)
        await asyncio.get_running_loop().run_in_executor(None, work)
    # No worker was started, so nothing is sent later either.
    assert telemetry._thread is None
    assert sent == []
