from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.app_host import notices
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pane_host import finished, rows, started
from tests.tui.played import fixed_bus, lay_files, played_events
from tests.tui.tree_host import cursor
from tests.waiting import PATIENCE, until
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.describe import Severity
from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.history.headline import read_heading
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.history.session import PastSession, queries_of
from ua_tui.core.records import journal_reader as past_journal
from ua_tui.core.records.journal_reader import Unread
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.queue_file import write_queue
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.port import ToResume
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.feed import EventFeed, ViewHandler
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.replay.footer import past_message
from ua_tui.tui.replay.past_source import PastSource
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.terminal.clipboard import Clipboard

NAME = "session_20261121_140200"


def stamped(events: Sequence[ev.Event]) -> list[ev.Event]:
    bus, published = fixed_bus(), list[ev.Event]()
    bus.subscribe(published.append)
    for event in events:
        bus.publish(event)
    return published


def write(base: Path, events: Sequence[ev.Event], more: bytes = b"") -> Path:
    folder = base / WORKSPACES / NAME
    folder.mkdir(parents=True, exist_ok=True)
    begun = ev.SessionStarted(
        session_id=NAME, workspace="/gone", cwd="/", version="1", model="claude-sonnet-5-20260101"
    )
    lines = [encode_event(event) + b"\n" for event in stamped([begun, *events])]
    (folder / "journal.jsonl").write_bytes(b"".join(lines) + more)
    return folder


def many(queries: int, calls: int = 20) -> list[ev.Event]:
    events: list[ev.Event] = []
    for number in range(queries):
        query = f"n{number}"
        events.append(ev.QueryReceived(query_id=query, text=f"Question {number}"))
        for at in range(calls):
            call = f"call_{number}_{at}"
            events.append(started(call, "Read", query=query, file_path=f"part {number} {at}.md"))
            failed = at == 7
            events.append(finished(
                call, "error" if failed else "success", text=f"result {number} {at}",
                error="no" if failed else None,
            ))  # fmt: skip
        text = f"Answer {number} speaks of needles.\n\n- one\n- two"
        events.append(ev.MessageFinished(query_id=query, message_id=f"m{number}", text=text))
        events.append(ev.QueryFinished(query_id=query, status="success", duration_ms=41_000.0, cost_usd=0.5))
    return events


@asynccontextmanager
async def past(
    folder: Path, *, size: tuple[int, int] = (160, 45), tail: int = 1 << 20, filled: bool = True
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any]]]:
    clipboard = Clipboard({"TERM": "xterm-256color"}, platform="linux")
    settings = Settings(workspace_base=folder.parent.parent)
    source = PastSource(PastSession(folder, tail=tail))
    app = UaTuiApp(settings, source, clipboard=clipboard)
    async with app.run_test(size=size) as pilot:
        await asyncio.wait_for(source.end_shown.wait(), PATIENCE)
        if filled:
            await asyncio.wait_for(source.all_shown.wait(), PATIENCE)
        await pilot.pause()
        yield app, pilot


def pane(app: UaTuiApp, kind: type[Any]) -> Any:
    return app.frame.query_one(kind)


def text(app: UaTuiApp, kind: type[Any]) -> str:
    return "\n".join(rows(pane(app, kind)))


def call_shown(app: UaTuiApp) -> ToolCallScreen:
    assert isinstance(app.screen, ToolCallScreen)
    return app.screen


def status(app: UaTuiApp) -> str:
    return str(app.status.render())


async def test_the_screen_is_updated_between_the_panes_that_open(tmp_path: Path, monkeypatch: Patch) -> None:
    folder = write(tmp_path, many(3))
    turns = 0
    shown: list[tuple[str, int]] = []
    show = EventFeed.show

    def turn() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(turn)

    def noting(self: EventFeed, pane: ViewHandler) -> None:
        if not turns:
            turn()
        shown.append((type(pane).__name__, turns))
        show(self, pane)

    monkeypatch.setattr(EventFeed, "show", noting)
    async with past(folder):
        assert [name for name, _ in shown][:2] == ["ConversationPane", "TracePane"]
        assert len({at for _, at in shown}) == len(shown) == 4


