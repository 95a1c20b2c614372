"""Takes the files of a session back to what they were: which would change, and the change, which survives a crash.

Nothing is changed whose present content is not kept, so that every change can be undone. What is to be changed is
written to `.versions/rewind.json` first; the next start of the session completes it, or undoes it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import posixpath
import signal
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import FOLDERS, VERSIONS
from ua_tui.core.versions.store import Files, KeptFile, KeptVersions

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
                f"'{PENDING}' cannot be read ({error}): remove it; the files stay as they are, and what they were is "
                f"in {root.path / VERSIONS}"
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
                root.remove_folder(folder)
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
