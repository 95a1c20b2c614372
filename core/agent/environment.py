"""What the command-line agent gets from its environment: the variables, and a private folder for its servers."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

from ua_tui.core.connections.base import PLAIN_PREFIXES, PLAIN_VARIABLES
from ua_tui.core.errors import AgentError
from ua_tui.core.provider.probe import cloud_variables
from ua_tui.core.settings.model import Cloud, Settings
from ua_tui.core.storage.files import Root, is_gone
from ua_tui.core.storage.folders import state_folder

CACHE = "cache"
"""The folder in the private one where the command line keeps its cache, with its logs of MCP servers."""
SKILLS = "skills"
"""The folder in the private one where the skills of the session are installed."""

_OF_REQUESTS = frozenset({"API_TIMEOUT_MS", "CLAUDE_CODE_MAX_RETRIES", "MCP_TIMEOUT"})
"""How long the agent waits for the model's service and for a server to start, and how often it tries again."""


def cli_environment(
    environ: Mapping[str, str], given: Mapping[str, str], cloud: Cloud | None = None
) -> dict[str, str]:
    """The agent's full environment: the few variables of ours that it needs, those of a cloud, and the `given` ones.

    The SDK merges this over our own environment and cannot remove a variable, so every other variable is set to an
    empty text.
    """
    plain = PLAIN_VARIABLES | _OF_REQUESTS
    kept = {name for name in environ if name in plain or name.startswith(PLAIN_PREFIXES)}
    if cloud is not None:
        kept.update(cloud_variables(cloud, environ))
    return {name: "" for name in environ if name not in kept} | dict(given)


def own_agent_home(settings: Settings) -> Path | None:
    """Where the agent keeps its state, such as the transcripts by which sessions are resumed.

    None leaves it in the user's own folder, where a login is found.
    """
    given = settings.api_key or settings.auth_token or settings.base_url or settings.cloud
    if not (settings.demo or given):
        return None
    return state_folder() / ("agent-demo" if settings.demo else "agent")


def conversations_home(settings: Settings) -> Path:
    """The folder below which the agent has its transcripts."""
    return own_agent_home(settings) or settings.claude_config_dir or Path.home() / ".claude"


class PrivateFolder:
    """A folder that only this user can enter, for data that must not be on a command line or in the workspace.

    Folders that killed processes left behind are removed, too.
    """

    def __init__(self) -> None:
        base = Path(tempfile.gettempdir())
        _sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=f"ua-tui-{os.getpid()}-", dir=base))

    def write(self, name: str, value: Any) -> Path:
        """Write a value as JSON, readable by this user only; the file is replaced atomically."""
        Root(self.path).write_chunks(name, (json.dumps(value).encode(),), synced=False)
        return self.path / name

    def remove(self) -> None:
        """Remove the folder and all in it."""
        rmtree(self.path, ignore_errors=True)


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can enter, or make it so; the agent keeps conversations there.

    Raises:
        AgentError: it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise AgentError(
            f"the agent's folder {folder} cannot be made private: {error.strerror}; check its permissions"
        ) from error


@cache
def _sweep(base: Path) -> None:
    # Once in a process, and without `glob`: a folder for temporary files may have ten thousands.
    try:
        names = [name for name in os.listdir(base) if name.startswith("ua-tui-") and name.count("-") >= 3]
    except OSError:
        return
    for name in names:
        path, pid = base / name, name.split("-")[2]
        try:
            if (
                pid.isdecimal()
                and path.lstat().st_uid == os.getuid()
                and not path.is_symlink()
                and is_gone(int(pid))
            ):
                rmtree(path, ignore_errors=True)
        except OSError:
            continue
