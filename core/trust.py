"""Trust in a folder: its files have no effect on a session before the user has agreed to what they change.

`FolderTrust` says which files of a folder take effect, by the content of its settings, sub-agents, commands and skills.
`TrustStore` stores what the user decided about folders and their MCP servers, a file for each decision.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.regular_file import read_regular

Affects = Literal["data", "tools", "cost", "look"]
"""What a setting, or a file of a folder, decides about; the first is the most dangerous."""

GROUPS: Mapping[Affects, str] = {
    "data": "Where your data goes",
    "tools": "What may run",
    "cost": "What it costs",
    "look": "How it looks",
}
"""The heading of each group."""

Answer = Literal["trusted", "partly", "ignored", "refused"]
"""What the user decided; `partly` is all but what decides where data goes, and only a server is `refused`."""

Acts = Literal["here", "outside"]
"""Where the tools of a server act: on this machine only, or also outside."""

TrustState = Literal["harmless", "undecided", "changed"] | Answer
"""An answer; or that none is needed (`harmless`), that there is none, or that files have changed since."""


class FolderTrust(msgspec.Struct, frozen=True):
    """What of a folder takes effect.

    Attributes:
        folder: the folder, None where no folder was read.
        state: the answer that applies, or why there is none.
        fingerprints: of the content of each file that counts, by its path in the folder.
        changed: the files that are new or different since the answer.
        once: whether everything is trusted for this run only, whatever it is.
        held_back: the names of the settings in the files that have no effect.
    """

    folder: Path | None = None
    state: TrustState = "harmless"
    fingerprints: Mapping[str, str] = {}
    changed: tuple[str, ...] = ()
    once: bool = False
    held_back: tuple[str, ...] = ()

    @property
    def is_trusted(self) -> bool:
        """Whether the files take effect, those that decide where data goes perhaps excepted."""
        return self.state in ("trusted", "partly")

    @property
    def needs_answer(self) -> bool:
        """Whether the user has to be asked before any of it takes effect."""
        return self.state in ("undecided", "changed")

    @property
    def answer_once(self) -> Answer | None:
        """The answer that was given for this run only; None if a stored one counts."""
        return self.state if self.once and self.state in get_args(Answer) else None  # type: ignore[return-value]

    @property
    def why_not(self) -> str:
        """Why a file has no effect, as the rest of a sentence."""
        match self.state:
            case "changed":
                return "the files of this folder have changed since you decided about them"
            case "ignored":
                return "you chose to ignore the files of this folder"
            case _:
                return "this folder is not trusted"

    def allows(self, path: str, data: bytes) -> bool:
        """Whether the content that was read from a file takes effect."""
        return self.is_trusted and (self.once or self.fingerprints.get(path) == fingerprint(data))


def fingerprint(data: bytes) -> str:
    """Identify a content: 64 hexadecimal digits."""
    # Not needed in a folder without such files.
    from hashlib import sha256

    return sha256(data).hexdigest()


AGENTS = ".claude/agents"
COMMANDS = ".claude/commands"
SKILLS = ".claude/skills"

_MOST_BYTES = 64 << 20


def definition_fingerprints(folder: Path, *, skills: bool) -> dict[str, str]:
    """The fingerprint of each file of the folder's sub-agents and commands and, with `skills`, of its skills.

    Links to folders are not entered. Of files beyond the limits there is no fingerprint, so they are never used.
    """
    found: dict[str, str] = {}
    size = 0
    for path in _files(folder, skills=skills):
        with suppress(OSError):
            data = read_regular(path, _MOST_BYTES - size, follow=True)
            if len(found) < 2_000:
                size += len(data)
                found[path.relative_to(folder).as_posix()] = fingerprint(data)
    return found


def files_below(folder: Path) -> Iterator[Path]:
    """The files below a folder, by name; hidden folders, links to folders and what is very deep are not entered.

    Raises:
        OSError: the folder itself cannot be read.
    """

    def fail(error: OSError) -> None:
        if error.filename == str(folder):
            raise error

    for at, folders, files in os.walk(folder, onerror=fail):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = sorted(each for each in folders if not each.startswith(".")) if depth < 6 else []
        yield from (Path(at, name) for name in sorted(files))


def _files(folder: Path, *, skills: bool) -> Iterator[Path]:
    agents: list[str] = []
    with suppress(OSError):
        agents = sorted(os.listdir(folder / AGENTS))
    for path in (*(folder / AGENTS / name for name in agents), *readable_below(folder / COMMANDS)):
        if fnmatchcase(path.name, "*.md") and not path.name.startswith("."):
            yield path
    if skills:
        yield from readable_below(folder / SKILLS)


def readable_below(folder: Path) -> Iterator[Path]:
    """The files that `files_below` finds; none if the folder cannot be read."""
    with suppress(OSError):
        yield from files_below(folder)


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
        where = _resolved(decision.folder)
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
            log.warning("%s", error)
            return None

    def _read_earlier(self, folder: str, server: str) -> TrustDecision | None:
        try:
            found = self._earlier.read().get(_earlier_key(folder, server)) if server else None
        except WorkspaceError as error:
            log.warning("%s", error)
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


def _resolved(folder: Path | str | None) -> str:
    return os.path.realpath(folder) if folder else ""
