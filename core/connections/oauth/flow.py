"""Logs in to an MCP server in a browser, and renews the login, with the OAuth client of the `mcp` package.

That client finds the authorization server (RFC 9728 and 8414), registers this program with it, and exchanges the code
(PKCE). Here are the parts that it leaves to a program.

A login is requested by https alone, and from public addresses alone unless the server is in a private network itself:
what a server says of its login must not lead this program to other machines of the user's network.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit
from urllib.request import getproxies

import msgspec

from ua_tui.core.connections.oauth.redirect import Redirect, receiving
from ua_tui.core.connections.oauth.store import LoginStore, StoredLogin
from ua_tui.core.connections.oauth.target import LoginTarget, OAuthClient
from ua_tui.core.errors import ConnectionFailed, FetchRefused, advise
from ua_tui.core.events.codec import from_json
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.net.addresses import is_public
from ua_tui.core.net.urls import is_loopback
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

    from ua_tui.core.net.dialer import Resolver

_SECONDS = 20.0


def check_address(address: str) -> None:
    """Check that an address may be used for a login.

    Raises:
        FetchRefused: it is neither https nor on this machine.
    """
    if urlsplit(address).scheme != "https" and not is_loopback(address):
        shown = clean_line(address.partition("?")[0], 120)
        raise FetchRefused(f"{shown} is not encrypted: a login needs https")


@asynccontextmanager
async def login_client(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for the requests of a login to the server at an address.

    Behind a proxy it is the proxy that resolves names, and only encryption is checked.
    """
    import httpx2

    from ua_tui.core.net.dialer import GuardedBackend, resolve_host

    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    options: JsonObject = {}
    if not getproxies().keys() & {"http", "https", "all"} and await _is_public_host(host, port, resolve_host):
        import httpcore2

        transport = httpx2.AsyncHTTPTransport()
        # The class has no parameter for it.
        pool: Any = transport._pool
        # By their methods these are the same as those of httpcore.
        backend: Any = httpcore2.AnyIOBackend()
        pool._network_backend = GuardedBackend(
            frozenset({(host, port)}), resolve=resolve_host, backend=backend
        )
        options["transport"] = transport

    async def on_request(request: httpx2.Request) -> None:
        check_address(str(request.url))

    class Limited(httpx2.AsyncByteStream):
        """The bytes of an answer, up to a limit."""

        def __init__(self, stream: httpx2.AsyncByteStream, host: str) -> None:
            self._stream = stream
            self._host = host

        async def __aiter__(self) -> AsyncIterator[bytes]:
            length = 0
            async for piece in self._stream:
                length += len(piece)
                # Bytes of an answer as it is sent; what is compressed may become a thousand times as much.
                if length > (256 << 10):
                    raise FetchRefused(f"{clean_line(self._host, 100)} sends too much data for a login")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def on_response(response: httpx2.Response) -> None:
        stream: Any = response.stream
        response.stream = Limited(stream, response.url.host)

    hooks: Any = {"request": [on_request], "response": [on_response]}
    async with httpx2.AsyncClient(timeout=_SECONDS, event_hooks=hooks, **options) as client:
        yield client


async def _is_public_host(host: str, port: int, resolve: Resolver) -> bool:
    try:
        return all(map(is_public, await resolve(host, port)))
    except (OSError, UnicodeError):
        # The request itself reports it.
        return True


# The client logs tracebacks with the answers of servers, which may have tokens in them. Its errors are reported here.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)

LOGIN_SECONDS = 600.0
"""Seconds that a person has for a login."""
_LONGEST = 200

Show = Callable[[str, Redirect], Awaitable[None]]
"""Shows the address of the login to a person; an address that is pasted goes to the `Redirect`."""


def _failure(problem: str, target: LoginTarget, **values: object) -> ConnectionFailed:
    name, source = clean_line(target.name, 60), clean_line(target.source, _LONGEST)
    return ConnectionFailed(advise(f"login.{problem}", name=name, source=source, **values), code=problem)


