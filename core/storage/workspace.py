"""The folder of one session, and the one writer for everything in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import LARGEST, LIMIT, SUFFIX, Unpacked, pack_pieces
from ua_tui.core.storage.files import FolderEntry, Root, Written
from ua_tui.core.storage.folders import REPORT_CHECKS, SAVED_REPORTS, WORKSPACES
from ua_tui.core.storage.paths import numbered, refused, shown
from ua_tui.core.storage.regular_file import hold_lock
from ua_tui.core.text import encodable, escape_unsafe, holds_unsafe, without_surrogates

REPORT_INDEX = "index.jsonl"
"""The file among the saved reports that has a line for each: its source, its session, and when it was saved."""
FOLDERS = (
    "search_results",
    "extracted_articles",
    "workbench_activity",
    "work_products",
    "work_products/media",
    "downloads",
)
JOURNAL = "journal.jsonl"
CONVERSATION = ".conversation"
"""The folder with the agent's transcripts, by which a session is resumed wherever its folder is."""
TEAM = "team.json"
"""The record of which session of a team this is."""
OWNER = ".owner"
"""The seal by which the session is recognised as the user's own, see `ua_tui.core.storage.ownership`."""
ACTIONS = ".actions.json"
"""The calls of a job that act outside, and what became of them."""
LETTERS = ".letters"
"""The folder with the questions of a job's session, and the answers and commands for it."""
VERSIONS = ".versions"
"""The folder with what the session's files were when each query began and ended."""
_LOCK = ".lock"
RECORDS = frozenset(
    {
        JOURNAL,
        "run.log",
        "trace.json",
        "transcript.md",
        "summary.txt",
        "spans.jsonl",
        "queue.json",
        REPORT_CHECKS,
        CONVERSATION,
        TEAM,
        OWNER,
        ACTIONS,
        LETTERS,
        VERSIONS,
        _LOCK,
    }
)
"""Names of what the session itself writes to its folder; nothing else may change it."""
_OF_NEW = frozenset(
    {JOURNAL, "run.log", "trace.json", "transcript.md", "summary.txt", "spans.jsonl", OWNER, TEAM, _LOCK}
)
"""The files of a session in which nothing was asked."""
_ENCODER = msgspec.json.Encoder()
_BLOCK_FIELDS = {"type", "text", "data", "mime_type"}
# A program that checks whether a session runs also holds its lock for a moment.
_PATIENCE_SECONDS = 0.25
_PIECE = 64 << 10
_SESSION = re.compile(r"session_\d{8}_\d{6}(?:-\d+)?")


def is_record(relative: str) -> bool:
    """Whether a path in the folder of a session is one of its records, or in one."""
    return relative.lower().split("/", 1)[0] in RECORDS


def saved_reports_of(folder: Path) -> Path | None:
    """Return the folder of the saved reports beside a session's `folder`; None if it is not where ua-tui puts it."""
    return folder.parent.parent / SAVED_REPORTS if folder.parent.name == WORKSPACES else None


def _reports(parent: Path, base: Path | None) -> Path:
    """The saved reports in a folder; a link is followed only in `base`, where the settings were checked."""
    reports = parent / SAVED_REPORTS
    return reports.resolve() if base is not None and parent == base.resolve() else reports


