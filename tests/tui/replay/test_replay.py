from __future__ import annotations

import hashlib
import math
import random
import re
import shutil
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Static

from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.played import played_events
from tests.tui.replay.test_past_session import many, rows_of, stamped, write
from tests.waiting import PATIENCE, ManualClock, is_settled, until
from ua_tui.core.demo.launch import unpack_recording
from ua_tui.core.events import types as ev
from ua_tui.core.history.kept_versions import KeptVersions
from ua_tui.core.history.past_files import PastFolder
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import REPORT_INDEX, saved_reports_of
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.conversation.blocks import Card
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.panes.workspace.tree import WorkspaceTree
from ua_tui.tui.replay.player import AT_ONCE, Player
from ua_tui.tui.replay.replay_source import ReplaySource
from ua_tui.tui.replay.time_line import TimeLine
from ua_tui.tui.screens.application.help import HelpScreen

PANES = (ConversationPane, TracePane, ObserversPane, WorkspaceTree)
WIDE = (200, 50)
POINTS = 50
SPINNER = re.compile("[\u2800-\u28ff]")


@asynccontextmanager
async def replayed(
    folder: Path, size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any], Player, ManualClock]]:
    """Open a session's replay, whose time passes only when the clock is advanced."""
    clock = ManualClock()
    source = ReplaySource(folder, clock=clock, **options)
    app = UaTuiApp(Settings(workspace_base=folder.parent.parent), source)
    async with app.run_test(size=size) as pilot:
        await until(source.opened.is_set)
        assert source.player is not None
        await reached(source.player, None)
        yield app, pilot, source.player, clock


async def reached(player: Player, position: int | None) -> None:
    """Wait until the player is at a position, or has done what was requested."""
    await until(
        lambda: is_settled(player) and position in (None, player.position), reported=lambda: player.position
    )


def time_line(app: UaTuiApp) -> str:
    return str(app.query_one(TimeLine).render())


