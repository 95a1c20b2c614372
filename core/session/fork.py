"""Forks a session: makes a new folder with everything before a query of another session, to be resumed."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from math import inf
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.conversation import ConversationStore
from ua_tui.core.agent.environment import conversations_home
from ua_tui.core.agent.ledger import RecordedAction, acting, key_of, masked, read_actions
from ua_tui.core.agent.messages.result_files import name_of
from ua_tui.core.bus import Bus
from ua_tui.core.claims.files import LEDGER
from ua_tui.core.errors import ConversationGone, JournalError, SettingsError
from ua_tui.core.events.types import (
    ArtifactSaved,
    ConversationCleared,
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionForked,
    SessionRewound,
    SessionStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.history.headline import TITLE, beginning_of
from ua_tui.core.history.kept_versions import INDEX, KeptVersions, is_kept
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.records.journal import journal_line
from ua_tui.core.records.journal_reader import event_in
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.resume import PreviousState, read_previous_state
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.storage.files import Root, failed, is_gone
from ua_tui.core.storage.folders import REPORT_CHECKS, WORKSPACES
from ua_tui.core.storage.ownership import check_session, seal_session
from ua_tui.core.storage.paths import TEMPORARY
from ua_tui.core.storage.workspace import ACTIONS, JOURNAL, RECORDS, Workspace
from ua_tui.core.text import clean_line
from ua_tui.core.view.calls import OpenCalls

_NOT_COPIED = (RECORDS - {REPORT_CHECKS}) | {TITLE}
_HALF_MADE = re.compile(rf"\.(session_[\d_-]+)\.(\d+){re.escape(TEMPORARY)}")
_STATES = {"success": "done", "error": "failed", "cancelled": "running"}
_PIECE = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def fork_with(settings: Settings, folder: Path, before: str | None = None) -> Path:
    """Fork a session below the folder of sessions that the settings name; otherwise as `fork_session`."""
    settings = dataclasses.replace(settings, demo=_beginning(folder).demo)
    return fork_session(
        folder,
        base=settings.workspace_base,
        agent_home=conversations_home(settings),
        before=before,
        redactor=Redactor(secrets(settings, os.environ)),
    )


def fork_session(
    folder: Path,
    *,
    base: Path,
    agent_home: Path,
    before: str | None = None,
    redactor: Redactor | None = None,
    now: datetime | None = None,
) -> Path:
    """Make a new session below `base` that knows what the one in `folder` knew before a query, or all of it.

    The new folder has the journal and the agent's transcripts up to there, the files of the workspace, and no queue;
    `prepare_resume` resumes it. A session that runs is forked up to the query that runs. Of the other session nothing
    changes, and if this fails nothing is left. It takes the time of copying: call it in a thread.

    `before` is the id of the query, None for the end of the session. `agent_home` is where the command-line agent keeps
    its state.

    Raises:
        SettingsError: the session has no such query, or is not the user's own.
        JournalError: its journal cannot be read, or is not in order up to the query.
        ConversationGone: what the agent said cannot be found any more.
        WorkspaceError: the files cannot be copied.
    """
    check_session(folder)
    _beginning(folder)
    source = Workspace(folder, folder, redactor)
    cut = Cut(source, before, is_running=runs_elsewhere(folder))
    sessions = Root(base / WORKSPACES, create=True).path
    # What programs that were killed left half made is removed.
    for entry in sessions.iterdir():
        if (found := _HALF_MADE.fullmatch(entry.name)) and is_gone(int(found[2])):
            with suppress(OSError), _locked(entry):
                shutil.rmtree(entry, ignore_errors=True)
                (sessions / found[1]).rmdir()
    path = Workspace.reserve(sessions, now or datetime.now().astimezone())
    made = sessions / f".{path.name}.{os.getpid()}{TEMPORARY}"
    try:
        made.mkdir(mode=0o700)
        with _locked(made):
            changed = _copy_files(source.root, made, cut)
            _copy_versions(source.root, Root(made), cut)
            _write_records(Workspace(made, made, source.redactor), cut, path, agent_home, changed=changed)
            # The reserved folder is empty: this replaces it by the complete one.
            made.rename(path)
    except BaseException as error:
        shutil.rmtree(made, ignore_errors=True)
        with suppress(OSError):
            path.rmdir()
        if isinstance(error, OSError):
            raise failed("fork the session", folder.name, error) from error
        raise
    return path


def _beginning(folder: Path) -> SessionStarted:
    try:
        return beginning_of(folder)
    except JournalError as error:
        raise JournalError(
            f"the session in {folder} cannot be forked: {error} ({folder / JOURNAL}); `ua-tui open` shows what there is"
        ) from error


class Cut:
    """The journal of a session, cut before a query.

    `kept` are its lines up to there, as they are, `query` is the query, and `until` when it came. `later` are the paths
    of the files that were saved only after that, `rows` the actions of all of the session, and `omitted` is the number
    of damaged lines. `conversations` are the ids of those until then, and `said` is that of the agent's last message in
    the last one.

    Raises:
        SettingsError: the session has no such query.
        JournalError: its journal is not in order up to the query.
    """

    def __init__(self, source: Workspace, before: str | None, *, is_running: bool) -> None:
        self.source = source
        self.query: QueryReceived | None = None
        self.conversations: dict[str, None] = {}
        self.said = ""
        self.kept: list[bytes] = []
        self.omitted = 0
        with source.root.opened(JOURNAL) as file:
            lines = [(line, event_in(line)) for line in file if line.strip(b" \t\r\n\0")]
        if lines and not lines[-1][0].endswith(b"\n") and lines[-1][1] is None:
            # It was cut off, or is being written.
            lines.pop()
        open_query, at = -1, len(lines)
        for number, (_, event) in enumerate(lines):
            match event:
                case QueryReceived():
                    open_query = number
                    if event.query_id == before:
                        self.query, at = event, number
                        break
                case QueryFinished():
                    open_query = -1
        if before is not None and self.query is None:
            raise SettingsError(
                f"the session {clean_line(source.session_id, 100)} has no query {clean_line(before, 40)!r}: "
                "`ua-tui open` shows its queries, q1 is the first"
            )
        if before is None and is_running and open_query >= 0:
            at, running = open_query, lines[open_query][1]
            self.query = running if isinstance(running, QueryReceived) else None
        self.until = self.query.at if self.query is not None else None
        self._keep(lines[:at])
        events = [event for _, event in lines if event is not None]
        self.rows = list(rows_of(source, events))
        known = {event.path for _, event in lines[:at] if isinstance(event, ArtifactSaved)}
        self.later = set(_saved_in(event for _, event in lines[at:])) - known

    def _keep(self, lines: Sequence[tuple[bytes, Event | None]]) -> None:
        last = 0
        for line, event in lines:
            if event is None:
                self.omitted += 1
                continue
            if event.seq <= last:
                raise JournalError(
                    f"the journal of {clean_line(self.source.session_id, 100)} was changed: event {event.seq:,} "
                    f"follows event {last:,} ({self.source.path / JOURNAL}); fork it before an earlier query"
                )
            last = event.seq
            self.kept.append(line)
            match event:
                case SessionStarted() | ConversationCleared() | SessionRewound() if event.provider_session_id:
                    last_one = next(reversed(self.conversations), None)
                    self.said = self.said if event.provider_session_id == last_one else ""
                    self.conversations[event.provider_session_id] = None
                case MessageFinished(parent_tool_use_id=None):
                    self.said = event.message_id

    def renamed(self, line: bytes, path: Path) -> bytes:
        """A line of JSON with the folder of the fork in place of that of the session."""
        folder = re.escape(_in_json(self.source.path)) + rb"(?![\w-])"
        return re.sub(folder, lambda _: _in_json(path), line)


def _in_json(path: Path) -> bytes:
    return msgspec.json.encode(str(path))[1:-1]


def rows_of(source: Workspace, events: Iterable[Event]) -> Iterator[RecordedAction]:
    """What the session, and those of which it is a fork, did outside: the newest of equal actions."""
    rows = {each.key: replace(each, attempt=0) for each in read_actions(source.root)}
    calls = OpenCalls()
    ended = [(each.started, each.finished.status) for event in events if (each := calls.ended_by(event))]
    ended += [(call.started, "cancelled") for call in calls.values()]
    for call, status in ended:
        if status in _STATES:
            for action in acting(call.name, call.input):
                key = key_of(masked(action, source.redactor), source.path)
                rows[key] = RecordedAction(key=key, tool=clean_line(action.tool, 200), state=_STATES[status])  # type: ignore[arg-type]
    yield from rows.values()


def _saved_in(events: Iterable[Event | None]) -> Iterator[str]:
    for event in events:
        match event:
            case ArtifactSaved():
                yield event.path
            case ToolCallStarted(tool_use_id=call):
                yield name_of(call)
            case ToolCallFinished(observation=found) if found is not None and found.stored_at is not None:
                yield found.stored_at


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder that is being made: it shows programs in other containers, whose ids say nothing."""
    descriptor = os.open(folder, _OPEN | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _copy_files(source: Root, target: Path, cut: Cut) -> bool:
    """Copy the files of a workspace as they were when the query began, or else as they are; links are left out.

    Returns whether one may have changed since.
    """
    versions, query = KeptVersions(source), cut.query
    then = versions.at(query.query_id) if query is not None else None
    since = cut.until.timestamp() if cut.until is not None else inf
    kept = {path: file for path, file in (then or {}).items() if versions.is_whole(file)}
    for path, file in kept.items():
        _copy_file(source.path / versions.place_of(file), target / path, file.mode)
    changed = then is not None and any(path not in kept and not source.exists(path) for path in then)
    for path, status in _files_in(source.path):
        is_later = path in cut.later if then is None or not is_kept(path) else path not in then
        if path not in kept and not is_later:
            try:
                _copy_file(source.path / path, target / path, status.st_mode, status.st_mtime_ns)
                changed |= status.st_mtime > since
            except FileNotFoundError:
                # The agent may remove one meanwhile.
                pass
            except (FileExistsError, NotADirectoryError):
                # What is a folder now was a file then.
                changed = True
    return changed


def _files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files that a fork gets, and their states."""
    for below, folders, names, descriptor in os.fwalk(folder, onerror=_raise):
        place = Path(below).relative_to(folder)
        if place == Path():
            folders[:] = [each for each in folders if each not in _NOT_COPIED]
        for name in names:
            is_own = (place == Path() and name in _NOT_COPIED) or name.endswith((TEMPORARY, LEDGER))
            # The agent may remove one meanwhile.
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and not is_own:
                    yield (place / name).as_posix(), status


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _copy_file(source: Path, target: Path, mode: int, mtime_ns: int | None = None) -> None:
    """Copy a regular file: where there is a link instead meanwhile, this fails."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        open(os.open(source, _OPEN), "rb") as file,
        open(os.open(target, _CREATE, mode & 0o700), "wb") as copy,
    ):
        shutil.copyfileobj(file, copy, _PIECE)
    if mtime_ns is not None:
        os.utime(target, ns=(mtime_ns, mtime_ns))