async def test_a_session_is_shown_as_it_was(tmp_path: Path) -> None:
    folder = write(
        tmp_path, [*played_events(), ev.SessionFinished(reason="quit", cost_usd=0.21, duration_ms=60_000)]
    )
    lay_files(folder)
    async with past(folder) as (app, _):
        talk = text(app, ConversationPane)
        assert "AI chips: the week" in talk
        assert "Read-only" not in talk
        assert str(app.frame.prompt.placeholder) == "Read-only: past session · Ctrl+R resumes it"
        trace = text(app, TracePane)
        for part in ("crawl_parallel", "12.4s", "47.3s"):
            assert part in trace
        assert "25 results saved" in text(app, ObserversPane)
        line = status(app)
        for wanted in ("past session · finished", "1m00s", "$0.21", "38k tok", "sonnet-5"):
            assert wanted in line
        place = app.frame.query_one("#workspace", WorkspacePane).place
        assert place is not None
        assert place.model.base == str(folder)
        assert pane(app, ConversationPane).has_focus
        assert not pane(app, TracePane).calls.live
        assert len(app.screen_stack) == 1


async def test_a_session_that_a_signal_stopped_has_one_word_wherever_it_is_listed(tmp_path: Path) -> None:
    folder = write(tmp_path, [*many(1), ev.SessionFinished(reason="signal", duration_ms=1_000)])
    index = SessionIndex(tmp_path, tmp_path / "cache")
    assert [row.state for row in (await FleetSource(index).read()).rows] == ["stopped"]
    async with past(folder) as (app, _):
        assert "past session · stopped" in status(app)
        assert read_heading(folder).state == "stopped"


async def test_the_panes_hold_what_those_of_the_living_session_held(tmp_path: Path) -> None:
    events = [*many(6), *played_events()]
    folder = write(tmp_path, events)
    async with past(folder, tail=2_000) as (app, _):
        read = [rows_of(app, kind) for kind in (ConversationPane, TracePane, ObserversPane)]
    session = make_session(tmp_path)
    living = make_app(tmp_path, session)
    async with living.run_test(size=(160, 45)) as pilot:
        await until(lambda: living.session is not None)
        for event in stamped([ev.ErrorRaised(where="", message="takes the first moment"), *events])[1:]:
            session.bus.forward(event)
        trace: Any = living.frame.query_one("#trace")
        await until(lambda: len(trace.entries) == len(read[1]))
        await pilot.pause()
        names = ("conversation", "trace", "observers")
        shown = [[str(each) for each in seen(living.frame.query_one(f"#{name}"))] for name in names]
    assert read[1:] == shown[1:]
    assert read[0][:-1] == shown[0]


def seen(view: Any) -> list[Any]:
    return [[line_text(line) for line in view.render_entry(entry, 70)] for entry in view.entries]


def line_text(line: Any) -> str:
    return "".join(part.text for part in line).rstrip()


def rows_of(app: UaTuiApp, kind: type[Any]) -> list[str]:
    return [str(each) for each in seen(pane(app, kind))]


async def test_what_has_no_end_is_unfinished_and_runs_no_clock(tmp_path: Path) -> None:
    call = started("call_1", "Read", file_path="a.md")
    events = [
        ev.QueryReceived(query_id="q0", text="Go"),
        ev.PermissionAsked(request_id="p", tool_name="Bash", input={"command": "rm"}),
        ev.AuthRequired(toolkit="gmail", url="https://gmail.example/[redacted]"),
        ev.ErrorRaised(where="agent", message="It broke."),
        ev.QueryFinished(query_id="q0", status="error", error="It broke."),
        ev.QueryReceived(query_id="q", text="Go"),
        ev.TextDelta(query_id="q", message_id="m", text="I was about to"),
        call,
        started("agent", "Agent", subagent_type="expert", description="Write"),
        started("inner", "Read", parent="agent"),
        ev.ObserverStarted(run_id="r", observer="search_results", tool_use_id="call_1"),
    ]
    folder = write(tmp_path, events, b'{"event":"tool_call_fin')
    async with past(folder) as (app, pilot):
        trace = pane(app, TracePane)
        assert len(app.screen_stack) == 1, "questions and failures of then open nothing now"
        assert not app.notice.display
        assert [row.split()[-1] for row in rows(trace)[1:5]] == ["unfinished"] * 4
        assert not trace.calls.live
        pane(app, ObserversPane).action_toggle_table()
        assert "unfinished" in text(app, ObserversPane)
        talk = text(app, ConversationPane)
        assert talk.count("The query failed: It broke.") == 1
        assert "I was about to" in talk
        assert "▍" not in talk
        assert "ended in the middle" in talk
        assert "The last line of its journal was cut off." in talk
        assert "past session · crashed" in status(app)
        await pilot.press("2", "home", "down", "down", "enter")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        ended = call_shown(app).call.finished
        assert ended is not None
        assert ended.status == "cancelled"


