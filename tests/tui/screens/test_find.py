"""Tests of the screen that finds what sessions found."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tests.postgres_server import Database
from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import Host, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pictured import DARK, SMALL, Compare, Size, Stage, looks, no_blinking
from tests.tui.screens.found_sessions import DOCUMENTS, MADE_AT, NAME, REPORT, fill, lay_session
from tests.waiting import until
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key
from ua_tui.core.knowledge.records import KINDS, Batch, Cursor, Hit, KnowledgeDocument, Results
from ua_tui.core.knowledge.search.query import parse_query
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.tui.app.commands import commands_of
from ua_tui.tui.app.list_apps import ListApp
from ua_tui.tui.screens.files.article import ArticleScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.knowledge.find import FindScreen, SessionAccess
from ua_tui.tui.screens.knowledge.hit_list import HitList
from ua_tui.tui.screens.knowledge.hit_text import citation, kind_name
from ua_tui.tui.screens.knowledge.reader import KnowledgeReader
from ua_tui.tui.screens.session.sessions import SessionsScreen
from ua_tui.tui.screens.team.fleet import FleetScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.widgets.command import typed_command


@asynccontextmanager
async def finding(
    database: KnowledgePlace | None,
    words: str = "",
    *,
    size: Size = (120, 40),
) -> AsyncIterator[tuple[Host, FindScreen, Pilot[None]]]:
    screen = FindScreen(database, SessionAccess(), words)
    async with hosted(screen=screen, size=size) as (app, pilot):
        await answered(screen)
        await pilot.pause()
        yield app, screen, pilot


async def answered(screen: FindScreen) -> None:
    """Wait for the answer; on a busy machine the first one may be partial, and another one follows."""
    await until(lambda: screen.is_mounted and not screen._waits and not screen._results.partial)


def kinds(screen: FindScreen) -> list[str]:
    return [found.row.kind for hits in screen.query(HitList) for found in hits.entries]


def chosen_kind(screen: FindScreen) -> str | None:
    hit = screen.query_one(HitList).chosen
    return hit.kind if hit is not None else None


async def opened_viewer(app: App[Any]) -> ViewerScreen:
    await until(lambda: isinstance(app.screen, ViewerScreen) and app.screen.document is not None)
    assert isinstance(app.screen, ViewerScreen)
    return app.screen


async def choose(screen: FindScreen, pilot: Pilot[None], kind: str) -> None:
    """Move the cursor to the first hit of a kind."""
    for _ in range(kinds(screen).index(kind)):
        await pilot.press("down")
    assert chosen_kind(screen) == kind


async def test_hits_appear_while_one_types_with_their_passage_and_what_they_are(tmp_path: Path) -> None:
    async with finding(fill(tmp_path)) as (app, screen, pilot):
        await pilot.press(*"velomax")
        await until(lambda: len(kinds(screen)) == 4)
        assert set(kinds(screen)) == {"report", "article", "search_row", "query"}
        shown = ("Velomax recalled", "ten thousand brakes", "4 hits", "bicycles.example", "2026-11-18")
        await until(lambda: all(text in screen_text(app) for text in shown))
        # What is typed in the list goes to the line.
        await pilot.press("tab", "space", *"rec")
        assert screen.query_one(Input).value == "velomax rec"
        # The document with all words is first, and those with some of them follow.
        await pilot.press(*"alled")
        await until(lambda: kinds(screen)[:1] == ["search_row"] and len(kinds(screen)) == 4)
        # Titles and passages are text and no markup.
        await pilot.press("ctrl+u", *"kilometres")
        await until(lambda: kinds(screen) == ["article"])
        await pilot.resize_terminal(140, 40)
        await until(lambda: "A [bold]test[/nope] of the Velomax" in screen_text(app))
        await until(lambda: "[red]90[/nope]" in screen_text(app))


async def test_a_word_that_is_too_short_to_be_a_beginning_never_shows_other_hits_as_its_own(
    tmp_path: Path,
) -> None:
    async with finding(fill(tmp_path)) as (app, screen, pilot):
        assert len(kinds(screen)) == 4
        await pilot.press(*"ve")
        # The hits before stay while one types, and a notice says what is missing.
        await until(lambda: "Keep typing, or delete it" in screen_text(app))
        assert len(kinds(screen)) == 4
        await pilot.press(*"lomax")
        await until(lambda: "Type on" not in screen_text(app))


def test_the_names_of_kinds_on_the_screen_are_filters() -> None:
    for kind in KINDS:
        assert parse_query(f"kind:{kind_name(kind)}", datetime.now(UTC)).filters == [("kind", [kind])]


def test_a_citation_has_title_address_dates_and_session() -> None:
    hit = Hit(
        id=1, kind="article", title="Yields\nrise", url="https://a.org/x", author="Ann Lee", trust="web",
        date="2026-11-01T05:23:19Z", made_at=MADE_AT, session="session_1", session_title="Chips",
    )  # fmt: skip
    found = datetime.fromtimestamp(MADE_AT).astimezone()
    expected = f"Ann Lee: Yields rise. https://a.org/x. 2026-11-01, found {found:%Y-%m-%d}. Session Chips."
    assert citation(hit) == expected


async def test_a_notice_is_shown_with_its_advice_on_a_small_screen(tmp_path: Path) -> None:
    fill(tmp_path / "one")
    copy = shutil.copytree(tmp_path / "one" / WORKSPACES, tmp_path / "two" / WORKSPACES)
    async with finding(copy / "knowledge.db", "velomax", size=(80, 24)) as (app, screen, _pilot):
        assert len(kinds(screen)) == 4
        await until(lambda: "`ua-tui trust adopt" in screen_text(app))


async def test_the_database_of_a_team_is_searched_while_one_types(
    tmp_path: Path, team_database: Database
) -> None:
    address = Address.parse(team_database.url)
    here = folder_key(address, lay_session(tmp_path))
    for key, text in ((here, "The Velomax of Ada."), ("elsewhere:/home/session_7", "The Velomax of Bob.")):
        with open_store(address) as store:
            title = key.rpartition("/")[2]
            found = KnowledgeDocument(kind="note", path=REPORT, title=title, text=text, made_at=MADE_AT)
            assert store.apply(key, Cursor(), Batch(after=Cursor(1, 1), documents=[found]))
    async with finding(address) as (app, screen, pilot):
        await pilot.press(*"velomax bob")
        await until(lambda: screen_text(app).partition(NAME)[0].count("session_7"))
        await pilot.press("alt+s")
        await until(lambda: "It is on another machine, elsewhere" in "".join(app.shown_text))
        # Its text is in the database.
        await pilot.press("enter")
        await until(
            lambda: isinstance(app.screen, ArticleScreen) and "The Velomax of Bob" in screen_text(app)
        )
        await pilot.press("q", "ctrl+u", *"ada")
        await until(lambda: NAME in screen_text(app) and kinds(screen) == ["note"])
        await pilot.press("enter")
        await opened_viewer(app)
        # What is stored meanwhile appears.
        await pilot.press("escape")
        with open_store(address) as store:
            more = KnowledgeDocument(
                kind="report", path="r.md", title="R", text="Another of ada", made_at=MADE_AT
            )
            assert store.apply(here, Cursor(1, 1), Batch(after=Cursor(2, 2), documents=[more]))
        await until(lambda: "report" in kinds(screen))


async def test_what_is_stored_meanwhile_appears_and_the_cursor_stays(tmp_path: Path) -> None:
    lay_session(tmp_path)
    note = KnowledgeDocument(
        kind="note", path="n.md", title="Velomax, velomax", text="Velomax!", made_at=MADE_AT
    )
    async with finding(fill(tmp_path), "velomax") as (app, screen, pilot):
        await choose(screen, pilot, "query")
        fill(tmp_path, note)
        await until(lambda: "note" in kinds(screen))
        assert chosen_kind(screen) == "query"
        await pilot.press("p")
        await until(lambda: "This did not come from a tool call" in "".join(app.shown_text))
        await pilot.press("o", "w")
        assert app.shown_text[-2:] == ["This hit has no address.", "This hit has no site."]
        await pilot.press("home", *["down"] * kinds(screen).index("article"), "y")
        assert len(app.copied) == 1
        assert "https://bicycles.example/velomax" in app.copied[0]


async def test_enter_opens_a_hit_at_its_place_and_waits_for_the_hits_of_what_was_typed(
    tmp_path: Path,
) -> None:
    lay_session(tmp_path)
    async with finding(fill(tmp_path), "recalled") as (app, screen, pilot):
        await pilot.press("enter")
        viewer = await opened_viewer(app)
        await until(lambda: viewer.view.cursor_body is not None and viewer.view.cursor_body.cursor == 1)
        await pilot.press("q")
        # The call of a hit is read from the journal of its session.
        for keys in (("alt+p",), ("tab", "p")):
            await pilot.press(*keys)
            await until(lambda: isinstance(app.screen, ToolCallScreen))
            assert isinstance(app.screen, ToolCallScreen)
            assert app.screen.call.started.tool_use_id == "t1"
            assert [each.path for each in app.screen.call.artifacts] == ["search_results/news.json"]
            await pilot.press("escape")
            await until(lambda: app.screen is screen)
        screen.query_one(Input).focus()
        screen.query_one(Input).value = "strongest motor"
        await pilot.press("enter")
        assert (await opened_viewer(app)).path.name == "report.md"
        await until(lambda: "strongest motor" in screen_text(app))


async def test_enter_opens_the_newest_text_as_soon_as_it_is_found(tmp_path: Path, monkeypatch: Patch) -> None:
    search, may_end = KnowledgeReader.search, asyncio.Event()

    async def search_later(reader: KnowledgeReader, text: str, **more: Any) -> Any:
        await may_end.wait()
        return await search(reader, text, **more)

    monkeypatch.setattr(KnowledgeReader, "search", search_later)
    lay_session(tmp_path)
    screen = FindScreen(fill(tmp_path), SessionAccess())
    async with hosted(screen=screen, size=(120, 40)) as (app, pilot):
        await until(lambda: screen.is_mounted and screen._waits)
        await pilot.press("enter")
        may_end.set()
        await until(lambda: app.screen is not screen)


async def test_what_was_opened_from_a_part_of_the_hits_is_not_opened_again_with_all_of_them(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    search, may_end = KnowledgeReader.search, asyncio.Event()

    async def search_in_parts(
        reader: KnowledgeReader, text: str, *, limit: int, patient: bool = False
    ) -> Any:
        if patient:
            await may_end.wait()
        found = await search(reader, text, limit=limit, patient=True)
        return dataclasses.replace(found, partial=not patient)

    monkeypatch.setattr(KnowledgeReader, "search", search_in_parts)
    monkeypatch.setattr("ua_tui.tui.screens.knowledge.find.POLL_SECONDS", 0.1)
    lay_session(tmp_path)
    may_end.set()
    async with finding(fill(tmp_path)) as (app, screen, pilot):
        may_end.clear()
        screen.query_one(Input).value = "strongest motor"
        await pilot.press("enter")
        await opened_viewer(app)
        may_end.set()
        await answered(screen)
        await until(lambda: all(each.group != "open" or each.is_finished for each in app.workers))
        assert [type(each) for each in app.screen_stack[1:]] == [FindScreen, ViewerScreen]
        # While the same words are searched again, the hits of the last time are opened.
        may_end.clear()
        await pilot.press("q")
        await until(lambda: screen._waits)
        await pilot.press("enter")
        await opened_viewer(app)
        may_end.set()


async def test_a_search_that_takes_long_is_repeated_less_often(tmp_path: Path, monkeypatch: Patch) -> None:
    asked: list[str] = []

    async def search(_reader: KnowledgeReader, text: str, **_options: Any) -> Results:
        asked.append(text)
        return Results(ms=60_000)

    monkeypatch.setattr(KnowledgeReader, "search", search)
    monkeypatch.setattr("ua_tui.tui.screens.knowledge.find.POLL_SECONDS", 0.01)
    async with finding(tmp_path / "knowledge.db"):
        await asyncio.sleep(0.5)
    # The first pause began before there was an answer.
    assert len(asked) <= 2


async def test_the_session_of_a_hit_is_opened_and_what_has_no_file_is_a_page(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    folder, opened = lay_session(tmp_path), list[Path]()
    monkeypatch.setattr(
        "ua_tui.tui.screens.knowledge.find.open_read_only", lambda _app, path: opened.append(path)
    )
    async with finding(fill(tmp_path), "velomax") as (app, screen, pilot):
        await pilot.press("alt+s")
        await until(lambda: opened == [folder])
        await choose(screen, pilot, "query")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ArticleScreen) and "1 of 1" in screen_text(app))
        assert "Compare bicycles such as the Velomax" in screen_text(app)
        assert "Query" in screen_text(app)


async def test_a_deleted_file_and_a_deleted_session_are_reported(tmp_path: Path) -> None:
    folder = lay_session(tmp_path)
    (folder / REPORT).unlink()
    async with finding(fill(tmp_path), "strongest motor") as (app, screen, pilot):
        await pilot.press("enter")
        await until(lambda: "no longer exists" in "".join(app.shown_text))
        shutil.rmtree(folder)
        for key in ("enter", "alt+p", "alt+s"):
            app.shown_text.clear()
            await pilot.press(key)
            await until(lambda: f"The session {NAME} no longer exists" in "".join(app.shown_text))
        assert app.screen is screen


async def test_a_knowledge_base_that_is_off_missing_or_damaged_is_explained(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"no database " * 1_000)
    for database, words, shown in (
        (None, "velomax", "The knowledge base is off."),
        (damaged, "velomax", "ua-tui knowledge rebuild"),
        (tmp_path / "none" / "knowledge.db", "", "Nothing is indexed yet"),
    ):
        async with finding(database, words) as (app, _, _):
            assert shown in screen_text(app)
    # One that is made meanwhile is searched.
    async with finding(tmp_path / WORKSPACES / "knowledge.db", "velomax") as (_, screen, _):
        assert kinds(screen) == []
        fill(tmp_path)
        await until(lambda: len(kinds(screen)) == 4)


async def test_the_words_are_narrowed_to_the_kind_site_and_session_of_a_hit(tmp_path: Path) -> None:
    async with finding(fill(tmp_path), "velom") as (app, screen, pilot):
        await until(lambda: len(kinds(screen)) == 4)
        line = screen.query_one(Input)
        await choose(screen, pilot, "article")
        await pilot.press("tab", "w")
        assert line.value == "site:bicycles.example velom"
        await until(lambda: kinds(screen) == ["article"])
        await pilot.press("K", "S")
        assert line.value == f"session:{NAME} kind:article site:bicycles.example velom"
        # The same keys remove the filters, while the last word is still the beginning of one.
        await pilot.press("tab", "alt+w", "alt+e", "alt+k")
        assert line.value == "velom"
        await until(lambda: len(kinds(screen)) == 4)
        await pilot.press("escape")
        assert app.screen is not screen


async def test_any_text_is_a_query(tmp_path: Path) -> None:
    async with finding(fill(tmp_path)) as (app, screen, pilot):
        for words in ("NEAR(", "a" * 10_000, "site:", '"velomax" -', "[/red]"):
            screen.query_one(Input).value = words
            await pilot.pause()
            await until(lambda: not screen._waits)
            await pilot.press("down", "end", "tab")
            assert "Find" in screen_text(app)


async def test_the_key_and_the_command_open_the_search(tmp_path: Path) -> None:
    lay_session(tmp_path)
    fill(tmp_path)
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await pilot.press("f8", *"recalled")
        await until(lambda: isinstance(app.screen, FindScreen) and kinds(app.screen) == ["search_row"])
        await pilot.press("enter")
        await opened_viewer(app)
        # Again from what was opened.
        await pilot.press("f8")
        await until(lambda: isinstance(app.screen, FindScreen))
        for left in (3, 2, 1):
            await pilot.press("escape")
            await until(lambda left=left: len(app.screen_stack) == left)  # type: ignore[misc]
        command = typed_command("/find strongest motor", commands_of(app))
        assert command is not None
        command.run()
        await until(lambda: isinstance(app.screen, FindScreen) and kinds(app.screen) == ["report"])


@pytest.mark.parametrize("of", ["sessions", "fleet"])
async def test_the_key_opens_the_search_in_the_lists_of_sessions_too(tmp_path: Path, of: str) -> None:
    lay_session(tmp_path)
    database, index = fill(tmp_path), SessionIndex(tmp_path, tmp_path / "cache")
    settings = Settings(workspace_base=tmp_path, knowledge=database)
    fleet = FleetScreen(FleetSource(index, None))
    app = ListApp(settings, SessionsScreen(index, database=database) if of == "sessions" else fleet, of)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f8", *"recalled")
        await until(lambda: isinstance(app.screen, FindScreen) and kinds(app.screen) == ["search_row"])
        await pilot.press("enter")
        await opened_viewer(app)
        for kind in (FindScreen, SessionsScreen | FleetScreen):
            await pilot.press("escape")
            await until(lambda kind=kind: isinstance(app.screen, kind))  # type: ignore[misc]


@looks(DARK)
async def test_the_hits(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: Size, theme: str, still: None
) -> None:
    database = fill(tmp_path)
    copies = [replace(each, path=f"copy/{each.path}", part=each.part + 10) for each in DOCUMENTS[1:2]]
    fill(tmp_path, *copies, name="session_20261121_100000", demo=True)
    screen = FindScreen(database, SessionAccess(), "velomax")
    async with Stage(theme).run_test(size=size) as pilot:
        pilot.app.push_screen(screen)
        await answered(screen)
        no_blinking(pilot.app)
        await pilot.press("down")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")


async def test_closing_waits_for_no_thread(tmp_path: Path) -> None:
    is_free, came_by = threading.Event(), asyncio.Event()
    async with finding(fill(tmp_path), "velom") as (app, screen, _):
        threads = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(threads)
        threads.submit(is_free.wait)
        try:
            screen.dismiss(None)
            # Keys take this way, too.
            app.call_later(app.call_later, came_by.set)
            await until(came_by.is_set)
        finally:
            is_free.set()
