from __future__ import annotations

import fcntl
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.core.cases import cases_of
from ua_tui.core.agent.conversation import spending_so_far, transcript_of
from ua_tui.core.agent.messages.usage import Spending, model_reports
from ua_tui.core.bus import Bus
from ua_tui.core.errors import ConversationGone, JournalError, SettingsError, WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.describe import describe
from ua_tui.core.history.headline import read_summary, stamp_of
from ua_tui.core.session.resume import (
    PreviousState,
    conversation_to_resume,
    prepare_resume,
    read_previous_state,
)
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.queue_file import QUEUE_FILE, QueryQueue
from ua_tui.core.storage.workspace import Workspace

CASES = cases_of(__file__)

ID = "30f20b51-92fa-457c-9608-28350960e2e7"
OTHER = "11111111-92fa-457c-9608-28350960e2e7"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.create(tmp_path, datetime.now(UTC))
    workspace.close()
    return workspace


def begun(conversation: str | None = ID) -> ev.SessionStarted:
    return ev.SessionStarted(
        session_id="session_1", workspace="/w", cwd="/", version="1", provider_session_id=conversation
    )


def previous(workspace: Workspace, *events: ev.Event, more: bytes = b"") -> PreviousState:
    bus, lines = Bus(), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    for event in events:
        bus.publish(event)
    (workspace.path / "journal.jsonl").write_bytes(b"".join(lines) + more)
    return read_previous_state(workspace)


def query(number: int, cost: float | None) -> list[ev.Event]:
    return [
        ev.QueryReceived(query_id=f"q{number}", text="?"),
        ev.ToolCallStarted(
            query_id=f"q{number}", tool_use_id=f"t{number}", name="Read", input={}, iteration=1
        ),
        ev.MessageFinished(query_id=f"q{number}", message_id=f"m{number}", text="!"),
        ev.QueryFinished(query_id=f"q{number}", status="success", cost_usd=cost),
    ]


def test_what_the_agent_read_is_known_again(workspace: Workspace) -> None:
    call = ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="WebSearch", input={"query": "?"})
    assert not previous(workspace, begun(), ev.QueryReceived(query_id="q1", text="?"), call).taint.is_set
    end = ev.ToolCallFinished(tool_use_id="t1", status="success")
    assert previous(workspace, begun(), call, end).taint.describe().startswith("1 search result since ")


def test_counters_continue_over_several_runs(workspace: Workspace) -> None:
    end = ev.SessionFinished(reason="quit", duration_ms=2_000.0)
    known = previous(workspace, begun(), *query(1, 0.5), end, begun(), *query(7, None), *query(3, 0.25))
    assert (known.view.query_count, known.view.call_count, known.view.costs.total) == (3, 3, 0.75)
    assert known.last_query == 7
    assert known.view.seq == 15
    assert known.earlier_ms >= 2_000.0
    assert (known.view.setup.conversation, known.view.setup.spoken) == (ID, True)


def test_what_a_query_without_an_end_cost_is_what_was_estimated(workspace: Workspace) -> None:
    def spent(number: int, cost: float) -> ev.TokensSpent:
        return ev.TokensSpent(query_id=f"q{number}", message_id="m", usage=ev.Usage(), cost_usd=cost)

    untold = [ev.QueryReceived(query_id="q2", text="?"), spent(2, 0.25)]
    untold.append(ev.QueryFinished(query_id="q2", status="error", error="the agent died"))
    open_ = [ev.QueryReceived(query_id="q3", text="?"), spent(3, 0.5), spent(3, 0.125)]
    known = previous(workspace, begun(), spent(1, 4.0), *query(1, 1.0), *untold, *open_)
    assert known.view.costs.total == 1.0 + 0.25 + 0.625
    (end,) = [each for each in known.closing_events() if isinstance(each, ev.QueryFinished)]
    assert (end.query_id, end.cost_usd) == ("q3", 0.625)


def test_a_run_that_was_cut_off_lasted_until_its_own_last_event(workspace: Workspace) -> None:
    open_ = [ev.QueryReceived(query_id="q1", text="?"), *query(2, None)[1:2]]
    times = iter((0, 1, 5, 100, 101, 102, 104))
    bus, lines = Bus(now=lambda: NOON + timedelta(seconds=next(times))), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    journal = workspace.path / "journal.jsonl"
    for event in (begun(), *open_):
        bus.publish(event)
    journal.write_bytes(b"".join(lines))
    known = read_previous_state(workspace)
    assert known.earlier_ms == 5_000.0
    for event in (*known.closing_events(), begun(), ev.QueryReceived(query_id="q3", text="?")):
        bus.publish(event)
    journal.write_bytes(b"".join(lines))
    known = read_previous_state(workspace)
    assert known.earlier_ms == 5_000.0 + 2_000.0
    assert [each.event_name for each in known.closing_events()] == ["query_finished"]


