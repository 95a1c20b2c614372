"""The files of a session as they were: which ones existed at a given moment, and a folder that shows them."""

from __future__ import annotations

import errno
import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ua_tui.core.errors import PathRefused, UniversalAgentError, WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.history.kept_versions import RESULTS, KeptFile, KeptVersions, When, files_at
from ua_tui.core.history.versions import WrittenTexts, saved_copies
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.paths import split_path
from ua_tui.core.storage.regular_file import hash_of
from ua_tui.core.storage.workspace import is_record

LARGEST, MOST = 64 << 20, 512 << 20
"""Bytes of a file that is copied, and of all of them."""
MOST_TEXT = 32 << 20
"""Bytes of the texts in the journal that are kept in memory."""
NOT_KEPT = "The content of this file at this moment was not kept."


class FileVersion(NamedTuple):
    """A file as it was saved; without a `sha256` only its size is known."""

    sha256: str
    size: int
    at: float

    def is_same(self, other: FileVersion | None) -> bool:
        """Whether both have the same content, whenever it was saved."""
        return other is not None and self[:2] == other[:2]


class PastFiles:
    """Every version of every file that the events of the session in a folder name."""

    def __init__(self, session: Path) -> None:
        self.texts: dict[str, bytes] = {}
        """What calls wrote, by its SHA-256."""
        self.changes: list[int] = []
        """The events that changed a file."""
        self._session = session
        self._versions: dict[str, list[tuple[int, FileVersion]]] = {}
        self._kept: list[tuple[int, str, When, float]] = []
        self._read: tuple[int, dict[str, FileVersion] | None] = (-1, None)
        self._written = WrittenTexts(session)
        self._room = MOST_TEXT

    def add(self, index: int, event: ev.Event) -> None:
        """Note the files that an event saved, and their texts."""
        at = event.at.timestamp()
        if (written := self._written.add(event)) is not None and len(written[1]) <= self._room:
            text = written[1].encode("utf-8", "replace")
            self.texts[hashlib.sha256(text).hexdigest()] = text
            self._room -= len(text)
        match event:
            case ev.QueryReceived() | ev.QueryFinished():
                when: When = "begin" if isinstance(event, ev.QueryReceived) else "end"
                self._kept.append((index, event.query_id, when, at))
                self.changes.append(index)
            case ev.SessionRewound():
                self._kept.append((index, event.query_id, "rewound", at))
                self.changes.append(index)
            case ev.ArtifactSaved() | ev.ArtifactChanged():
                self._note(index, event.path, FileVersion(event.sha256, event.size, at))
            case ev.FilesAttached(files=files):
                for each in files:
                    self._note(index, each.path, FileVersion(each.sha256, each.size, at))
            case ev.ToolCallFinished(observation=seen) if seen is not None and seen.stored_at:
                self._note(index, seen.stored_at, FileVersion("", -1, at))

    def _note(self, index: int, path: str, version: FileVersion) -> None:
        self._versions.setdefault(path, []).append((index, version))
        self.changes.append(index)

    def at(self, position: int) -> dict[str, FileVersion]:
        """The files that there were after so many events, by their paths, which are untrusted. Blocks.

        The kept versions know what commands and people changed or removed before the last query began or
        ended, and what went back.
        """
        since, kept = self._kept_at(position)
        found = dict(kept or {})
        for path, versions in self._versions.items():
            at = bisect_right(versions, position - 1, key=lambda each: each[0])
            is_known = kept is not None and not path.startswith(f"{RESULTS}/")
            if at and (versions[at - 1][0] > since or not is_known):
                found[path] = versions[at - 1][1]
        return found

    def _kept_at(self, position: int) -> tuple[int, dict[str, FileVersion] | None]:
        number = bisect_right(self._kept, position - 1, key=lambda each: each[0]) - 1
        if number < 0:
            return -1, None
        index, query, when, at = self._kept[number]
        if self._read[0] != index:
            files = None
            with suppress(WorkspaceError):
                files = files_at(self._session, query, when)
            versions = None
            if files is not None:
                versions = {path: FileVersion(file.sha256, file.size, at) for path, file in files.items()}
            self._read = index, versions
        return self._read