async def log_in(
    target: LoginTarget, store: LoginStore, show: Show, *, seconds: float = LOGIN_SECONDS
) -> Literal["keyring", "file"]:
    """Log in to a server in a browser, and store the login; returns where.

    Raises:
        ConnectionFailed: the server or a person refused, needs no login, or something is wrong with it.
        WorkspaceError: the logins cannot be read, or this one cannot be stored.
    """
    try:
        check_address(target.address)
        await asyncio.to_thread(import_module, "mcp.client.auth")
        earlier = None
        with suppress(ConnectionFailed):
            earlier = await store.load(target)
        port = target.client.callback_port
        async with receiving(port or _port_of(earlier), required=port is not None) as redirect:
            return await _log_in(target, store, show, redirect, earlier, seconds)
    except FetchRefused as error:
        raise _failure("bad_login", target, reason=clean_line(str(error), _LONGEST)) from error


async def _log_in(
    target: LoginTarget,
    store: LoginStore,
    show: Show,
    redirect: Redirect,
    earlier: StoredLogin | None,
    seconds: float,
) -> Literal["keyring", "file"]:
    import httpx2
    from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
    from pydantic import ValidationError

    lacking = store.lacks(target)
    # A registration may be for the scope of the first login alone: more needs another one.
    known = _known_client(target, redirect, None if lacking else earlier)
    login = _Login(target, store, known, earlier if lacking else None, show, redirect, seconds, lacking)
    provider = login.start()
    auth = _asking_for_more(provider, lacking) if lacking else provider
    try:
        async with login_client(target.address) as client:
            status = await _request_server(client, target, auth)
    except OAuthRegistrationError as error:
        if provider.context.oauth_metadata is None:
            raise _failure("no_login", target) from error
        raise _failure("no_registration", target, reason=_reason(error)) from error
    except OAuthTokenError as error:
        raise _failure("not_completed", target, reason=_reason(error)) from error
    except (OAuthFlowError, ValidationError) as error:
        raise _failure("bad_login", target, reason=_reason(error)) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise _failure("unreachable", target, reason=_reason(error)) from error
    if login.stored is None:
        if status >= 400 and status not in _ANSWERS:
            raise _failure("unreachable", target, reason=f"HTTP {status}")
        raise _failure("not_needed", target)
    if status in (401, 403):
        await store.forget(target)
        raise _failure("useless", target, status=status)
    return login.stored


_ANSWERS = frozenset({400, 404, 405, 406, 415, 422})
"""What servers say to a request that is not part of a session."""


async def current_login(
    target: LoginTarget, store: LoginStore, *, refused: str | None = None
) -> StoredLogin | None:
    """The login for a server, renewed if it expires soon; None if there is none.

    Args:
        target: the server.
        store: has the login.
        refused: an access token that the server may have refused.

    Raises:
        ConnectionFailed: it has expired and cannot be renewed.
        WorkspaceError: the logins cannot be read, or this one cannot be stored.
    """
    login = await store.load(target)
    if target.client.is_program:
        async with store.renewing():
            if login is None or login.access_token == refused or login.is_over(60.0):
                await log_in(target, store, _show_nobody)
        return await store.load(target)
    # An access token that expires within so many seconds is renewed.
    if login is None or (login.access_token != refused and not login.is_over(60.0)):
        return login
    if login.refresh_token is None and not login.is_over():
        return login
    async with store.renewing():
        newest = await store.load(target)
        if newest is not None and newest.access_token != login.access_token:
            # Another session has renewed it.
            return newest
        try:
            return await _renewed(target, store, login)
        except ConnectionFailed as error:
            if login.is_over() or error.code == "expired":
                raise
            return login


async def _show_nobody(_address: str, _redirect: Redirect) -> None:
    """Show nothing: the program logs in by itself."""


