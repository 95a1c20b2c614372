"""The address of the team's database: an option of the commands of a team, or the setting `team`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ua_tui.core.errors import SettingsError

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings


def add_address(parser: argparse.ArgumentParser, option: str, about: str) -> None:
    """Add the option that names the database, `--to` or `--from`; its value is `args.address`."""
    parser.add_argument(
        option,
        dest="address",
        metavar="ADDRESS",
        help=f"{about}, such as postgresql://user@host/database; the password is in ~/.pgpass or PGPASSWORD"
        " (default: the setting team)",
    )


def team_address(given: str | None, settings: Settings) -> Address:
    """The address that was given, else the one of the setting `team`.

    Raises:
        SettingsError: neither is there, or it has a password, or it is no address.
    """
    from ua_tui.core.postgres.address import Address

    # An empty address is a mistake, such as a variable that is not set: it does not mean another database.
    text = settings.team if given is None else given
    if text is None:
        raise SettingsError(
            "no database of a team is named: give its address, or set `team` (`ua-tui config set team ADDRESS`)"
        )
    return Address.parse(text)


def optional_address(given: str | None, settings: Settings) -> Address | None:
    """The address that was given, else the one of the setting `team`; None if there is neither.

    Raises:
        SettingsError: it has a password, or it is no address.
    """
    return team_address(given, settings) if given is not None or settings.team else None
