"""Rewinds a session to the point before a query: what would change, and the change itself.

The order makes a crash harmless. First comes what only adds: the fork that keeps the way forward, and the conversation
as it was. Then it is written what the files are to become, the event that says that the person went back, and last the
files. The next start completes the change of the files if the event is there, and undoes it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import dropwhile, islice
from pathlib import Path
from uuid import uuid4

import msgspec

from ua_tui.core.agent.conversation import ConversationStore
from ua_tui.core.agent.ledger import acting
from ua_tui.core.errors import ConversationGone, JournalError, WorkspaceError
from ua_tui.core.events.types import (
    Event,
    QueryReceived,
    SessionRewound,
)
from ua_tui.core.history.kept_versions import Change, KeptVersions, Plan, Return, plan_return
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.session.fork import Cut, fork_session, rows_of
from ua_tui.core.session.resume import PreviousState
from ua_tui.core.storage.workspace import ACTIONS, Workspace
from ua_tui.core.view.calls import OpenCalls
from ua_tui.core.view.session import SessionView

_SAID = re.compile(rb'"type":\s*"assistant"')


class Prospect(msgspec.Struct, frozen=True):
    """What going back to before a query would change.

    `plan` is about the files; None if it is not known what they were. `outside` are the actions of the queries behind
    it that were made outside of the session, in words: they are not undone.
    """

    plan: Plan | None = None
    outside: tuple[str, ...] = ()


class Prepared(msgspec.Struct, frozen=True):
    """Everything by which a session goes back: the event that says it, and the change of the files.

    `begun` says that the new conversation has something of the earlier one.
    """

    event: SessionRewound
    files: Return
    begun: bool


class Rewinding(msgspec.Struct, eq=False):
    """Goes back in a session. Every method blocks: call it in a thread, while no query runs.

    Args:
        workspace: the session's folder, which this program has locked.
        versions: what its files were.
        base: where the fork is made that keeps the way forward, see `fork_session`.
        agent_home: where the command-line agent keeps its state.
    """

    workspace: Workspace
    versions: KeptVersions
    base: Path
    agent_home: Path

    def look(self, query_id: str, view: SessionView) -> Prospect:
        """Find out what going back to before a query would change; nothing is changed.

        Raises:
            JournalError, WorkspaceError: it cannot be found out.
        """
        # What was done outside since the query began, each once.
        found, calls = dict[str, None](), OpenCalls()
        for event in self._events_behind(query_id):
            call = calls.ended_by(event)
            if call is not None and call.finished.ran and call.finished.status in ("success", "error"):
                for action in acting(call.started.name, call.started.input):
                    found[action.name] = None
        return Prospect(self._plan(query_id, view), tuple(found))

    def prepare(self, query_id: str, changes: Sequence[Change]) -> Prepared:
        """Prepare to go back to before a query: until now the session has not changed.

        Raises:
            UniversalAgentError: it is not possible; the message says why.
        """
        cut, new = Cut(self.workspace, query_id, is_running=False), str(uuid4())
        transcripts = list(self._transcripts(cut, new))
        begun = any(_SAID.search(line) for _path, lines in transcripts for line in lines)
        if cut.said and not begun:
            raise ConversationGone(
                f"the conversation before the query {query_id} was not found: neither the session's folder nor "
                f"{self.agent_home} has it"
            )
        files = Return(self.workspace.root, new, changes)
        files.check()
        kept_as = fork_session(
            self.workspace.path,
            base=self.base,
            agent_home=self.agent_home,
            redactor=self.workspace.redactor,
        )
        for path, lines in transcripts:
            self.workspace.root.append_lines(path, lines)
        if actions := list(rows_of(self.workspace, self._events_behind(query_id))):
            # What is done again asks.
            self.workspace.root.write(ACTIONS, msgspec.json.encode(actions))
        # What was changed while the way forward was copied, and before, was changed by hand.
        self.versions.keep(query_id, "now")
        files.prepare()
        event = SessionRewound(
            query_id=query_id,
            provider_session_id=new,
            kept_as=kept_as.name,
            restored=[each.path for each in changes if each.then is not None],
            removed=[each.path for each in changes if each.then is None],
        )
        return Prepared(event, files, begun)

    def change_files(self, prepared: Prepared) -> dict[str, str]:
        """Change the files, once the event is published; returns why some could not be changed.

        Raises:
            WorkspaceError: the event is not in the journal, and no file has changed; or it cannot be written that they
                changed.
        """
        event = prepared.event
        # It may wait in memory, as while the disk is full, or be lost.
        if _way_back(self.workspace, event.provider_session_id) is None:
            prepared.files.undo()
            raise WorkspaceError("the journal cannot be written: the files stay as they are")
        return prepared.files.complete(event.query_id)

    def _plan(self, query_id: str, view: SessionView) -> Plan | None:
        then, now = self.versions.at(query_id), self.versions.keep(query_id, "now")
        if then is None or now is None:
            return None
        # An observer may save a file when its query is over.
        saved = {(path, each.sha256) for path, each in view.artifacts.items()}
        by_hand = self.versions.changed_by_hand(query_id)
        own = {path for path in by_hand if path in now and (path, now[path].sha256) in saved}
        return plan_return(self.workspace.root, then, now, by_hand - own)

    def _events_behind(self, query_id: str) -> Iterator[Event]:
        """The events of a query and of what came after it."""
        return dropwhile(
            lambda event: not (isinstance(event, QueryReceived) and event.query_id == query_id),
            read_events(self.workspace.path),
        )

    def _transcripts(self, cut: Cut, new: str) -> Iterator[tuple[str, list[bytes]]]:
        """The transcripts of the last conversation as they were, under the id of a new one."""
        store = ConversationStore(self.workspace, self.agent_home)
        for conversation in islice(reversed(cut.conversations), 1):
            old_id, new_id = (b'"sessionId":' + msgspec.json.encode(each) for each in (conversation, new))
            for path, lines in store.transcripts(conversation, cut.until, cut.said):
                yield path.replace(conversation, new, 1), [line.replace(old_id, new_id) for line in lines]


def _way_back(workspace: Workspace, conversation: str) -> SessionRewound | None:
    """The event that began a conversation by going back; None if the journal does not have it."""
    with suppress(JournalError):
        for event in read_events(workspace.path):
            if isinstance(event, SessionRewound) and event.provider_session_id == conversation:
                return event
    return None


def settle(workspace: Workspace, previous: PreviousState) -> None:
    """Complete or undo what a program that was killed began, and note it in the state of the session. Blocks."""
    try:
        left = Return.left_by_crash(workspace.root)
        if left is not None:
            # What is in the journal happened.
            event = _way_back(workspace, left.name)
            failed = left.complete(event.query_id) if event is not None else left.undo()
            done = f"a rewind was interrupted, and is now {'completed' if event is not None else 'undone'}"
            previous.settled = ": ".join((done, *failed.values()))
    except WorkspaceError as error:
        previous.settled = str(error)
