"""Which credentials a session has for its services, by name and place, never by value; and the login of Claude Code."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import object_in, text_in
from ua_tui.core.settings.loading import set_elsewhere
from ua_tui.core.settings.model import ENVIRONMENT, Settings
from ua_tui.core.settings.places import USER_FILE, Places
from ua_tui.core.settings.saving import stored_names
from ua_tui.core.text import clean_line


class Login(msgspec.Struct, frozen=True):
    """The state of the login; `usable` says whether a session can be tried with it."""

    usable: bool
    message: str


def find_login(settings: Settings) -> Login:
    """Find the login where the agent looks for it, and check whether it is valid; its tokens are not kept."""
    folder = settings.claude_config_dir or Path.home() / ".claude"
    path = folder / ".credentials.json"
    try:
        with path.open("rb") as file:
            message: Any = json.loads(file.read(1 << 20))
    except FileNotFoundError:
        return Login(False, f"There is no login in {folder} yet.")
    except OSError as error:
        return Login(False, f"The login in {path} cannot be read: {error.strerror}.")
    except (ValueError, RecursionError):
        return Login(False, f"The login in {path} cannot be read: log in again.")
    account = object_in(message, "claudeAiOauth")
    if not (account.get("accessToken") or account.get("refreshToken")):
        return Login(False, f"There is no login in {path}: log in again.")
    until = account.get("expiresAt")
    # In milliseconds; with a refresh token the agent renews it automatically.
    over = isinstance(until, int) and until / 1000 < time.time()
    if over and not account.get("refreshToken"):
        return Login(False, f"The login in {path} has expired: log in again.")
    plan = text_in(account, "subscriptionType")
    of = f"Claude {plan.capitalize()} " if plan.isalnum() else ""
    return Login(True, f"Found a {of}login in {path}.")


def claude_program(settings: Settings) -> Path | None:
    """The Claude Code CLI that the agent uses; None when there is none."""
    if settings.cli_path is not None:
        return settings.cli_path if settings.cli_path.is_file() else None
    # Found without importing the SDK, which takes a second.
    found = find_spec("claude_agent_sdk")
    if found is not None and found.origin is not None:
        bundled = Path(found.origin).parent / "_bundled" / "claude"
        if bundled.is_file():
            return bundled
    other = shutil.which("claude")
    return Path(other) if other is not None and os.path.isabs(other) else None


def login_command(program: Path) -> list[str]:
    """The command that creates a login."""
    return [str(program), "auth", "login"]


def login_environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of that command, without keys: with a key there would be no login."""
    kept = {name: value for name, value in environ.items() if not name.startswith(("ANTHROPIC_", "UA_"))}
    folder = settings.claude_config_dir
    if folder is not None and folder != Path.home() / ".claude":
        kept["CLAUDE_CONFIG_DIR"] = str(folder)
    return kept


_SECRETS = ("api_key", "auth_token", "composio_api_key", "web_reader_key", "logfire_token")


class Credential(msgspec.Struct, frozen=True):
    """A credential by its usual name, and where it was found; without a place it is missing."""

    name: str
    place: str


def credentials_of(settings: Settings, places: Places) -> list[Credential]:
    """Every possible credential, in the order of the services; reads the files that may hold them.

    A credential that is in the settings but in no source was given by the program.
    """
    try:
        there = set_elsewhere(_SECRETS, replace(places, trust=settings.folder.answer_once))
    except SettingsError:
        # A file became invalid after the start: what was read then is still used.
        there = {}
    in_user_file = stored_names(places.user_file)
    found = []
    for name in _SECRETS:
        place, usual = "", ENVIRONMENT[name][1]
        if getattr(settings, name):
            if (where := there.get(name)) is not None:
                place = clean_line(where.listed.removesuffix(f", {usual}"))
            else:
                place = f"your {USER_FILE}" if name in in_user_file else "given by the program"
        found.append(Credential(usual, place))
    login = clean_line(str(settings.claude_config_dir)) if find_login(settings).usable else ""
    found.insert(2, Credential("Claude login", login))
    return found
