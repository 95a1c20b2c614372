"""Stores what the user decided about folders: one file for each folder, in the state folder of the program."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.trust.state import Answer, fingerprint

_log = logging.getLogger(__name__)


class FolderDecision(msgspec.Struct, frozen=True):
    """An answer of the user about a folder.

    Attributes:
        folder: the folder, with its links followed.
        fingerprints: of each file that the answer is about, by its path in the folder.
        texts: what was shown of each file, to show later what has changed; secrets are masked.
        at: when, as an ISO date and time.
    """

    folder: str = ""
    answer: Answer = "ignored"
    fingerprints: dict[str, str] = {}
    texts: dict[str, str] = {}
    at: str = ""


class FolderDecisions:
    """The decisions in a state folder, by default that of the program."""

    def __init__(self, state: Path | None = None) -> None:
        self._path = (state or state_folder()) / "trusted-folders"

    def read(self, folder: Path) -> FolderDecision | None:
        """The decision about a folder; None if there is none, or its file cannot be read."""
        resolved = _resolved(folder)
        decision = self._read_file(self._path / _file_name(resolved))
        # A file that was copied to another name is no decision about that folder.
        return decision if decision is not None and decision.folder == str(resolved) else None

    def store(self, decision: FolderDecision) -> None:
        """Store a decision in place of an earlier one, with the current time.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        resolved = _resolved(Path(decision.folder))
        at = datetime.now(UTC).isoformat(timespec="seconds")
        now = msgspec.structs.replace(decision, folder=str(resolved), at=at)
        self._file(self._path / _file_name(resolved)).replace(now)

    def forget(self, folder: Path) -> bool:
        """Remove the decision about a folder; returns whether there was one.

        Raises:
            WorkspaceError: it cannot be removed.
        """
        path = self._path / _file_name(_resolved(folder))
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be removed: {error.strerror}") from error
        return True

    def all(self) -> list[FolderDecision]:
        """Every decision, in the order of the folders."""
        found = map(self._read_file, self._path.glob("*.json"))
        return sorted(filter(None, found), key=lambda each: each.folder)

    def _read_file(self, path: Path) -> FolderDecision | None:
        try:
            return self._file(path).read()
        except WorkspaceError as error:
            # Nothing is trusted then; the next answer writes the file again.
            _log.warning("%s", error)
            return None

    def _file(self, path: Path) -> JsonStore[FolderDecision]:
        return JsonStore(path, FolderDecision, lock=self._path.with_suffix(".lock"))


def _file_name(folder: Path) -> str:
    return fingerprint(str(folder).encode(errors="surrogateescape"))[:32] + ".json"


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder.absolute()