class Workspace:
    """A session's folder and its one writer, which masks secrets in every text it writes.

    Safe to use from several threads. `locked` says whether this process holds the session's lock.

    Attributes:
        reports_path: the folder for reports that outlive their session; it may not exist yet.
        unused: whether `close` removes the folder, unless it has more than the program itself writes into every one:
            so in a new session in which nothing was asked.
    """

    root: Root
    path: Path
    session_id: str
    redactor: Redactor

    def __init__(self, path: Path, saved_reports: Path, redactor: Redactor | None = None) -> None:
        self.root = Root(path)
        self.path = self.root.path
        self.session_id = self.path.name
        self.redactor = redactor if redactor is not None else Redactor()
        self.reports_path = saved_reports
        self.unused = False
        self._lock: int | None = None

    @classmethod
    def create(cls, base: Path, now: datetime, redactor: Redactor | None = None) -> Workspace:
        """Create the folder of a new session below `base`, with its subfolders, and lock it.

        Two sessions of one second get two folders: the second's name ends in `-2`.

        Raises:
            WorkspaceError: the folder cannot be made.
        """
        sessions = Root(base / WORKSPACES, create=True)
        path = cls.reserve(sessions.path, now)
        workspace = cls(path, _reports(sessions.path.parent, base), redactor)
        workspace._acquire_lock(make=True)
        for folder in FOLDERS:
            workspace.root.make_folder(folder)
        return workspace

    @staticmethod
    def reserve(sessions: Path, now: datetime) -> Path:
        """Make the empty folder of a new session among the others.

        Raises:
            WorkspaceError: it cannot be made.
        """
        for each in numbered(f"session_{now:%Y%m%d_%H%M%S}"):
            path = sessions / each
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            except OSError as error:
                raise WorkspaceError(
                    f"cannot make the session folder {path}: {error.strerror}; "
                    "check the permissions and the space on the disk, or choose another folder"
                ) from error
            return path
        raise WorkspaceError(
            f"cannot make a session folder in {sessions}: too many sessions were started in the same second; try again"
        )

    @classmethod
    def open(cls, path: Path, redactor: Redactor | None = None) -> Workspace:
        """Open a past session's folder, or any other folder, which is created if it is missing.

        Saved reports go beside a session's folder as they did in the session, and inside any other folder.

        Raises:
            WorkspaceError: the folder cannot be made or opened.
        """
        found = Root(path, create=True).path
        is_session = found.parent.name == WORKSPACES and _SESSION.fullmatch(found.name) is not None
        workspace = cls(found, (found.parent.parent if is_session else found) / SAVED_REPORTS, redactor)
        workspace._acquire_lock(make=False)
        if workspace.locked:
            workspace.root.sweep()
        return workspace

    @classmethod
    def claim(cls, path: Path, redactor: Redactor | None = None, base: Path | None = None) -> Workspace:
        """Open the existing folder of a session, lock it, and remove what a killed program left half-written.

        `base` is the folder of the sessions that the user set, where a link to the saved reports is followed.

        Raises:
            WorkspaceError: it cannot be opened, or another program works in it.
        """
        found = Root(path).path
        reports = saved_reports_of(found) or found / SAVED_REPORTS
        workspace = cls(found, _reports(reports.parent, base), redactor)
        workspace._acquire_lock(make=True, patience=_PATIENCE_SECONDS)
        if not workspace.locked:
            raise WorkspaceError(
                f"the session {shown(found.name)} is in use by another program, which must end first; "
                "until then `ua-tui open` shows it"
            )
        try:
            workspace.root.sweep()
        except BaseException:
            workspace.close()
            raise
        return workspace

    @classmethod
    def resume(cls, path: Path, redactor: Redactor | None = None, base: Path | None = None) -> Workspace:
        """Open the folder of a session to resume, and lock it; `base` as for `claim`.

        Raises:
            WorkspaceError: it cannot be opened, or another program works in it.
        """
        workspace = cls.claim(path, redactor, base)
        try:
            for folder in FOLDERS:
                workspace.root.make_folder(folder)
        except BaseException:
            workspace.close()
            raise
        return workspace

    @cached_property
    def saved_reports(self) -> Root:
        """The folder for reports that outlive their session, created when it is first used.

        Raises:
            PathRefused: it is a link that was not there when the session began.
            WorkspaceError: it cannot be made or opened.
        """
        root = Root(self.reports_path, create=True)
        if root.path != self.reports_path:
            raise refused(SAVED_REPORTS, "it is a link", "remove the link")
        return root

    @property
    def locked(self) -> bool:
        """Whether this object holds the session's lock."""
        return self._lock is not None

    def write(self, relative: str, data: bytes | str) -> Written:
        """Write a complete file or nothing; text is redacted and encoded as UTF-8, bytes are unchanged.

        Raises:
            PathRefused: the path leaves the workspace or names something protected.
            WorkspaceError: the file system failed.
        """
        if isinstance(data, str):
            data = without_surrogates(self.redactor.redact(data)).encode()
        return self.root.write(relative, data)

    def write_json(self, relative: str, value: Any) -> Written:
        """Write a value as strict JSON, redacted, with every unsafe character escaped; it is indented up to 1 MiB.

        Not-a-number and infinities become null.

        Raises:
            WorkspaceError: the value cannot be written as JSON, or the file system failed.
        """
        return self.root.write(relative, _encode_json(relative, value, self.redactor))

    def write_parts(self, relative: str, parts: Iterable[str]) -> Written:
        """Write a text as `write` does, from parts that are made one by one; no secret may extend over two of them.

        Raises:
            WorkspaceError: as in `write`.
        """
        encoded = (without_surrogates(self.redactor.redact(part)).encode() for part in parts)
        return self.root.write_chunks(relative, _in_pieces(encoded))

    def write_json_members(self, relative: str, members: Mapping[str, Any]) -> Written:
        """Write a JSON object as `write_json` does, one member after the other, and always indented.

        A member that is an iterator becomes a list, and its items are made one by one.

        Raises:
            WorkspaceError: as in `write_json`.
        """
        return self.root.write_chunks(relative, _in_pieces(self._encoded_members(relative, members)))

    def _encoded_members(self, relative: str, members: Mapping[str, Any]) -> Iterator[bytes]:
        def encoded(value: Any, indent: bytes) -> bytes:
            return _encode_json(relative, value, self.redactor).strip().replace(b"\n", b"\n" + indent)

        before = b"{"
        for name, value in members.items():
            yield before + b"\n  " + encoded(name, b"") + b": "
            before = b","
            if not isinstance(value, Iterator):
                yield encoded(value, b"  ")
                continue
            bracket = b"["
            for item in value:
                yield bracket + b"\n    " + encoded(item, b"    ")
                bracket = b","
            yield b"[]" if bracket == b"[" else b"\n  ]"
        yield b"\n}\n"

    def write_artifact(self, relative: str, text: str | bytes, *, redacted: bool = False) -> Written:
        """Write a text as `write` does; above 1 MiB it is compressed, and `.zst` is added to its name.

        Of the two forms only the one written remains. `redacted` says that the text, which may be given
        in UTF-8, is redacted already. The result has the path of the file, and its size and digest on the
        disk.

        Raises:
            WorkspaceError: as in `write`.
        """
        if not redacted:
            text = self.redactor.redact(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        data = text if isinstance(text, bytes) else without_surrogates(text).encode()
        return self._write_form(relative, (data,), len(data))

    def write_json_artifact(self, relative: str, value: Any) -> Written:
        """Write a value as `write_json` does, packed above 1 MiB as in `write_artifact`."""
        if not _are_long_blocks(value):
            return self.write_artifact(relative, _encode_json(relative, value, self.redactor), redacted=True)
        size = sum(map(len, _pieces_of_json(value, self.redactor)))
        return self._write_form(relative, _pieces_of_json(value, self.redactor), size)

    def _write_form(self, relative: str, pieces: Iterable[bytes], size: int) -> Written:
        """Write a content of so many bytes, compressed or not, and remove its other form."""
        plain = relative.removesuffix(SUFFIX)
        path, other = plain, plain + SUFFIX
        if LIMIT < size <= LARGEST:
            path, other, pieces = other, path, pack_pieces(pieces, size)
        written = self.root.write_chunks(path, pieces)
        self.root.remove(other)
        return written

    def read_artifact(self, relative: str, limit: int | None = None) -> bytes:
        """Read a text that `write_artifact` wrote, or its first `limit` bytes, whichever form it has.

        The name may be that of either form: when there is no such file the other one is read.

        Raises:
            WorkspaceError: there is neither, the file is damaged, holds more than 256 MiB, or cannot be read.
        """
        path = self.artifact_path(relative)
        if not path.endswith(SUFFIX):
            return self.root.read(path, limit)
        with self.root.opened(path) as file:
            try:
                return Unpacked(file).read(LARGEST + 1 if limit is None else limit)
            except WorkspaceError as error:
                raise WorkspaceError(f"cannot read '{path}': {error}") from error

    def artifact_path(self, relative: str) -> str:
        """The path of an artifact on the disk, given the path of either form; unchanged if neither exists."""
        other = relative.removesuffix(SUFFIX) if relative.endswith(SUFFIX) else relative + SUFFIX
        return other if not self.root.exists(relative) and self.root.exists(other) else relative

    def read(self, relative: str, limit: int | None = None) -> bytes:
        """Read a file, or its first `limit` bytes."""
        return self.root.read(relative, limit)

    def exists(self, relative: str) -> bool:
        """Whether a file or folder exists."""
        return self.root.exists(relative)

    def list(self, relative: str = "") -> list[FolderEntry]:
        """List a folder by name."""
        return self.root.list(relative)

    def lock(self) -> bool:
        """Lock the folder again after `close`; returns whether this object holds the lock.

        Raises:
            WorkspaceError: the lock cannot be made.
        """
        if self._lock is None:
            self._acquire_lock(make=True)
        return self.locked

    def close(self) -> None:
        """Release the lock, and remove temporary files of processes that died, or the folder if it is `unused`."""
        if self._lock is None:
            return
        try:
            if not (self.unused and self._remove_unused()):
                self.root.sweep()
        finally:
            os.close(self._lock)
            self._lock = None

    def _remove_unused(self) -> bool:
        """Remove the folder if it has nothing of others in it; returns whether it did."""
        with suppress(OSError), os.scandir(self.path) as found:
            entries = list(found)
            files = [each.name for each in entries if each.is_file(follow_symlinks=False)]
            if _OF_NEW.issuperset(files) and {each.name for each in entries} <= {*files, *FOLDERS}:
                # Only empty folders can be removed so.
                for folder in reversed(FOLDERS):
                    (self.path / folder).rmdir()
                for file in files:
                    (self.path / file).unlink()
                self.path.rmdir()
                return True
        return False

    def discard(self) -> None:
        """Remove the folder of a session that could not begin, with all that is in it."""
        # Whoever waits for the lock would work in a folder that is being removed.
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(WorkspaceError):
            self.close()

    def _acquire_lock(self, *, make: bool, patience: float = 0.0) -> None:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_CREAT if make else 0)
        try:
            descriptor = os.open(self.path / _LOCK, flags, 0o600)
        except OSError as error:
            if make:
                raise WorkspaceError(
                    f"cannot lock the session folder {self.path}: {error.strerror}; check its permissions"
                ) from error
            return
        try:
            hold_lock(descriptor, patience)
        except OSError:
            os.close(descriptor)
            return
        self._lock = descriptor


