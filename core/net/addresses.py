"""Public and private network addresses, and the notation of allowed exceptions."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

import msgspec

_CLOSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's own service, inside a public range
    )
)  # fmt: skip
_OPEN_V6 = ipaddress.IPv6Network("2000::/3")
_CLOSED_V6 = tuple(
    ipaddress.IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)


def ascii_host(host: str) -> str | None:
    """A host as it is requested: in lower case, and encoded as ASCII; None if that is impossible."""
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            return None
    return host.lower()


def is_public(address: str) -> bool:
    """Whether a text is an IP address of the public internet."""
    if "%" in address:
        return False
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        return found in _OPEN_V6 and found.is_global and not any(found in network for network in _CLOSED_V6)
    return found.is_global and not any(found in network for network in _CLOSED_V4)


def parse_endpoint(text: str) -> tuple[str, int]:
    """Split `host:port`, with the host in lower case and without the brackets of IPv6.

    Raises:
        ValueError: it is not a host and a port.
    """
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]").rstrip(".").lower()
    if not colon or not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is not HOST:PORT; write it like 127.0.0.1:8000")
    return host, int(port)


class Routes(msgspec.Struct, frozen=True):
    """Host suffixes with a fixed address: `.example` applies to every name below it."""

    table: tuple[tuple[str, tuple[str, int]], ...] = ()

    @classmethod
    def parse(cls, routes: Mapping[str, str]) -> Routes:
        """Make routes from a mapping of host suffix to `host:port`."""
        return cls(
            tuple(
                (suffix.strip().strip(".").lower(), parse_endpoint(place))
                for suffix, place in routes.items()
                if suffix.strip().strip(".")
            )
        )

    def place_of(self, host: str) -> tuple[str, int] | None:
        """The address to connect to instead of the one that the host resolves to, or None."""
        name = host.rstrip(".").lower()
        for suffix, place in self.table:
            if name == suffix or name.endswith(f".{suffix}"):
                return place
        return None
