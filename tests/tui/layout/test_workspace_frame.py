from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.packed import pack
from tests.tui.app_host import shown
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.played import QUERY, fixed_bus, played_events
from tests.tui.tree_host import cursor, rows
from tests.waiting import until
from ua_tui.core.events.types import ArtifactSaved, SubagentProgress, ToolCallFinished, ToolCallStarted, Usage
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.files.article import ArticleScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen

NEWS = "search_results/composio_search_news_140203_ab.json"
REPORT = "work_products/ai-chip-news.html"


@asynccontextmanager
async def playing(
    tmp_path: Path, size: tuple[int, int]
) -> AsyncIterator[tuple[UaTuiApp, FakeSession, WorkspacePane, Pilot[str]]]:
    """The application after the session was played."""
    app, session = played(tmp_path)
    async with app.run_test(size=size) as pilot:
        yield app, session, await play(app, session, pilot), pilot


def played(tmp_path: Path) -> tuple[UaTuiApp, FakeSession]:
    folder = tmp_path / "AGENT_RUN_WORKSPACES"
    folder.mkdir()
    session = make_session(folder, bus=fixed_bus())
    session.script = [event for event in played_events() if event.event_name != "query_received"]
    return make_app(folder, session), session


async def play(app: UaTuiApp, session: FakeSession, pilot: Pilot[str]) -> WorkspacePane:
    """Play the session, with files that are new, one of them packed."""
    await until(lambda: session.state == "idle")
    await pilot.pause()
    path = session.workspace.path
    (path / "search_results").mkdir()
    (path / "work_products").mkdir()
    session.submit(QUERY)
    session.state = "idle"
    (path / f"{NEWS}.zst").write_bytes(pack(b"[]"))
    (path / REPORT).write_text("<h1>Report</h1>")
    pane = app.query_one(WorkspacePane)
    await until(lambda: "  ai-chip-news.html" in rows(pane))
    await until(lambda: "toolu_6" in app.query_one(TracePane).calls.by_key)
    return pane


async def test_from_the_observers_to_the_packed_file_and_from_it_to_its_call(tmp_path: Path) -> None:
    async with playing(tmp_path, (200, 50)) as (app, _session, pane, pilot):
        assert len(pane.new_files) == 2
        await pilot.press("f4", "home", "enter")
        await until(lambda: cursor(pane) == "composio_search_news_140203_ab.json.zst")
        assert pane.tree_view.has_focus
        await until(lambda: len(pane.new_files) == 1)  # the preview showed it
        await pilot.press("p")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        assert app.screen.call.started.tool_use_id == "toolu_1"  # type: ignore[attr-defined]
        trace = app.screen_stack[0].query_one(TracePane)
        assert trace.cursor is not None
        assert trace.cursor.key == "toolu_1"
        await pilot.press("escape")
        assert pane.tree_view.has_focus, "Esc goes back to where one was"


async def test_a_file_of_a_call_is_gone_to_in_the_workspace_with_its_preview(tmp_path: Path) -> None:
    async with playing(tmp_path, (200, 50)) as (app, _session, pane, pilot):
        await pilot.press("f3")
        app.query_one(TracePane).reveal("toolu_6")
        await pilot.press("enter")
        await until(lambda: "ai-chip-news.html" in screen_text(app))
        await pilot.press("tab", "enter")
        await until(lambda: cursor(pane) == "ai-chip-news.html")
        assert len(app.screen_stack) == 1
        assert pane.tree_view.has_focus
        await until(lambda: str(app.query_one("#preview").border_title) == "ai-chip-news.html")


async def test_a_packed_file_of_a_call_is_gone_to_and_a_deleted_one_is_reported(tmp_path: Path) -> None:
    async with playing(tmp_path, (80, 24)) as (app, session, pane, pilot):
        await pilot.press("f3")
        app.query_one(TracePane).reveal("toolu_1")
        await pilot.press("enter", "tab", "enter")
        await until(lambda: cursor(pane) == "composio_search_news_140203_ab.json.zst")
        assert app.frame.active == "workspace"
        (session.workspace.path / REPORT).unlink()
        await pilot.press("f3")
        app.query_one(TracePane).reveal("toolu_6")
        await pilot.press("enter")
        await until(lambda: "no longer exist" in screen_text(app))
        await pilot.press("tab", "enter")
        await until(lambda: f"{REPORT} no longer exists" in _reported(app))
        assert isinstance(app.screen, ToolCallScreen)


async def test_an_open_call_picks_up_its_files_and_how_far_a_sub_agent_has_come(tmp_path: Path) -> None:
    app, session = played(tmp_path)
    given = {"subagent_type": "expert", "prompt": "Go"}
    call = ToolCallStarted(query_id="q9", tool_use_id="agent", name="Agent", input=given)
    async with app.run_test(size=(120, 40)) as pilot:
        await play(app, session, pilot)
        session.bus.publish(call)
        trace = app.query_one(TracePane)
        await until(lambda: "agent" in trace.calls.by_key)
        await pilot.press("f3")
        trace.reveal("agent")
        await pilot.press("enter")
        await until(lambda: "The call is still running." in screen_text(app))
        used = Usage(output_tokens=9000)
        reported = SubagentProgress(
            task_id="t", tool_use_id="agent", name="expert", description="Reading", usage=used
        )
        session.bus.publish(reported)
        await until(lambda: "9k tok" in screen_text(app))
        assert "Reading" in screen_text(app)
        session.bus.publish(ToolCallFinished(tool_use_id="agent", status="success", observation=None))
        await until(lambda: "The call returned no result." in screen_text(app))
        late = ArtifactSaved(
            path="a/late.md", kind="notes", size=1, sha256="0", observer="o", tool_use_id="agent"
        )
        session.bus.publish(late)
        await until(lambda: "a/late.md" in screen_text(app))


