from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import msgspec
import pytest
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp.server.auth.provider import TokenError
from mcp.shared.auth import OAuthToken
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.e2e.oauth_server import Accounts, make_server
from tests.waiting import PATIENCE
from ua_tui.core.connections.oauth import flow
from ua_tui.core.connections.oauth import headers as headers_of_logins
from ua_tui.core.connections.oauth import store as stores
from ua_tui.core.connections.oauth.flow import check_address, current_login, log_in, login_client
from ua_tui.core.connections.oauth.headers import LoginHeaders
from ua_tui.core.connections.oauth.redirect import Redirect, receiving
from ua_tui.core.connections.oauth.store import LoginStore, StoredLogin
from ua_tui.core.connections.oauth.target import LoginTarget, OAuthClient, oauth_client
from ua_tui.core.errors import ConnectionFailed, FetchRefused, WorkspaceError
from ua_tui.core.net import dialer


class Seen:
    """An application and the requests to it."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.requests: list[tuple[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"").decode()
            self.requests.append((f"{scope['method']} {scope['path']}", given))
        await self.app(scope, receive, send)


@contextmanager
def listening() -> Iterator[tuple[socket.socket, str]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def serving(listener: socket.socket, app: Any) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


class Place:
    """A server with logins, and what it knows."""

    def __init__(self, at: str, accounts: Accounts, seen: Seen) -> None:
        self.at = at
        self.accounts = accounts
        self.seen = seen

    def target(self, **client: Any) -> LoginTarget:
        return LoginTarget("notes", "http", f"{self.at}/mcp", ".mcp.json", client=OAuthClient(**client))


@contextmanager
def place(**more: Any) -> Iterator[Place]:
    with listening() as (listener, at):
        accounts = Accounts(at, closed=more.pop("closed", ""))
        app = Seen(make_server(at, accounts, registers=not accounts.clients, **more).streamable_http_app())
        with serving(listener, app):
            yield Place(at, accounts, app)


@pytest.fixture(scope="module")
def shared_notes() -> Iterator[Place]:
    with place() as made:
        yield made


@pytest.fixture
def notes(shared_notes: Place) -> Place:
    """A server on which any program can register, with nobody logged in."""
    shared_notes.accounts.__init__(shared_notes.at)  # type: ignore[misc]
    shared_notes.seen.requests.clear()
    return shared_notes


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore(tmp_path / "state", lambda: None)


async def browse(address: str, _redirect: Redirect) -> None:
    """Open the page of a login, as a browser does whose person agrees."""
    async with httpx.AsyncClient(follow_redirects=True) as browser:
        assert "You can close this page" in (await browser.get(address)).text


async def failing(target: LoginTarget, store: LoginStore, show: Any = browse, **more: Any) -> str:
    with pytest.raises(ConnectionFailed) as raised:
        await log_in(target, store, show, **more)
    return str(raised.value)


async def test_logins_are_private_and_renewed(notes: Place, store: LoginStore, tmp_path: Path) -> None:
    target = notes.target()
    assert store.state_of(target) == "no login"
    assert await current_login(target, store) is None
    assert await log_in(target, store, browse) == "file"
    assert store.state_of(target) == "logged in"
    assert (tmp_path / "state/logins.json").stat().st_mode & 0o777 == 0o600
    first = await current_login(target, store)
    assert first is not None
    assert first.access_token in notes.accounts.tokens
    assert await current_login(target, store) == first

    # It expires soon: what renews it holds once, and only one of two sessions uses it.
    await store.save(target, StoredLogin(**{**_fields(first), "expires_at": time.time() + 50}))
    renewed, same = await asyncio.gather(*(current_login(target, store) for _ in range(2)))
    assert renewed is not None
    assert renewed == same
    assert renewed.access_token != first.access_token
    assert renewed.refresh_token != first.refresh_token

    # The server does not accept it any more.
    refused = await current_login(target, store, refused=renewed.access_token)
    assert refused is not None
    assert refused.access_token not in (first.access_token, renewed.access_token)

    notes.accounts.renewals.clear()
    with pytest.raises(
        ConnectionFailed, match="the login to notes has expired: log in again with `ua-tui connect"
    ):
        await current_login(target, store, refused=refused.access_token)
    assert store.state_of(target) == "expired"
    # The same registration serves the next login.
    assert await log_in(target, store, browse) == "file"
    assert len(notes.accounts.clients) == 1
    assert await store.forget(target)
    assert not await store.forget(target)
    assert store.state_of(target) == "no login"


def _fields(login: StoredLogin) -> dict[str, Any]:
    return {name: getattr(login, name) for name in login.__struct_fields__}


async def test_a_renewal_that_fails_for_a_moment_loses_nothing(notes: Place, store: LoginStore) -> None:
    target = notes.target()
    await log_in(target, store, browse)
    login = await store.load(target)
    assert login is not None
    assert login.server is not None
    away = {**login.server, "token_endpoint": "http://127.0.0.1:1/token"}
    soon = StoredLogin(**{**_fields(login), "server": away, "expires_at": time.time() + 50})
    await store.save(target, soon)
    assert await current_login(target, store) == soon
    await store.save(target, StoredLogin(**{**_fields(soon), "expires_at": time.time() - 5}))
    with pytest.raises(ConnectionFailed, match="notes cannot be reached"):
        await current_login(target, store)
    assert (await store.load(target) or soon).refresh_token == login.refresh_token


async def test_a_renewal_that_is_refused_for_another_reason_loses_nothing(
    notes: Place, store: LoginStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = notes.target()
    await log_in(target, store, browse)
    login = await store.load(target)
    assert login is not None

    async def refuse(*_: Any) -> OAuthToken:
        raise TokenError("invalid_scope", "this scope is being moved")

    monkeypatch.setattr(notes.accounts, "exchange_refresh_token", refuse)
    # The token that there is serves until it is over.
    assert await current_login(target, store, refused=login.access_token) == login
    over = StoredLogin(**{**_fields(login), "expires_at": time.time() - 5})
    await store.save(target, over)
    said = (
        r"could not be renewed \(invalid_scope this scope is being moved\): try again later, or log in again"
    )
    with pytest.raises(ConnectionFailed, match=said):
        await current_login(target, store)
    assert await store.load(target) == over


async def test_a_file_that_cannot_be_read_is_not_overwritten(store: LoginStore, tmp_path: Path) -> None:
    target = LoginTarget("notes", "http", "https://notes.example/mcp", ".mcp.json")
    await store.save(target, StoredLogin(access_token="access-0123456789"))
    file = tmp_path / "state/logins.json"
    damaged = file.read_bytes()[:-2]
    file.write_bytes(damaged)
    assert store.state_of(target) == "no login"
    changes: list[Callable[[], Awaitable[object]]] = [
        partial(store.load, target),
        partial(store.save, target, StoredLogin(access_token="other")),
        partial(store.forget, target),
        # Before a person logs in.
        partial(log_in, target, store, browse),
    ]
    for change in changes:
        with pytest.raises(
            WorkspaceError, match=r"logins\.json cannot be read .*move it elsewhere"
        ) as raised:
            await change()
        assert "access-0123456789" not in str(raised.value)
    assert file.read_bytes() == damaged


async def test_no_token_of_a_bad_answer_is_shown(store: LoginStore, caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, _receive: Any, send: Any) -> None:
        answers = {
            "/.well-known/oauth-authorization-server": {"issuer": at, "authorization_endpoint": f"{at}/authorize",
             "token_endpoint": f"{at}/token", "response_types_supported": ["code"]},
            "/token": {"refresh_token": "renewal-0123456789"},
        }  # fmt: skip
        status = 401 if scope["path"] == "/mcp" else 200 if scope["path"] in answers else 404
        body = json.dumps(answers.get(scope["path"], {})).encode()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def agree(address: str, redirect: Redirect) -> None:
        state = parse_qs(urlsplit(address).query)["state"][0]
        assert redirect.paste(f"{redirect.address}?code=c0de&state={state}")

    with listening() as (listener, at), serving(listener, app):
        client = OAuthClient(client_id="ua-tui-1")
        target = LoginTarget("notes", "http", f"{at}/mcp", ".mcp.json", client=client)
        message = await failing(target, store, agree)
    assert message == "the login to notes was not completed (access_token: Field required): run it again"
    assert "renewal-0123456789" not in caplog.text
    assert "Traceback" not in caplog.text


async def test_only_the_answer_to_this_login_ends_it(notes: Place, store: LoginStore) -> None:
    seen: list[int] = []

    async def attack(address: str, redirect: Redirect) -> None:
        async with httpx.AsyncClient() as other:
            answer = (await other.get(address)).headers["location"]
            ended = redirect.address
            for each in (f"{ended}?code=stolen&state=other", f"{ended}?error=access_denied", f"{ended}/x"):
                seen.append((await other.get(each)).status_code)
            seen.append((await other.get(answer, headers={"Host": "evil.example"})).status_code)
        assert not redirect.paste("https://evil.example/callback?code=stolen&state=other")
        assert not redirect.paste("http://[::1")
        # From a browser on another machine.
        assert redirect.paste(f" {answer}\n")

    await log_in(notes.target(), store, attack)
    assert seen == [400, 400, 404, 400]
    (local,) = {
        urlsplit(str(each)).hostname
        for client in notes.accounts.clients.values()
        for each in client.redirect_uris or ()
    }
    assert local == "localhost"


async def test_the_end_of_a_login_is_received_on_this_machine_alone() -> None:
    async with receiving(None, required=False) as redirect:
        port = urlsplit(redirect.address).port
        assert port is not None
        with pytest.raises(
            ConnectionFailed, match=f"the login cannot listen on port {port} .*change callback_port"
        ):
            async with receiving(port, required=True):
                pass
        async with receiving(port, required=False) as other:
            assert other.address != redirect.address
        addresses = [each for each in _listeners(port) if each not in ("127.0.0.1", "::1")]
        assert addresses == []


def _listeners(port: int) -> list[str]:
    import psutil

    found = psutil.Process().net_connections(kind="tcp")
    return [each.laddr.ip for each in found if each.status == "LISTEN" and each.laddr.port == port]


async def test_a_person_who_refuses_or_does_nothing_is_reported(notes: Place, store: LoginStore) -> None:
    notes.accounts.refuses = True
    assert await failing(notes.target(), store) == (
        "notes refused the login (not today): run the login again, if necessary with another account"
    )

    async def ignore(_address: str, _redirect: Redirect) -> None:
        return

    assert "no one logged in to notes within 0.01 s" in await failing(
        notes.target(), store, ignore, seconds=0.01
    )


async def test_a_configured_client_is_used_where_no_program_can_register(store: LoginStore) -> None:
    with place(closed="ua-tui-1") as closed:
        assert await failing(closed.target(), store) == (
            "notes does not register clients automatically (Registration failed: 404 Not Found): "
            'register a client with the server, and add "oauth": {"clientId": "..."} to its entry in .mcp.json'
        )
        asked: list[str] = []

        async def show(address: str, redirect: Redirect) -> None:
            asked.append(parse_qs(urlsplit(address).query)["scope"][0])
            await browse(address, redirect)

        client = {"client_id": "ua-tui-1", "client_secret": "a-secret-of-the-client"}
        await log_in(closed.target(**client, scope="notes"), store, show)
        login = await current_login(closed.target(), store)
        assert login is not None
        assert "a-secret-of-the-client" in login.secrets
        assert asked == ["notes"]
        assert await current_login(closed.target(), store, refused=login.access_token) != login


@pytest.mark.parametrize("signs", [False, True])
async def test_a_program_logs_in_by_itself_at_the_server_that_is_configured(
    store: LoginStore, signs: bool
) -> None:
    asked: list[dict[str, str]] = []
    secret = "a-secret-of-the-program"
    if signs:
        key = ec.generate_private_key(ec.SECP256R1())
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        secret = key.private_bytes(*form).decode()
    with listening() as (listener, at):

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            request = Request(scope, receive)
            challenge = {"WWW-Authenticate": f'Bearer resource_metadata="{at}/resource"'}
            match scope["path"]:
                case "/resource":
                    response: Response = JSONResponse(
                        {"resource": f"{at}/mcp", "authorization_servers": [at]}
                    )
                case "/.well-known/oauth-authorization-server":
                    ends = {"authorization_endpoint": f"{at}/authorize", "token_endpoint": f"{at}/token"}
                    response = JSONResponse({"issuer": at, "response_types_supported": ["code"], **ends})
                case "/token":
                    form = dict(parse_qsl((await request.body()).decode()))
                    asked.append(form | {"by": request.headers.get("authorization", "")})
                    response = JSONResponse({"access_token": f"token-{len(asked)}", "token_type": "Bearer"})
                case _ if request.headers.get("authorization", "").startswith("Bearer token-"):
                    response = JSONResponse({})
                case _:
                    response = Response(status_code=401, headers=challenge)
            await response(scope, receive, send)

        def target(**more: str) -> LoginTarget:
            given = {"client_id": "bot", "client_secret": secret, "grant": "client_credentials", "issuer": at}
            client = OAuthClient(**{**given, "algorithm": "ES256", **more})  # type: ignore[arg-type]
            return LoginTarget("notes", "http", f"{at}/mcp", ".mcp.json", client=client)

        with serving(listener, answer):
            login = await current_login(target(), store)
            assert login is not None
            # It is used until it is refused.
            assert await current_login(target(), store) == login
            again = await current_login(target(), store, refused=login.access_token)
            assert again is not None
            assert (login.access_token, again.access_token) == ("token-1", "token-2")
            await store.forget(target())
            with pytest.raises(ConnectionFailed, match=r"no login|cannot be used.*issuer"):
                await current_login(target(issuer="https://auth.example.com"), store)
    assert {each["grant_type"] for each in asked} == {"client_credentials"}
    assert len(asked) == 2
    for each in asked:
        assert each["by"].startswith("Basic ") is not signs
        assert ("client_assertion" in each) is signs
    with pytest.raises(msgspec.ValidationError, match="needs clientId, clientSecret and issuer"):
        oauth_client({"grant": "client_credentials", "clientId": "bot"}, str)


async def test_a_server_that_offers_no_login_or_needs_none_says_so(store: LoginStore) -> None:
    async def app(scope: Any, _receive: Any, send: Any) -> None:
        status = {"/keyed": 401, "/open": 400, "/broken": 503}.get(scope["path"], 404)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    with listening() as (listener, at), serving(listener, uvicorn_app := Seen(app)):
        target = LoginTarget("notes", "http", f"{at}/keyed", ".mcp.json", {"X-Tenant": "me"})
        assert "notes asks for a key and offers no login: set its key in .mcp.json" in await failing(
            target, store
        )
        assert "notes needs no login" in await failing(replace(target, address=f"{at}/open"), store)
        assert "HTTP 503" in await failing(replace(target, address=f"{at}/broken"), store)
        assert uvicorn_app.requests
    assert "notes cannot be reached" in await failing(target, store)


async def test_metadata_of_somebody_else_is_not_believed(notes: Place, store: LoginStore) -> None:
    """Neither a resource nor an issuer that is not the one that was asked, nor an address without encryption."""

    def answers(at: str, path: str) -> dict[str, Any]:
        resource = {"resource": f"{at}{path}", "authorization_servers": [f"{at}/as{path}"]}
        issuer = {
            "issuer": f"{at}/as{path}", "authorization_endpoint": f"{at}/a", "token_endpoint": f"{at}/t",
        }  # fmt: skip
        return {
            "/resource": {"pr": {**resource, "resource": "https://bank.example/mcp"}, "as": issuer},
            "/issuer": {"pr": resource, "as": {**issuer, "issuer": "https://bank.example"}},
            "/plain": {"pr": {**resource, "authorization_servers": ["http://plain.example"]}, "as": issuer},
            "/endless": {"pr": resource, "as": {**issuer, "filler": "x" * 300_000}},
            "/page": {
                "pr": resource,
                "as": {
                    **issuer,
                    "registration_endpoint": f"{at}/register",
                    "authorization_endpoint": "http://plain.example/a",
                },
            },
        }[path]

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        path, status, body = scope["path"], 200, {}
        if path == "/register":
            body = {"client_id": "x", "redirect_uris": ["http://localhost/callback"]}
        elif path.startswith("/.well-known/oauth-protected-resource"):
            body = answers(at, path.removeprefix("/.well-known/oauth-protected-resource"))["pr"]
        elif path.startswith("/.well-known/oauth-authorization-server/as"):
            body = answers(at, path.removeprefix("/.well-known/oauth-authorization-server/as"))["as"]
        else:
            status = 401
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    with listening() as (listener, at), serving(listener, Seen(app)):
        for path, why in (
            ("/resource", "Protected resource https://bank.example/mcp does not match"),
            ("/issuer", "issuer mismatch"),
            ("/plain", "http://plain.example.* is not encrypted: a login needs https"),
            ("/endless", "127.0.0.1 sends too much data for a login"),
            ("/page", "http://plain.example.* is not encrypted"),
        ):
            message = await failing(LoginTarget("notes", "http", f"{at}{path}", ".mcp.json"), store)
            assert "the login that notes offers cannot be used" in message, path
            assert re.search(why, message), message


async def test_a_public_server_leads_neither_into_a_private_network_nor_to_plain_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def resolve(host: str, _port: int) -> list[str]:
        return ["93.184.215.14"] if host == "notes.example" else ["169.254.169.254"]

    monkeypatch.setattr(dialer, "resolve_host", resolve)
    async with login_client("https://notes.example/mcp") as client:
        with pytest.raises(FetchRefused, match=r"169\.254\.169\.254, which is not a public address"):
            await client.get("https://login.example/.well-known/oauth-authorization-server")
        for address in ("http://notes.example/token", "file:///etc/passwd"):
            with pytest.raises(FetchRefused, match="is not encrypted"):
                await client.get(address)
    check_address("http://127.0.0.1:8000/mcp")


async def test_a_keyring_has_the_login(notes: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: dict[tuple[str, str], str] = {}

    class Ring:
        def get_password(self, service: str, username: str) -> str | None:
            return keys.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            keys[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del keys[service, username]

    state = tmp_path / "state"
    store, target = LoginStore(state, cast("Any", Ring)), notes.target()
    assert await log_in(target, store, browse) == "keyring"
    login = await store.load(target)
    assert login is not None
    assert login.access_token in notes.accounts.tokens
    assert not any(secret in (state / "logins.json").read_text() for secret in login.secrets)

    # A keyring that waits for its owner holds nothing up.
    locked = threading.Event()

    class Locked(Ring):
        def get_password(self, service: str, username: str) -> str | None:
            locked.wait()
            return None

        def set_password(self, service: str, username: str, password: str) -> None:
            locked.wait()

    with monkeypatch.context() as patch:
        patch.setattr(stores, "_SECONDS", 0.05)
        with pytest.raises(ConnectionFailed, match="the keyring with its login did not answer: unlock it"):
            await LoginStore(state, cast("Any", Locked)).load(target)
        assert (
            await LoginStore(state, cast("Any", Locked)).save(
                replace(target, address="https://b.example"), login
            )
            == "file"
        )
    locked.set()

    # Without the extra, it cannot be read there, and others are in the file.
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "keyring", None)
        with pytest.raises(
            ConnectionFailed, match="its login from the keyring needs the extra keyring, which is not"
        ):
            await LoginStore(state).load(target)
        assert await LoginStore(state).save(replace(target, address="https://c.example"), login) == "file"
    assert await store.forget(target)
    assert keys == {}
    await store.save(target, login)
    keys.clear()
    with pytest.raises(ConnectionFailed, match="the keyring no longer has its login: log in again"):
        await store.load(target)


async def test_a_renewal_that_takes_longer_than_the_agent_waits_is_stored(
    store: LoginStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = LoginTarget("notes", "http", "https://notes.example/mcp", ".mcp.json")
    new, answered, stored = StoredLogin(access_token="access-0123456789"), asyncio.Event(), asyncio.Event()

    async def renewed(*_: Any, **__: Any) -> StoredLogin:
        await answered.wait()
        await store.save(target, new)
        stored.set()
        return new

    monkeypatch.setattr(flow, "current_login", renewed)
    headers = LoginHeaders(tmp_path, str, store)
    headers.command(target)
    monkeypatch.setattr(headers_of_logins, "_SECONDS", 0.01)
    assert await headers.headers("notes", by_agent=True) == {}
    answered.set()
    async with asyncio.timeout(PATIENCE):
        await stored.wait()
    assert await store.load(target) == new
    await headers.close()


async def test_a_login_that_cannot_be_used_gives_no_header(store: LoginStore, tmp_path: Path) -> None:
    target = LoginTarget("notes", "http", "https://notes.example/mcp", ".mcp.json")
    known = {"client_id": "ua-tui", "redirect_uris": ["http://localhost/callback"]}
    await store.save(
        target,
        # What another version of the program stored.
        StoredLogin(access_token="a", refresh_token="r", expires_at=1.0, client=known, server={"issuer": 3}),
    )
    headers = LoginHeaders(tmp_path, str, store)
    headers.command(target)
    assert await headers.headers("notes") == {}
    await headers.close()


def test_no_keyring_is_used_that_would_ask_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backends import fail, null

    for backend in (fail.Keyring(), null.Keyring()):  # type: ignore[no-untyped-call]
        monkeypatch.setattr(keyring, "get_keyring", lambda backend=backend: backend)
        assert stores.system_keyring() is None


async def test_a_program_gives_the_agent_its_header(notes: Place, store: LoginStore, tmp_path: Path) -> None:
    known: list[str] = []
    headers = LoginHeaders(tmp_path, known.append, store)
    await headers.start()
    target = notes.target()
    command = headers.command(target)
    assert (tmp_path / "logins").stat().st_mode & 0o777 == 0o600

    async def asked(command: str) -> dict[str, str]:
        program = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
        output, _ = await program.communicate()
        found: dict[str, str] = json.loads(output)
        return found

    assert await asked(command) == {"Authorization": ""}
    await log_in(target, store, browse)
    login = await store.load(target)
    assert login is not None
    assert await asked(command) == {"Authorization": f"Bearer {login.access_token}"}
    assert known == list(login.secrets)
    assert not any(secret in command for secret in login.secrets)
    # Only what was given to the agent is given again by its name.
    assert await headers.headers("other") == {}
    # A login belongs to an address, whatever has its name.
    elsewhere = replace(target, address="https://elsewhere.example/mcp")
    assert await asked(headers.command(elsewhere)) == {"Authorization": ""}
    assert not headers.made_at(target.name)
    headers.command(target)
    made_at = headers.made_at(target.name)
    # What this program gets for itself was not given to the agent.
    given = {"Authorization": f"Bearer {login.access_token}"}
    assert await headers.headers(target.name) == given
    assert headers.made_at(target.name) == made_at != ""
    # The agent asks again because what it was given was refused.
    renewed = await headers.headers(target.name, by_agent=True)
    assert renewed["Authorization"].partition(" ")[2] not in ("", login.access_token)
    assert headers.made_at(target.name) > made_at
    notes.accounts.renewals.clear()
    assert await headers.headers(target.name, by_agent=True) == {}
    await headers.close()
