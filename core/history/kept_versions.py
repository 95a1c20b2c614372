"""Keeps the content of a session's files, whoever changed them, and restores it.

`.versions/index.jsonl` has a line for each moment, with what changed since the line before, and `.versions/objects` has
each content once, under its SHA-256. A content is a copy, never a second name of the file: a program that writes to a
file in place would change it, too.

Nothing is taken back whose present content is not kept, so that every change can be undone. What is to be changed is
written to `.versions/rewind.json` first; the next start of the session completes it, or undoes it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import posixpath
import signal
import stat
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.paths import split_path
from ua_tui.core.storage.workspace import FOLDERS, VERSIONS, is_record

LARGEST_FILE = 64 << 20
"""Bytes; of a larger file only that it was there is known."""
LARGEST_STORE = 1 << 30
"""Bytes of all contents of a session together; after that no content is kept any more."""
MOST_FILES = 20_000
"""Files; of a folder with more, nothing is kept."""
RESULTS = "tool_results"
"""The folder with results of calls, which belongs to the journal: it is written once, and never goes back."""
INDEX = f"{VERSIONS}/index.jsonl"
"""The file with what the files were, moment by moment."""
# Within this time a file may change again without a new time stamp.
_UNSURE_NS = 50_000_000
_PIECE = 1 << 20
_ATTEMPTS = 3

When = Literal["begin", "end", "now", "rewound"]
"""When files are kept: a query begins, or ended; or someone looks what going back would change, or it was done."""


class KeptFile(msgspec.Struct, frozen=True, array_like=True):
    """A file at some moment: its SHA-256, empty if it was too large to be read, its size and its mode.

    `kept` says that its content was kept. `stamp` is by which the file is recognised as unchanged: its inode, size
    and times, or nothing.
    """

    sha256: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
    size: int
    mode: int = 0o600
    kept: bool = False
    stamp: tuple[int, ...] = ()

    def is_same(self, other: KeptFile | None) -> bool:
        """Whether both have the same content, as far as it is known."""
        if other is None or self.size != other.size:
            return False
        return self.sha256 == other.sha256 if self.sha256 or other.sha256 else self.stamp == other.stamp

    def differs_from(self, other: KeptFile | None) -> bool:
        """Whether the index has to say it: of another content, of another mode, or kept only now."""
        return other is None or not self.is_same(other) or (self.mode, self.kept) != (other.mode, other.kept)


Files = dict[str, KeptFile]


class _Moment(msgspec.Struct, omit_defaults=True):
    """A line of the index: what changed since the line before it, or with `full` everything."""

    number: int
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    query: str
    when: When
    full: bool = False
    files: Files = {}
    gone: list[str] = []
    too_many: bool = False


# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(_Moment)


class KeptVersions:
    """The kept versions in the folder of a session.

    Every method blocks: call it in a thread. Safe to use from several threads.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._last: tuple[int, Files] = 0, {}
        self._written = -1
        self._size: int | None = None

    def keep(self, query: str, when: When) -> Files | None:
        """Keep what the files are now, and return it; None if there are too many.

        Raises:
            WorkspaceError: it cannot be written.
        """
        with self._lock:
            # Another program, or another object, may have written to the index.
            number, before = self._last if self._index_size() == self._written else self._read_last()
            found = self._scan(before)
            moment = _Moment(number + 1, datetime.now(UTC), query, when, full=number == 0)
            if found is None:
                moment.too_many = True
            else:
                moment.files = {
                    path: file for path, file in found.items() if file.differs_from(before.get(path))
                }
                moment.gone = [path for path in before if path not in found]
            self._root.append_lines(INDEX, [msgspec.json.encode(moment)])
            self._last = moment.number, before if found is None else found
            self._written = self._index_size()
            return found

    def at(self, query: str, when: When = "begin") -> Files | None:
        """What the files were when a query began, or ended; None if that is not known.

        Raises:
            WorkspaceError: it cannot be read.
        """
        found: Files | None = None
        for moment, files in self._moments():
            if moment is not None and (moment.query, moment.when) == (query, when):
                found = None if moment.too_many else dict(files)
        return found

    def versions(self, path: str) -> Iterator[tuple[datetime, KeptFile]]:
        """Yield the kept versions of a file, each with when it was kept.

        Raises:
            WorkspaceError: they cannot be read.
        """
        for moment, _files in self._moments():
            if moment is not None and (file := moment.files.get(path)) is not None and file.kept:
                yield moment.at, file

    def changed_by_hand(self, query: str) -> set[str]:
        """The files whose last change since a query began was made while no query ran.

        Raises:
            WorkspaceError: the index cannot be read.
        """
        found, before, has_begun = set[str](), "", False
        for moment, _files in self._moments():
            if moment is None:
                continue
            # Behind a query that never ended, nobody knows.
            if has_begun and moment.when in ("begin", "now") and before != "begin":
                found.update(moment.files, moment.gone)
            else:
                found.difference_update(moment.files, moment.gone)
            has_begun = has_begun or (moment.query, moment.when) == (query, "begin")
            before = moment.when
        return found

    def place_of(self, file: KeptFile) -> str:
        """The path of the kept content of a file, in the session's folder."""
        return f"{VERSIONS}/objects/{file.sha256[:2]}/{file.sha256}"

    def content(self, file: KeptFile) -> Iterator[bytes]:
        """Yield the kept content of a file in pieces.

        Raises:
            WorkspaceError: it was not kept, or at the end: it is damaged.
        """
        digest = hashlib.sha256()
        with self._root.opened(self.place_of(file)) as kept:
            while piece := kept.read(_PIECE):
                digest.update(piece)
                yield piece
        if digest.hexdigest() != file.sha256:
            raise WorkspaceError(f"the kept version {self.place_of(file)} is damaged; it cannot be used")

    def has(self, file: KeptFile) -> bool:
        """Whether the content of a file is kept, as far as its size tells."""
        with suppress(WorkspaceError):
            return file.kept and self._root.size(self.place_of(file)) == file.size
        return False

    def is_whole(self, file: KeptFile) -> bool:
        """Whether the content of a file is kept, and not damaged: all of it is read."""
        try:
            for _piece in self.content(file):
                pass
        except WorkspaceError:
            return False
        return file.kept

    def sync(self, files: list[KeptFile]) -> None:
        """Return when these contents are safe on the disk.

        Raises:
            WorkspaceError: one is damaged, or was not kept.
        """
        for file in files:
            for _piece in self.content(file):
                pass
            with self._root.opened(self.place_of(file)) as kept:
                os.fsync(kept.fileno())

    def lines_until(self, until: datetime | None) -> Iterator[tuple[bytes, list[KeptFile]]]:
        """Yield the lines of the index from before a time, each with the files whose contents it names.

        Raises:
            WorkspaceError: it cannot be read.
        """
        if not self._root.exists(INDEX):
            return
        with self._root.opened(INDEX) as index:
            for line in index:
                if (moment := _decoded(line)) is not None:
                    if until is not None and moment.at >= until:
                        return
                    yield line, list(moment.files.values())

    def _index_size(self) -> int:
        return self._root.size(INDEX) if self._root.exists(INDEX) else 0

    def _read_last(self) -> tuple[int, Files]:
        number, files = 0, Files()
        for moment, latest in self._moments():
            number, files = moment.number if moment is not None else 0, latest
        return number, files

    def _moments(self) -> Iterator[tuple[_Moment | None, Files]]:
        """The moments, each with the files then, which the next one changes.

        Instead of a damaged line, and of those behind it up to the next with everything, there is none.
        """
        if not self._root.exists(INDEX):
            return
        files, number = Files(), 0
        with self._root.opened(INDEX) as index:
            for line in index:
                moment = _decoded(line)
                if moment is None or not (moment.full or moment.number == number + 1 > 1):
                    files, number = Files(), 0
                    yield None, files
                    continue
                files = Files() if moment.full else files
                number = moment.number
                files.update(moment.files)
                for path in moment.gone:
                    files.pop(path, None)
                yield moment, files

    def _scan(self, before: Files) -> Files | None:
        """What the files are now: those that did not change since `before` are the same objects."""
        found = Files()
        sure_before = time.time_ns() - _UNSURE_NS
        for path, status in self._walk():
            if len(found) >= MOST_FILES:
                return None
            known = before.get(path)
            if known is not None and known.stamp == _stamp_of(status):
                found[path] = known
            elif (file := self._keep_file(path, sure_before)) is not None:
                found[path] = file
        return found

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """The regular files and their states, without links, records, and names that this program does not write."""
        folders = [""]
        while folders:
            below = folders.pop()
            with suppress(OSError), os.scandir(self._root.path / below) as entries:
                for entry in entries:
                    path = below + entry.name
                    if not is_kept(path):
                        continue
                    with suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(status.st_mode):
                            folders.append(f"{path}/")
                        elif stat.S_ISREG(status.st_mode):
                            yield path, status

    def _keep_file(self, path: str, sure_before: int) -> KeptFile | None:
        """Keep the content of a file, unless it is kept already; None if the file is gone.

        Raises:
            WorkspaceError: it cannot be written.
        """
        file = None
        for _attempt in range(_ATTEMPTS):
            try:
                file = self._read_file(path, sure_before)
            except WorkspaceError:
                # One that may not be read stays as it is.
                return KeptFile("", 0) if self._root.exists(path) else None
            if not file.kept or self.has(file):
                return file
            if not self._has_room(file.size):
                break
            with self._root.opened(path) as source:
                pieces = iter(lambda: source.read(_PIECE), b"")
                written = self._root.write_chunks(self.place_of(file), pieces, synced=False)
            if written.sha256 == file.sha256:
                self._size = (self._size or 0) + file.size
                return file
            # Somebody writes to it.
            self._root.remove(self.place_of(file))
        return msgspec.structs.replace(file, kept=False, stamp=()) if file is not None else None

    def _read_file(self, path: str, sure_before: int) -> KeptFile:
        with self._root.opened(path) as file:
            status = os.fstat(file.fileno())
            short = status.st_size <= LARGEST_FILE
            digest = hashlib.file_digest(file, "sha256").hexdigest() if short else ""
        sure = max(status.st_mtime_ns, status.st_ctime_ns) < sure_before
        mode, stamp = stat.S_IMODE(status.st_mode), _stamp_of(status) if sure else ()
        return KeptFile(digest, status.st_size, mode, bool(digest), stamp)

    def _has_room(self, size: int) -> bool:
        if self._size is None:
            self._size = 0
            with suppress(WorkspaceError):
                for folder in self._root.list(f"{VERSIONS}/objects"):
                    self._size += sum(
                        each.size for each in self._root.list(f"{VERSIONS}/objects/{folder.name}")
                    )
        return self._size + size <= LARGEST_STORE