async def test_nothing_can_be_typed_and_every_way_out_of_a_pane_leads_to_another(tmp_path: Path) -> None:
    async with past(write(tmp_path, many(2))) as (app, pilot):
        assert "Read-only" in str(app.frame.prompt.placeholder)
        await pilot.press("escape", "h", "i", "enter")
        assert app.frame.prompt.text == ""
        visited = set[str]()
        for _ in range(8):
            await pilot.press("tab")
            assert app.focused is not None
            assert app.focused is not app.frame.prompt
            visited.add(type(app.focused).__name__)
        assert {"ConversationPane", "TracePane", "ObserversPane"} <= visited
        await pilot.press("ctrl+r")
        await pilot.press("z")
        assert app.frame.maximised
        await pilot.press("escape")
        assert not app.frame.maximised
        # There is no list to go back to.
        assert "back" not in status(app)
        await pilot.press("escape", "escape")
        assert not app._exit
        for size in ((20, 5), (240, 60), (1, 1), (160, 45)):
            await pilot.resize_terminal(*size)
            await pilot.press(*"1234")
        await until(lambda: "past session" in status(app))


async def test_a_call_is_read_from_the_journal_when_it_is_opened(tmp_path: Path) -> None:
    events = many(30)
    first = next(
        index for index, event in enumerate(events) if getattr(event, "tool_use_id", "") == "call_0_0"
    )
    answer = ev.PermissionAnswered(
        request_id="p", tool_name="Read", tool_use_id="call_0_0", decision="allow",
        input={"file_path": "changed.md"}, changes=["file_path: part 0 0.md → changed.md"],
    )  # fmt: skip
    folder = write(tmp_path, [*events[: first + 1], answer, *events[first + 1 :]])
    async with past(folder, tail=4_000) as (app, pilot):
        trace = pane(app, TracePane)
        await pilot.press("2", "home", "down", "enter")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        screen = call_shown(app)
        assert trace.cursor.argument == trace.cursor.arguments == "changed.md"
        assert screen.call.started.input == {"file_path": "changed.md"}
        assert screen.call.changes == ("file_path: part 0 0.md → changed.md",)
        assert screen.call.finished is not None
        assert screen.call.finished.observation is not None
        assert screen.call.finished.observation.output == "result 0 0"
        await pilot.press("escape")
        (folder / "journal.jsonl").write_bytes(b"gone\n" * 20_000)
        await pilot.press("enter")
        await until(lambda: "was changed" in notices(app))
        assert len(app.screen_stack) == 1
        await pilot.press("right_square_bracket")
        assert trace.cursor.record.name == "Read"
        assert trace.cursor.key == "call_0_7"


def held(folder: Path) -> tuple[PastSource, asyncio.Event, asyncio.Event]:
    """A past session of which nothing is shown until the first event, and only the end until the second one."""
    session = PastSession(folder, tail=150_000)
    begin, ready = asyncio.Event(), asyncio.Event()
    reading, start = session.all_events, session.start

    async def after_begin() -> None:
        await begin.wait()
        await start()

    async def after_ready() -> AsyncIterator[list[ev.Event]]:
        await ready.wait()
        async for batch in reading():
            yield batch

    session.all_events = after_ready  # type: ignore[method-assign]  # reads only when the test is ready
    session.start = after_begin  # type: ignore[method-assign]
    return PastSource(session), begin, ready


async def test_the_first_entry_that_was_requested_early_is_that_of_the_whole(tmp_path: Path) -> None:
    source, begin, ready = held(write(tmp_path, many(40)))
    app = UaTuiApp(Settings(workspace_base=tmp_path), source)
    async with app.run_test(size=(160, 45)) as pilot:
        await until(lambda: bool(app.frame.query(ConversationPane)) and bool(app.frame.query(TracePane)))
        talk, trace = pane(app, ConversationPane), pane(app, TracePane)
        # Before there is an entry, and while only the end is there.
        trace.action_cursor_home()
        begin.set()
        await asyncio.wait_for(source.end_shown.wait(), PATIENCE)
        await until(lambda: trace.entries and trace.cursor_index == 0)
        await pilot.press("1", "home", "slash", *"n12x")
        await until(lambda: "not found yet" in str(talk.border_title))
        ready.set()
        await asyncio.wait_for(source.all_shown.wait(), PATIENCE)
        await until(lambda: trace.cursor_index == 0)
        assert trace.cursor.label == "Question 0"
        assert talk.cursor_index <= talk.span(0)[1]
        await until(lambda: "yet" not in str(talk.border_title) and "not found" in str(talk.border_title))


