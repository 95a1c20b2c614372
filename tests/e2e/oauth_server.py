"""An MCP server with a login, and the authorization server of the `mcp` package behind it.

`oauth_server.py PORT [--transport http|sse] [--lifetime SECONDS] [--closed ID] [--refuses]`

Whoever opens the page of the login has agreed at once. Tokens hold for `--lifetime` seconds, and each can be renewed
once. With `--closed` no program can register, and only the one with that id is known. With `--refuses` every login is
refused. `POST /revoke-all` ends all access tokens, and with `?renewal` also what renews them; `GET /seen` gives the
requests, as lines. After `POST /demand` tools are called only with the scope `more`.
"""

from __future__ import annotations

import argparse
import secrets
import time
from typing import Any
from urllib.parse import urlencode

from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response


class Accounts:
    """Everything that the authorization server knows."""

    def __init__(self, issuer: str, *, lifetime: int = 3600, closed: str = "", refuses: bool = False) -> None:
        self.issuer = issuer
        self.lifetime = lifetime
        self.refuses = refuses
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.renewals: dict[str, RefreshToken] = {}
        if closed:
            self.clients[closed] = _AnyPort(
                client_id=closed,
                client_secret="a-secret-of-the-client",
                token_endpoint_auth_method="client_secret_basic",
                scope="notes",
            )

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.refuses:
            raise AuthorizeError("access_denied", "not today")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return f"{params.redirect_uri}?{urlencode({'code': code.code, 'state': params.state or ''})}"

    async def load_authorization_code(
        self, _client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, _client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.renewals.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        return self._issue(client, scopes, None)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)

    async def exchange_identity_assertion(self, *_: Any) -> OAuthToken:
        raise TokenError("unsupported_grant_type")

    def _issue(
        self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None
    ) -> OAuthToken:
        access, renewal = f"access-{secrets.token_urlsafe(24)}", f"renewal-{secrets.token_urlsafe(24)}"
        self.tokens[access] = AccessToken(
            token=access,
            client_id=client.client_id,
            scopes=scopes,
            expires_at=int(time.time()) + self.lifetime,
            resource=resource,
        )
        self.renewals[renewal] = RefreshToken(token=renewal, client_id=client.client_id, scopes=scopes)
        return OAuthToken(
            access_token=access, refresh_token=renewal, expires_in=self.lifetime, scope=" ".join(scopes)
        )


async def _next(pieces: list[Any], receive: Any) -> Any:
    """The next piece of a request of which some were read."""
    return pieces.pop(0) if pieces else await receive()


class _AnyPort(OAuthClientInformationFull):
    """A program that may use any port for its redirect address, as RFC 8252 asks for."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        assert redirect_uri is not None
        assert str(redirect_uri).startswith("http://localhost:")
        return redirect_uri


def make_server(at: str, accounts: Accounts, *, registers: bool = True, path: str = "/mcp") -> MCPServer[Any]:
    """The MCP server at an address, whose logins `accounts` has."""
    server = MCPServer[Any](
        "notes",
        log_level="ERROR",
        auth_server_provider=accounts,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(accounts.issuer),
            resource_server_url=AnyHttpUrl(f"{at}{path}"),
            required_scopes=["notes"],
            client_registration_options=ClientRegistrationOptions(
                enabled=registers, valid_scopes=["notes", "more"], default_scopes=["notes"]
            ),
            validate_token_resource=False,
        ),
    )

    @server.tool(structured_output=False)
    async def take_note(text: str) -> str:
        """Take a note."""
        return f"noted {text}"

    return server


def main() -> None:
    """Serve until the end."""
    import uvicorn

    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--transport", default="http")
    parser.add_argument("--lifetime", type=int, default=3600)
    parser.add_argument("--closed", default="")
    parser.add_argument("--refuses", action="store_true")
    args = parser.parse_args()
    at = f"http://127.0.0.1:{args.port}"
    accounts = Accounts(at, lifetime=args.lifetime, closed=args.closed, refuses=args.refuses)
    path = "/sse" if args.transport == "sse" else "/mcp"
    server = make_server(at, accounts, registers=not args.closed, path=path)
    seen: list[str] = []

    async def revoke_all(request: Request) -> Response:
        accounts.tokens.clear()
        if "renewal" in request.query_params:
            accounts.renewals.clear()
        return PlainTextResponse("done")

    demands: list[str] = []

    async def demand(_request: Request) -> Response:
        demands.append("notes more")
        return PlainTextResponse("done")

    async def show_seen(_request: Request) -> Response:
        return PlainTextResponse("\n".join(seen))

    server.custom_route("/revoke-all", methods=["POST"])(revoke_all)
    server.custom_route("/demand", methods=["POST"])(demand)
    server.custom_route("/seen", methods=["GET"])(show_seen)
    app: Any = server.sse_app() if args.transport == "sse" else server.streamable_http_app()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(f"{scope['method']} {scope['path']}")
            given = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
            token = accounts.tokens.get(given)
            if demands and token is not None and "more" not in token.scopes:
                body = await receive()
                if b'"tools/call"' in body["body"]:
                    refusal = f'Bearer error="insufficient_scope", scope="{demands[0]}"'
                    await Response(status_code=403, headers={"WWW-Authenticate": refusal})(
                        scope, receive, send
                    )
                    return
                pieces = [body]
                await app(scope, lambda: _next(pieces, receive), send)
                return
        await app(scope, receive, send)

    uvicorn.run(watched, host="127.0.0.1", port=args.port, log_level="error")


if __name__ == "__main__":
    main()
