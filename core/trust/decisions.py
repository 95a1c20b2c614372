"""Stores what the user decided about folders: one file for each folder, in the state folder of the program."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.trust.files import read_regular
from ua_tui.core.trust.state import Answer, fingerprint

_FOLDER = "trusted-folders"
_LARGEST = 32 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FolderDecision:
    """An answer of the user about a folder.

    Attributes:
        folder: the folder, with its links followed.
        fingerprints: of each file that the answer is about, by its path in the folder.
        texts: what was shown of each file, to show later what has changed; secrets are masked.
        at: when, as an ISO date and time.
    """

    folder: str
    answer: Answer
    fingerprints: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)
    at: str = ""


class FolderDecisions:
    """The decisions in a state folder, by default that of the program."""

    def __init__(self, state: Path | None = None) -> None:
        if state is None:
            from platformdirs import user_state_path

            state = user_state_path("ua-tui")
        self._path = state / _FOLDER

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
        import json
        from datetime import UTC, datetime

        from ua_tui.core.storage.files import Root

        resolved = _resolved(Path(decision.folder))
        content = asdict(decision) | {
            "folder": str(resolved),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        data = json.dumps(content, ensure_ascii=True).encode()
        Root(self._path, create=True).write(_file_name(resolved), data)

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

    def all(self) -> Iterator[FolderDecision]:
        """Every decision, in the order of the folders."""
        try:
            paths = list(self._path.glob("*.json"))
        except OSError:
            return
        found = [decision for path in paths if (decision := self._read_file(path)) is not None]
        yield from sorted(found, key=lambda each: each.folder)

    def _read_file(self, path: Path) -> FolderDecision | None:
        data = read_regular(path, _LARGEST)
        if data is None:
            return None
        import json

        try:
            return _checked(json.loads(data))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            # Nothing is trusted then; the next answer writes the file again.
            _log.warning("%s cannot be read: %s", path, error)
            return None


def _checked(content: Any) -> FolderDecision:
    decision = FolderDecision(**content)
    texts = [decision.folder, decision.at]
    for table in (decision.fingerprints, decision.texts):
        texts += [*table, *table.values()]
    if decision.answer not in get_args(Answer) or not all(isinstance(each, str) for each in texts):
        raise ValueError("it has other values than a decision has")
    return decision


def _file_name(folder: Path) -> str:
    return fingerprint(str(folder).encode(errors="surrogateescape"))[:32] + ".json"


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder.absolute()
