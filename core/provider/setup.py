"""The ways to connect to a model: what each needs, which settings it makes, and how these are checked and stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from msgspec import structs

from ua_tui.core.errors import SettingsError
from ua_tui.core.provider.probe import DEADLINE, ModelVerdict, check_model, model_server
from ua_tui.core.settings import parsers as values
from ua_tui.core.settings.loading import load_settings, set_elsewhere
from ua_tui.core.settings.model import CLOUD_NAMES, Settings, secrets
from ua_tui.core.settings.places import Places
from ua_tui.core.settings.saving import store_settings, stored_names

SetupMethod = Literal["anthropic", "login", "zai", "server"]

ZAI_URL = "https://api.z.ai/api/anthropic"
LOCAL_URL = "http://127.0.0.1:11434"
"""The default address of Ollama."""


_ASSIGNED = re.compile(r"(?:export\s+)?[A-Za-z_]*(?:KEY|TOKEN)\s*=\s*", re.IGNORECASE)
_LOCAL_HOST = re.compile(
    r"localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[|[^.:/]+(:\d+)?(/|$)|[^/:]+\.(local|lan|internal)\b",
    re.IGNORECASE,
)
_ENDPOINT = re.compile(r"/+v1(/+messages)?/*$")


@dataclass(frozen=True)
class SetupInput:
    """What a person entered, normalised; fields that a method does not need are empty."""

    key: str = field(default="", repr=False)
    address: str = ""
    model: str = ""


@dataclass(frozen=True)
class SetupPlan:
    """What will be stored, setting by setting (None removes one), and the settings that result."""

    way: SetupMethod
    changes: Mapping[str, str | None] = field(repr=False)
    settings: Settings

    @property
    def secrets(self) -> frozenset[str]:
        """Values that must never be shown or written anywhere else."""
        return secrets(self.settings, {})


@dataclass(frozen=True)
class StoredSetup:
    """Where a set-up was stored, and warnings about it."""

    path: Path
    warnings: tuple[str, ...] = ()


def normalize_key(text: str) -> str:
    """Strip from a key what is copied with it: spaces, line ends, quotes, the name of a variable."""
    line = _ASSIGNED.sub("", text.strip(), count=1) if _ASSIGNED.match(text.strip()) else text
    return "".join(line.split()).strip("\"'`")


def normalize_address(text: str) -> str:
    """Write an address as a base URL: with a scheme, without the path of the Messages API."""
    address = "".join(text.split()).strip("\"'`")
    if address and "://" not in address:
        address = f"{'http' if _LOCAL_HOST.match(address) else 'https'}://{address}"
    return _ENDPOINT.sub("", address).rstrip("/")


def find_input_error(way: SetupMethod, given: SetupInput) -> tuple[str, str] | None:
    """The first invalid field and its problem; None if the input can be tried."""
    needs_key = way in ("anthropic", "zai")
    if way == "server" and not given.address:
        return "address", f"Enter the address of the server, such as {LOCAL_URL}"
    if way == "server":
        try:
            values.url(given.address)
        except ValueError as error:
            return "address", f"This is not an address: it needs {error}."
    if needs_key and not given.key:
        return "key", "Enter or paste the key."
    if given.key and not (given.key.isascii() and given.key.isprintable()):
        return "key", "It contains characters that no key has: copy it again."
    if len(given.key) > 4096:
        return "key", "This is too long for a key: copy only the key."
    if needs_key and len(given.key) < 8:
        return "key", "This is too short for a key: copy all of it."
    if way == "anthropic" and given.key.startswith("sk-ant-oat"):
        return (
            "key",
            "This is the token of a Claude login. Enter an API key (sk-ant-api…), or choose the login.",
        )
    if len(given.model) > 200 or not given.model.isprintable():
        return "model", "This is not a model name."
    return None


class ModelSetup:
    """Makes, checks and stores the settings for a model, starting from the current `settings`.

    `places` are where settings are read from; those of the process by default.
    """

    def __init__(self, settings: Settings, places: Places | None = None) -> None:
        self.settings = settings
        self._places = places or Places()
        self.path = self._places.user_file
        """The file in which the settings are stored."""

    @property
    def now(self) -> str:
        """How the model is reached now; empty if it is not set up."""
        settings = self.settings
        if settings.demo:
            return "the demo"
        server = model_server(settings)
        if settings.cloud:
            return server
        if settings.api_key or settings.auth_token:
            return f"{server}, with a {'key' if settings.api_key else 'token'}"
        if settings.base_url:
            return f"{server}, without a key"
        return "the Claude login" if settings.has_login else ""

    def given(self, way: SetupMethod) -> SetupInput:
        """What is already known of a method's input; never a key or a password."""
        now = self.settings
        if way == "zai" and now.base_url == ZAI_URL:
            return SetupInput(model=now.model or "")
        if way == "server" and now.base_url is not None and now.base_url != ZAI_URL:
            address = now.base_url if urlsplit(now.base_url).password is None else ""
            return SetupInput(address=address, model=now.model or "")
        return SetupInput()

    def plan(self, way: SetupMethod, given: SetupInput) -> SetupPlan:
        """Make settings of valid input.

        Settings of other methods are removed: otherwise a key would be sent to whichever server is set.
        """
        now = self.settings
        changes: dict[str, str | None] = {"api_key": None, "auth_token": None, "base_url": None}
        match way:
            case "anthropic":
                changes["api_key"] = given.key
            case "zai":
                changes |= {"auth_token": given.key, "base_url": ZAI_URL, "model": given.model or None}
            case "server":
                token = given.key or None
                changes |= {"auth_token": token, "base_url": given.address, "model": given.model or None}
            case "login":
                pass
        # A cloud would have precedence.
        changes |= {name: None for name in CLOUD_NAMES if getattr(now, name)}
        if changes["base_url"] != now.base_url:
            # Servers have different models.
            for name in ("model", "simple_model", "fallback_model"):
                if getattr(now, name) is not None:
                    changes.setdefault(name, None)
        off = dict.fromkeys(("demo", *CLOUD_NAMES), False)
        return SetupPlan(way, changes, replace(now, **changes | off))  # type: ignore[arg-type]  # by their names

    def describe_changes(self, plan: SetupPlan) -> str:
        """Name the settings that storing sets and removes."""
        there = stored_names(self.path)
        sets = [name for name, value in plan.changes.items() if value is not None]
        out = [name for name, value in plan.changes.items() if value is None and name in there]
        parts = [f"sets {', '.join(sets)}"] if sets else []
        parts += [f"removes {', '.join(out)}"] if out else []
        return " and ".join(parts)

    def replaced(self, way: SetupMethod) -> tuple[str, ...]:
        """Name the settings of the file that storing a method would change or remove."""
        there = stored_names(self.path)
        return tuple(name for name in self.plan(way, SetupInput()).changes if name in there)

    async def check(self, plan: SetupPlan) -> ModelVerdict:
        """Ask the model once, to check that it answers."""
        # A local server may have to load its model first.
        deadline = 120.0 if plan.way == "server" else DEADLINE
        return await check_model(plan.settings, deadline=deadline, environ=self._places.environ)

    def store(self, plan: SetupPlan) -> StoredSetup:
        """Store what was chosen in the user's own settings file.

        Raises:
            SettingsError: it could not be stored; the file is as it was.
        """
        path = store_settings(self.path, plan.changes)
        return StoredSetup(path, self._warnings(plan))

    def _warnings(self, plan: SetupPlan) -> tuple[str, ...]:
        """Why the next start would differ from what was stored."""
        places = structs.replace(self._places, trust=self.settings.folder.answer_once)
        try:
            then = load_settings(None, places)
            other = [name for name in plan.changes if getattr(then, name) != getattr(plan.settings, name)]
            elsewhere = set_elsewhere(other, places)
        except SettingsError as error:
            return (f"The next start from this folder will fail: {error}",)
        return tuple(
            f"{origin} will override the stored value at the next start: remove it there."
            for origin in dict.fromkeys(where.origin for where in elsewhere.values())
        )