async def _renewed(target: LoginTarget, store: LoginStore, login: StoredLogin) -> StoredLogin:
    if login.refresh_token is None:
        raise _failure("expired", target)
    await asyncio.to_thread(import_module, "mcp.client.auth")
    import httpx2
    from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

    renewal = _Login(target, store, login.client, login)
    provider = renewal.start()
    context = provider.context
    # Only what it has found itself would be known to the client.
    context.oauth_metadata = OAuthMetadata.model_validate(login.server) if login.server else None
    if login.resource:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(login.resource)
    context.token_expiry_time = 1.0
    flow = provider.async_auth_flow(httpx2.Request("POST", target.address))
    try:
        async with login_client(target.address) as client:
            response = await client.send(await anext(flow))
            await response.aread()
            refusal = _refusal(response) if response.status_code in (400, 401) else ""
            if refusal == "invalid_grant":
                over = min(login.expires_at or time.time(), time.time())
                expired = StoredLogin(access_token=login.access_token, expires_at=over, client=login.client)
                await store.save(target, expired)
                raise _failure("expired", target)
            if refusal:
                raise _failure("not_renewed", target, reason=refusal)
            if response.status_code != 200:
                raise _failure("unreachable", target, reason=f"HTTP {response.status_code}")
            await flow.asend(response)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, FetchRefused) as error:
        raise _failure("unreachable", target, reason=_reason(error)) from error
    finally:
        await flow.aclose()
    if renewal.login is None:
        raise _failure("not_completed", target, reason="the answer has no token")
    return renewal.login


async def _request_server(client: Any, target: LoginTarget, auth: httpx2.Auth) -> int:
    """Make a request that a server refuses without a login; returns the last status, after the login."""
    accept = {"Accept": "application/json, text/event-stream"}
    options: JsonObject = {"headers": {**target.headers, **accept}, "auth": auth}
    if target.transport == "http":
        # A server either answers this without a session, or refuses it because there is none.
        options["json"] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    method = "GET" if target.transport == "sse" else "POST"
    async with client.stream(method, target.address, **options) as response:
        return int(response.status_code)


def _asking_for_more(provider: OAuthClientProvider, scope: str) -> httpx2.Auth:
    """The client that logs in for more scope, which the server has asked for in an earlier answer."""
    import httpx2

    class StepUp(httpx2.Auth):
        """Answers the first request in the place of the server."""

        async def async_auth_flow(
            self, request: httpx2.Request
        ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            flow = provider.async_auth_flow(request)
            challenge = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'}
            answer = httpx2.Response(403, headers=challenge, request=await anext(flow))
            with suppress(StopAsyncIteration):
                while True:
                    answer = yield await flow.asend(answer)

    return StepUp()


class _Login(msgspec.Struct, eq=False):
    """What the client of `mcp` has for one login: what it reads and stores, as one `StoredLogin`, and the browser.

    Attributes:
        client: the registration that is known already.
        tokens: those that are to be renewed.
        redirect: the answer of the browser; None for a renewal, which needs no person.
        lacking: scope that is asked for besides that of the configuration.
        stored: where the login was stored; None before that.
        login: the login.
    """

    target: LoginTarget
    store: LoginStore
    client: JsonMapping | None = None
    tokens: StoredLogin | None = None
    show: Show = _show_nobody
    redirect: Redirect | None = None
    seconds: float = 0.0
    lacking: str = ""
    provider: OAuthClientProvider | None = None
    stored: Literal["keyring", "file"] | None = None
    login: StoredLogin | None = None

    def start(self) -> OAuthClientProvider:
        """Make the client of `mcp`."""
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import OAuthClientMetadata
        from pydantic import AnyUrl

        if self.target.client.is_program:
            self.provider = _program_provider(self.target.address, self, self.target.client)
            return self.provider
        address = "http://localhost/callback" if self.redirect is None else self.redirect.address
        metadata = OAuthClientMetadata(client_name="ua-tui", redirect_uris=[AnyUrl(address)])
        self.provider = OAuthClientProvider(self.target.address, metadata, self, self.open, self.answer)
        return self.provider

    async def open(self, address: str) -> None:
        """Show the address of the login."""
        if self.redirect is None:
            raise _failure("expired", self.target)
        check_address(address)
        if self.target.client.scope:
            parts = urlsplit(address)
            query = [(name, value) for name, value in parse_qsl(parts.query) if name != "scope"]
            query.append(("scope", f"{self.target.client.scope} {self.lacking}".rstrip()))
            address = urlunsplit(parts._replace(query=urlencode(query)))
        self.redirect.expect(parse_qs(urlsplit(address).query)["state"][0])
        # How a configured secret is sent; a registration says it itself.
        context = self._context
        client, server = context.client_info, context.oauth_metadata
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            known = (server and server.token_endpoint_auth_methods_supported) or ["client_secret_basic"]
            basic = "client_secret_basic" in known
            client.token_endpoint_auth_method = "client_secret_basic" if basic else "client_secret_post"
        await self.show(address, self.redirect)

    async def answer(self) -> AuthorizationCodeResult:
        """Wait for the redirect."""
        from mcp.shared.auth import AuthorizationCodeResult

        assert self.redirect is not None
        try:
            async with asyncio.timeout(self.seconds):
                values = await self.redirect.answer
        except TimeoutError as error:
            raise _failure("timeout", self.target, seconds=self.seconds) from error
        if "code" not in values:
            reason = values.get("error_description") or values.get("error", "")
            raise _failure("refused", self.target, reason=clean_line(reason, _LONGEST))
        return AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))

    @property
    def _context(self) -> OAuthContext:
        assert self.provider is not None
        return self.provider.context

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens that are to be renewed."""
        from mcp.shared.auth import OAuthToken

        if self.tokens is None:
            return None
        return OAuthToken(
            access_token=self.tokens.access_token,
            refresh_token=self.tokens.refresh_token,
            scope=self.tokens.scope,
        )

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens immediately: the earlier ones may have become invalid."""
        context = self._context
        self.login = StoredLogin(
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
            scope=tokens.scope,
            client=_plain(context.client_info) or {},
            server=_plain(context.oauth_metadata),
            resource=_plain(context.protected_resource_metadata),
        )
        self.stored = await self.store.save(self.target, self.login)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The registration that is known already."""
        from mcp.shared.auth import OAuthClientInformationFull

        return OAuthClientInformationFull.model_validate(self.client) if self.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration; it is stored with the tokens."""