def test_everything_without_an_end_gets_one_calls_before_their_query(workspace: Workspace) -> None:
    open_ = [
        ev.QueryReceived(query_id="q1", text="?"),
        ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Agent", input={}, iteration=1),
        ev.SubagentStarted(task_id="a1", tool_use_id="t1", name="helper", description=""),
        ev.ObserverStarted(run_id="r1", observer="media", tool_use_id="t0"),
        ev.PermissionAsked(request_id="p1", tool_name="Bash", input={}, subjects=["Bash"], reason=""),
        ev.ElicitationAsked(request_id="e1", server="desk", message="Which room?"),
    ]
    ended = [*query(2, None), ev.ObserverStarted(run_id="r2", observer="media", tool_use_id="t0")]
    done = ev.ObserverFinished(run_id="r2", observer="media", tool_use_id="t0", status="skipped")
    ends = list(previous(workspace, begun(), *ended, done, *open_).closing_events())
    # The call of the query that is over has no end either.
    assert [each.event_name for each in ends] == CASES[
        "everything_without_an_end_gets_one_calls_before_their_query"
    ]


def test_what_was_cut_off_lasted_until_the_last_event(workspace: Workspace) -> None:
    start = msgspec.structs.replace(begun(), at=NOON)
    asked = ev.QueryReceived(query_id="q1", text="?", at=NOON)
    last = ev.TextDelta(query_id="q1", message_id="m", text="so", at=NOON + timedelta(seconds=7))
    lines = b"".join(encode_event(event) + b"\n" for event in (start, asked, last))
    (workspace.path / "journal.jsonl").write_bytes(lines)
    (end,) = read_previous_state(workspace).closing_events()
    assert isinstance(end, ev.QueryFinished)
    assert describe(end).sentence == (
        "Interrupted after 7.0 s: The program ended before this was finished. Partial output is kept."
    )


def test_a_torn_or_renamed_journal_is_resumed_and_one_without_a_start_is_not(
    workspace: Workspace,
) -> None:
    assert previous(workspace, begun(), more=b'nonsense\n{"event":"query_rec').session_id == "session_1"
    with pytest.raises(JournalError, match="lacks its start"):
        previous(workspace, ev.QueryReceived(query_id="q1", text="?"))
    renamed = msgspec.structs.replace(begun(), session_id="chips", resumed_from="session_1")
    assert previous(workspace, begun(), renamed).session_id == "chips"


