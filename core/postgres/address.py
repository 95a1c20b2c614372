"""The address of a team's database: a PostgreSQL URL without a password."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from core.errors import SettingsError
from core.text import clean_line

__all__ = ["Address"]

_SCHEMES = ("postgresql", "postgres")
_SECRETS = ("password", "sslpassword")
_NO_SECRETS = (
    "a password belongs neither on the command line nor in a settings file: "
    "put it into ~/.pgpass, or set PGPASSWORD"
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a team's database is.

    Attributes:
        url: as libpq reads it; it has no password.
    """

    url: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address such as `postgresql://user@host/database?sslmode=verify-full`.

        Raises:
            SettingsError: it is not the URL of a PostgreSQL database, or has a password; the message shows neither.
        """
        text = text.strip()
        try:
            parts = urlsplit(text)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
            # Several hosts are separated by commas, which `port` cannot read.
            password = parts.password
        except ValueError as error:
            raise SettingsError(f"the address of the team's database cannot be read: {_EXAMPLE}") from error
        if parts.scheme not in _SCHEMES or "\0" in unquote(text):
            raise SettingsError(f"the address of a team's database begins with postgresql://: {_EXAMPLE}")
        if password is not None or any(name in _SECRETS for name, _ in options):
            raise SettingsError(f"the address of the team's database has a password: {_NO_SECRETS}")
        return cls(text)

    @property
    def shown(self) -> str:
        """The address for a person: host and database, in one line."""
        parts = urlsplit(self.url)
        place = parts.netloc.rpartition("@")[2] or dict(parse_qsl(parts.query)).get("host", "this machine")
        return clean_line(
            f"{unquote(parts.path).lstrip('/') or 'the default database'} on {unquote(place)}", 200
        )

    def __str__(self) -> str:
        return self.shown


_EXAMPLE = "write it as postgresql://user@host/database"