def _program_provider(address: str, login: _Login, client: OAuthClient) -> OAuthClientProvider:
    """The client that logs in by itself, with its secret or with what its private key signs."""
    from mcp.client.auth.extensions import client_credentials as own

    name, secret = client.client_id or "", client.client_secret or ""
    if not secret.startswith("-----BEGIN"):
        return own.ClientCredentialsOAuthProvider(
            address, login, name, secret, scope=client.scope, issuer=client.issuer
        )
    signed = own.SignedJWTParameters(
        issuer=name, subject=name, signing_key=secret, signing_algorithm=client.algorithm
    )
    sign = signed.create_assertion_provider()
    return own.PrivateKeyJWTOAuthProvider(address, login, name, sign, client.scope, client.issuer)


def _known_client(target: LoginTarget, redirect: Redirect, earlier: StoredLogin | None) -> JsonMapping | None:
    """The registration to use: that of the configuration, or the earlier one for the same redirect address."""
    if target.client.client_id is not None:
        return {
            "client_id": target.client.client_id,
            "client_secret": target.client.client_secret,
            "redirect_uris": [redirect.address],
        }
    if earlier is not None and earlier.client.get("redirect_uris") == [redirect.address]:
        return earlier.client
    return None


def _port_of(login: StoredLogin | None) -> int | None:
    addresses = (login.client.get("redirect_uris") if login is not None else None) or ()
    with suppress(ValueError):
        return next((urlsplit(each).port for each in addresses if is_loopback(each)), None)
    return None


def _plain(model: Any) -> JsonObject | None:
    return model.model_dump(mode="json", exclude_none=True) if model is not None else None


def _refusal(response: Any) -> str:
    """What a server says about a renewal that it refuses: the code, with the description of any but `invalid_grant`."""
    answer = from_json(response.content)
    code = str(answer.get("error") or "") if isinstance(answer, dict) else ""
    if not code or code == "invalid_grant":
        return code or f"HTTP {response.status_code}"
    return clean_line(f"{code} {answer.get('error_description') or ''}".rstrip(), _LONGEST)


def _reason(error: BaseException) -> str:
    """The text of an error; of an answer that is not valid only what is wrong, as it may have a token in it."""
    from pydantic import ValidationError

    text = str(error) or type(error).__name__
    for invalid in (error, error.__context__):
        if isinstance(invalid, ValidationError):
            problems = invalid.errors(include_url=False, include_context=False, include_input=False)
            text = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems)
    return clean_line(text, _LONGEST)