def _in_pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join small chunks, so that there are few writes."""
    piece = bytearray()
    for chunk in chunks:
        piece += chunk
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


def _encode_json(relative: str, value: Any, redactor: Redactor) -> bytes:
    try:
        plain = redactor.redact_value(msgspec.to_builtins(value, enc_hook=_plain))
        try:
            encoded = _ENCODER.encode_lines([plain])
        except UnicodeEncodeError:
            encoded = _ENCODER.encode_lines([encodable(plain)])
        if len(encoded) <= LIMIT:
            encoded = msgspec.json.format(encoded, indent=2) + b"\n"
        return escape_unsafe(encoded.decode()).encode() if holds_unsafe(encoded) else encoded
    except (TypeError, ValueError, NotImplementedError, RecursionError, msgspec.MsgspecError) as error:
        raise WorkspaceError(
            f"cannot write '{relative}' as JSON: {error}; use plain values and less nesting"
        ) from error


def _are_long_blocks(value: Any) -> bool:
    """Whether a value is a list of content blocks with more than a mebibyte of text in one of them."""
    return (
        isinstance(value, list | tuple)
        and all(
            isinstance(each, dict)
            and each.keys() <= _BLOCK_FIELDS
            and all(isinstance(text, str) for text in each.values())
            for each in value
        )
        and any(len(text) > LIMIT for each in value for text in each.values())
    )


def _pieces_of_json(blocks: Sequence[Mapping[str, str]], redactor: Redactor) -> Iterator[bytes]:
    """Encode content blocks as `_encode_json` does, piece by piece: each copy of a text may take 100 MB."""
    for number, block in enumerate(blocks):
        yield b"[" if number == 0 else b","
        for field, (key, text) in enumerate(block.items()):
            yield (b"{" if field == 0 else b",") + _piece_of_json(key) + b':"'
            for piece in redactor.redact_in_pieces(text, LIMIT):
                yield _piece_of_json(piece)[1:-1]
            yield b'"'
        yield b"}"
    yield b"]\n"


def _piece_of_json(value: str) -> bytes:
    try:
        encoded = _ENCODER.encode(value)
    except UnicodeEncodeError:
        encoded = _ENCODER.encode(without_surrogates(value))
    return escape_unsafe(encoded.decode()).encode() if holds_unsafe(encoded) else encoded


def _plain(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")
