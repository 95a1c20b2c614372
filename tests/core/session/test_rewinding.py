"""Going back to before a query: what would change, what stays, and what a crash leaves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.session.test_fork import ID, MAIL, TO_ANN, Recorded, content_of
from tests.paths import PROJECT
from ua_tui.core.agent.ledger import ActionRecorder
from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.bus import Bus
from ua_tui.core.errors import ConversationGone, SettingsError, WorkspaceError
from ua_tui.core.events.types import (
    SessionForked,
    SessionRewound,
    SessionStarted,
    ToolCallFinished,
    ToolCallStarted,
    UntrustedTextRead,
)
from ua_tui.core.history.kept_versions import INDEX, PENDING, KeptVersions
from ua_tui.core.history.past_files import PastFiles
from ua_tui.core.records.formats import build_summary, build_transcript
from ua_tui.core.records.journal import Journal
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session import rewinding as module
from ua_tui.core.session.resume import PreviousState, read_previous_state
from ua_tui.core.session.rewinding import Prepared, Rewinding, settle
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, Workspace
from ua_tui.core.view.session import SessionView, fold


class Kept(Recorded):
    """A session of three queries with kept versions."""

    def query(self, number: int) -> None:
        versions = KeptVersions(Root(self.folder))
        versions.keep(f"q{number}", "begin")
        super().query(number)
        (self.folder / "log.txt").write_text(f"by the shell, {number}")
        versions.keep(f"q{number}", "end")

    @property
    def rewinding(self) -> Rewinding:
        workspace = Workspace(self.folder, self.folder)
        return Rewinding(workspace, KeptVersions(workspace.root), self.base, self.home)

    @property
    def view(self) -> SessionView:
        return fold(read_events(self.folder))

    @property
    def state(self) -> PreviousState:
        return read_previous_state(Workspace(self.folder, self.folder))

    @property
    def texts(self) -> dict[str, str]:
        files = (*self.folder.glob("work_products/*.md"), *self.folder.glob("*.txt"))
        return {path.name: path.read_text() for path in sorted(files)}

    def publish(self, prepared: Prepared) -> None:
        bus, journal = Bus(self.view.seq), Journal(self.journal, self.rewinding.workspace.redactor)
        bus.subscribe(journal.append)
        bus.publish(prepared.event)
        journal.close()

    def go_back(self, query: str, *, files: bool = False) -> SessionRewound:
        plan = self.rewinding.look(query, self.view).plan
        changes = plan.changes if plan is not None and files else ()
        prepared = self.rewinding.prepare(query, changes)
        self.publish(prepared)
        assert self.rewinding.change_files(prepared) == {}
        return prepared.event


ALL = {"1.md": "# Report 1\n", "2.md": "# Report 2\n", "3.md": "# Report 3\n", "log.txt": "by the shell, 3"}
FIRST = {"1.md": "# Report 1\n", "log.txt": "by the shell, 1"}


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_to_look_changes_nothing_and_says_what_is_not_undone(kept: Kept) -> None:
    def files() -> object:
        return {name: each for name, each in content_of(kept.folder).items() if ".versions" not in name}

    before = files()

    prospect = kept.rewinding.look("q2", kept.view)

    assert files() == before
    assert prospect.outside == (MAIL.rpartition("__")[2],)
    assert kept.rewinding.look("q3", kept.view).outside == ()
    assert prospect.plan is not None
    assert prospect.plan.of("changed") == ["log.txt"]
    assert prospect.plan.of("deleted") == ["work_products/2.md", "work_products/3.md"]


def test_going_back_changes_no_file_unless_it_was_asked_to(kept: Kept) -> None:
    queue = (kept.folder / "queue.json").read_bytes()
    saved = kept.base / "SAVED_REPORTS"
    saved.mkdir(exist_ok=True)
    (saved / "report.md").write_text("saved")

    first = kept.go_back("q3")
    assert kept.texts == ALL
    second = kept.go_back("q2", files=True)

    assert kept.texts == FIRST
    assert (second.restored, second.removed) == (["log.txt"], ["work_products/2.md", "work_products/3.md"])
    assert (kept.folder / "queue.json").read_bytes() == queue
    assert (saved / "report.md").read_text() == "saved"
    # Each way forward is kept as a session that has everything.
    for event in (first, second):
        fork = kept.folder.with_name(event.kept_as)
        assert {path.name: path.read_text() for path in (fork / "work_products").glob("*.md")} == {
            name: text for name, text in ALL.items() if name.endswith(".md")
        }


def test_the_agent_gets_the_conversation_as_it_was_and_the_old_one_stays(kept: Kept) -> None:
    old = kept.folder / CONVERSATION / f"{ID}.jsonl"
    before = old.read_bytes()

    event = kept.go_back("q2")

    assert old.read_bytes() == before
    new = old.with_name(f"{event.provider_session_id}.jsonl").read_text()
    assert "Answer 1" in new
    assert "Question 2" not in new
    assert kept.state.view.setup.conversation == event.provider_session_id


def test_before_the_first_query_a_new_conversation_begins(kept: Kept) -> None:
    prepared = kept.rewinding.prepare("q1", ())

    assert not prepared.begun


def test_what_was_read_and_spent_counts_as_before(kept: Kept) -> None:
    kept.add(UntrustedTextRead(what="a page"))
    spent = kept.view.costs.spent

    kept.go_back("q1", files=True)

    view = kept.state.view
    assert [query.undone for query in view.queries] == [True, True, True]
    assert "".join(build_transcript(view)).count("(undone)") == 3
    assert build_summary(view).count("undone, success") == 3
    assert view.costs.spent == spent == 0.75
    assert view.setup.untrusted == "a page"
    assert kept.state.last_query == 3
    assert view.artifacts == {}
    # Who follows the session, or reads its journal in parts, sees the same.
    events = list(read_events(kept.folder))
    assert fold(events[:9]).then(events[9:]) == kept.view


def test_an_action_outside_that_is_undone_asks_before_it_is_done_again(kept: Kept) -> None:
    actions = ActionRecorder(None, Redactor(), kept.folder, lambda _server, _tool: False)
    mail = Action(MAIL, TO_ANN)
    assert actions.reason_to_ask(mail) is None

    kept.go_back("q2")
    actions.read()

    assert "did the same before, and it succeeded" in (actions.reason_to_ask(mail) or "")
    assert actions.reason_to_ask(Action(MAIL, {**TO_ANN, "body": "Another"})) is None


def test_the_plan_of_what_is_undone_is_gone(kept: Kept) -> None:
    plan = {"todos": [{"content": "Write", "status": "pending", "activeForm": "Writing"}]}
    kept.add(
        ToolCallStarted(query_id="q3", tool_use_id="t9", name="TodoWrite", input=plan),
        ToolCallFinished(tool_use_id="t9", status="success"),
    )
    assert kept.view.plan

    kept.go_back("q3")

    assert kept.view.plan == ()


def test_of_a_session_that_kept_nothing_the_files_stay(kept: Kept) -> None:
    shutil.rmtree(kept.folder / ".versions")

    assert kept.rewinding.look("q2", kept.view).plan is None
    kept.go_back("q2", files=True)
    assert kept.texts == ALL


@pytest.mark.parametrize("problem", ["query", "conversation", "space"])
def test_what_is_not_possible_leaves_the_session_as_it_is(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    changes = kept.rewinding.look("q2", kept.view).plan.changes  # type: ignore[union-attr]

    def no_space(*_args: object, **_options: object) -> Path:
        raise WorkspaceError("cannot fork the session: the disk is full")

    if problem == "conversation":
        shutil.rmtree(kept.folder / CONVERSATION)
    elif problem == "space":
        monkeypatch.setattr(module, "fork_session", no_space)
    before = content_of(kept.folder)

    with pytest.raises((ConversationGone, SettingsError, WorkspaceError)):
        kept.rewinding.prepare("q7" if problem == "query" else "q2", changes)

    assert content_of(kept.folder) == before


def test_what_the_index_of_the_versions_names_leads_nowhere_else(kept: Kept, tmp_path: Path) -> None:
    outside = tmp_path / "autostart.desktop"
    index = kept.folder / INDEX
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    first = next(line for line in lines if "log.txt" in line.get("files", ()))
    some = first["files"]["log.txt"]
    for path in (str(outside), "../../beside", "journal.jsonl", ".actions.json", "work_products/../x"):
        first["files"][path] = some
    index.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = set(tmp_path.rglob("*"))

    fork = kept.fork("q2")

    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(fork)} == before
    assert not (fork / "x").exists()
    assert isinstance(next(read_events(fork)), SessionStarted)
    assert (fork / "log.txt").read_text() == "by the shell, 1"
    plan = kept.rewinding.look("q2", kept.view).plan
    assert plan is not None
    assert not {str(outside), "../../beside", "journal.jsonl"} & {change.path for change in plan.changes}


def test_a_fork_can_go_back_to_every_conversation(kept: Kept) -> None:
    kept.go_back("q3")
    fork = kept.fork()
    shutil.rmtree(kept.folder)
    shutil.rmtree(kept.home, ignore_errors=True)
    workspace = Workspace(fork, fork)

    assert Rewinding(workspace, KeptVersions(workspace.root), kept.base, kept.home).prepare("q2", ()).begun
    kept.folder = fork
    again = kept.fork("q2")
    assert "Answer 1" in (again / CONVERSATION / f"{ID}.jsonl").read_text()


def test_no_file_changes_before_the_journal_says_it(kept: Kept) -> None:
    prepared = kept.rewinding.prepare("q2", kept.rewinding.look("q2", kept.view).plan.changes)  # type: ignore[union-attr]

    with pytest.raises(WorkspaceError, match="the files stay as they are"):
        kept.rewinding.change_files(prepared)

    assert kept.texts == ALL
    assert not (kept.folder / PENDING).exists()


def test_what_was_changed_by_hand_after_the_look_stays_the_next_time_too(kept: Kept) -> None:
    plan = kept.rewinding.look("q3", kept.view).plan
    assert plan is not None
    (kept.folder / "log.txt").write_text("by hand")
    (kept.folder / "mine.txt").write_text("mine")
    prepared = kept.rewinding.prepare("q3", plan.changes)
    kept.publish(prepared)
    assert "log.txt" in kept.rewinding.change_files(prepared)

    again = kept.rewinding.look("q2", kept.view).plan

    assert again is not None
    assert again.staying("by_hand") == ["log.txt", "mine.txt"]
    assert again.of("deleted") == ["work_products/2.md"]


def damage(kept: Kept) -> None:
    """Damage the content of the log before the third query, which keeps its size."""
    versions = KeptVersions(Root(kept.folder))
    file = (versions.at("q3") or {})["log.txt"]
    (kept.folder / versions.place_of(file)).write_bytes(b"X" * file.size)


def test_a_damaged_content_is_not_taken_for_the_file_of_then(kept: Kept) -> None:
    damage(kept)

    fork = kept.fork("q3")

    assert (fork / "log.txt").read_text() == "by the shell, 3"
    assert [each.files for each in read_events(fork) if isinstance(each, SessionForked)] == ["now"]


def test_where_a_content_is_damaged_no_fork_is_made(kept: Kept) -> None:
    plan = kept.rewinding.look("q3", kept.view).plan
    assert plan is not None
    damage(kept)
    before = content_of(kept.base)

    with pytest.raises(WorkspaceError, match="damaged"):
        kept.rewinding.prepare("q3", plan.changes)

    assert content_of(kept.base) == before


def test_a_replay_shows_the_files_that_went_back(kept: Kept) -> None:
    kept.go_back("q2", files=True)

    files, events = PastFiles(kept.folder), list(read_events(kept.folder))
    for index, event in enumerate(events):
        files.add(index, event)

    assert sorted(files.at(len(events))) == ["log.txt", "work_products/1.md"]


def test_a_folder_in_place_of_a_file_of_then_is_left_out_of_the_fork(kept: Kept) -> None:
    log = kept.folder / "log.txt"
    log.unlink()
    log.mkdir()
    (log / ".hidden").touch()

    fork = kept.fork("q2")

    assert (fork / "log.txt").read_text() == "by the shell, 1"
    assert [each.files for each in read_events(fork) if isinstance(each, SessionForked)] == ["now"]


@pytest.mark.parametrize("published", [True, False])
def test_the_next_start_completes_what_is_in_the_journal_and_undoes_the_rest(
    kept: Kept, *, published: bool
) -> None:
    prepared = kept.rewinding.prepare("q2", kept.rewinding.look("q2", kept.view).plan.changes)  # type: ignore[union-attr]
    if published:
        kept.publish(prepared)
    # Some of the files were changed.
    (kept.folder / "work_products" / "2.md").unlink()
    (kept.folder / "log.txt").write_text("by the shell, 1")

    state = kept.state
    settle(Workspace(kept.folder, kept.folder), state)

    assert kept.texts == (FIRST if published else ALL)
    assert state.settled == f"a rewind was interrupted, and is now {'completed' if published else 'undone'}"
    assert not (kept.folder / PENDING).exists()
    # Nobody changed them by hand.
    plan = kept.rewinding.look("q1", kept.view).plan
    assert plan is not None
    assert plan.stay == {}


@pytest.mark.slow
def test_nothing_is_lost_in_30_kills_at_random_moments(tmp_path: Path) -> None:
    sessions, others = [], {}
    for number in range(31):
        kept = Kept(tmp_path / str(number))
        other = Recorded(kept.base).folder
        others[other] = content_of(other)
        (kept.folder / "by_hand.txt").write_text("mine")
        sessions.append(kept)

    subprocess.run(
        [sys.executable, "-m", "tests.core.session.rewinding_child", *(kept.base for kept in sessions)],
        cwd=PROJECT, check=True,
    )  # fmt: skip

    ends = set()
    for kept in sessions:
        workspace = Workspace.claim(kept.folder)
        settle(workspace, kept.state)
        workspace.close()
        went_back = [event for event in read_events(kept.folder) if isinstance(event, SessionRewound)]
        ends.add(bool(went_back))
        assert kept.texts == {**(FIRST if went_back else ALL), "by_hand.txt": "mine"}
        assert not (kept.folder / PENDING).exists()
        complete = list((kept.base / WORKSPACES).glob(f"session_*/{JOURNAL}"))
        assert len(complete) >= 2 + len(went_back)
        # Everything can be reached: going forward again is going back.
        if went_back:
            fork = kept.folder.with_name(went_back[0].kept_as)
            assert (fork / "work_products" / "3.md").read_text() == "# Report 3\n"
            assert (fork / "log.txt").read_text() == "by the shell, 3"
    assert ends == {True, False}
    assert {other: content_of(other) for other in others} == others
