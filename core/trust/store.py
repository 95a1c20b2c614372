"""Stores what the user decided about folders and their MCP servers: a file for each decision, in the state folder."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.trust.state import Acts, Answer, fingerprint

_log = logging.getLogger(__name__)


class TrustDecision(msgspec.Struct, frozen=True):
    """An answer of the user about a folder, or about one of its MCP servers.

    Attributes:
        folder: the folder, with its links followed; empty for a server of the user's own settings.
        fingerprints: of each file that the answer is about, by its path in the folder.
        texts: what was shown of each file, to show later what has changed; secrets are masked.
        at: when, as an ISO date and time.
        server: the fingerprint of the server's configuration; empty for an answer about the folder.
        name: of the server, as its `target` for people to read, without secrets.
        acts: where the tools of the server act, as the user said.
    """

    folder: str = ""
    answer: Answer = "ignored"
    fingerprints: dict[str, str] = {}
    texts: dict[str, str] = {}
    at: str = ""
    server: str = ""
    name: str = ""
    target: str = ""
    acts: Acts | None = None


class _Earlier(msgspec.Struct):
    """A decision about a server in the one file that an earlier version of the program wrote."""

    decision: Answer
    acts: Acts | None = None


class TrustStore:
    """The decisions in a state folder, by default that of the program."""

    def __init__(self, state: Path | None = None) -> None:
        state = state or state_folder()
        self._path = state / "trusted-folders"
        self._earlier = JsonStore(state / "trusted-servers.json", dict[str, _Earlier])

    def read(self, folder: Path | None, server: str = "") -> TrustDecision | None:
        """The decision about a folder, or a server; None if there is none, or its file cannot be read."""
        where = _resolved(folder)
        found = self._read_file(self._file(where, server)) or self._read_earlier(where, server)
        # A file that was copied to another name is no decision about that folder.
        return found if found is not None and (found.folder, found.server) == (where, server) else None

    def store(self, decision: TrustDecision) -> None:
        """Store a decision in place of an earlier one, with the current time.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        where = _resolved(Path(decision.folder) if decision.folder else None)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        now = msgspec.structs.replace(decision, folder=where, at=at)
        self._json(self._file(where, decision.server)).replace(now)

    def forget(self, folder: Path | None, server: str = "") -> bool:
        """Remove the decision about a folder, or a server; returns whether there was one.

        Raises:
            WorkspaceError: it cannot be removed.
        """
        found = self.read(folder, server) is not None
        where = _resolved(folder)
        path = self._file(where, server)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be removed: {error.strerror}") from error
        if self._read_earlier(where, server) is not None:
            with self._earlier.changed() as decisions:
                decisions.pop(_earlier_key(where, server), None)
        return found

    def folders(self) -> list[TrustDecision]:
        """Every decision about a folder, in the order of the folders."""
        found = filter(None, map(self._read_file, self._path.glob("*.json")))
        return sorted((each for each in found if not each.server), key=lambda each: each.folder)

    def _read_file(self, path: Path) -> TrustDecision | None:
        try:
            return self._json(path).read() if path.exists() else None
        except (WorkspaceError, OSError) as error:
            # Nothing is trusted then; the next answer writes the file again.
            _log.warning("%s", error)
            return None

    def _read_earlier(self, folder: str, server: str) -> TrustDecision | None:
        try:
            found = self._earlier.read().get(_earlier_key(folder, server)) if server else None
        except WorkspaceError as error:
            _log.warning("%s", error)
            return None
        return (
            None if found is None else TrustDecision(folder, found.decision, server=server, acts=found.acts)
        )

    def _file(self, folder: str, server: str) -> Path:
        name = f"{folder}\n{server}" if server else folder
        return self._path / f"{fingerprint(name.encode(errors='surrogateescape'))[:32]}.json"

    def _json(self, path: Path) -> JsonStore[TrustDecision]:
        return JsonStore(path, TrustDecision, lock=self._path.with_suffix(".lock"))


def _earlier_key(folder: str, server: str) -> str:
    # Only needed where there are servers.
    import json

    return json.dumps([folder, server])


def _resolved(folder: Path | None) -> str:
    try:
        return str(folder.resolve()) if folder is not None else ""
    except (OSError, RuntimeError):
        return str(folder.absolute()) if folder is not None else ""