class PastFolder:
    """A temporary folder with copies of a session's files as they were at a moment. All of it blocks.

    Attributes:
        path: the folder, which has the name of the session's.
        missing: the files whose content of then was not kept: they are there as they are now, or else with a note.

    Args:
        session: the session's folder, in which nothing is changed.

    Raises:
        WorkspaceError: the folder cannot be made.
    """

    def __init__(self, session: Path) -> None:
        self._session = session
        self._texts: Mapping[str, bytes] = {}
        self._copies: Mapping[str, Path] = {}
        try:
            # It is removed at the end of the program, even if nothing closes it.
            self._temporary = TemporaryDirectory(prefix="ua-tui-replay-", ignore_cleanup_errors=True)
        except OSError as error:
            raise WorkspaceError(
                f"cannot make a temporary folder for the files of the replay: {error.strerror}"
            ) from error
        self._base = Path(self._temporary.name)
        self.path = self._base / session.name
        self.path.mkdir()
        self.missing: set[str] = set()
        self._shown: dict[str, FileVersion] = {}
        self._copied = 0

    def know(self, texts: Mapping[str, bytes]) -> None:
        """Use what is known of contents, by SHA-256: these texts, and the copies among the saved reports."""
        self._texts, self._copies = texts, saved_copies(self._session)

    def show(self, wanted: Mapping[str, FileVersion], is_given_up: Callable[[], bool]) -> bool:
        """Have these files in the folder, and no others; a path that leads elsewhere is left out.

        Returns False if it was given up before all of them were there.

        Raises:
            WorkspaceError: there is no room for a file.
        """
        for path in [path for path, shown in self._shown.items() if not shown.is_same(wanted.get(path))]:
            self._copied -= max(0, self._shown.pop(path).size)
            self.missing.discard(path)
            if path not in wanted:
                target = self._target(path)
                target.unlink(missing_ok=True)
                # The folders appeared with their first files.
                for folder in target.parents:
                    if folder == self.path or any(folder.iterdir()):
                        break
                    folder.rmdir()
        for path in [path for path in wanted if path not in self._shown]:
            if is_given_up():
                return False
            try:
                self._write(path, wanted[path])
            except PathRefused:
                continue
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise WorkspaceError(f"no space for the files of the replay in {self._base}") from error
        return True

    def close(self) -> None:
        """Remove the folder."""
        self._temporary.cleanup()

    def _target(self, path: str) -> Path:
        return self.path.joinpath(*split_path(path))

    def _write(self, path: str, version: FileVersion) -> None:
        target, source = self._target(path), self._find(path, version)
        target.parent.mkdir(parents=True, exist_ok=True)
        match source:
            case Path():
                copyfile(source, target)
            case bytes():
                target.write_bytes(source)
            case None:
                about = (
                    f"{version.size:,} bytes, SHA-256 {version.sha256}" if version.sha256 else "nothing more"
                )
                target.write_text(
                    f"{NOT_KEPT} Its events say: {about}.\n", encoding="utf-8", errors="replace"
                )
        self._shown[path] = version
        self._copied += max(0, version.size)
        with suppress(OSError, OverflowError):
            os.utime(target, (version.at, version.at))

    def _find(self, path: str, version: FileVersion) -> Path | bytes | None:
        """Find the content of a version, or else that of the file as it is now."""
        if version.size > min(LARGEST, MOST - self._copied) or is_record(path):
            return None
        if (text := self._texts.get(version.sha256)) is not None:
            return text
        root, kept = Root(self._session), KeptFile(version.sha256, version.size)
        for inside in (path, KeptVersions(root).place_of(kept)):
            with suppress(UniversalAgentError):
                place = self._session / inside
                if root.size(inside) == version.size and hash_of(place) == version.sha256:
                    return place
        copy = self._copies.get(version.sha256)
        if copy is not None and copy.is_file() and not copy.is_symlink() and hash_of(copy) == version.sha256:
            return copy
        if version.sha256:
            self.missing.add(path)
        with suppress(UniversalAgentError):
            if root.size(path) <= LARGEST:
                return self._session / path
        return None