def _reported(app: UaTuiApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


async def test_without_a_preview_in_sight_only_opening_a_file_counts_as_seeing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.tui.panes.workspace.pane._SEEN_AFTER", 0.001)
    async with playing(tmp_path, (80, 24)) as (app, session, pane, pilot):
        await pilot.press("f5")
        pane.reveal(session.workspace.path / REPORT)
        await until(lambda: cursor(pane) == "ai-chip-news.html")
        await pilot.pause()
        assert session.workspace.path / REPORT in pane.new_files
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ViewerScreen))
        assert session.workspace.path / REPORT not in pane.new_files
        # A preview that comes to sight shows where the cursor is.
        await pilot.press("escape")
        await pilot.resize_terminal(120, 33)
        await until(lambda: str(app.query_one("#preview").border_title) == "ai-chip-news.html")


async def test_the_preview_of_a_corpus_opens_its_articles(tmp_path: Path) -> None:
    async with playing(tmp_path, (120, 33)) as (app, session, pane, pilot):
        article = {"title": "Copper", "url": "https://a.example", "content": "All of it."}
        corpus = session.workspace.path / "expanded_corpus.json"
        corpus.write_text(json.dumps({"articles": [article, {**article, "title": "Tin"}]}))
        await pilot.press("f5")
        pane.reveal(corpus)
        await until(lambda: "2 articles" in screen_text(app))
        app.query_one("#preview").focus()
        await pilot.press("down", "enter")
        await until(lambda: isinstance(app.screen, ArticleScreen))
        await until(lambda: "All of it." in screen_text(app))


async def test_a_report_and_a_file_of_another_session_open_in_the_viewer(tmp_path: Path) -> None:
    reports = tmp_path / "SAVED_REPORTS"
    past = tmp_path / "AGENT_RUN_WORKSPACES" / "session_20261101_050000"
    app, session = played(tmp_path)
    reports.mkdir()
    (reports / "report.html").write_text("<h1>An old report</h1>")
    past.mkdir()
    (past / "summary.txt").write_text("What was done then\n")
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await play(app, session, pilot)
        await pilot.press("f5", "t")
        await until(lambda: rows(pane) == ["report.html"])
        await pilot.press("enter")
        await until(lambda: "An old report" in screen_text(app))
        await pilot.press("escape", "t")
        await until(lambda: rows(pane) == [past.name])
        await pilot.press("right")
        await until(lambda: rows(pane) == [past.name, "  summary.txt"])
        await pilot.press("right", "enter")
        await until(lambda: "What was done then" in screen_text(app))


async def test_what_is_typed_into_the_filter_is_no_key_of_the_application(tmp_path: Path) -> None:
    async with playing(tmp_path, (120, 40)) as (app, _session, pane, pilot):
        await pilot.press("f5", "slash", *"1z?d2")
        assert pane._line.value == "1z?d2"
        assert app.frame.active == "workspace"
        assert len(app.screen_stack) == 1
        await pilot.press("escape")
        assert pane.tree_view.has_focus
        await pilot.press("escape")
        assert app.frame.prompt.has_focus, "Esc is for others when there is no filter"


async def test_the_preview_lets_go_of_the_last_file_when_it_vanishes(tmp_path: Path) -> None:
    app, session = played(tmp_path)
    async with app.run_test(size=(200, 50)) as pilot:
        await until(lambda: session.state == "idle")
        await pilot.pause()
        pane, preview = app.query_one(WorkspacePane), app.query_one(PreviewPane)
        report = session.workspace.path / "SAVED" / "report.md"
        report.parent.mkdir()
        report.write_text("the one report")
        pane.set_root(session.workspace.path, report.parent)
        await pilot.press("f5", "t", "home")
        await until(lambda: preview.path == report and "the one report" in screen_text(app))
        report.unlink()
        await until(lambda: preview.path is None)
        await until(lambda: "The file under the cursor" in screen_text(app))


async def test_the_preview_shows_the_newest_artifact_until_a_file_is_selected(tmp_path: Path) -> None:
    async with playing(tmp_path, (120, 40)) as (app, session, pane, pilot):
        preview = app.query_one(PreviewPane)
        assert preview.path is None, "the trace is shown beside the conversation"
        await pilot.resize_terminal(200, 50)
        await until(lambda: preview.path == session.workspace.path / REPORT)
        assert not pane.has_cursor
        await pilot.press("f5")
        await until(lambda: cursor(pane) == "ai-chip-news.html")
        await pilot.press("home")
        session.bus.publish(ArtifactSaved(path=NEWS, kind="search_results", size=2, sha256="0", observer="o"))
        await shown(app, pilot)
        assert preview.path != session.workspace.path / NEWS
