"""The address of a team's database: a PostgreSQL URL without a password."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.postgres.connection import Connections

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = frozenset(
    ["password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"]
)
_NO_SECRETS = (
    "a password must not be on the command line or in a settings file: put it in ~/.pgpass, or set PGPASSWORD"
)
_EXAMPLE = "write it as postgresql://user@host/database"
_PERCENT = "write a special character of a name as % and two hex digits, for example @ as %40"
# What no URL has as it is. libpq would accept some of it.
_NOT_IN_A_URL = r"[\x00-\x20\x7f#\\\ud800-\udfff]|%(?![0-9A-Fa-f]{2})|%00"
_HOST = r"(\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::([0-9]*))?"


class Address(msgspec.Struct, frozen=True):
    """Where a team's database is.

    Attributes:
        url: as libpq reads it; it has no password.
        connections: those that the parts of this program share, as in a worker; None if each makes its own.
        reader: for whom a worker reads the knowledge base, if not for itself.
    """

    url: str
    connections: Connections | None = None
    reader: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address such as `postgresql://user@host/database?sslmode=verify-full`.

        Raises:
            SettingsError: it is not the URL of a PostgreSQL database, or has a password; the message shows neither.
        """
        text = text.strip()
        if not text.startswith(_SCHEMES):
            raise SettingsError(f"the address of a team's database begins with postgresql://: {_EXAMPLE}")
        user, hosts, database, options = _parts(text)
        names = {""}
        # psycopg reads no other characters than those of UTF-8.
        with suppress(ValueError):
            unquote(text, errors="strict")
            names = {*_options(options)}
        if ":" in user or names & _SECRETS:
            raise SettingsError(f"the address of the team's database has a password: {_NO_SECRETS}")
        # A password with such characters would be divided between the host, the port and the database.
        if "@" in f"{hosts}{database}{options}":
            raise SettingsError(f"the address of the team's database has more than one @: {_PERCENT}")
        sound = not re.search(_NOT_IN_A_URL, text) and "" not in names
        if not (sound and all(map(_is_host, hosts.split(",")))):
            raise SettingsError(f"the address of the team's database cannot be read: {_EXAMPLE}; {_PERCENT}")
        return cls(text)

    @property
    def options(self) -> dict[str, str]:
        """The options behind the question mark, by name."""
        return _options(_parts(self.url)[3])

    def reading_for(self, role: str) -> Self:
        """The address over which a worker finds only what this role may find in the knowledge base."""
        before = self.options.get("options") or os.environ.get("PGOPTIONS") or ""
        name = re.sub(r"([\\\s])", r"\\\1", role)
        options = {**self.options, "options": f"{before} -c ua_tui.reader={name}".strip()}
        url = self.url.partition("?")[0]
        pairs = [f"{quote(key, safe='')}={quote(value, safe='/')}" for key, value in options.items()]
        return type(self)(f"{url}?{'&'.join(pairs)}", self.connections, role)

    def __str__(self) -> str:
        """The address for a person: database and host, in one line."""
        (_, hosts, database, _), options = _parts(self.url), self.options
        place = options.get("host") or unquote(hosts) or options.get("hostaddr")
        name = options.get("dbname") or unquote(database)
        service = options.get("service")
        if not place:
            place = f"the service {service}" if service else os.environ.get("PGHOST") or "this machine"
        return clean_line(f"{name or 'the default database'} on {place}", 200)


def connection_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that decide how libpq connects, such as PGPASSWORD, PGPASSFILE and PGSSLMODE.

    A process that connects must be given them in a way that others cannot see.
    """
    return {name: value for name, value in environ.items() if name.startswith("PG")}


def _parts(url: str) -> tuple[str | Any, ...]:
    """User, hosts, database and options as libpq divides an address, still percent-encoded."""
    # `urlsplit` divides some addresses otherwise than libpq, which could hide a password from this check.
    found = re.fullmatch(
        r"(?:([^@/]*)@)?([^/?]*)(?:/([^?]*))?(?:\?(.*))?", url.partition("://")[2], re.DOTALL
    )
    assert found is not None
    return found.groups("")


def _options(text: str) -> dict[str, str]:
    """The options by name.

    Raises:
        ValueError: one has no value.
    """
    pairs = (each.split("=", 1) for each in text.split("&") if text)
    return {unquote(name): unquote(value) for name, value in pairs}


def _is_host(text: str) -> bool:
    found = re.fullmatch(_HOST, text)
    return found is not None and (not found[2] or 0 < int(found[2]) <= 65535)
