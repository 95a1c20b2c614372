"""Reports that a saved artifact changed afterwards, by an observer, the agent or a person's editor.

The files are checked every two seconds. A change is reported when the file is at rest, so an editor that writes a
temporary file and renames it makes one report, and a file that is written all the time makes none until it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator

import msgspec

from ua_tui.core.concurrency.spawn import Handle, Spawn
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import ArtifactChanged, ArtifactSaved, Event
from ua_tui.core.storage.workspace import Workspace

# A file that changed often has to rest for more checks.
_LONGEST_REST = 30


class _Artifact(msgspec.Struct):
    """What is known of a file: its latest reported digest, the state with it, and the state at the last check."""

    path: str
    kind: str
    sha256: str
    checked: tuple[int, int, int] | None = None
    seen: tuple[int, int, int] | None = None
    rested: int = 0
    changes: int = 0


class ArtifactWatch(msgspec.Struct, eq=False):
    """Watches the newest artifacts of a session; a subscriber of the bus.

    Args:
        workspace: where the artifacts are.
        publish: publishes `artifact_changed`.
        pause: waits between two checks.
    """

    workspace: Workspace
    publish: Callable[[Event], object]
    pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(2.0)
    _known: dict[str, _Artifact] = {}
    _handle: Handle | None = None

    def handle_event(self, event: Event) -> None:
        """Watch an artifact that was saved."""
        if isinstance(event, ArtifactSaved):
            self._known.pop(event.path, None)
            self._known[event.path] = _Artifact(event.path, event.kind, event.sha256)
            if len(self._known) > 200:
                del self._known[next(iter(self._known))]

    def start(self, spawn: Spawn) -> None:
        """Begin to watch, in a task made by `spawn`."""
        self._handle = spawn(self._watch, "artifacts", "observers")

    async def finish(self) -> None:
        """Stop watching, and report what changed since the last check."""
        if self._handle is not None:
            self._handle.cancel()
        await self.check(final=True)

    async def check(self, *, final: bool = False) -> None:
        """Report the files that changed and are at rest; in the `final` check all that changed."""
        if not self._known:
            return
        for change in await asyncio.to_thread(lambda: list(self._changes(final=final))):
            self.publish(change)

    async def _watch(self) -> None:
        while True:
            await self.pause()
            await self.check()

    def _changes(self, *, final: bool) -> Iterator[ArtifactChanged]:
        for artifact in list(self._known.values()):
            path, state = artifact.path, self._state_of(artifact.path)
            if state is None:
                # An artifact that is written again may be compressed now, or no longer.
                path = self.workspace.artifact_path(path)
                state = self._state_of(path)
            if state is None:
                continue
            artifact.path = path
            if state == artifact.checked:
                continue
            artifact.rested = artifact.rested + 1 if state == artifact.seen else 0
            artifact.seen = state
            if not final and artifact.rested < min(_LONGEST_REST, 1 + artifact.changes):
                continue
            if (change := self._compare(artifact, path)) is not None:
                yield change

    def _state_of(self, path: str) -> tuple[int, int, int] | None:
        # This is asked of every file at every check, so it must be quick; what is read is opened without links.
        try:
            found = os.stat(f"{self.workspace.path}/{path}", follow_symlinks=False)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _compare(self, artifact: _Artifact, path: str) -> ArtifactChanged | None:
        try:
            with self.workspace.root.opened(path) as file:
                size = os.fstat(file.fileno()).st_size
                digest = hashlib.file_digest(file, "sha256").hexdigest() if size <= (256 << 20) else ""
        except (OSError, WorkspaceError):
            return None
        artifact.checked = artifact.seen
        if digest in (artifact.sha256, ""):
            return None
        artifact.sha256 = digest
        artifact.changes += 1
        return ArtifactChanged(path=path, kind=artifact.kind, size=size, sha256=digest)