def _decoded(line: bytes) -> _Moment | None:
    """A line of the index, with the files that may be kept; None if it is damaged. The agent can write to it, too."""
    try:
        moment = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    moment.files = {path: file for path, file in moment.files.items() if is_kept(path)}
    return moment


def is_kept(path: str) -> bool:
    """Whether versions of the file or folder at a path of the session's folder are kept."""
    try:
        name = split_path(path)[0]
    except PathRefused:
        return False
    return not is_record(name) and name != RESULTS


def _stamp_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def files_at(folder: Path, query: str, when: When = "begin") -> Files | None:
    """What the files of a session were when a query began, or ended, by path; None if that is not known. Blocks.

    Raises:
        WorkspaceError: it cannot be read.
    """
    return KeptVersions(Root(folder)).at(query, when)


PENDING = f"{VERSIONS}/rewind.json"
"""The change that is being made; it is there only meanwhile."""
READ = frozenset({"search_results", "extracted_articles", "workbench_activity"})
"""The folders with what the session has read, which stay: what was read stays read."""

Kind = Literal["added", "changed", "deleted"]
Reason = Literal["by_hand", "in_use", "not_kept", "in_the_way"]


class Change(msgspec.Struct, frozen=True):
    """A file that goes back: what it is `now`, and what it was `then`; None where there is no such file."""

    path: str
    now: KeptFile | None = None
    then: KeptFile | None = None

    @property
    def kind(self) -> Kind:
        """What happens to the file."""
        if self.now is None:
            return "added"
        return "deleted" if self.then is None else "changed"

    @property
    def undone(self) -> Change:
        """The change that undoes this one."""
        return Change(self.path, self.then, self.now)