def _copy_versions(source: Root, made: Root, cut: Cut) -> None:
    """Copy the kept versions from before the query."""
    versions, lines = KeptVersions(source), list[bytes]()
    for line, files in versions.lines_until(cut.until):
        lines.append(line)
        for file in files:
            place = versions.place_of(file)
            if versions.has(file) and not (made.path / place).exists():
                _copy_file(source.path / place, made.path / place, 0o600)
    made.append_lines(INDEX, lines)


def _write_records(made: Workspace, cut: Cut, path: Path, agent_home: Path, *, changed: bool) -> None:
    """Write the journal, the transcripts and the recorded actions of the fork that will be at `path`."""
    redactor, name = made.redactor, clean_line(cut.source.session_id, 200)
    made.root.write_chunks(JOURNAL, _journal(cut, path, redactor))
    previous = read_previous_state(made)
    _copy_conversation(made, cut, path, agent_home, previous)
    query = cut.query or QueryReceived(query_id="", text="")
    tail: list[bytes] = []
    view = previous.view
    bus = Bus(previous.view.seq)
    bus.subscribe(lambda event: tail.append(journal_line(event, redactor)))
    forked = SessionForked(
        session=name,
        query_id=query.query_id,
        text=query.text,
        files="now" if changed else "then",
        omitted=cut.omitted,
        cost_usd=view.costs.inherited + (view.costs.total or 0.0),
    )
    for event in (*previous.closing_events(), forked):
        bus.publish(event)
    bus.publish(
        SessionFinished(
            reason="forked",
            cost_usd=0.0,
            queries=view.query_count,
            tool_calls=view.call_count,
            artifacts=view.artifact_count,
        )
    )
    made.root.append_lines(JOURNAL, tail)
    if cut.rows:
        made.root.write(ACTIONS, msgspec.json.encode(cut.rows))
    if query.text:
        made.root.write(TITLE, clean_line(query.text, 200).encode())
    seal_session(made.root, path)