async def test_the_reader_stays_where_he_is_when_the_whole_arrives(tmp_path: Path) -> None:
    source, begin, ready = held(write(tmp_path, many(60)))
    begin.set()
    app = UaTuiApp(Settings(workspace_base=tmp_path), source)
    async with app.run_test(size=(160, 45)) as pilot:
        await asyncio.wait_for(source.end_shown.wait(), PATIENCE)
        talk, trace = pane(app, ConversationPane), pane(app, TracePane)
        few = len(trace.entries)
        await pilot.press("1", "slash", *"needles", "enter", "n", "up", "up", "up")
        await pilot.press("2", *["up"] * 60)
        before = rows(talk), rows(trace), trace.cursor.key, talk.cursor.key
        titles = str(talk.border_title)
        assert "reading" in status(app)
        assert titles.startswith("Conversation · reading ")
        ready.set()
        await asyncio.wait_for(source.all_shown.wait(), PATIENCE)
        await pilot.pause()
        assert len(trace.entries) > 2 * few
        assert (rows(talk), rows(trace), trace.cursor.key) == before[:3]
        assert len(trace.entries) == 1_260
        await until(lambda: "/60" in str(talk.border_title))
        assert "reading" not in str(talk.border_title)
        assert titles != str(talk.border_title)
        assert "reading" not in status(app)
        await pilot.press("1", "n")
        assert "/60" in str(talk.border_title)
        await pilot.press("escape", "home")
        assert "Question 0" in "\n".join(rows(talk))
        await pilot.press("end")
        assert "Read-only" in "\n".join(rows(talk)) or "middle of this session" in "\n".join(rows(talk))


async def test_folds_and_filters_hold_when_the_whole_arrives(tmp_path: Path) -> None:
    folder = write(tmp_path, many(60))
    source = PastSource(PastSession(folder, tail=30_000))
    app = UaTuiApp(Settings(workspace_base=tmp_path), source)
    async with app.run_test(size=(160, 45)) as pilot:
        await asyncio.wait_for(source.end_shown.wait(), PATIENCE)
        trace = pane(app, TracePane)
        last = trace.calls.by_key["query/n59"]
        trace.tree_rows.set_open(last, open_=False)
        trace.tree_rows.show_only("state:failed")
        await asyncio.wait_for(source.all_shown.wait(), PATIENCE)
        assert trace.tree_rows.matched == 60
        assert "60 of 1,200 calls" in str(trace.border_title)
        trace.tree_rows.show_only("")
        assert not trace.calls.by_key["query/n59"].open
        assert trace.calls.by_key["query/n58"].open
        await pilot.press("2", "f", *"19.md", "enter")
        assert trace.tree_rows.matched == 60


async def test_files_are_only_for_reading_and_know_their_calls(tmp_path: Path) -> None:
    folder = write(tmp_path, [*many(20), *played_events()])
    lay_files(folder)
    async with past(folder, tail=1_000) as (app, pilot):
        workspace: Any = app.frame.query_one("#workspace")
        wanted = "composio_search_news_140203_ab.json"
        workspace.reveal(folder / "search_results" / wanted)
        await until(lambda: cursor(workspace) == wanted)
        await pilot.press("4", "d")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert (folder / "search_results" / wanted).exists()
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ViewerScreen))
        assert isinstance(app.screen, ViewerScreen)
        assert app.screen.read_only
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)
        await pilot.press("p")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        assert call_shown(app).call.started.tool_use_id == "toolu_1"
        assert not workspace.new_files


