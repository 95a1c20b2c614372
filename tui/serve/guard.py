"""Access control: requests need the token, and must come from this page."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, repr=False)
class Guard:
    """The rules for every request.

    Where names are given, a request must be for one of them: a page whose own name leads to this machine
    (DNS rebinding) asks for another one. What opens a websocket must come from a page of this very server,
    as browsers let any page open one.

    Args:
        token: what a request must bring; None when none is needed.
        names: the names of this server, in lower case; None when they cannot be known.
    """

    token: str | None
    names: frozenset[str] | None

    def refusal(self, *, host: str, origin: str | None, websocket: bool, tokens: Iterable[str]) -> str | None:
        """Return why a request is refused; None if it is not.

        Args:
            host: the header Host.
            origin: the header Origin; None when there is none.
            websocket: whether the request opens a websocket.
            tokens: what it brings as a cookie or in its address.
        """
        if self.names is not None and _name_of(f"//{host}") not in self.names:
            return "The address of this page does not belong to this server."
        if websocket and not _is_same_place(origin, host):
            return "Another page may not open a session."
        if not self.lets_in(tokens):
            return (
                "This page needs the token that <code>ua-tui serve</code> was given or printed when it started: "
                "open the address it printed, which ends with <code>?token=</code> and the token."
            )
        return None

    def lets_in(self, tokens: Iterable[str]) -> bool:
        """Return whether one of these is the token, in constant time."""
        if self.token is None:
            return True
        wanted = self.token.encode("utf-8", "surrogateescape")
        found = [hmac.compare_digest(each.encode("utf-8", "surrogateescape"), wanted) for each in tokens]
        return any(found)


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine can reach a server that listens at `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def names_of(host: str) -> frozenset[str] | None:
    """Return the names of a server that listens at `host`; None if any name is accepted."""
    return _LOOPBACK_NAMES | {host.lower()} if is_loopback(host) else None


def _name_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_same_place(origin: str | None, host: str) -> bool:
    if origin is None:
        return False
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(host) and parts.netloc.lower() == host.lower()
