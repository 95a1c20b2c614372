"""Which credentials a session has for its services: by name and place, never by value."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import SettingsError
from ua_tui.core.provider.claude_login import find_login
from ua_tui.core.provider.clouds import model_server
from ua_tui.core.provider.probe import shown_server
from ua_tui.core.settings.loading import set_elsewhere
from ua_tui.core.settings.model import ENVIRONMENT, Settings
from ua_tui.core.settings.places import USER_FILE, Places
from ua_tui.core.settings.saving import stored_names
from ua_tui.core.settings.sources import SourcedValue
from ua_tui.core.text import clean_line

Service = Literal["model", "composio", "web reader", "logfire"]

_SECRETS: tuple[tuple[Service, str], ...] = (
    ("model", "api_key"),
    ("model", "auth_token"),
    ("composio", "composio_api_key"),
    ("web reader", "web_reader_key"),
    ("logfire", "logfire_token"),
)


class Credential(msgspec.Struct, frozen=True):
    """A credential by its usual name, and where it was found; without a place it is missing."""

    service: Service
    name: str
    place: str = ""

    @property
    def found(self) -> bool:
        """Whether there is one."""
        return bool(self.place)


def credentials_of(settings: Settings, places: Places) -> list[Credential]:
    """Every possible credential, grouped by service; reads the files that may hold them.

    A credential that is in the settings but in no source was given by the program.
    """
    names = [name for _, name in _SECRETS]
    try:
        there = set_elsewhere(names, replace(places, trust=settings.folder.answer_once))
    except SettingsError:
        # A file became invalid after the start: what was read then is still used.
        there = {}
    in_user_file = stored_names(places.user_file)
    found = []
    for service, name in _SECRETS:
        place = ""
        if getattr(settings, name):
            where = there.get(name)
            if where is not None:
                place = clean_line(_place(where, ENVIRONMENT[name][1]))
            else:
                place = f"your {USER_FILE}" if name in in_user_file else "given by the program"
        found.append(Credential(service, ENVIRONMENT[name][1], place))
    login = clean_line(str(settings.claude_config_dir)) if find_login(settings).usable else ""
    found.insert(2, Credential("model", "Claude login", login))
    return found


def _place(where: SourcedValue, name: str) -> str:
    """Where a setting comes from; a variable is named only if it is not called `name`."""
    match where.place:
        case "environment":
            kind = "environment"
        case ".env":
            kind = str(where.path)
        case _:
            return f"{where.name} in {where.path}"
    return kind if where.name == name else f"{kind}, {where.name}"


def servers_of(settings: Settings) -> dict[str, str]:
    """The addresses of a session's services, without passwords."""
    model = model_server(settings)
    composio = shown_server(settings.composio_base_url) if settings.composio_base_url else "Composio's own"
    return {"model": model, "composio": composio}
