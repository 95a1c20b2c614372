"""All records of a session: journal, log, the files derived from the events, and traces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from platformdirs import user_state_path

from ua_tui.core.bus import Bus
from ua_tui.core.concurrency.threads import in_loop
from ua_tui.core.errors import Advice, UniversalAgentError
from ua_tui.core.events.types import ErrorRaised, TracingFailed
from ua_tui.core.records.formats import DerivedFiles, TraceInfo
from ua_tui.core.records.journal import DeltaJoiner, Journal
from ua_tui.core.records.log import LogFile, RootHandler, SessionLog
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.workspace import JOURNAL, Workspace
from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.telemetry.export_errors import Destination
from ua_tui.core.telemetry.spans.conventions import Labels
from ua_tui.core.telemetry.tracer import SPANS, Tracer
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView

_SENT_WITHIN, _FLUSH_WITHIN = 3.0, 2.0
"""Seconds that the end of a session waits for its spans to be sent, and how many of them before its last event."""


class SessionRecords:
    """Subscribes every record of a session to its bus, and closes them in order.

    `on_line` is called with every line of the journal as it is written. `session_url` is the address of the remote tool
    session, once there is one; the trace names it. `view` is that of the session so far. `tracer`
    knows the trace, and the variables with which the agent's command line joins it.

    Raises:
        JournalError, WorkspaceError: a record cannot be opened.
    """

    def __init__(
        self,
        settings: Settings,
        workspace: Workspace,
        redactor: Redactor,
        bus: Bus,
        root_handler: RootHandler,
        *,
        on_line: Callable[[bytes], None] | None = None,
        view: SessionView,
    ) -> None:
        self._bus = bus
        self._root_handler = root_handler
        self._journal = Journal(
            workspace.path / JOURNAL, redactor, on_failure=self._report_failure, on_line=on_line
        )
        self._log_file = LogFile(workspace.path / "run.log", redactor, on_failure=self._report_failure)
        root_handler.attach(self._log_file)
        self._joiner = DeltaJoiner(self._journal.append)
        self._derived_files = DerivedFiles(
            workspace, self._trace_info, on_failure=self._report_failure, view=view
        )
        token = None if settings.demo else settings.logfire_token
        self.tracer = Tracer(
            workspace.path / SPANS,
            redactor,
            state_dir=user_state_path("ua-tui") / "logfire",
            token=token,
            # The demo sends nothing anywhere.
            exports=Exports()
            if settings.demo
            else Exports.of(token=token, environ=os.environ, agent=settings.trace_agent),
            labels=Labels(session=workspace.session_id, user=settings.user_id),
            has_content=settings.trace_content,
            on_failure=in_loop(lambda error: self._report_tracing(str(error) or type(error).__name__)),
            on_problem=in_loop(self._on_export_problem),
        )
        self.view = self._derived_files.view
        """The fold of all events so far."""
        self._open = True
        self._flushed_s = 0.0
        self._redactor = redactor
        self._user_id = settings.user_id
        self.session_url = ""
        bus.subscribe(self._joiner)
        bus.subscribe(SessionLog(self._log_file))
        bus.subscribe(self._derived_files)
        bus.subscribe(self.tracer)

    async def flush(self) -> None:
        """Send the finished spans now, so that a failure can still be reported.

        Call it before the last event of the session. Together with `close` it takes at most three seconds.
        """
        begun = time.monotonic()
        await self.tracer.flush(_FLUSH_WITHIN)
        self._flushed_s = time.monotonic() - begun

    async def close(self) -> None:
        """Write all pending data and close every record."""
        self._open = False
        self._joiner.flush()
        await self.tracer.close(_SENT_WITHIN - self._flushed_s)
        await self._derived_files.drain()
        self._root_handler.detach()
        self._log_file.close()
        self._journal.close()

    def _trace_info(self) -> TraceInfo:
        return TraceInfo(
            url=self.session_url,
            user_id=self._user_id,
            logfire_enabled=self.tracer.exporting,
            trace_id=self.tracer.trace_id,
        )

    def _on_export_problem(self, destination: Destination, problem: Advice) -> None:
        where = (
            f"the collector at {self.tracer.exports.collector}" if destination == "collector" else "Logfire"
        )
        self._report_tracing(f"spans do not reach {where}: {problem}; {SPANS} has them")

    def _report_tracing(self, error: str) -> None:
        # No event may follow the end of a session.
        if self._open:
            self._bus.publish(TracingFailed(error=clean_line(self._redactor.redact(error), 300)))

    def _report_failure(self, error: UniversalAgentError) -> None:
        self._bus.publish(ErrorRaised(where="records", message=str(error)))