def _journal(cut: Cut, path: Path, redactor: Redactor) -> Iterator[bytes]:
    """The lines of the session, the first of which says that this is a fork."""
    is_first = True
    for line in cut.kept:
        if is_first and isinstance(start := event_in(line), SessionStarted):
            is_first = False
            start = replace(start, session_id=path.name, forked_from=cut.source.session_id)
            line = journal_line(start, redactor)  # noqa: PLW2901
        yield cut.renamed(line.removesuffix(b"\n") + b"\n", path)


def _copy_conversation(
    made: Workspace, cut: Cut, path: Path, agent_home: Path, previous: PreviousState
) -> None:
    """Write the transcripts up to the query, with the folder of the fork in place of that of the session."""
    last = previous.view.setup.conversation
    if last is None:
        return
    has_any = False
    store = ConversationStore(cut.source, agent_home)
    # The earlier ones, which ended before, are there for who forks the fork, or goes back in it.
    for conversation in (*(each for each in cut.conversations if each != last), last):
        is_last = conversation == last
        for name, lines in store.transcripts(conversation, cut.until if is_last else None, cut.said):
            # The model's service refuses a block of thinking that was changed.
            kept = [each if b'"signature"' in each else cut.renamed(each, path) for each in lines]
            made.root.append_lines(name, kept)
            has_any = has_any or (is_last and bool(kept))
    if previous.view.setup.spoken and not has_any:
        raise ConversationGone(
            f"the conversation of {cut.source.session_id} was not found in {agent_home}, and the session's folder has "
            "no copy of it: it can be resumed with --fresh, but not forked"
        )
