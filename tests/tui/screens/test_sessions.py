from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.many_sessions import COUNT, WORD, lay_sessions
from tests.tui.app_host import notices
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Output, Patch
from tests.tui.pictured import DARK, SMALL, Compare, Size, looks
from tests.tui.played import fixed_bus
from tests.tui.screens.found_sessions import fill
from tests.waiting import PATIENCE, until
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history.headline import TITLE, Summary
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.knowledge.index.database import connect
from ua_tui.core.knowledge.records import KnowledgeDocument
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.version import VERSION
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.list_apps import ListApp
from ua_tui.tui.app.port import ToResume
from ua_tui.tui.cli import main
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.screens.session.confirm import DeleteScreen
from ua_tui.tui.screens.session.sessions import SessionList, SessionsScreen

ASKED = (
    ("Research the latest AI chip news and write a comprehensive report", "Foundries are full.", 41.2, 0.21),
    ("What is the capital of France?", "The capital is Paris.", 2.4, 0.004),
    ("Compare the prices of three electric bicycles", "The second is the cheapest.", 3_725.0, 12.5),
    ("Email the report to the team", "It was sent.", 75.0, None),
)


def name(number: int) -> str:
    return f"session_20261121_{140000 + number:06}"


def lay(base: Path, number: int, *, ended: bool = True, damaged: bool = False, demo: bool = False) -> Path:
    query, answer, seconds, cost = ASKED[number % len(ASKED)]
    folder = base / WORKSPACES / name(number)
    folder.mkdir(parents=True)
    (folder / ".lock").touch()
    events: list[ev.Event] = [
        ev.SessionStarted(session_id=folder.name, workspace="/w", cwd="/", version=VERSION, demo=demo),
        ev.QueryReceived(query_id="q1", text=query),
        ev.QueryFinished(query_id="q1", status="success", text=answer, cost_usd=cost),
        ev.SessionFinished(
            reason="quit", tool_calls=number * 7, artifacts=number, cost_usd=cost, duration_ms=seconds * 1000
        ),
    ][: 4 if ended else 3]
    bus, lines = fixed_bus(), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    for event in events:
        bus.publish(event)
    (folder / "journal.jsonl").write_bytes(b"\x00 torn" if damaged else b"".join(lines))
    return folder


def lay_all(base: Path) -> None:
    for number in range(4):
        lay(base, number, demo=number == 1)
    lay(base, 4, ended=False)
    lay(base, 5, damaged=True)


@asynccontextmanager
async def sessions(
    of: Path | SessionIndex, size: Size = (120, 30), theme: str | None = None
) -> AsyncIterator[tuple[ListApp, SessionsScreen, Pilot[Any]]]:
    index = SessionIndex(of, of / "cache") if isinstance(of, Path) else of
    app = ListApp(Settings(theme=theme), SessionsScreen(index, comes_back=True), "ua-tui sessions")
    async with app.run_test(size=size) as pilot:
        yield app, await read(app, pilot), pilot


async def read(app: App[Any], pilot: Pilot[Any]) -> SessionsScreen:
    """Wait until the sessions were read and are drawn."""
    await until(lambda: isinstance(app.screen, SessionsScreen) and not app.screen._activity)
    assert isinstance(app.screen, SessionsScreen)
    await pilot.pause()
    return app.screen


def listed(screen: SessionsScreen) -> list[int]:
    return [int(row.name[-6:]) - 140000 for row in rows(screen).listed]


def rows(screen: SessionsScreen) -> SessionList:
    return screen.query_one(SessionList)


def chosen(screen: SessionsScreen) -> int:
    found = rows(screen).chosen
    assert found is not None
    return int(found.name[-6:]) - 140000


