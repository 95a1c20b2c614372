"""The versions of a text: the file, its saved reports, what the agent wrote, and what was kept with each query."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePath

import msgspec

from ua_tui.core.errors import JournalError, PathRefused, WorkspaceError
from ua_tui.core.events.types import Event, ToolCallStarted
from ua_tui.core.history.kept_versions import KeptVersions
from ua_tui.core.json_values import JsonObject, text_in
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.core.storage.paths import split_path
from ua_tui.core.storage.regular_file import hash_of, open_regular
from ua_tui.core.storage.workspace import JOURNAL, REPORT_INDEX, saved_reports_of
from ua_tui.core.view.calls import OpenCalls

LARGEST_JOURNAL = 256 << 20
"""Bytes; a longer journal is not searched for versions of one file."""
MOST = 200
"""Versions; of more, only the newest are listed."""
MOST_OTHERS = 50
"""Other files of the folder that are offered."""
_LONGEST_LINE = 64 << 10
_LARGEST_HASHED = 16 << 20
_WRITERS = ("write_local_file", "Write")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a text: when it was written, in words what it is, and where its text is.

    `path` is None for a version that only the journal has, whose text is `text`. `session` is the name of another
    session if it was written there. All texts are untrusted.
    """

    at: datetime
    what: str
    name: str
    size: int
    path: Path | None = None
    text: str | None = None
    session: str = ""
    sha256: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class TextOrigin:
    """A text of a session: the session's folder, the saved reports beside it, and the path in the session."""

    session: Path
    reports: Path
    source: str


def find_versions(path: Path) -> list[Version]:
    """Find every version of the text in a file of a session or among the saved reports, the newest first. Blocks.

    The file itself is always among them, if it exists. Versions of the same content are listed once.
    """
    path = Path(os.path.abspath(path))
    identity = find_origin(path)
    found = list(_on_disk(path, identity))
    if identity is not None:
        found += _saved(identity)
        found += _written(identity)
        found += _kept(identity)
    return _without_copies(found, path)


def other_texts(path: Path) -> list[Version]:
    """List the other files of the same kind in the folder of a file, the newest first. Blocks."""
    suffix = PurePath(inner_name(path.name)).suffix.lower()
    found: list[Version] = []
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            same_kind = PurePath(inner_name(entry.name)).suffix.lower() == suffix
            if same_kind and entry.name != path.name and not entry.name.startswith("."):
                found += _of_file(Path(entry.path), "another file")
    return sorted(found, key=lambda version: version.at, reverse=True)[:MOST_OTHERS]


def find_origin(path: Path) -> TextOrigin | None:
    """Find the text that a file is: itself in its session, or what it is a saved copy of; None if unknown. Blocks."""
    if path.parent.name == SAVED_REPORTS:
        reports = path.parent
        for entry in index_of(reports):
            if entry["saved_as"] == path.name:
                beside = reports.parent / WORKSPACES / entry["session"]
                # A folder that is not one of ours has its saved reports inside.
                return TextOrigin(beside if beside.is_dir() else reports.parent, reports, entry["source"])
        return None
    session = next((folder for folder in path.parents if (folder / JOURNAL).is_file()), None)
    if session is None:
        return None
    reports = saved_reports_of(session) or session / SAVED_REPORTS
    return TextOrigin(session, reports, inner_name(path.relative_to(session).as_posix()))


def _on_disk(path: Path, identity: TextOrigin | None) -> Iterator[Version]:
    yield from _of_file(path, "saved copy" if path.parent.name == SAVED_REPORTS else "the file")
    if identity is not None:
        with suppress(PathRefused):
            current = identity.session.joinpath(*split_path(identity.source))
            if current != path:
                yield from _of_file(current, "the file")


def _of_file(path: Path, what: str) -> Iterator[Version]:
    with suppress(OSError):
        status = path.lstat()
        if os.path.isfile(path) and not path.is_symlink():
            at = datetime.fromtimestamp(status.st_mtime, UTC)
            is_hashed = status.st_size <= _LARGEST_HASHED
            digest = hash_of(path) if is_hashed else ""
            if digest or not is_hashed:
                yield Version(at, what, path.name, status.st_size, path, sha256=digest)


def _saved(identity: TextOrigin) -> Iterator[Version]:
    for entry in index_of(identity.reports):
        if entry["source"] != identity.source:
            continue
        own = entry["session"] == identity.session.name
        path = identity.reports / entry["saved_as"]
        at = _time(entry.get("at"))
        if at is not None and path.is_file() and not path.is_symlink():
            yield Version(
                at,
                "saved copy",
                path.name,
                path.lstat().st_size,
                path,
                session="" if own else entry["session"],
                sha256=str(entry.get("sha256", "")),
            )