class Plan(msgspec.Struct, frozen=True):
    """What would change if the files went back, and which files would stay as they are, with the reasons.

    What changed `by_hand` did so while no query ran, `in_use` is open for writing in another program, of what is
    `not_kept` the content of then or that of now is not kept, and `in_the_way` is a link or a folder.
    """

    changes: tuple[Change, ...] = ()
    stay: Mapping[str, Reason] = {}

    def of(self, kind: Kind) -> list[str]:
        """The paths of the files to which the same happens."""
        return [change.path for change in self.changes if change.kind == kind]

    def staying(self, reason: Reason) -> list[str]:
        """The paths of the files that stay for the same reason."""
        return [path for path, why in self.stay.items() if why == reason]


def plan_return(root: Root, then: Files, now: Files, by_hand: Collection[str] = ()) -> Plan:
    """Plan how the files of a session go back from what they are `now` to what they were `then`. Blocks.

    Those changed `by_hand` stay as they are.
    """
    changes, stay = list[Change](), dict[str, Reason]()
    versions = KeptVersions(root)
    for path in sorted(then.keys() | now.keys()):
        before, file = then.get(path), now.get(path)
        if path.split("/", 1)[0] in READ or (file.is_same(before) if file is not None else before is None):
            continue
        if (why := _reason_to_stay(root, versions, Change(path, file, before), by_hand)) is not None:
            stay[path] = why
        else:
            changes.append(Change(path, file, before))
    return Plan(tuple(changes), stay)


def _reason_to_stay(
    root: Root, versions: KeptVersions, change: Change, by_hand: Collection[str]
) -> Reason | None:
    path, now = change.path, change.now
    if not all(each is None or versions.has(each) for each in (now, change.then)):
        return "not_kept"
    if path in by_hand:
        return "by_hand"
    if _is_in_the_way(root, path):
        return "in_the_way"
    return "in_use" if now is not None and _is_in_use(root, path) else None