async def test_every_session_is_reported_in_a_row_named_and_sorted(tmp_path: Path) -> None:
    lay_all(tmp_path)
    reported = ("6 sessions", "its journal is damaged", "What is the capital", "1h 02m", "$12.50", "crashed")
    async with sessions(tmp_path) as (app, screen, pilot):
        assert listed(screen) == [5, 4, 3, 2, 1, 0]
        assert all(each in screen_text(app) for each in reported)
        assert "2026-11-21 14:02" in screen_text(app)
        await pilot.press("end")
        assert chosen(screen) == 0
        await pilot.press("k", "up", "j", "home", "pagedown", "g", "down")
        assert chosen(screen) == 4
        # It gives a title and takes it away.
        await pilot.press("down", "n", *"My [b] title", "enter")
        path = tmp_path / WORKSPACES / name(3) / TITLE
        await until(lambda: path.exists() and path.read_text() == "My [b] title\n")
        await until(lambda: not screen.query_one(Input).has_focus and "My [b] title" in screen_text(app))
        assert chosen(screen) == 3
        await pilot.press("n", *"xyz", "escape")
        await pilot.pause()
        assert path.read_text() == "My [b] title\n"
        await pilot.press("n", "ctrl+u", "enter")
        await until(lambda: not path.exists() and "My [b] title" not in screen_text(app))
        # Sorting leaves the cursor on its session.
        await pilot.press("end", "up")
        assert chosen(screen) == 1
        for order_name, order in (
            ("longest", [2, 3, 0, 1]), ("most expensive", [2, 4, 0, 1]), ("by title", [2, 3, 4, 0]),
            ("newest", [5, 4, 3, 2]),
        ):  # fmt: skip
            await pilot.press("s")
            await pilot.pause()
            assert order_name in screen_text(app)
            assert listed(screen)[:4] == order
            assert chosen(screen) == 1