def index_of(reports: Path) -> Iterator[JsonObject]:
    """The lines of the index whose names are plain names, one by one: it outlives all sessions, and may be anyone's."""
    with suppress(OSError), os.fdopen(open_regular(reports / REPORT_INDEX), "rb") as index:
        while line := index.readline(_LONGEST_LINE):
            with suppress(msgspec.DecodeError, RecursionError):
                match msgspec.json.decode(line):
                    case {"saved_as": str(name), "source": str(), "session": str(session), **_more} as entry:
                        if _is_plain(name) and _is_plain(session):
                            yield entry


def _is_plain(name: str) -> bool:
    return name not in {"", ".", ".."} and "\0" not in name and PurePath(name).name == name


def _time(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def saved_copies(session: Path) -> dict[str, Path]:
    """The files among the saved reports that are copies of a session's, by the SHA-256 of their content. Blocks."""
    reports = saved_reports_of(session) or session / SAVED_REPORTS
    return {
        str(entry.get("sha256")): reports / entry["saved_as"]
        for entry in index_of(reports)
        if entry["session"] == session.name
    }


class WrittenTexts:
    """The texts that the calls of a session wrote, edits included, as long as each follows from the one before."""

    def __init__(self, session: Path) -> None:
        self._folder = f"{session}{os.sep}"
        self._calls = OpenCalls()
        self._texts: dict[str, str] = {}

    def add(self, event: Event) -> tuple[str, str] | None:
        """Return the path and the text that a call has written, if it ended with this event and wrote one."""
        if (ended := self._calls.ended_by(event)) is None:
            return None
        call, end = ended
        path = text_in(call.input, "path") or text_in(call.input, "file_path")
        if end.status != "success" or not path:
            return None
        path = inner_name(posixpath.normpath(path.removeprefix(self._folder)))
        text = _result(call, self._texts.get(path))
        if text is None:
            return None
        self._texts[path] = text
        return path, text


def _written(identity: TextOrigin) -> list[Version]:
    """What the calls of a session wrote to a file."""
    journal = identity.session / JOURNAL
    versions: list[Version] = []
    texts = WrittenTexts(identity.session)
    try:
        if journal.lstat().st_size > LARGEST_JOURNAL:
            return []
        for event in read_events(identity.session):
            if (written := texts.add(event)) is None or written[0] != identity.source:
                continue
            data = written[1].encode("utf-8", "replace")
            name = posixpath.basename(identity.source)
            versions.append(
                Version(
                    event.at,
                    "written by the agent",
                    name,
                    len(data),
                    text=written[1],
                    sha256=hashlib.sha256(data).hexdigest(),
                )
            )
    except (JournalError, OSError):
        return []
    return versions


def _kept(identity: TextOrigin) -> Iterator[Version]:
    """What the file was when queries began or ended, whoever had changed it."""
    name = posixpath.basename(identity.source)
    with suppress(WorkspaceError):
        versions = KeptVersions(Root(identity.session))
        for at, file in versions.versions(identity.source):
            if versions.has(file):
                place = identity.session / versions.place_of(file)
                yield Version(at, "kept", name, file.size, place, sha256=file.sha256)


def _result(call: ToolCallStarted, text: str | None) -> str | None:
    """The text of a file after a call; None if the call did not write it, or the `text` before an edit is unknown."""
    arguments, name = call.input, call.name.rpartition("__")[2]
    content = arguments.get("content")
    if name in _WRITERS and isinstance(content, str):
        return content
    edits = arguments.get("edits") if name == "MultiEdit" else [arguments] if name == "Edit" else None
    if text is None or not isinstance(edits, list):
        return None
    for edit in edits:
        match edit:
            case {"old_string": str(old), "new_string": str(new), **others} if old and old in text:
                text = text.replace(old, new, -1 if others.get("replace_all") else 1)
            case _:
                return None
    return text


def _without_copies(found: Iterable[Version], path: Path) -> list[Version]:
    """Order versions by time, the newest first, and list each content once: as the file itself, or as another file."""
    kept: dict[str, Version] = {}
    for version in found:
        key = version.sha256 or f"{version.path}"
        known = kept.get(key)
        # The index of the saved reports knows when a copy was made.
        if known is None or known.path == version.path:
            kept[key] = version
    newest = sorted(kept.values(), key=lambda version: (version.at, version.path == path), reverse=True)
    return newest[:MOST]
