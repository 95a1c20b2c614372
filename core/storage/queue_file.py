"""The queue of queries behind the running one, stored in the session's folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import seal_json
from ua_tui.core.storage.ownership import is_sealed, not_own, seal
from ua_tui.core.text import escape_unsafe, without_surrogates

if TYPE_CHECKING:
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.storage.files import Root
    from ua_tui.core.storage.workspace import Workspace

QUEUE_FILE = "queue.json"


class StoredQueue(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file: the queries that have not run, oldest first, with secrets masked.

    By the `seal` they are recognised as the user's own.
    """

    version: int = 1
    queries: tuple[str, ...] = ()
    seal: str = ""


def read_queue(folder: Root, *, foreign: bool = False) -> tuple[str, ...]:
    """The queries that the session of a folder left in its queue, oldest first; none if there is no such file.

    With `foreign` also those of a file that is not the user's own.

    Raises:
        WorkspaceError: the file cannot be read, has another format, or is not the user's own without `foreign`.
    """
    if not folder.exists(QUEUE_FILE):
        return ()
    try:
        kept = msgspec.json.decode(folder.read(QUEUE_FILE, 16 << 20), type=StoredQueue)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WorkspaceError(
            f"'{QUEUE_FILE}' cannot be read: {error}; the queued queries are in the prompt's history"
        ) from error
    if not foreign and not is_sealed(kept.seal, "queue", folder.path, *kept.queries):
        raise WorkspaceError(not_own(folder.path / QUEUE_FILE, "its queries are not used"))
    return kept.queries


def write_queue(folder: Root, queries: Sequence[str], redactor: Redactor) -> None:
    """Store the queries of a session, or remove the file if there are none.

    Raises:
        WorkspaceError: the file cannot be written.
    """
    if not queries:
        folder.remove(QUEUE_FILE)
        return
    given = msgspec.json.encode([without_surrogates(text) for text in queries]).decode()
    masked = msgspec.json.decode(seal_json(given, redactor), type=tuple[str, ...])
    stored = StoredQueue(queries=masked, seal=seal("queue", folder.path, *masked))
    folder.write(QUEUE_FILE, escape_unsafe(msgspec.json.encode(stored).decode()).encode())


class QueryQueue:
    """Queries in the order they will run.

    While the queue is paused no query is taken from it: after a query that did not succeed, a person decides about the
    queries behind it. A thread writes the latest state to `queue.json`; the file exists as long as a query waits, so
    that neither a crash nor the end of the session loses one. Belongs to one event loop.

    Args:
        workspace: where the file is.
        restored: the queries that an earlier run of the session left in the file. They are paused, and new queries
            run before them without resuming them, as nobody has seen them yet.
    """

    def __init__(self, workspace: Workspace, restored: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._waiting: list[str] = list(restored)
        self._paused = bool(restored)
        self._restored = bool(restored)
        self._before = 0
        self._closed = False
        self._kept: tuple[str, ...] = tuple(restored)
        self._keeper: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._waiting))

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def paused(self) -> bool:
        """Whether the waiting queries stay until a person resumes the queue."""
        return self._paused and bool(self._waiting)

    @property
    def ready(self) -> bool:
        """Whether `pop_next` would return a query."""
        return bool(self._waiting) and not self._closed and (not self._paused or self._before > 0)

    def add(self, text: str) -> None:
        """Add a query behind the others; if the queue is paused, add it before them and resume the queue."""
        if self.paused and self._restored:
            self._put_before(self._before, text)
        elif self.paused:
            self.add_first(text)
        else:
            self._paused = self._restored = False
            self._waiting.append(text)
            self._keep_soon()

    def add_first(self, text: str) -> None:
        """Add a query before the others and resume the queue, unless they are restored."""
        if self.paused and self._restored:
            self._put_before(0, text)
            return
        self._paused = False
        self._waiting.insert(0, text)
        self._keep_soon()

    def pop_next(self) -> str | None:
        """Remove and return the next query; None if there is none, the queue is paused, or the session ends."""
        if not self.ready:
            return None
        text = self._waiting.pop(0)
        self._before = max(0, self._before - 1)
        self._keep_soon()
        return text

    def pop_newest(self) -> str | None:
        """Remove and return the newest query; None if there is none."""
        if not self._waiting:
            return None
        text = self._waiting.pop()
        self._before = min(self._before, len(self._waiting))
        self._keep_soon()
        return text

    def change(self, seen: Sequence[str], wanted: Sequence[str]) -> bool:
        """Replace the queries that a person saw by `wanted`; False if the queue has changed since."""
        if self._closed or tuple(seen) != tuple(self._waiting):
            return False
        self._waiting = [text for text in wanted if text.strip()]
        self._before = min(self._before, len(self._waiting))
        self._keep_soon()
        return True

    def pause(self) -> None:
        """Keep the waiting queries until `resume`."""
        self._paused = bool(self._waiting)
        self._before = 0

    def resume(self) -> None:
        """Let the queries run again."""
        self._paused = self._restored = False
        self._before = 0

    async def close(self) -> None:
        """Return no more queries, and wait until the waiting ones are stored."""
        self._closed = True
        self._keep_soon()
        if self._keeper is not None:
            await asyncio.shield(self._keeper)

    def _put_before(self, place: int, text: str) -> None:
        """Add a query that runs although those behind it stay paused."""
        self._waiting.insert(place, text)
        self._before += 1
        self._keep_soon()

    def _keep_soon(self) -> None:
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.get_running_loop().create_task(self._keep(), name="keep the queue")

    async def _keep(self) -> None:
        # A query that is removed in the same turn of the event loop never waited.
        await asyncio.sleep(0)
        while self._kept != (waiting := tuple(self._waiting)):
            try:
                await asyncio.to_thread(write_queue, self._workspace.root, waiting, self._workspace.redactor)
            except (WorkspaceError, OSError) as error:
                log.warning("the queued queries are not kept: %s", error)
                return
            self._kept = waiting