def states(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Everything below a folder, with what would show that it was written."""
    return {
        str(path): (
            path.lstat().st_mtime_ns,
            path.lstat().st_ctime_ns,
            path.read_bytes().hex() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
    }


def streamed() -> list[ev.Event]:
    """A query whose answer, thinking and sub-agent are streamed in pieces."""
    query: dict[str, Any] = {"query_id": "s", "message_id": "s1"}
    inner: dict[str, Any] = {"query_id": "s", "message_id": "s2", "parent_tool_use_id": "agent"}
    given = {"subagent_type": "expert", "description": "Write"}
    return [
        ev.QueryReceived(query_id="s", text="Stream"),
        *(ev.ThinkingDelta(**query, text=f"thought {number}. ") for number in range(3)),
        *(ev.TextDelta(**query, text=f"word {number} ") for number in range(6)),
        ev.MessageFinished(**query, text="word 0 word 1 word 2 word 3 word 4 word 5"),
        ev.ToolCallStarted(query_id="s", tool_use_id="agent", name="Agent", input=given),
        ev.SubagentStarted(task_id="t", tool_use_id="agent", name="expert"),
        *(ev.TextDelta(**inner, text=f"part {number} ") for number in range(4)),
        ev.MessageFinished(**inner, text="part 0 part 1 part 2 part 3"),
        ev.PermissionAsked(request_id="p", tool_name="Bash", input={"command": "ls"}, tool_use_id="agent"),
        ev.PermissionAnswered(request_id="p", tool_name="Bash", decision="allow"),
        ev.SubagentFinished(task_id="t", tool_use_id="agent", name="expert"),
        ev.ToolCallFinished(tool_use_id="agent", status="error"),
        ev.TextDelta(query_id="s", message_id="s3", text="never finished"),
        ev.QueryFinished(query_id="s", status="interrupted", duration_ms=9_000.0),
    ]


def writing() -> list[ev.Event]:
    """Two queries that write files: one of them twice, one in folders of its own."""

    def written(call: str, query: str, path: str) -> list[ev.Event]:
        content = text_saved(path, call)
        given = {"path": path, "content": content}
        return [
            ev.ToolCallStarted(query_id=query, tool_use_id=call, name="Write", input=given),
            ev.ToolCallFinished(tool_use_id=call, status="success"),
            ev.ArtifactSaved(path=path, kind="file", size=0, sha256="", observer="o", tool_use_id=call),
        ]

    return [
        ev.QueryReceived(query_id="w", text="Write"),
        *written("w1", "w", "work_products/notes.md"),
        *written("w2", "w", "work_products/notes.md"),
        ev.QueryFinished(query_id="w", status="success"),
        ev.QueryReceived(query_id="x", text="Write more"),
        *written("w3", "x", "deep/below/more.md"),
        ev.QueryFinished(query_id="x", status="success"),
    ]


def text_saved(path: str, call: str | None) -> str:
    return f"# {path} of {call}\n"


def truthful(event: ev.Event) -> ev.Event:
    """The event with the size and the hash of what it saves."""
    if not isinstance(event, ev.ArtifactSaved):
        return event
    content = text_saved(event.path, event.tool_use_id).encode()
    digest = hashlib.sha256(content).hexdigest()
    return msgspec.structs.replace(event, size=len(content), sha256=digest)


def do_as(event: ev.Event, folder: Path) -> None:
    """Do to the files what an event says; in each of the queries that write, a person adds or removes one."""
    match event:
        case ev.ArtifactSaved():
            place = folder / event.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text_saved(event.path, event.tool_use_id))
        case ev.QueryFinished(query_id="w"):
            (folder / "by hand.txt").write_text("mine")
        case ev.QueryFinished(query_id="x"):
            (folder / "work_products" / "notes.md").unlink()
        case _:
            pass
    if isinstance(event, ev.QueryReceived | ev.QueryFinished) and event.query_id in ("w", "x"):
        KeptVersions(Root(folder)).keep(
            event.query_id, "begin" if isinstance(event, ev.QueryReceived) else "end"
        )


async def shown_live(
    base: Path, events: Sequence[ev.Event], points: Sequence[int]
) -> dict[int, list[list[str]]]:
    """The rows of the panes of a session that runs here, after so many events."""
    session = make_session(base)
    app = make_app(base, session)
    found: dict[int, list[list[str]]] = {}
    async with app.run_test(size=WIDE) as pilot:
        await until(lambda: app.session is not None)
        happened, now = 0, [0.0]
        trace, talk = app.frame.query_one(TracePane), app.frame.query_one(ConversationPane)
        trace.calls.clock = lambda: now[0]
        talk.clock = lambda: now[0]
        for point in points:
            for event in events[happened:point]:
                now[0] = event.at.timestamp()
                do_as(event, session.workspace.path)
                session.bus.forward(event)
                app.pump.flush()
            happened = point
            await pilot.pause()
            app.frame.query_one(WorkspacePane).tree_view.rescan()
            await at_rest(app, pilot)
            found[point] = shown_rows(app)
    return found


async def at_rest(app: UaTuiApp, pilot: Pilot[Any]) -> None:
    """Wait until the workspace has listed its folders, and what the other panes show of files is read."""
    tree = app.frame.query_one(WorkspaceTree)
    readers = (tree, app.frame.query_one(PreviewPane), app.frame.query_one(ConversationPane))
    await until(
        lambda: (
            not tree.model.dirty
            and all(each.is_finished or each.group == "watch" for each in app.workers if each.node in readers)
        )
    )
    await pilot.pause()


def shown_rows(app: UaTuiApp) -> list[list[str]]:
    """The rows of the panes, whatever the frame of a spinner."""
    talk = app.frame.query_one(ConversationPane)
    talk.dialogue.folds.tick(talk.clock(), "*")
    preview = app.frame.query_one(PreviewPane)
    lines = (preview.render_line(line).text.strip() for line in range(preview.size.height))
    read = [str(preview.border_title), *filter(None, lines)]
    return [[SPINNER.sub("*", row) for row in rows_of(app, kind)] for kind in PANES] + [read]


async def test_at_fifty_moments_the_panes_are_those_of_the_running_session(tmp_path: Path) -> None:
    begun = ev.SessionStarted(session_id="s", workspace="/gone", cwd="/", version="1")
    events = [*many(3, calls=6), *streamed(), *played_events(), *many(2, calls=4), *writing()]
    events = [truthful(each) for each in stamped([begun, *events])]
    folder = write(tmp_path / "past", list(events[1:]))
    chance = random.Random(40)
    points = sorted([*chance.sample(range(2, len(events) + 1), POINTS - 1), len(events)])
    (tmp_path / "live").mkdir()
    live = await shown_live(tmp_path / "live", events, points)
    shutil.copytree(make_session(tmp_path / "live").workspace.path, folder, dirs_exist_ok=True)
    async with replayed(folder, WIDE, longest_wait=0) as (app, pilot, player, _clock):
        player.play(playing=False)
        for point in chance.sample(points, len(points)):
            player.seek(point)
            await reached(player, point)
            await at_rest(app, pilot)
            for kind, here, there in zip((*PANES, PreviewPane), shown_rows(app), live[point], strict=True):
                assert here == there, f"{kind.__name__} after {point} events"


async def test_time_passes_at_the_chosen_speed_and_long_waits_are_shortened(tmp_path: Path) -> None:
    folder = write(tmp_path, many(2))
    async with replayed(folder, longest_wait=0.25) as (app, pilot, player, clock):
        # The events are half a second apart, and a quarter in the replay.
        await reached(player, 1)
        assert player.is_playing
        await clock.advance(0.25)
        await reached(player, 2)
        assert "is shortened" in time_line(app)
        player.set_speed(4.0)
        await clock.advance(0.25)
        await reached(player, 6)
        await pilot.press("space")
        await clock.advance(5)
        await reached(player, 6)
        assert not player.is_playing
        assert "paused" in str(app.status.render())
        player.set_speed(math.inf)
        await pilot.press("space")
        await until(lambda: player.is_at_end)
        await until(lambda: not player.is_playing)
        assert "ended" in str(app.status.render())
        # From the end it begins again.
        await pilot.press("m", "down", "space")
        assert player.speed == 100
        await until(lambda: player.position < len(player.recording))


async def test_until_an_event_it_pauses_there_once(tmp_path: Path) -> None:
    folder = write(tmp_path, many(2))
    async with replayed(folder, speed=math.inf, until=12) as (_, pilot, player, _clock):
        await until(lambda: not player.is_playing)
        assert player.position == 12
        await pilot.press("space")
        await until(lambda: player.is_at_end)


async def test_keys_step_by_event_query_and_failure_in_every_pane(tmp_path: Path) -> None:
    folder = write(tmp_path, many(3))
    for size in ((80, 24), (120, 40), (200, 50)):
        async with replayed(folder, size) as (app, pilot, player, _clock):
            assert app.focused is app.query_one(TimeLine)
            line = app.query_one(TimeLine)
            assert line.region.bottom == size[1] - 1
            assert "^Q leave" in str(app.status.render())
            await pilot.press("right_curly_bracket")
            await reached(player, 2)
            assert ("2 events ·" in time_line(app)) == (size[0] < 200), "only a wide line says of how many"
            await pilot.press("right_curly_bracket")
            await reached(player, 45)
            assert not player.is_playing
            assert "Question 1" in time_line(app)
            await pilot.press("left_curly_bracket", "right", "right", "left")
            await reached(player, 3)
            await pilot.press("right_square_bracket")
            await reached(player, 18)
            # Keys that a pane does not use are those of the time line.
            await pilot.press("1")
            assert isinstance(app.focused, ConversationPane)
            await pilot.press("right")
            await reached(player, 19)
            await pilot.press("space")
            assert player.is_playing
            await pilot.press("space", "right_square_bracket")
            await reached(player, 61)
            await pilot.press("left_square_bracket")
            await reached(player, 18)
            for _ in range(7):
                await pilot.press("tab")
                if app.focused is line:
                    break
            assert app.focused is line
            await pilot.press(*["left_curly_bracket"] * 3)
            await reached(player, 2)
            assert "There is no query before" in " ".join(each.message for each in app._notifications)
            await pilot.press("end")
            await reached(player, len(player.recording))
            await pilot.press("home")
            await reached(player, 0)
            assert not app.frame.query_one(TracePane).entries


async def test_a_step_goes_on_from_where_the_one_before_it_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replayed(write(tmp_path, many(3))) as (_, __, player, _clock):
        player.seek(45)
        await reached(player, 45)
        is_read, may_go = threading.Event(), threading.Event()
        moment = player.recording.moment

        def slowly(position: int) -> Any:
            is_read.set()
            may_go.wait(PATIENCE)
            return moment(position)

        monkeypatch.setattr(player.recording, "moment", slowly)
        assert player.step("query", -1)
        await until(is_read.is_set)
        assert player.step("event", 1)
        may_go.set()
        await reached(player, 3)


async def test_the_help_and_the_line_name_the_keys_that_work_where_the_focus_is(tmp_path: Path) -> None:
    folder = write(tmp_path, many(1))
    works: dict[type[Widget], set[str]] = {
        TimeLine: {"Space", "→ ←", "} {", "] [", "↑ ↓", "m", "Home End", "PgDn PgUp", "f"},
        ConversationPane: {"Space", "→ ←", "} {", "] [", "m"},
        TracePane: {"Space", "} {"},
    }
    async with replayed(folder) as (app, pilot, player, _clock):
        player.play(playing=False)
        for place, expected in works.items():
            app.set_focus(app.query_one(place))
            await pilot.pause()
            assert isinstance(app.focused, place)
            assert ("] failure" in time_line(app)) == ("] [" in expected)
            await pilot.press("question_mark")
            await until(lambda: isinstance(app.screen, HelpScreen))
            text = str(app.screen.query_one(".facts", Static).render())
            section = text.partition("In a replay\n")[2].partition("\n\n")[0]
            assert {line.strip().split("  ")[0] for line in section.splitlines()} == expected
            # What changes the session, or the agent, does nothing here.
            assert not any(key in text for key in ("Ctrl+R", "Alt+M", "Alt+R", "Alt+X", "Alt+Z", "Alt+A"))
            await pilot.press("escape")
            await until(lambda: len(app.screen_stack) == 1)


async def test_a_replay_without_a_failure_offers_no_key_to_the_next_one(tmp_path: Path) -> None:
    async with replayed(write(tmp_path, many(1, calls=2))) as (app, pilot, player, _clock):
        player.play(playing=False)
        await pilot.pause()
        assert app.focused is app.query_one(TimeLine)
        assert "} query" in time_line(app)
        assert "failure" not in time_line(app)


async def test_f_on_the_time_line_forks_before_the_query_of_the_moment(tmp_path: Path) -> None:
    folder = write(tmp_path, many(2))
    async with replayed(folder) as (app, pilot, player, _clock):
        assert app.focused is app.query_one(TimeLine)
        player.play(playing=False)
        player.seek(10)
        await reached(player, 10)
        await pilot.press("f")
        await until(lambda: len(app.screen_stack) == 2)
        assert "Fork before “Question 0”?" in screen_text(app)
        # The session itself may be running below.
        assert "The replay is closed." in " ".join(str(each.content) for each in app.screen.query(Static))


async def test_a_click_and_a_drag_on_the_line_go_there(tmp_path: Path) -> None:
    folder = write(tmp_path, many(3))
    async with replayed(folder, (80, 24)) as (app, pilot, player, _clock):
        line = app.query_one(TimeLine)
        player.play(playing=False)
        time_line(app)
        bar = line._bar
        await pilot.click(TimeLine, offset=(bar.stop, 0))
        await reached(player, len(player.recording))
        await pilot.mouse_down(TimeLine, offset=(bar.start + 1, 0))
        await reached(player, 1)
        await pilot.hover(TimeLine, offset=(bar.start + 1 + len(bar) // 2, 0))
        await reached(player, None)
        middle = player.position
        assert 50 < middle < 90
        await pilot.mouse_up(TimeLine, offset=(bar.start + 1 + len(bar) // 2, 0))
        await pilot.hover(TimeLine, offset=(bar.start + 1, 0))
        await reached(player, middle)
        await pilot.click(TimeLine, offset=(1, 0))
        assert player.is_playing


async def test_files_are_there_as_they_were_and_nothing_of_the_session_changes(tmp_path: Path) -> None:
    texts = {name: f"<title>{name}</title>" for name in ("first", "second", "third")}

    def saved(
        text: str, copied_to: str | None = None, path: str = "work_products/r.html"
    ) -> ev.ArtifactSaved:
        digest = hashlib.sha256(text.encode()).hexdigest()
        return ev.ArtifactSaved(
            path=path,
            kind="work_product",
            size=len(text),
            sha256=digest,
            observer="work_products",
            copied_to=copied_to,
        )

    call = ev.ToolCallStarted(
        query_id="q",
        tool_use_id="c",
        name="Write",
        input={"path": "work_products/r.html", "content": texts["first"]},
    )
    events: list[ev.Event] = [
        ev.QueryReceived(query_id="q", text="Go"),
        call,
        ev.ToolCallFinished(tool_use_id="c", status="success"),
        saved(texts["first"]),
        saved(texts["second"], "/gone/SAVED_REPORTS/r_2.html"),
        saved("lost"),
        saved(texts["third"]),
        saved("outside", path="../outside.txt"),
        ev.ArtifactChanged(path="gone.txt", kind="text", size=4, sha256="0" * 64),
    ]
    folder = write(tmp_path, events)
    (folder / "work_products").mkdir()
    (folder / "work_products" / "r.html").write_text(texts["third"])
    reports = saved_reports_of(folder)
    assert reports is not None
    reports.mkdir()
    (reports / "r_2.html").write_text(texts["second"])
    digest = hashlib.sha256(texts["second"].encode()).hexdigest()
    (reports / REPORT_INDEX).write_text(
        f'{{"saved_as":"r_2.html","source":"work_products/r.html","session":"{folder.name}","sha256":"{digest}"}}\n'
    )
    before = states(tmp_path)
    async with replayed(folder, (160, 45)) as (app, pilot, player, _clock):
        place = app.frame.query_one(WorkspacePane).place
        assert place is not None
        root = Path(place.model.base)
        report = root / "work_products" / "r.html"
        player.play(playing=False)
        expected = {5: "first", 6: "second", 8: "third", 4: None}
        for position, name in (*expected.items(), *reversed(expected.items())):
            player.seek(position)
            await reached(player, position)
            assert (report.read_text() if report.exists() else None) == (texts[name] if name else None)
            assert player.missing_files == 0
        player.seek(7)
        await reached(player, 7)
        assert player.missing_files == 1, "what was not kept is shown as it is now"
        await until(lambda: "1 file as of now" in screen_text(app))
        player.seek(10)
        await reached(player, 10)
        assert "was not kept" in (root / "gone.txt").read_text()
        assert not (root.parent / "outside.txt").exists()
        await until(lambda: "gone.txt" in screen_text(app))
        await pilot.press("4", "d", "e", "ctrl+r", "alt+m")
        assert "read-only" in " ".join(each.message.lower() for each in app._notifications)
    assert states(tmp_path) == before
    assert not root.parent.exists()


async def test_who_reads_a_file_stays_at_its_place_until_that_file_changes(tmp_path: Path) -> None:
    texts = ["\n\n".join(f"{word} {number}" for number in range(400)) for word in ("early", "later")]

    def saved(call: str, path: str, text: str) -> list[ev.Event]:
        content, digest = {"path": path, "content": text}, hashlib.sha256(text.encode()).hexdigest()
        return [
            ev.ToolCallStarted(query_id="q", tool_use_id=call, name="Write", input=content),
            ev.ToolCallFinished(tool_use_id=call, status="success"),
            ev.ArtifactSaved(
                path=path, kind="work_product", size=len(text), sha256=digest, observer="work_products"
            ),
        ]

    read, other = "work_products/a.md", "work_products/b.md"
    begun = [ev.QueryReceived(query_id="q", text="Go"), *saved("c1", read, texts[0])]
    events = [*begun, *saved("c2", other, "b"), *saved("c3", read, texts[1])]
    folder = write(tmp_path, events)
    (folder / "work_products").mkdir()
    (folder / read).write_text(texts[1])
    (folder / other).write_text("b")
    async with replayed(folder, WIDE) as (app, pilot, player, _clock):
        player.play(playing=False)
        preview = app.frame.query_one(PreviewPane)

        async def go(position: int) -> None:
            player.seek(position)
            await reached(player, position)
            await at_rest(app, pilot)

        end = len(events) + 1
        await go(end - 6)
        preview.focus()
        await pilot.pause()
        assert "early 3" in screen_text(app)
        preview.scroll_to(0, 100, animate=False, immediate=True)
        for position in (end - 3, end - 6):
            await go(position)
            assert (preview.path and preview.path.name, preview.scroll_y) == ("a.md", 100)
        await go(end)
        assert "later 3" in screen_text(app)


async def test_files_are_copied_after_the_panes_show_the_moment_and_once_at_the_end_of_the_fastest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, copied, show = threading.Event(), [], PastFolder.show

    def watched(folder: PastFolder, *wanted: Any) -> bool:
        released.wait()
        copied.append(show(folder, *wanted))
        return copied[-1]

    monkeypatch.setattr(PastFolder, "show", watched)
    async with replayed(unpack_recording(tmp_path)) as (app, _, player, _clock):
        player.play(playing=False)
        whole = len(player.recording)
        try:
            player.seek(whole - 1)
            await until(lambda: player.position == whole - 1)
            assert app.view.query_count == 1
            assert not is_settled(player)
            # What is requested meanwhile does not wait for all the files.
            player.seek(whole)
        finally:
            released.set()
        await reached(player, whole)
        assert copied == [False, True]
        report = next((app.frame.folder or tmp_path).rglob("ai-chip-news.html"))
        player.seek(0)
        await reached(player, 0)
        assert not report.exists()
        # Cards read their files once these are there.
        released.clear()
        try:
            player.seek(whole)
            await until(lambda: player.position == whole)
            await until(lambda: all(each.is_finished for each in app.workers if each.group == "results"))
        finally:
            released.set()
        await reached(player, whole)
        cards = [each for each in app.frame.query_one(ConversationPane).entries if isinstance(each, Card)]
        assert cards
        await until(lambda: all(card.result.sources for card in cards))
        player.seek(0)
        await reached(player, 0)
        copied.clear()
        player.set_speed(math.inf)
        player.play(playing=True)
        await reached(player, whole)
        assert copied == [True]
        assert report.exists()


async def test_of_a_long_session_what_is_in_sight_comes_first_then_everything(tmp_path: Path) -> None:
    folder = write(tmp_path, many(60))
    async with replayed(folder) as (app, _, player, _clock):
        player.play(playing=False)
        whole = len(player.recording)
        assert whole > AT_ONCE + 500
        player.seek(whole)
        await until(lambda: player.position == whole)
        assert "Answer 59" in screen_text(app)
        await reached(player, whole)
        assert len(app.frame.query_one(TracePane).entries) == 60 * 21
        player.seek(100)
        player.seek(whole - 10)
        await reached(player, whole - 10)
        assert player.is_complete
        assert app.view.query_count == 60


async def test_what_a_journal_lacks_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path, many(2), b'{"event":"nonsense\xff"}\n{"event":"tool_call_fin')
    async with replayed(folder) as (app, _, player, _clock):
        assert "1 line of its journal is damaged" in app.notice.text
        assert "was cut off" in app.notice.text
        assert player.is_playing
    (folder / "journal.jsonl").write_bytes(b"")
    async with replayed(folder) as (app, pilot, player, _clock):
        assert "nothing to replay" in app.notice.text
        await pilot.press("space", "right_curly_bracket", "right", "end", "pagedown", "m")
        assert player.position == 0


async def test_the_recorded_session_of_the_demo_is_whole_and_labelled(tmp_path: Path) -> None:
    folder = unpack_recording(tmp_path)
    label = "Recorded demo session"
    async with replayed(folder, WIDE, speed=math.inf, label=label, longest_wait=3.0) as (
        app,
        pilot,
        player,
        _c,
    ):
        await reached(player, len(player.recording))
        assert not app.notice.display
        assert 15 < player.recording.seconds / 8 < 25
        assert label in time_line(app)
        assert "DEMO" in str(app.status.render())
        assert player.missing_files <= 4
        names = {path.name for path in (app.frame.folder or tmp_path).rglob("*")}
        assert "ai-chip-news.html" in names
        await pilot.press("1", "f")
        await until(lambda: "cannot be forked" in " ".join(each.message for each in app._notifications))
