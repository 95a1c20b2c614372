"""Writes the derived files of a past session again from its journal: on request, or after the program was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ua_tui.core.errors import JournalError, UniversalAgentError, WorkspaceError
from ua_tui.core.history.headline import ends_in_order
from ua_tui.core.history.lookup import session_names
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.log import log
from ua_tui.core.records.formats import SUMMARY, TRACE, TRANSCRIPT, TraceInfo, write_derived
from ua_tui.core.records.journal_reader import PastJournal, Unread
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.core.storage.ownership import is_own_session
from ua_tui.core.storage.workspace import JOURNAL, Workspace

DERIVED = (TRACE, TRANSCRIPT, SUMMARY)
"""The files that are derived from the journal."""
CHECKED = 20
"""How many of the newest sessions are checked at a start."""
LONGEST = 64 << 20
"""Bytes; a longer journal is rebuilt only by hand, as it takes the time of a screen that just started."""
WRITTEN_WITHIN = 5.0
"""Seconds; derived files that were written this close to the last event may lack it."""
_LARGEST_TRACE = 64 << 20


def rebuild(folder: Path, redactor: Redactor) -> tuple[int, Unread]:
    """Write the derived files of a session again; a long journal takes seconds, so call it in a thread.

    Returns how many events were read, and what of the journal could not be.

    The facts of `trace.json` that are in no event are kept, if the file can be read.

    Raises:
        JournalError: the journal cannot be read, or has no events.
        WorkspaceError: another program runs the session, or its folder cannot be written.
    """
    if runs_elsewhere(folder):
        raise WorkspaceError(
            f"the session in {folder} is running in another program, which writes these files at the end of each query"
        )
    # The journal is read without the lock of the session: a person may want to resume it meanwhile.
    with PastJournal(folder) as journal:
        view = journal.view(redactor)
        if not view.events:
            raise JournalError(f"the journal {journal.path} has no events: nothing is rebuilt.")
        view.keep_unfinished()
    workspace = Workspace.claim(folder, redactor)
    try:
        if workspace.root.size(JOURNAL) != journal.size:
            raise WorkspaceError(
                f"the session in {folder} was resumed in the meantime, and these files were written then"
            )
        write_derived(workspace, view, _earlier_info(workspace))
    finally:
        workspace.close()
    return view.events, journal.unread


def clean_up_after_kills(
    base: Path, redactor: Redactor, *, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Finish what programs that were killed left undone below `base`; never raises, and takes a thread some time.

    The derived files of sessions without an end are written again, and temporary files are removed. Only the newest
    sessions are checked, and of a session that ended in order only the end of its journal is read, if anything.
    """
    reports = base / SAVED_REPORTS
    if reports.is_dir():
        with _logged(reports):
            Root(reports).sweep(below=False)
    for name in session_names(base)[:CHECKED]:
        if stopped():
            return
        folder = base / WORKSPACES / name
        with _logged(folder):
            if _is_behind(folder) and is_own_session(folder) and not runs_elsewhere(folder):
                events, _ = rebuild(folder, redactor)
                log.info(
                    "%s was cut off: %s are written again from %d events",
                    name,
                    ", ".join(DERIVED),
                    events,
                )


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    try:
        yield
    except (UniversalAgentError, OSError) as error:
        log.info("%s is not cleaned up: %s", path, error)


def _is_behind(folder: Path) -> bool:
    """Whether the derived files may lack events of the journal."""
    journal = (folder / JOURNAL).lstat()
    if not journal.st_size or journal.st_size > LONGEST:
        return False
    try:
        ahead = (folder / SUMMARY).lstat().st_mtime - journal.st_mtime
    except FileNotFoundError:
        return True
    if ahead >= WRITTEN_WITHIN:
        return False
    return ahead < 0 or not ends_in_order(folder)


class _Trace(msgspec.Struct):
    session_info: TraceInfo = TraceInfo()
    logfire_enabled: bool = False
    trace_id: str | None = None


# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(_Trace)


def _earlier_info(workspace: Workspace) -> TraceInfo:
    """The facts of the trace that are in no event, from the trace of the last query that ended."""
    try:
        trace = _DECODER.decode(workspace.read(TRACE, _LARGEST_TRACE))
    except (WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError):
        return TraceInfo()
    enabled, trace_id = trace.logfire_enabled, trace.trace_id
    return msgspec.structs.replace(trace.session_info, logfire_enabled=enabled, trace_id=trace_id)