async def test_a_journal_that_cannot_be_read_on_leaves_its_end(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(past_journal, "BLOCK", 256)
    source = PastSource(session := PastSession(write(tmp_path, many(40)), tail=9_000))
    app = UaTuiApp(Settings(workspace_base=tmp_path), source)
    async with app.run_test(size=(160, 45)):
        await asyncio.wait_for(source.end_shown.wait(), PATIENCE)
        session.journal.close()
        await until(lambda: app.notice.display)
        assert "is closed" in str(app.notice.render())
        assert "reading" not in status(app)
        assert "Answer 39" in text(app, ConversationPane)


async def test_letters_go_back_or_say_why_they_do_nothing(tmp_path: Path) -> None:
    async with past(write(tmp_path, many(2))) as (app, pilot):
        await pilot.press("d")
        await until(lambda: "Read-only: past session." in notices(app))
        assert app.is_running
        await pilot.press("q")
        await until(lambda: not app.is_running)


async def test_quitting_while_it_reads_is_at_once(tmp_path: Path, monkeypatch: Patch) -> None:
    # A line at a time takes as long as a journal that is a thousand times as long.
    monkeypatch.setattr(past_journal, "BLOCK", 256)
    folder = write(tmp_path, many(400))
    async with past(folder, tail=3_000, filled=False) as (app, pilot):
        await pilot.press("ctrl+q")
        await until(lambda: not app.is_running)
    assert app.return_code == 0
    assert isinstance(app.source, PastSource)
    assert not app.source.all_shown.is_set()


async def test_escapes_in_the_journal_reach_no_row(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2Jx\u202e[bold]"
    events = [
        ev.QueryReceived(query_id="q", text=evil), started("c", evil, path=evil), finished("c", error=evil),
        ev.MessageFinished(query_id="q", message_id="m", text=evil),
        ev.QueryFinished(query_id="q", status="error", error=evil),
    ]  # fmt: skip
    folder = write(tmp_path, events)
    write_queue(Root(folder), ["\x1b[2Jlater"], Redactor())
    async with past(folder) as (app, _):
        for kind in (ConversationPane, TracePane, ObserversPane):
            assert not set("\x1b\x07\u202e") & set(text(app, kind))
        assert "1 query was never sent:" in text(app, ConversationPane)
        assert "later" in text(app, ConversationPane)


async def test_calls_nested_without_end_are_shown(tmp_path: Path) -> None:
    nested = [started(f"c{n}", "Read", parent=f"c{n - 1}", path=f"{n}.md") for n in range(3_000)]
    events = [
        ev.QueryReceived(query_id="q", text="Go"),
        *nested,
        ev.QueryFinished(query_id="q", status="success"),
    ]
    async with past(write(tmp_path, events), tail=20_000) as (app, pilot):
        trace = pane(app, TracePane)
        assert len(trace.entries) == 3_001
        await pilot.press("2", "f", *"2999.md", "enter")
        assert trace.tree_rows.matched == 1
        assert trace.entries[-1].argument == "2999.md"
        assert "⊘ Read" in text(app, TracePane)


def test_the_message_below_counts_what_is_missing() -> None:
    stats = SessionStats(
        runs=True, read=1.0, events=5, unread=Unread(skipped=2, unknown=1, left_out=3_000_000)
    )
    message = past_message(stats, ["one\nmore", *["x"] * 30])
    assert message is not None
    assert message.severity is Severity.STOPPED
    assert message.details[:3] == (
        "The first 3M of its journal are omitted: it is too long to be shown in full.",
        "2 lines of its journal are damaged and omitted.",
        "1 event is from a later version of ua-tui and omitted.",
    )
    assert message.details[3:5] == ("31 queries were never sent:", "› one\nmore")
    assert message.details[-1] == "and 11 more, in queue.json"
    empty = past_message(SessionStats(read=1.0), ())
    assert empty is not None
    assert "no events" in empty.text
    assert past_message(SessionStats(runs=True, read=1.0, events=5), ()) is None
    over = ev.SessionFinished(reason="quit")
    ended = past_message(SessionStats(end=over, folder=("files trusted: .env",), read=1.0, events=5), ())
    assert ended is not None
    assert ended.text == "Files trusted: .env."
    assert past_message(SessionStats(end=over, read=1.0, events=5), ()) is None


async def test_a_session_that_runs_elsewhere_is_followed(tmp_path: Path) -> None:
    answer = "One thing is certain."
    folder = write(tmp_path, [
        *many(3), ev.QueryReceived(query_id="q", text="What now?"),
        started("live_1", "Read", query="q", file_path="first.md"),
        ev.TextDelta(query_id="q", message_id="m", text="One thing"),
    ])  # fmt: skip
    journal = folder / "journal.jsonl"
    with (folder / ".lock").open("wb") as lock, journal.open("ab", buffering=0) as appending:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def happen(*events: ev.Event) -> None:
            appending.write(b"".join(encode_event(event) + b"\n" for event in stamped(events)))

        async with past(folder, tail=3_000) as (app, pilot):
            assert "running elsewhere · followed" in status(app)
            assert text(app, ConversationPane).rstrip().endswith("One thing▍")
            assert "is running in another program" in str(app.frame.prompt.placeholder)
            trace = pane(app, TracePane)
            assert trace.calls.by_key["live_1"].running
            assert "unfinished" not in text(app, TracePane)
            happen(
                finished("live_1", text="the first result"),
                started("live_2", "Read", query="q", file_path="second.md"),
                ev.TextDelta(query_id="q", message_id="m", text=" is certain."),
            )
            await until(lambda: answer in text(app, ConversationPane) and "second.md" in text(app, TracePane))
            await pilot.press("f3", "end", "up", "enter")
            await until(lambda: isinstance(app.screen, ToolCallScreen))
            assert call_shown(app).call.finished is not None
            await pilot.press("escape")
            await until(lambda: len(app.screen_stack) == 1)
            await pilot.press("end")
            happen(
                ev.MessageFinished(query_id="q", message_id="m", text=answer),
                ev.QueryFinished(query_id="q", status="success", duration_ms=3_000, cost_usd=1.25),
                ev.QueryReceived(query_id="q2", text="And then?"),
                started("live_3", "Read", query="q2", file_path="third.md"),
            )
            await until(lambda: "$2.75" in status(app) and "third.md" in text(app, TracePane))
            await until(lambda: text(app, ConversationPane).count(answer) == 1)
            # It is killed in the middle of its work.
            fcntl.flock(lock, fcntl.LOCK_UN)
            await until(lambda: "past session · crashed" in status(app))
            await until(lambda: "The program ended in the middle" in text(app, ConversationPane))
            await until(lambda: "unfinished" in text(app, TracePane))
            assert "Read-only" in str(app.frame.prompt.placeholder)


async def test_escape_leads_back_to_the_list_a_session_was_opened_from(tmp_path: Path) -> None:
    session = PastSession(write(tmp_path, many(2)))
    source = PastSource(session, from_list=True)
    app = UaTuiApp(Settings(workspace_base=tmp_path), source)
    async with app.run_test(size=(120, 40)) as pilot:
        await asyncio.wait_for(source.all_shown.wait(), PATIENCE)
        assert "Esc back" in status(app)
        pane(app, ConversationPane).focus()
        await pilot.press("f")
        await until(lambda: isinstance(app.screen, ConfirmScreen) and app.screen.is_drawn)
        assert "When you quit the fork, you return" in " ".join(
            str(each.content) for each in app.screen.query(Static)
        )
        app.screen.dismiss(None)
        await until(lambda: len(app.screen_stack) == 1)
        await pilot.press("2", "z", "escape")
        assert not app.frame.maximised
        assert app.is_running
        await pilot.press("escape")
        await until(lambda: app._exit)


async def test_a_past_session_is_forked_after_a_confirmation_and_then_resumed(tmp_path: Path) -> None:
    folder = write(tmp_path, many(2, calls=1))
    async with past(folder) as (app, pilot):
        pane(app, ConversationPane).focus()

        async def answer(key: str) -> None:
            await pilot.press("f")
            await until(
                lambda: (
                    isinstance(app.screen, ConfirmScreen)
                    and app.screen.is_drawn
                    and not app.screen.has_class("-quiet")
                )
            )
            assert "Fork before “Question 1”?" in screen_text(app)
            await pilot.press(key)
            await until(lambda: len(app.screen_stack) == 1)

        await answer("n")
        # It was not made by this user's program.
        await pilot.press("ctrl+r")
        await until(lambda: "trust adopt" in str(app.notice.render()))
        assert not app._exit
        app.notice.clear()
        await answer("y")
        await until(lambda: "trust adopt" in str(app.notice.render()))
        assert len(list(folder.parent.iterdir())) == 1
        seal_session(Root(folder))
        await answer("y")
        await until(lambda: app._exit)
    assert isinstance(app.return_value, ToResume)
    fork = Path(app.return_value)
    async with past(folder) as (app, pilot):
        await pilot.press("ctrl+r")
        await until(lambda: app._exit)
    assert isinstance(app.return_value, ToResume)
    assert Path(app.return_value) == folder
    assert [query.text for query in queries_of(fork)] == ["Question 0"]
