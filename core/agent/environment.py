"""What the command-line agent gets from its environment: the variables, and a private folder for its servers."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

from core.storage.files import is_gone

__all__ = ["PrivateFolder", "cli_environment"]

_KEPT = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "COLORTERM",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "COMSPEC", "APPDATA", "LOCALAPPDATA", "USERPROFILE",
    }
)  # fmt: skip
_KEPT_PREFIXES = ("LC_", "XDG_")
_CLOUD_PREFIXES = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_", "ANTHROPIC_BEDROCK_"),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUD_ML_", "ANTHROPIC_VERTEX_"),
}


def cli_environment(environ: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The agent's full environment: the few variables of ours that it needs, and the `given` ones.

    The SDK merges this over our own environment and cannot remove a variable, so every other variable is set to an
    empty text.
    """
    prefixes: tuple[str, ...] = _KEPT_PREFIXES
    for switch, cloud in _CLOUD_PREFIXES.items():
        if environ.get(switch):
            prefixes += (switch, *cloud)
    kept = {name for name in environ if name in _KEPT or name.startswith(prefixes)}
    return {name: "" for name in environ if name not in kept} | dict(given)


class PrivateFolder:
    """A folder that only this user can enter, for data that must not be on a command line or in the workspace.

    Folders that killed processes left behind are removed, too.
    """

    def __init__(self, parent: Path | None = None) -> None:
        base = parent or Path(tempfile.gettempdir())
        _sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=f"ua-tui-{os.getpid()}-", dir=base))

    def write(self, name: str, value: Any) -> Path:
        """Write a value as JSON, readable by this user only; the file is replaced atomically."""
        path = self.path / name
        new = self.path / f"{name}.new"
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(new, path)
        return path

    def remove(self) -> None:
        """Remove the folder and all in it."""
        rmtree(self.path, ignore_errors=True)


def _sweep(base: Path) -> None:
    for path in base.glob("ua-tui-*"):
        found = re.match(r"ua-tui-(\d+)-", path.name)
        try:
            if (
                found
                and path.lstat().st_uid == os.getuid()
                and not path.is_symlink()
                and is_gone(int(found[1]))
            ):
                rmtree(path, ignore_errors=True)
        except OSError:
            continue
