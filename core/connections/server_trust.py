"""Which servers of folders the user trusts: each is shown once, with the command, before it is ever started.

Trust belongs to a folder and to one configuration: whatever is changed in it is asked about again. A configuration is
known by its fingerprint; what stands beside that is for people to read, and has no secrets.
"""

from __future__ import annotations

import json
import logging
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from core.connections.user_servers import OwnServer
from core.errors import WorkspaceError
from core.redaction.arguments import masked_address, masked_command
from core.storage.files import Root

__all__ = ["Decision", "ServerTrust"]

_log = logging.getLogger(__name__)

_FILE = "trusted-servers.json"
_LARGEST = 4 << 20

Decision = Literal["trusted", "refused"]


class _Entry(msgspec.Struct):
    folder: str
    name: str
    target: str
    decision: Decision
    at: str


class ServerTrust:
    """The decisions of the user, kept in a file of their own in `state`, the program's folder for what it remembers."""

    def __init__(self, state: Path | None = None) -> None:
        if state is None:
            from platformdirs import user_state_path

            state = user_state_path("ua-tui")
        self._state = state

    def decision(self, server: OwnServer, folder: Path) -> Decision | None:
        """What the user said of a server; None when they were not asked yet. Their own ones are trusted."""
        if not server.in_folder:
            return "trusted"
        entry = self._read().get(_key(server, folder))
        return entry.decision if entry is not None else None

    def decide(self, server: OwnServer, folder: Path, decision: Decision | None) -> None:
        """Keep what the user says of a server; None has them asked again.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        entries = self._read()
        key = _key(server, folder)
        if decision is None:
            entries.pop(key, None)
        else:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            entries[key] = _Entry(str(folder), server.name, server.target, decision, at)
        self._write(entries)

    def _write(self, entries: dict[str, _Entry]) -> None:
        Root(self._state, create=True).write(_FILE, msgspec.json.encode(entries))

    def _read(self) -> dict[str, _Entry]:
        path = self._state / _FILE
        try:
            with path.open("rb") as file:
                entries = msgspec.json.decode(file.read(_LARGEST), type=dict[str, _Entry])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            # Nothing is trusted that cannot be read; what the user says next makes the file anew.
            _log.warning("%s cannot be read: %s", path, error)
            return {}
        told = {key: _without_secrets(entry) for key, entry in entries.items()}
        if told != entries:
            # Files of earlier versions have whole commands.
            try:
                self._write(told)
            except WorkspaceError as error:
                _log.warning("%s may have secrets, and cannot be written: %s", path, error)
        return told


def _without_secrets(entry: _Entry) -> _Entry:
    try:
        is_address = entry.target.startswith(("http://", "https://"))
        words = [] if is_address else shlex.split(entry.target)
    except ValueError:
        words = []
    masked = masked_command(words) if words else masked_address(entry.target)
    return msgspec.structs.replace(entry, target=masked.shown)


def _key(server: OwnServer, folder: Path) -> str:
    return json.dumps([str(folder.resolve()), server.fingerprint])
