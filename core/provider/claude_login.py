"""The login of the Claude command line: whether one exists, and the program that creates one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.settings.model import Settings


class Login(msgspec.Struct, frozen=True):
    """The state of the login; `usable` says whether a session can be tried with it."""

    usable: bool
    message: str


def find_login(settings: Settings, now: datetime | None = None) -> Login:
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
    account = message.get("claudeAiOauth") if isinstance(message, dict) else None
    if not isinstance(account, dict) or not (account.get("accessToken") or account.get("refreshToken")):
        return Login(False, f"There is no login in {path}: log in again.")
    until = account.get("expiresAt")
    # In milliseconds; with a refresh token the agent renews it automatically.
    over = isinstance(until, int) and until / 1000 < (now or datetime.now(UTC)).timestamp()
    if over and not account.get("refreshToken"):
        return Login(False, f"The login in {path} has expired: log in again.")
    plan = account.get("subscriptionType")
    of = f" of Claude {plan.capitalize()}" if isinstance(plan, str) and plan.isalnum() else ""
    return Login(True, f"Found a login{of} in {path}.")


def claude_program(settings: Settings) -> Path | None:
    """The Claude command line that the agent uses; None when there is none."""
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