async def test_enter_reads_the_session_p_replays_it_and_a_click_moves_the_cursor(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    lay_all(tmp_path)
    opened: list[tuple[str, Path]] = []

    def note(app: object, folder: Path, command: str = "open") -> None:
        opened.append((command, folder))

    monkeypatch.setattr("ua_tui.tui.screens.session.sessions.open_read_only", note)
    async with sessions(tmp_path) as (_, screen, pilot):
        await pilot.press("down", "enter", "p")
        await until(lambda: len(opened) == 2)
        assert opened == [(command, tmp_path / WORKSPACES / name(4)) for command in ("open", "replay")]
        await pilot.click("#sessions-list", offset=(10, 3))
        assert chosen(screen) == 3
        await pilot.click("#sessions-list", offset=(10, 2), times=2)
        await until(lambda: len(opened) == 3)
        await pilot.click("#sessions-list", offset=(10, 25))
        assert chosen(screen) == 4


async def test_r_resumes_a_session_and_what_cannot_be_opened_is_reported(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    lay_all(tmp_path)
    commands: list[Sequence[str]] = []

    def fail(app: object, folder: Path) -> None:
        raise UniversalAgentError("There is no [red]terminal")

    monkeypatch.setattr("ua_tui.tui.screens.session.sessions.open_read_only", fail)
    monkeypatch.setattr(
        "ua_tui.tui.screens.session.open_session._run", lambda _, command: commands.append(command)
    )
    async with sessions(tmp_path) as (app, _, pilot):
        await pilot.press("enter")
        await until(lambda: "There is no [red]terminal" in notices(app))
        await pilot.press("r")
        await until(lambda: "cannot be resumed" in notices(app))
        await pilot.press("down", "r")
        # Another user's program made it.
        await until(lambda: "not made by this program" in notices(app))
        assert "makes it yours." in notices(app)
        seal_session(Root(tmp_path / WORKSPACES / name(4)))
        await pilot.press("r")
        await until(lambda: commands)
        folder = str(tmp_path / WORKSPACES / name(4))
        assert commands == [["resume", folder, f"--workspace={tmp_path}", "--back"]]
        assert not app._exit


async def test_a_key_exports_a_session_or_says_why_not(tmp_path: Path, monkeypatch: Patch) -> None:
    # A session whose journal is gone stays listed.
    monkeypatch.setattr("ua_tui.tui.screens.session.sessions.REFRESH_SECONDS", 10 * PATIENCE)
    lay_all(tmp_path)
    async with sessions(tmp_path) as (app, screen, pilot):
        await pilot.press("X")
        await until(lambda: "cannot be exported: its journal is damaged" in notices(app))
        await pilot.press("down", "X", "enter")
        await until(lambda: f"Exported to {SAVED_REPORTS}/{name(4)}.html" in notices(app))
        assert app.screen is screen
        journal = tmp_path / WORKSPACES / name(3) / "journal.jsonl"
        journal.unlink()
        await pilot.press("down", "X", "enter")
        await until(lambda: "Not exported: " in notices(app))


async def test_a_session_in_which_nothing_was_asked_is_named_once(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / WORKSPACES / name(1)
    folder.mkdir(parents=True)
    begun = ev.SessionStarted(session_id=folder.name, workspace="/w", cwd="/", version=VERSION)
    (folder / "journal.jsonl").write_bytes(encode_event(begun) + b"\n")
    async with sessions(tmp_path) as (app, _, pilot):
        assert "nothing was asked" in screen_text(app)
        await pilot.press("d")
        await until(lambda: isinstance(app.screen, DeleteScreen) and name(1) in screen_text(app))
        texts = [str(each.render()) for each in app.screen.query(Static)]
        assert sum(name(1) in each for each in texts) == 1
    assert main(["sessions", "--workspace", str(tmp_path)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert row[header.index("TITLE") :] == "nothing was asked"
    (tmp_path / "bare").mkdir()
    bare = ["--workspace", str(tmp_path / "bare")]
    assert main(["sessions", *bare]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "there are no sessions in" in err
    assert main(["sessions", "--json", *bare]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["sessions", "--workspace", str(tmp_path / "nowhere")]) == 2
    assert "there is no folder" in capsys.readouterr().err


async def test_d_deletes_after_asking(tmp_path: Path) -> None:
    lay_all(tmp_path)
    async with sessions(tmp_path) as (app, screen, pilot):
        await pilot.press("down", "down")
        for answer, left in (("n", [5, 4, 3, 2, 1, 0]), ("d", [5, 4, 2, 1, 0])):
            await pilot.press("d")
            await until(
                lambda: (
                    isinstance(app.screen, DeleteScreen)
                    and app.screen.is_drawn
                    and not app.screen.has_class("-quiet")
                )
            )
            assert "Email the report" in screen_text(app)
            await pilot.press(answer)
            await until(lambda: app.screen is screen)
            await until(lambda left=left: listed(screen) == left)  # type: ignore[misc]  # of this turn
            assert (tmp_path / WORKSPACES / name(3)).exists() is (3 in left)
        assert chosen(screen) == 2


async def test_the_search_finds_titles_queries_and_answers_while_it_is_typed(tmp_path: Path) -> None:
    lay_all(tmp_path)
    (tmp_path / WORKSPACES / name(2) / TITLE).write_text("Paris by bicycle\n")
    async with sessions(tmp_path) as (app, screen, pilot):
        await pilot.press("slash", *"par")
        # One by its title, one by its answer.
        await until(lambda: listed(screen) == [2, 1] and "2 of 6 sessions" in screen_text(app))
        await pilot.press(*"is capital")
        await until(lambda: listed(screen) == [1])
        await pilot.press("enter")
        assert rows(screen).has_focus
        assert listed(screen) == [1]
        await pilot.press("slash", *" nowhere")
        await until(lambda: listed(screen) == [] and "Nothing found." in screen_text(app))
        await until(lambda: "Esc clears · newest · 0 of 6 sessions" in screen_text(app))
        for key in ("r", "d", "n", "enter"):
            await pilot.press("enter", key)
        assert app.screen is screen
        await pilot.press("escape")
        await until(lambda: listed(screen) == [5, 4, 3, 2, 1, 0])
        await pilot.press("escape")
        await until(lambda: app._exit)


async def test_the_search_shows_the_passage_that_the_knowledge_base_has(tmp_path: Path) -> None:
    lay_all(tmp_path)
    note = KnowledgeDocument(
        kind="note", path="n.md", title="Notes", text="The oxbow bends.", made_at=1.0, trust="own"
    )
    database = fill(tmp_path, note, name=name(3))
    fill(tmp_path, replace(note, text="Another oxbow."), name=name(2))
    listing = SessionsScreen(SessionIndex(tmp_path, tmp_path / "cache"), database=database)
    app = ListApp(Settings(), listing, "ua-tui sessions")
    async with app.run_test(size=(120, 30)) as pilot:
        screen = await read(app, pilot)
        await pilot.press("slash", *"oxbow bends")
        # In the row and below the list; one word of the two is no match.
        await until(lambda: listed(screen) == [3] and screen_text(app).count("The oxbow bends.") == 2)
        assert "note: The oxbow bends." in screen_text(app)
        # What is not in the knowledge base is found in the journals.
        screen.query_one(Input).value = "paris"
        await until(lambda: listed(screen) == [1] and "oxbow" not in screen_text(app))


async def test_the_search_reports_a_knowledge_base_that_cannot_be_read(tmp_path: Path) -> None:
    lay_all(tmp_path)
    database = fill(tmp_path, name=name(3))
    with closing(connect(database, "rw")) as db:
        db.execute("PRAGMA user_version = 1")
    listing = SessionsScreen(SessionIndex(tmp_path, tmp_path / "cache"), database=database)
    app = ListApp(Settings(), listing, "ua-tui sessions")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await read(app, pilot)
        await pilot.press("slash", *"paris")
        await until(lambda: "Only titles and journals are searched." in screen_text(app))
        assert "`ua-tui knowledge update`" in " ".join(screen_text(app).split())
        await until(lambda: listed(screen) == [1])
        await pilot.press("escape")
        await until(lambda: "Only titles" not in screen_text(app))


async def test_a_thousand_sessions_are_listed_and_searched_as_one_types(tmp_path: Path) -> None:
    lay_sessions(tmp_path, COUNT)
    async with sessions(tmp_path) as (app, screen, pilot):
        assert len(rows(screen).listed) == COUNT
        assert f"{COUNT:,} sessions" in screen_text(app)
        assert [row.state for row in rows(screen).listed].count("crashed") == COUNT // 50
        await pilot.press("slash", *WORD)
        await until(lambda: len(rows(screen).listed) == COUNT // 100)
        await until(lambda: not screen._activity)
        assert len(rows(screen).listed) == COUNT // 100
        assert screen.query_one(Input).value == WORD
        await pilot.press("escape")
        await until(lambda: len(rows(screen).listed) == COUNT)
        # Ten thousand are moved through.
        one = rows(screen).listed[0]
        many = [replace(one, name=name(number), query=f"Question {number}") for number in range(10_000)]
        rows(screen).show(many)
        await pilot.press("end")
        await until(lambda: "Question 9999" in screen_text(app))
        await pilot.press("pageup", "up")
        before = chosen(screen)
        assert 9_900 < before < 9_990
        later = [replace(one, name=f"session_20271121_{number:06}") for number in range(500)]
        rows(screen).show([*later, *many])
        assert chosen(screen) == before
        await until(lambda: f"Question {before}" in screen_text(app))


async def test_the_list_moves_on_with_what_other_programs_do(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("ua_tui.tui.screens.session.sessions.REFRESH_SECONDS", 0.05)
    lay(tmp_path, 0)
    async with sessions(tmp_path) as (app, screen, pilot):

        def row(number: int) -> Summary:
            return next(each for each in rows(screen).listed if each.name == name(number))

        # Another program begins a session, works, and ends.
        folder = lay(tmp_path, 5, ended=False)
        with (
            (folder / ".lock").open("rb") as lock,
            (folder / "journal.jsonl").open("ab", buffering=0) as journal,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX)
            await until(lambda: listed(screen) == [5, 0] and row(5).state == "running")
            assert chosen(screen) == 0
            # One that runs is neither resumed nor deleted.
            await pilot.press("home", "r")
            await until(lambda: "is running in another program" in notices(app))
            await pilot.press("d")
            await until(lambda: "cannot be deleted" in notices(app))
            assert app.screen is screen
            assert not app._exit
            await pilot.press("end")
            calls = row(5).calls
            assert calls == 0
            await pilot.press("slash", *"zebras")
            await until(lambda: listed(screen) == [] and "searching" not in screen_text(app))
            call = ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Read", input={}, iteration=1)
            answer = ev.QueryFinished(query_id="q9", status="success", text="Two zebras.", cost_usd=0.75)
            journal.write(b"".join(encode_event(event) + b"\n" for event in (call, answer)))
            # What is looked for is found as soon as it was said.
            await until(lambda: listed(screen) == [5])
            assert row(5).calls == 1
            await pilot.press("enter", "escape")
            await until(lambda: listed(screen) == [5, 0])
            journal.write(encode_event(ev.SessionFinished(reason="quit", tool_calls=9)) + b"\n")
            await until(lambda: (row(5).state, row(5).calls) == ("finished", 9))
        shutil.rmtree(folder)
        await until(lambda: listed(screen) == [0])


async def test_what_is_no_journal_and_no_folder_of_sessions_is_reported_instead_of_shown(
    tmp_path: Path,
) -> None:
    lay(tmp_path, 0)
    folder = tmp_path / WORKSPACES / name(1)
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to("/etc/passwd")
    async with sessions(tmp_path) as (app, _, pilot):
        assert "its journal is a link" in screen_text(app)
        await pilot.press("enter")
        await until(lambda: f"{name(1)} cannot be opened: its journal is a link" in notices(app))
    shutil.rmtree(tmp_path / WORKSPACES)
    for shown in ("No sessions yet.", "cannot be listed: Not a directory"):
        async with sessions(tmp_path) as (app, _, pilot):
            await until(lambda: shown in screen_text(app))  # noqa: B023
            await pilot.press("r", "d", "n", "s", "enter", "q")
            await until(lambda: app._exit)
            assert app.return_value is None
        (tmp_path / WORKSPACES).write_text("a file in the way")


async def test_a_living_session_shows_the_others_and_gives_way_only_when_it_rests(tmp_path: Path) -> None:
    lay_all(tmp_path)
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(lambda: app.state == "idle")
        session.submit("work")
        await open_sessions(app, pilot)
        await pilot.press("down", "r")
        await until(lambda: "The agent is running" in notices(app))
        assert session.closed == []
        session.finish()
        await open_sessions(app, pilot)
        await pilot.press("down", "r")
        await until(lambda: app._exit)
        assert session.closed == ["quit"]
        assert app.return_value == ToResume(tmp_path / WORKSPACES / name(4))


async def open_sessions(app: UaTuiApp, pilot: Pilot[Any]) -> None:
    # The panes may still be on their way in, and what is pressed before goes nowhere.
    await until(lambda: app.frame.prompt.has_focus_within and app.query(ConversationPane))
    await pilot.pause()
    app.frame.prompt.put("/sessions")
    await pilot.pause()
    await pilot.press("enter")
    screen = await read(app, pilot)
    await until(lambda: len(rows(screen).listed) == 6)


async def test_the_session_one_is_in_stays_as_it_is(tmp_path: Path) -> None:
    folder = lay(tmp_path, 0)
    listing = SessionsScreen(SessionIndex(tmp_path, tmp_path / "cache"))
    app = ListApp(Settings(), listing, "ua-tui sessions")
    async with app.run_test(size=(120, 30)) as pilot:
        screen = SessionsScreen(SessionIndex(tmp_path, tmp_path / "cache"), current=folder)
        app.push_screen(screen)
        await until(lambda: screen.is_mounted and len(rows(screen).listed) == 1)
        await pilot.press("r")
        await until(lambda: "the current session" in notices(app))
        await pilot.press("d")
        await until(lambda: "cannot be deleted" in notices(app))
        assert folder.exists()
        assert app.screen is screen


class _Placed(SessionIndex):
    """Says to be in a place that is the same for everybody."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, base / "cache")
        self._real = self.sessions
        self.sessions = Path("/home/ada/research") / WORKSPACES

    def folder(self, name: str) -> Path:
        return self._real / name


@looks(DARK)
async def test_the_sessions(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: Size, theme: str, still: None
) -> None:
    lay_all(tmp_path)
    (tmp_path / WORKSPACES / name(2) / TITLE).write_text("Bicycles for the office\n")
    async with sessions(_Placed(tmp_path), size, theme) as (app, _, pilot):
        await pilot.press("down", "down", "down")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")
        await pilot.press("slash", *"report")
        await until(lambda: "searching" not in screen_text(app))
        await screen_compare(pilot, "80x24-search")