def test_neither_a_queue_of_others_nor_a_missing_folder_is_taken(
    workspace: Workspace, tmp_path: Path
) -> None:
    (workspace.path / QUEUE_FILE).write_text("{")
    assert previous(workspace, begun()).queue == ()
    assert (workspace.path / QUEUE_FILE).exists()
    with pytest.raises(WorkspaceError):
        Workspace.resume(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


def test_whether_it_was_the_demo_is_known_from_its_first_line(workspace: Workspace) -> None:
    for demo in (True, False):
        first = ev.SessionStarted(session_id="s", workspace="/", cwd="/", version="1", demo=demo)
        (workspace.path / "journal.jsonl").write_bytes(encode_event(first) + b"\n")
        seal_session(workspace.root)
        settings, resume = prepare_resume(Settings(), workspace.path)
        assert (settings.demo, resume.folder) == (demo, workspace.path)
        if not demo:
            with pytest.raises(SettingsError, match="not a session of the demo"):
                prepare_resume(Settings(demo=True), workspace.path)


@pytest.mark.parametrize("settings", [Settings(), Settings(demo=True)], ids=["plain", "demo"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\x00 nonsense\n" * 9, "its journal is damaged"),
        (b"", "nothing was asked"),
        (None, "it has no journal"),
    ],
)
def test_a_journal_without_its_start_is_refused_before_all_else(
    tmp_path: Path, settings: Settings, content: bytes | None, why: str
) -> None:
    if content is not None:
        (tmp_path / "journal.jsonl").write_bytes(content)
    with pytest.raises(SettingsError, match=why) as raised:
        prepare_resume(settings, tmp_path)
    assert str(tmp_path / "journal.jsonl") in str(raised.value)
    assert "`ua-tui open` shows" in str(raised.value)
    # The list has it in the same words.
    assert read_summary(tmp_path, stamp_of(tmp_path)).why == why


def keep(home: Path, folder: Path, conversation: str, *lines: object) -> Path:
    key = "".join(
        letter if letter.isascii() and letter.isalnum() else "-" for letter in str(folder.resolve())
    )
    if len(key) > 200:
        key = f"{key[:200]}-1abc2"
    path = home / "projects" / key / f"{conversation}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


def test_a_conversation_is_resumed_only_if_the_agent_knows_it(workspace: Workspace, tmp_path: Path) -> None:
    home = tmp_path / "home"
    spoken = previous(workspace, begun(), *query(1, None))
    with pytest.raises(ConversationGone, match=r"was not found in .*, and the session's folder has no copy"):
        conversation_to_resume(spoken, workspace, home)
    # Where nothing was said nothing is lost.
    assert conversation_to_resume(previous(workspace, begun()), workspace, home) is None
    fresh = previous(workspace, begun(), *query(1, None), begun(OTHER))
    assert (fresh.view.setup.conversation, fresh.view.setup.spoken) == (OTHER, False)
    keep(home, workspace.path, ID)
    assert conversation_to_resume(spoken, workspace, home) == ID
    # What was said before the conversation was cleared does not come back.
    clear = ev.ConversationCleared(query_id="q2", provider_session_id=OTHER)
    cleared = previous(workspace, begun(), *query(1, None), clear)
    assert conversation_to_resume(cleared, workspace, home) is None
    keep(home, workspace.path, OTHER)
    assert conversation_to_resume(cleared, workspace, home) == OTHER


def test_a_transcript_is_found_as_the_agent_names_its_folder(tmp_path: Path) -> None:
    for name in ("plain", "ünï.cödé", "long" * 40 + "/" + "er" * 60):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        path = keep(tmp_path / "home", folder, ID)
        assert transcript_of(ID, worked_in=folder, agent_home=tmp_path / "home") == path
        assert transcript_of(OTHER, worked_in=folder, agent_home=tmp_path / "home") is None
        assert transcript_of("../../x", worked_in=folder, agent_home=tmp_path / "home") is None


def test_the_last_cost_of_a_transcript_counts(tmp_path: Path) -> None:
    for behind in (0, 3, 40_000):
        used = {"m": {"inputTokens": 5}}
        states = [{"type": "cost-state", "totalCostUSD": cost, "modelUsage": used} for cost in (9.0, 0.125)]
        shown_text = {"type": "user", "message": 'he said "type":"cost-state"', "cost": 7}
        path = keep(tmp_path / "home", tmp_path, ID, shown_text, *states, *[shown_text] * behind)
        assert spending_so_far(path) == Spending(0.125, model_reports(used))
        assert spending_so_far(path.with_name("gone")) == Spending()


def test_a_session_in_use_is_refused_and_left_as_it_is(workspace: Workspace) -> None:
    with (workspace.path / ".lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WorkspaceError, match="in use by another program"):
            Workspace.resume(workspace.path)
    again = Workspace.resume(workspace.path)
    assert again.locked
    again.close()


async def test_restored_queries_stay_until_a_person_releases_them(workspace: Workspace) -> None:
    queue = QueryQueue(workspace, ("old one", "old two"))
    assert queue.paused
    assert queue.pop_next() is None
    queue.add("new one")
    queue.add("new two")
    queue.add_first("first")
    assert [queue.pop_next() for _ in range(4)] == ["first", "new one", "new two", None]
    assert queue.paused
    queue.add("failed")
    queue.pause()
    assert queue.pop_next() is None
    queue.resume()
    assert [queue.pop_next() for _ in range(4)] == ["failed", "old one", "old two", None]
    queue.add("then")
    assert queue.pop_next() == "then"
    await queue.close()


async def test_what_is_taken_back_was_no_query_that_runs(workspace: Workspace) -> None:
    queue = QueryQueue(workspace, ("old",))
    queue.add("new")
    assert queue.change(("new", "old"), ("new",))
    assert queue.pop_newest() == "new"
    assert queue.pop_next() is None
    queue.add("another")
    assert queue.pop_next() == "another"
    await queue.close()
