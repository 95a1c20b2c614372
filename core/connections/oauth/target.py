"""What a login is for: the address of a server, and what its configuration says of the login."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.json_values import JsonMapping, JsonObject

_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
_SPELLINGS = {
    "client_id": "client_id",
    "clientId": "client_id",
    "client_secret": "client_secret",
    "clientSecret": "client_secret",
    "scope": "scope",
    "scopes": "scope",
    "callback_port": "callback_port",
    "callbackPort": "callback_port",
    "grant": "grant",
    "issuer": "issuer",
    "algorithm": "algorithm",
}
"""The fields of the table `oauth`, in our spelling and in that of other agents."""


class OAuthClient(msgspec.Struct, frozen=True):
    """How this program is known to an authorization server, for one that does not register programs by itself.

    Attributes:
        client_id: the id that was given to the program there.
        client_secret: the secret that was given with it, or the private key (PEM) that is registered there.
        scope: what the login is for, instead of what the server asks for.
        callback_port: the port of the redirect address; None for any.
        grant: whether a person logs in, or the program itself with its id and secret.
        issuer: the authorization server that alone gets them then.
        algorithm: how it signs with the private key.
    """

    client_id: _Text | None = None
    client_secret: _Text | None = None
    scope: _Text | None = None
    callback_port: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    issuer: Annotated[str, msgspec.Meta(pattern="^https?://")] | None = None
    algorithm: _Text = "RS256"

    def __post_init__(self) -> None:
        """Check that there is what the program logs in with by itself."""
        if self.is_program and not (self.client_id and self.client_secret and self.issuer):
            raise ValueError("client_credentials needs clientId, clientSecret and issuer")

    @property
    def is_program(self) -> bool:
        """Whether the program logs in by itself."""
        return self.grant == "client_credentials"


class LoginTarget(msgspec.Struct, frozen=True):
    """A server that a person may log in to; a login belongs to its address, whatever its name is.

    `name` and `source`, the file it is in, are for messages; `headers` are those of its configuration.
    """

    name: str
    transport: Literal["http", "sse"]
    address: str
    source: str
    headers: Mapping[str, str] = {}
    client: OAuthClient = OAuthClient()

    @property
    def key(self) -> str:
        """Identifies the address, which may contain a secret."""
        return hashlib.sha256(self.address.encode()).hexdigest()

    @property
    def host(self) -> str:
        """The host and the port of the address."""
        parts = urlsplit(self.address)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def oauth_client(table: JsonMapping, fill: Callable[[str], str]) -> OAuthClient:
    """The client of a table `oauth`; `fill` replaces the variables in its texts.

    Raises:
        msgspec.ValidationError: a field has a wrong value.
    """
    values: JsonObject = {
        _SPELLINGS[name]: fill(value) if isinstance(value, str) else value
        for name, value in table.items()
        if name in _SPELLINGS
    }
    return msgspec.convert(values, OAuthClient)
