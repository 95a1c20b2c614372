from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.journals import read_journal
from ua_tui.core.agent.ledger import ActionRecorder, read_actions
from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.bus import Bus
from ua_tui.core.errors import ConversationGone, JournalError, SettingsError, WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history.headline import read_summary, stamp_of
from ua_tui.core.history.kept_versions import KeptVersions
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.fork import fork_session
from ua_tui.core.session.resume import (
    PreviousState,
    conversation_to_resume,
    prepare_resume,
    read_previous_state,
)
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import is_own_session, seal_session
from ua_tui.core.storage.workspace import CONVERSATION, Workspace

ID = "30f20b51-92fa-457c-9608-28350960e2e7"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
MAIL = "mcp__composio__GMAIL_SEND_EMAIL"
TO_ANN = {"recipient_email": "ann@example.com", "body": "Hello"}


class Recorded:
    """A session of three queries, a minute each: each saves a file and says something; the second sends a mail."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "agent"
        workspace = Workspace.create(base, NOON)
        workspace.close()
        self.folder = workspace.path
        self.now = NOON
        self._lines: list[bytes] = []
        self._bus = Bus(now=lambda: self.now)
        self._bus.subscribe(lambda event: self._lines.append(encode_event(event) + b"\n"))
        self.add(
            ev.SessionStarted(
                session_id=self.folder.name,
                workspace=str(self.folder),
                cwd="/",
                version="1",
                max_cost_usd=1.0,
                provider_session_id=ID,
            )
        )
        for number in (1, 2, 3):
            self.query(number)
        self.add(ev.SessionFinished(reason="quit", queries=3, cost_usd=0.75, duration_ms=180_000.0))
        seal_session(Root(self.folder))
        (self.folder / "queue.json").write_text('{"version": 1, "queries": ["later"]}')

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    def add(self, *events: ev.Event) -> None:
        for event in events:
            self._bus.publish(event)
        self.journal.write_bytes(b"".join(self._lines))

    def said(self, text: str, kind: str = "assistant", message: str = "") -> None:
        entry = {
            "type": kind,
            "uuid": f"u{len(text)}-{text}",
            "timestamp": f"{self.now:%Y-%m-%dT%H:%M:%S}.500Z",
            "cwd": str(self.folder),
            "message": {"id": message, "role": kind, "content": text},
        }
        Root(self.folder).append_lines(f"{CONVERSATION}/{ID}.jsonl", [msgspec.json.encode(entry)])

    def query(self, number: int) -> None:
        query, name = f"q{number}", f"work_products/{number}.md"
        self.now += timedelta(seconds=20)
        self.add(ev.QueryReceived(query_id=query, text=f"Question {number}"))
        self.said(f"Question {number}", "user")
        self.save(name, f"# Report {number}\n")
        if number == 2:
            self.call("t2", MAIL, TO_ANN)
        self.now += timedelta(seconds=40)
        self.said(f"Answer {number}, in {self.folder}/{name}", message=f"m{number}")
        self.add(
            ev.MessageFinished(query_id=query, message_id=f"m{number}", text=f"Answer {number}"),
            ev.QueryFinished(query_id=query, status="success", cost_usd=0.25),
        )

    def save(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        os.utime(path, (self.now.timestamp(),) * 2)
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.add(
            ev.ArtifactSaved(path=name, kind="work_product", size=len(text), sha256=digest, observer="o")
        )

    def call(self, call: str, tool: str, given: dict[str, str], status: str = "success") -> None:
        self.add(ev.ToolCallStarted(query_id="q2", tool_use_id=call, name=tool, input=given, iteration=1))
        self.add(ev.ToolCallFinished(tool_use_id=call, status=status))  # type: ignore[arg-type]

    def fork(self, before: str | None = None) -> Path:
        return fork_session(
            self.folder, base=self.base, agent_home=self.home, before=before, now=NOON + timedelta(hours=1)
        )


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def state_of(folder: Path) -> PreviousState:
    return read_previous_state(Workspace(folder, folder))


def content_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything in a folder: the mode, the time and the bytes of each file."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_fork_knows_everything_up_to_the_query_and_nothing_after(recorded: Recorded) -> None:
    before = content_of(recorded.folder)
    fork = recorded.fork("q2")
    assert content_of(recorded.folder) == before
    assert fork.parent == recorded.folder.parent
    assert stat.S_IMODE(fork.stat().st_mode) == 0o700
    state = state_of(fork)
    assert [query.text for query in state.view.queries] == ["Question 1"]
    assert state.last_query == 1
    assert state.queue == ()
    transcript = (fork / CONVERSATION / f"{ID}.jsonl").read_text()
    assert [json.loads(line)["message"]["content"] for line in transcript.splitlines()] == [
        "Question 1",
        f"Answer 1, in {fork}/work_products/1.md",
    ]
    assert (fork / "work_products/1.md").read_text() == "# Report 1\n"
    assert not (fork / "work_products/2.md").exists()
    everything = b"".join(each for _, _, each in content_of(fork).values())
    assert b"Question 3" not in everything
    assert b"Answer 2" not in everything
    assert str(recorded.folder).encode() + b"/" not in everything


def test_the_transcript_of_a_sub_agent_that_began_later_is_left_out(recorded: Recorded) -> None:
    place = f"{CONVERSATION}/{ID}/subagents/agent-1.jsonl"
    at = f"{NOON + timedelta(seconds=90):%Y-%m-%dT%H:%M:%S}.000Z"
    entries = ({"type": "agent_metadata", "description": "Look"}, {"type": "user", "timestamp": at})
    Root(recorded.folder).append_lines(place, [msgspec.json.encode(each) for each in entries])
    assert not (recorded.fork("q2") / place).exists()
    assert len((recorded.fork("q3") / place).read_bytes().splitlines()) == 2


def test_it_is_resumed_like_any_other_session(recorded: Recorded, tmp_path: Path) -> None:
    fork = recorded.fork("q3")
    assert is_own_session(fork)
    _, resume = prepare_resume(Settings(workspace_base=tmp_path), fork)
    assert resume.folder == fork
    home = tmp_path / "other-agent"
    workspace = Workspace.resume(fork)
    try:
        assert conversation_to_resume(state_of(fork), workspace, home) == ID
    finally:
        workspace.close()
    (own,) = home.rglob("*.jsonl")
    assert "Answer 2" in own.read_text()
    assert "Question 3" not in own.read_text()


def test_it_names_what_it_is_a_fork_of_and_the_query_to_change(recorded: Recorded) -> None:
    fork = recorded.fork("q2")
    summary = read_summary(fork, stamp_of(fork))
    assert (summary.forked_from, summary.title, summary.state) == (
        recorded.folder.name,
        "Question 2",
        "finished",
    )
    (forked,) = [each for each in events_of(fork) if isinstance(each, ev.SessionForked)]
    assert (forked.session, forked.query_id, forked.text) == (recorded.folder.name, "q2", "Question 2")
    assert forked.files == "then"


def events_of(folder: Path) -> list[ev.Event]:
    return read_journal(folder / "journal.jsonl").events


def test_costs_and_time_before_the_fork_are_not_its_own(recorded: Recorded) -> None:
    fork = recorded.fork("q3")
    costs = state_of(fork).view.costs
    assert (costs.total, costs.inherited, costs.limit) == (0.0, 0.5, 1.0)
    assert state_of(fork).earlier_ms == 0.0
    assert read_summary(fork, stamp_of(fork)).cost == 0.0


def test_without_a_query_it_has_all_of_the_session(recorded: Recorded) -> None:
    fork = recorded.fork()
    assert len(state_of(fork).view.queries) == 3
    assert "Answer 3" in (fork / CONVERSATION / f"{ID}.jsonl").read_text()
    assert (fork / "work_products/3.md").exists()


def test_a_fork_of_a_fork_of_a_deleted_session(recorded: Recorded) -> None:
    first = recorded.fork("q3")
    shutil.rmtree(recorded.folder)
    recorded.folder, original = first, recorded.folder
    second = recorded.fork("q2")
    assert [query.text for query in state_of(second).view.queries] == ["Question 1"]
    assert read_summary(second, stamp_of(second)).forked_from == first.name
    assert read_summary(first, stamp_of(first)).forked_from == original.name
    # What the first session did is known to the second fork, too.
    assert [each.tool for each in read_actions(Root(second))] == [MAIL]


def test_files_that_changed_since_are_those_of_now_and_it_says_so(recorded: Recorded) -> None:
    recorded.save("work_products/1.md", "# Report 1, corrected\n")
    fork = recorded.fork("q2")
    assert (fork / "work_products/1.md").read_text() == "# Report 1, corrected\n"
    (forked,) = [each for each in events_of(fork) if isinstance(each, ev.SessionForked)]
    assert forked.files == "now"


def test_files_whose_versions_were_kept_are_those_of_then(recorded: Recorded) -> None:
    versions = KeptVersions(Root(recorded.folder))
    recorded.now += timedelta(minutes=1)
    (recorded.folder / "by_hand.txt").write_text("before")
    for number in (4, 5):
        recorded.add(ev.QueryReceived(query_id=f"q{number}", text=f"Question {number}"))
        recorded.said(f"Question {number}", "user")
        versions.keep(f"q{number}", "begin")
        (recorded.folder / "by_hand.txt").write_text(f"changed by {number}")
        (recorded.folder / f"new_{number}.txt").write_text("new")
        (recorded.folder / f"work_products/{number - 3}.md").unlink()
        recorded.add(ev.QueryFinished(query_id=f"q{number}", status="success"))
        recorded.now = datetime.now(UTC) + timedelta(seconds=1)
    fork = recorded.fork("q4")
    assert (fork / "by_hand.txt").read_text() == "before"
    assert (fork / "work_products/1.md").read_text() == "# Report 1\n"
    assert (fork / "work_products/2.md").exists()
    assert not list(fork.glob("new_*"))
    (forked,) = [each for each in events_of(fork) if isinstance(each, ev.SessionForked)]
    assert forked.files == "then"
    # A fork of all of it can be forked again, when the session is gone.
    whole = recorded.fork()
    shutil.rmtree(recorded.folder)
    recorded.folder = whole
    again = recorded.fork("q5")
    assert (again / "by_hand.txt").read_text() == "changed by 4"
    assert sorted(path.name for path in again.glob("new_*")) == ["new_4.txt"]


def test_results_of_later_calls_are_left_out(recorded: Recorded) -> None:
    results = recorded.folder / "tool_results"
    results.mkdir()
    (results / "t1.txt").write_text("of an earlier call")
    os.utime(results / "t1.txt", (NOON.timestamp(),) * 2)
    (results / "t2.txt").write_text("of the call of the second query")
    fork = recorded.fork("q2")
    assert [path.name for path in (fork / "tool_results").iterdir()] == ["t1.txt"]
    (forked,) = [each for each in events_of(fork) if isinstance(each, ev.SessionForked)]
    assert forked.files == "then"


def test_the_conversation_is_whole_although_the_clock_was_set_back(recorded: Recorded) -> None:
    recorded.now -= timedelta(hours=2)
    recorded.query(4)
    transcript = (recorded.fork("q4") / CONVERSATION / f"{ID}.jsonl").read_text()
    assert "Answer 3" in transcript
    assert "Question 4" not in transcript


def test_nothing_that_the_fork_writes_reaches_the_original(recorded: Recorded) -> None:
    outside = recorded.base / "outside.md"
    outside.write_text("mine")
    os.link(recorded.folder / "work_products/1.md", recorded.folder / "work_products/linked.md")
    (recorded.folder / "work_products/link.md").symlink_to(outside)
    (recorded.folder / "links").symlink_to(recorded.base)
    before = content_of(recorded.folder)
    fork = recorded.fork()
    for path in fork.rglob("*.md"):
        with path.open("a") as file:
            file.write("changed")
    assert content_of(recorded.folder) == before
    assert outside.read_text() == "mine"
    assert not (fork / "links").exists()


def test_an_action_that_was_done_already_asks_again(recorded: Recorded) -> None:
    recorded.call("t8", MAIL, {**TO_ANN, "body": "Denied"}, "denied")
    recorded.call("t9", MAIL, {**TO_ANN, "body": "Stopped"}, "cancelled")
    fork = recorded.fork("q2")
    actions = ActionRecorder(None, Redactor(), fork, lambda _server, _tool: False)

    def asks(body: str) -> str | None:
        return actions.reason_to_ask(Action(MAIL, {**TO_ANN, "body": body}))

    assert "succeeded" in (asks("Hello") or "")
    assert "may have succeeded" in (asks("Stopped") or "")
    assert asks("Denied") is None
    assert asks("Another text") is None


# -- what cannot be forked, or only in part ---------------------------------------------------------


def test_a_query_that_is_not_there(recorded: Recorded) -> None:
    with pytest.raises(SettingsError, match="has no query 'q9'"):
        recorded.fork("q9")


def test_a_session_of_somebody_else_or_in_a_moved_folder(recorded: Recorded) -> None:
    moved = recorded.folder.rename(recorded.folder.with_name("session_20260101_000000"))
    recorded.folder = moved
    with pytest.raises(SettingsError, match="trust adopt"):
        recorded.fork()
    seal_session(Root(moved))
    assert len(state_of(recorded.fork()).view.queries) == 3


def test_a_session_that_runs_is_forked_up_to_the_query_that_runs(recorded: Recorded) -> None:
    recorded.now += timedelta(minutes=1)
    recorded.add(ev.QueryReceived(query_id="q4", text="Question 4"))
    recorded.said("Question 4", "user")
    with recorded.journal.open("ab") as journal:
        journal.write(b'{"event":"text_delta","se')
    lock = os.open(recorded.folder / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        fork = recorded.fork()
    finally:
        os.close(lock)
    (forked,) = [each for each in events_of(fork) if isinstance(each, ev.SessionForked)]
    assert (forked.query_id, forked.omitted) == ("q4", 0)
    assert [query.text for query in state_of(fork).view.queries] == ["Question 1", "Question 2", "Question 3"]
    assert "Question 4" not in (fork / CONVERSATION / f"{ID}.jsonl").read_text()


def test_a_session_whose_program_was_killed_is_ended_in_the_fork(recorded: Recorded) -> None:
    recorded.add(ev.QueryReceived(query_id="q4", text="Question 4"))
    ends = [each for each in events_of(recorded.fork()) if isinstance(each, ev.QueryFinished)]
    assert (ends[-1].query_id, ends[-1].status) == ("q4", "interrupted")


def cut(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-3], lines[-3][:40]]


def damaged(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], b"\xff\xfe not JSON\n", *lines[4:]]


def later(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], b'{"event":"mind_read","seq":999,"at":"2026-03-10T12:03:00Z","of":"you"}\n']


@pytest.mark.parametrize(("broken", "omitted"), [(cut, 0), (damaged, 1), (later, 0)])
def test_a_broken_journal_is_forked_as_far_as_it_is_complete(
    recorded: Recorded, broken: Callable[[list[bytes]], list[bytes]], omitted: int
) -> None:
    recorded.journal.write_bytes(b"".join(broken(recorded.journal.read_bytes().splitlines(True))))
    fork = recorded.fork()
    (forked,) = [each for each in events_of(fork) if isinstance(each, ev.SessionForked)]
    assert forked.omitted == omitted
    assert state_of(fork).view.queries[-1].text == "Question 3"
    assert (b"mind_read" in (fork / "journal.jsonl").read_bytes()) is (broken is later)


def test_swapped_and_spliced_lines_are_refused(recorded: Recorded) -> None:
    lines = recorded.journal.read_bytes().splitlines(True)
    lines[8], lines[9] = lines[9], lines[8]
    recorded.journal.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=r"was changed: event .* fork it before an earlier query"):
        recorded.fork()
    # What comes before is in order.
    assert len(state_of(recorded.fork("q2")).view.queries) == 1


def test_a_journal_of_another_session_is_refused(recorded: Recorded) -> None:
    other = Recorded(recorded.base / "other")
    other.journal.replace(recorded.journal)
    lines = recorded.journal.read_bytes().replace(b'"cwd":"/"', b'"cwd":"/elsewhere"')
    recorded.journal.write_bytes(lines)
    with pytest.raises(SettingsError, match="not made by this program for this user"):
        recorded.fork()


def test_without_its_conversation_it_is_refused_and_nothing_is_left(recorded: Recorded) -> None:
    (recorded.folder / CONVERSATION / f"{ID}.jsonl").unlink()
    sessions = sorted(os.listdir(recorded.folder.parent))
    with pytest.raises(ConversationGone, match="no copy of it"):
        recorded.fork("q2")
    assert sorted(os.listdir(recorded.folder.parent)) == sessions


def test_without_space_nothing_is_left(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before, sessions = content_of(recorded.folder), sorted(os.listdir(recorded.folder.parent))
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(WorkspaceError, match="No space left on device; free some space"):
        recorded.fork("q2")
    assert sorted(os.listdir(recorded.folder.parent)) == sessions
    assert content_of(recorded.folder) == before


def test_what_a_killed_fork_left_is_removed_by_the_next_one(recorded: Recorded) -> None:
    gone = 2**22 + 1
    reserved = recorded.folder.parent / "session_20260310_130000"
    half = recorded.folder.parent / f".{reserved.name}.{gone}.ua-tmp"
    for folder in (reserved, half, half / "work_products"):
        folder.mkdir()
    # The program that makes it may run in another container.
    descriptor = os.open(half, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert recorded.fork("q2").name != reserved.name
    assert half.exists()
    os.close(descriptor)
    assert recorded.fork("q2").name == reserved.name
    assert not half.exists()
