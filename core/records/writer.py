"""Keeps a session's trace.json, transcript.md and summary.txt up to date."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from ua_tui.core.concurrency.threads import Coalesced, in_loop
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import Event, QueryFinished, SessionFinished
from ua_tui.core.records.formats import TraceInfo, build_summary, build_trace, build_transcript
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.view.session import SessionView

TRACE = "trace.json"
TRANSCRIPT = "transcript.md"
SUMMARY = "summary.txt"

_log = logging.getLogger(__name__)


class DerivedFiles:
    """Writes the derived files at the end of each query and of the session; a subscriber of the bus.

    Collecting events is cheap and done as they happen; a thread builds and writes the files, and one write serves all
    requests made in the meantime. In a session of hundreds of queries a write takes a tenth of a second, so that the
    next one waits for `interval` seconds. If a write fails, the old files stay unchanged.

    Args:
        workspace: where the files go.
        info: returns what no event has; called for each write.
        on_failure: called once when the files cannot be written, until they can be written again.
        view: has the earlier events of a resumed session.
        interval: the seconds between two writes; the end of the session does not wait for them.
    """

    def __init__(
        self,
        workspace: Workspace,
        info: Callable[[], TraceInfo] = TraceInfo,
        *,
        on_failure: Callable[[WorkspaceError], object] = lambda _error: None,
        view: SessionView | None = None,
        interval: float = 2.0,
    ) -> None:
        self._workspace = workspace
        self._info = info
        self._on_failure = in_loop(on_failure)
        self._failing = False
        self.view = view or SessionView(workspace.redactor, workspace.root)
        self.view.follow_clock(time.monotonic, time.time())
        self._latest: tuple[SessionView, TraceInfo] | None = None
        self._writer = Coalesced(self._write_latest, "derived files", interval=interval)

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        self.view.add(event)
        if isinstance(event, (QueryFinished, SessionFinished)):
            self.request()

    def request(self) -> None:
        """Request that the files are written with the current state."""
        self._latest = (self.view.then(()), self._info())
        self._writer.request()

    async def drain(self, deadline: float = 5.0) -> bool:
        """Wait until the files are written; False if `deadline` seconds were not enough."""
        return await asyncio.to_thread(self._writer.finish, deadline)

    def _write_latest(self) -> None:
        latest = self._latest
        if latest is None:
            return
        try:
            write_derived(self._workspace, *latest)
            self._failing = False
        except WorkspaceError as error:
            _log.warning("the derived files could not be written: %s", error)
            failed_before, self._failing = self._failing, True
            if not failed_before:
                self._on_failure(error)


def write_derived(workspace: Workspace, view: SessionView, info: TraceInfo) -> None:
    """Write the three files, each completely or not at all.

    Raises:
        WorkspaceError: one of them cannot be written.
    """
    workspace.write_json_members(TRACE, build_trace(view, info))
    workspace.write_parts(TRANSCRIPT, build_transcript(view))
    workspace.write(SUMMARY, build_summary(view))