def _is_in_the_way(root: Root, path: str) -> bool:
    """Whether there is a link on the way to a file, or something else than a file in its place."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        try:
            mode = os.lstat(root.path.joinpath(*parts[:count])).st_mode
        except OSError:
            return False
        if stat.S_ISLNK(mode) or not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            return True
    return False


def _is_in_use(root: Root, path: str) -> bool:
    """Whether a program has the file open for writing, where the system can tell."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    with suppress(WorkspaceError), root.opened(path) as file:
        # The system refuses a lease of a file that is open for writing. A writer that comes now is no reason to end
        # this process, which is what the usual signal does.
        try:
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


class _Pending(msgspec.Struct):
    """The content of the file: the changes, and the name of what they belong to."""

    name: str
    changes: tuple[Change, ...]


class Return:
    """The files of a session on their way back. Every method blocks.

    Args:
        root: the session's folder.
        name: the name of what the change belongs to, by which it is later known whether that happened.
        changes: which files change, from a plan.
    """

    def __init__(self, root: Root, name: str, changes: Sequence[Change]) -> None:
        self._root = root
        self._versions = KeptVersions(root)
        self._pending = _Pending(name, tuple(changes))

    @classmethod
    def left_by_crash(cls, root: Root) -> Return | None:
        """The change that a program began and did not complete; None if there is none.

        Raises:
            WorkspaceError: it cannot be read.
        """
        if not root.exists(PENDING):
            return None
        try:
            pending = msgspec.json.decode(root.read(PENDING), type=_Pending)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise WorkspaceError(
                f"'{PENDING}' cannot be read ({error}): remove it; the files stay as they are, and their earlier "
                f"content is in {root.path / VERSIONS}"
            ) from error
        return cls(root, pending.name, pending.changes)

    @property
    def name(self) -> str:
        """What the change belongs to."""
        return self._pending.name

    def check(self) -> None:
        """Have every content on the disk by which the change can be completed or undone.

        Raises:
            WorkspaceError: one is damaged, or the disk failed.
        """
        changes = self._pending.changes
        self._versions.sync([file for each in changes for file in (each.now, each.then) if file is not None])

    def prepare(self) -> None:
        """Have everything on the disk by which the change can be completed or undone.

        Raises:
            WorkspaceError: a content is damaged, or the disk failed; nothing is changed then.
        """
        self.check()
        self._root.write(PENDING, msgspec.json.encode(self._pending))

    def complete(self, query: str) -> dict[str, str]:
        """Change the files to what they were before a query; returns why some could not be changed.

        What is changed already stays. The next start tries again what the disk refused.

        Raises:
            WorkspaceError: it cannot be written that the files went back.
        """
        failed, is_done = self._apply(self._pending.changes)
        self._versions.keep(query, "rewound")
        if is_done:
            self._root.remove(PENDING)
        return failed

    def undo(self) -> dict[str, str]:
        """Change the files to what they were before `complete`; otherwise like it."""
        failed, is_done = self._apply([change.undone for change in self._pending.changes])
        if is_done:
            self._root.remove(PENDING)
        return failed

    def _apply(self, changes: Sequence[Change]) -> tuple[dict[str, str], bool]:
        """Change files; returns why some could not be changed, and whether it is of no use to try again."""
        failed, is_done = dict[str, str](), True
        # First what is deleted: its name may be that of a folder, or the same in small letters.
        for change in sorted(changes, key=lambda each: each.then is not None):
            try:
                if not self._change(change):
                    failed[change.path] = f"'{change.path}' was changed in the meantime: it stays as it is"
            except WorkspaceError as error:
                failed[change.path], is_done = f"{error}; the next start of the session tries it again", False
        return failed, is_done

    def _change(self, change: Change) -> bool:
        """Change a file; returns False if it is not what it was when that was planned."""
        root, path, then = self._root, change.path, change.then
        found = _digest_of(root, path)
        if found == (then.sha256 if then is not None else None):
            return True
        if found != (change.now.sha256 if change.now is not None else None):
            return False
        if then is not None:
            root.write_chunks(path, self._versions.content(then), mode=then.mode & 0o777)
            return True
        root.remove(path)
        for folder in _folders_above(path):
            try:
                root.remove(folder, is_folder=True)
            except WorkspaceError:
                # It has other files.
                break
        return True


def _digest_of(root: Root, path: str) -> str | None:
    """The SHA-256 of a file; None if there is none, and empty for what is no file."""
    try:
        with root.opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except WorkspaceError:
        return None if not os.path.lexists(root.path / path) else ""


def _folders_above(path: str) -> Iterator[str]:
    """The folders above a file that the program does not need, the innermost first."""
    while (path := posixpath.dirname(path)) and path not in FOLDERS:
        yield path
