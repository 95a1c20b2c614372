from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from tests.core.team.fleet_rows import add_job, add_session, ask
from tests.postgres_server import Database
from tests.tui.app_host import notices
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Output, Patch
from tests.tui.pane_host import hosted
from tests.tui.pictured import DARK, SMALL, Compare, Size, looks, no_blinking
from tests.waiting import until, until_in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.fleet.rows import Fleet, FleetBatch, FleetRow, FleetWorker, arrange
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.tui.app.list_apps import ListApp
from ua_tui.tui.cli import main
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.screens.team.fleet import FleetScreen
from ua_tui.tui.screens.team.lists import FleetList
from ua_tui.tui.widgets.column_list import Column

NOW = 1_795_183_320.0
"""2026-11-20 14:02 UTC."""

_LISTED = msgspec.json.decode(Path(__file__).with_name("fleet.json").read_bytes(), type=tuple[FleetRow, ...])
ROWS = (
    *_LISTED[:5],
    *(
        FleetRow(
            id=f"job:{n}",
            state="waiting",
            title=f"Question {n}",
            owner="ada",
            job=f"w{n}",
            position=n,
            batch="c",
        )
        for n in range(8)
    ),
    *_LISTED[5:],
)
BATCHES = (
    FleetBatch(
        id="c", name="prices.csv", owner="ada", submitted=NOW - 600, waiting=1_200, running=1, cost_usd=0.2
    ),
    FleetBatch(
        id="b", name="weekly 2", owner="mary", submitted=NOW - 3_600, waiting=8, running=1, needs_you=1, done=40,
        failed=1, cost_usd=3, max_cost_usd=50,
    ),
)  # fmt: skip
WORKERS = (
    FleetWorker(name="worker-1:2", version="1.0", slots=4, busy=2, seen=NOW - 3, state="running"),
    FleetWorker(
        name="worker-2:1", version="1.0", slots=4, busy=1, seen=NOW - 8, state="running", draining=True
    ),
    FleetWorker(name="worker-3:1", version="0.9", slots=2, busy=1, seen=NOW - 80, state="lost"),
)
FLEET = Fleet(rows=arrange(ROWS), batches=BATCHES, workers=WORKERS)


class PlayedSource(FleetSource):
    """Gives the fleets that a test plays."""

    def __init__(self, base: Path, *, team: bool = True) -> None:
        address = Address.parse("postgresql://mary@db.example/desk") if team else None
        super().__init__(SessionIndex(base, base / "cache"), address)
        self.played: asyncio.Queue[Fleet] = asyncio.Queue()

    async def changes(self) -> AsyncIterator[Fleet]:
        while True:
            yield await self.played.get()


@asynccontextmanager
async def fleet(
    source: FleetSource, size: Size = (120, 30), settings: Settings | None = None
) -> AsyncIterator[tuple[ListApp, FleetScreen, Pilot[Any]]]:
    app = ListApp(settings or Settings(), FleetScreen(source, now=lambda: NOW), "ua-tui fleet")
    async with app.run_test(size=size) as pilot:
        await until(lambda: isinstance(app.screen, FleetScreen) and app.screen.query(FleetList))
        screen = app.screen
        assert isinstance(screen, FleetScreen)
        await pilot.pause()
        yield app, screen, pilot


async def play(screen: FleetScreen, source: PlayedSource, shown: Fleet) -> None:
    source.played.put_nowait(shown)
    await until(lambda: screen._fleet is shown)
    await Pilot(screen.app).pause()


def listed(screen: FleetScreen) -> list[str]:
    return [row.id for row in screen.query_one(FleetList).listed]


def chosen(screen: FleetScreen) -> str:
    row = screen.query_one(FleetList).chosen
    return "" if row is None else row.id


async def test_all_sessions_are_counted_and_the_cursor_stays_on_its_own(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source) as (app, screen, pilot):
        assert "reading" in screen_text(app)
        await play(screen, source, FLEET)
        ids = ["team:1", "team:5", "team:2", "here:3", "team:4", "waiting", "team:6", "team:7"]
        assert listed(screen) == ids
        shown = screen_text(app)
        for wanted in (
            "1 needs you · 2 running · 1 idle · 1 lost · 1,208 waiting · $3.20",
            "40 of 1,252 finished · 1 failed · oldest waits 1h 00m",
            "desk on db.example",
            "1,208 jobs for a worker",
            "asks to run GMAIL_SEND_EMAIL",
            "What is the [bold]capital[/] of",
            "prices.csv",
            "5m 12s",
        ):
            assert wanted in shown, wanted
        await pilot.press("w")
        assert len(listed(screen)) == len(ROWS) + 1
        assert "1,200 more jobs for a worker" in screen_text(app)
        await pilot.press("w")
        assert listed(screen) == ids
        # Enter on the row of all waiting jobs lists them, too.
        await pilot.press("home", "down", "down", "down", "down", "down")
        assert chosen(screen) == "waiting"
        await pilot.press("enter")
        await until(lambda: "job:7" in listed(screen))
        await pilot.press("end")
        assert chosen(screen) == "team:7"
        # The cursor stays on its session.
        await pilot.press("w", "home", "down", "down")
        assert chosen(screen) == "team:2"
        asks = msgspec.structs.replace(ROWS[1], state="needs_you", started=NOW - 900)
        await play(screen, source, msgspec.structs.replace(FLEET, rows=arrange([ROWS[0], asks, *ROWS[2:]])))
        assert listed(screen)[0] == chosen(screen) == "team:2"
        # A lost connection is shown above the rows.
        await pilot.resize_terminal(80, 24)
        notice = "The team's database has been unreachable since 14:02: no server is listening: start it"
        await play(screen, source, msgspec.structs.replace(FLEET, notice=notice))
        await until(lambda: "has been unreachable since 14:02" in screen_text(app))
        assert listed(screen)[0] == "team:1"
        await play(screen, source, FLEET)
        await until(lambda: "cannot be reached" not in screen_text(app))


async def test_the_list_is_filtered_while_one_types(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source) as (app, screen, pilot):
        await play(screen, source, FLEET)
        await pilot.press("slash", *"MARY worker-1")
        assert listed(screen) == ["team:2", "team:6", "team:7"]
        await pilot.press("enter")
        assert "filter: MARY worker-1 · Esc clears" in screen_text(app)
        await pilot.press("slash", *" zzz")
        await until(lambda: "Nothing found." in screen_text(app))
        await pilot.press("escape")
        assert len(listed(screen)) == 8
        await pilot.press("slash", *"waiting")
        # Those who look for waiting jobs want to see them.
        assert listed(screen) == [f"job:{number}" for number in range(8)]
        await pilot.press("escape", "home", "down", "o")
        # What is of ada alone, with its numbers.
        assert listed(screen) == ["team:5", "team:4", "waiting"]
        assert "filter: owner ada · Esc clears" in screen_text(app)
        await pilot.press("b")
        assert [row.id for row in screen._list.listed] == ["c"]
        await pilot.press("b", "o")
        assert len(listed(screen)) == 8
        await pilot.press("question_mark")
        await until(lambda: isinstance(app.screen, HelpScreen))
        assert "waiting jobs, or only their number" in screen_text(app)
        await pilot.press("escape", "escape")
        await until(lambda: app._exit)


async def test_an_empty_list_offers_only_keys_that_do_something(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    rows_need = ("Enter", "c cancel", "p pause", "Space mark", "r again", "/ filter", "o owner")
    async with fleet(source) as (app, screen, pilot):
        for key in ("", "b"):
            await play(screen, source, Fleet())
            await pilot.press(*key)
            await until(lambda: "b sessions" in screen_text(app) if key else "b batches" in screen_text(app))  # noqa: B023
            shown = screen_text(app)
            assert "Esc back" in shown
            assert not [each for each in rows_need if each in shown]
            await play(screen, source, FLEET)
            await until(lambda: all(each in screen_text(app) for each in rows_need))
        # What filters everything out can be changed.
        await pilot.press("slash", *"zzz", "enter")
        await until(lambda: "Nothing found." in screen_text(app))
        assert "/ filter" in screen_text(app)
        assert "c cancel" not in screen_text(app)


async def test_names_of_batches_and_workers_have_room_on_a_small_screen(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source, (60, 16)) as (app, screen, pilot):
        await play(screen, source, FLEET)
        await pilot.press("b")
        await until(lambda: "weekly 2" in screen_text(app))
        await pilot.press("m")
        await until(lambda: "worker-3:1" in screen_text(app) and "1m 20s ago" in screen_text(app))


async def test_batches_and_workers_have_lists_of_their_own(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source, (120, 40)) as (app, screen, pilot):
        await play(screen, source, FLEET)
        await pilot.press("b")
        shown = screen_text(app)
        for wanted in ("Fleet · batches", "0 of 1,201", "40 of 51", "█████████░░░", "1,200"):
            assert wanted in shown, wanted
        await pilot.press("down")
        await until(lambda: "limit $50.00" in screen_text(app))
        # Enter shows the sessions of the batch, and the numbers are those of the batch.
        await pilot.press("enter")
        assert listed(screen) == ["team:1", "team:2", "waiting", "team:6", "team:7"]
        shown = screen_text(app)
        assert "filter: batch weekly 2 · Esc clears · 1 needs you · 1 running · 8 waiting · $3.00" in shown
        assert "40 of 51 finished · 1 failed" in shown
        await pilot.press("escape")
        await until(lambda: "Fleet · batches" in screen_text(app))
        await pilot.press("slash", *"ada", "enter")
        await until(lambda: "weekly 2" not in screen_text(app))
        await pilot.press("escape", "m")
        shown = screen_text(app)
        for wanted in ("Fleet · workers", "2 of 4", "draining", "lost", "1m 20s ago", "0.9"):
            assert wanted in shown, wanted
        await pilot.press("escape")
        await until(lambda: "Fleet · workers" not in screen_text(app))
        assert len(listed(screen)) == 8
        # What has ended shows how fast it goes, and when it is over.
        ended = [
            FleetRow(id=f"e{n}", state="done", batch="b", started=NOW - 300, finished=NOW - n)
            for n in range(50)
        ]
        await play(screen, source, msgspec.structs.replace(FLEET, rows=arrange([*ROWS, *ended])))
        await until(lambda: "10.0/min · ~2h 01m left" in screen_text(app))


async def test_a_batch_of_this_machine_is_shown_with_the_end_of_its_results_and_cannot_be_changed(
    tmp_path: Path,
) -> None:
    source = PlayedSource(tmp_path, team=False)
    results = f"/home/ada/{'projects/' * 12}prices/queries.jsonl"
    batch = FleetBatch(id="here:b", name="q.txt", owner="", submitted=NOW - 90, done=2, results=results)
    ended = [
        FleetRow(id=f"here:{n}", state="done", batch="here:b", started=NOW - 60, finished=NOW - n)
        for n in range(2)
    ]
    async with fleet(source, SMALL) as (app, screen, pilot):
        await play(screen, source, Fleet(rows=arrange(ended), batches=(batch,)))
        await pilot.press("b")
        await until(lambda: "prices/queries.jsonl" in screen_text(app))
        shown = screen_text(app)
        assert "2 finished · results in /home/ada/" in shown
        keys = ("c cancel", "p pause", "Space mark", "r again", "o owner")
        assert not [key for key in keys if key in shown]
        await pilot.resize_terminal(200, 24)
        await until(lambda: results in screen_text(app))
        await pilot.press("c")
        await until(lambda: "Cancel: choose a job or a batch of the team." in notices(app))
        # How fast it went says nothing when it is over.
        await pilot.press("enter")
        await until(lambda: "2 of 2 finished" in screen_text(app))
        assert "/min" not in screen_text(app)


async def test_marked_jobs_and_batches_are_cancelled_repeated_and_paused_after_a_question(
    tmp_path: Path, team_database: Database
) -> None:
    for number in range(3):
        add_job(team_database, f"j{number}", f"Question {number}", position=number)
    add_job(team_database, "j9", "It failed", state="failed", session="s9")
    add_session(team_database, "s9", job=False, name="", title="It failed")
    team_database.execute("UPDATE session SET job = 'j9', state = 'failed' WHERE id = 's9'")

    def states() -> dict[str, str]:
        return dict(team_database.execute("SELECT id, state FROM job ORDER BY id"))

    source = FleetSource(SessionIndex(tmp_path, tmp_path / "cache"), Address.parse(team_database.url))
    async with fleet(source) as (app, screen, pilot):

        async def confirm(question: str) -> None:
            await until(
                lambda: (
                    isinstance(app.screen, ConfirmScreen)
                    and app.screen.is_drawn
                    and not app.screen.has_class("-quiet")
                )
            )
            assert question in screen_text(app)
            await pilot.press("y")
            await until(lambda: app.screen is screen)

        await until(lambda: listed(screen) == ["job:j0", "job:j1", "job:j2", "team:s9"])
        await pilot.press("space", "space")
        await until(lambda: "2 marked" in screen_text(app))
        await pilot.press("c")
        await until(
            lambda: (
                isinstance(app.screen, ConfirmScreen)
                and app.screen.is_drawn
                and not app.screen.has_class("-quiet")
            )
        )
        await pilot.press("escape")
        await until(lambda: app.screen is screen)
        assert set(states().values()) == {"waiting", "failed"}
        await pilot.press("c")
        await confirm("Cancel 2 jobs?")
        await until(lambda: "2 jobs cancelled." in notices(app))
        await until_in_thread(lambda: [*states().values()] == ["cancelled", "cancelled", "waiting", "failed"])
        await until(lambda: "marked" not in screen_text(app))
        await until(lambda: "0 of 4 finished · 1 failed · 2 cancelled" in screen_text(app))
        await until(lambda: "job:j0" not in listed(screen))
        # What waits cannot be run again; what failed can.
        await pilot.press("home", "r")
        await until(lambda: "Run again: no selected job failed or was cancelled." in notices(app))
        await pilot.press("slash", *"It failed", "enter", "r")
        await confirm("Run again owner's job: It failed?")
        await until_in_thread(lambda: states()["j9"] == "waiting")
        await pilot.press("escape")
        await until(lambda: "2 waiting" in screen_text(app))
        assert "more job" not in screen_text(app)
        await pilot.press("b", "p")
        await confirm("Pause owner's batch: b?")
        await until(lambda: "2 jobs paused." in notices(app))
        # What was done counts at once, not with the next poll.
        assert screen._source.fleet().batches[0].paused
        assert team_database.execute("SELECT paused FROM batch") == [(True,)]
        await pilot.press("b")
        await until(lambda: "2 paused" in screen_text(app))
        assert "waits" not in screen_text(app)
        await pilot.press("home", "p")
        await until(
            lambda: "The batch is paused, not the job: resume it in the list of batches (b)" in notices(app)
        )
        await pilot.press("b", "p")
        await confirm("Resume owner's batch: b?")
        await until_in_thread(lambda: team_database.execute("SELECT paused FROM batch") == [(False,)])


async def test_what_is_paused_or_cancelled_is_called_so(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    ended = FleetRow(id="e", state="done", batch="p", started=NOW - 60, finished=NOW - 1)
    paused = FleetBatch(
        id="p", name="paused", owner="ada", submitted=NOW - 60, waiting=32, done=1, paused=True
    )
    cancelled = FleetBatch(id="x", name="gone", owner="ada", submitted=NOW - 60, cancelled=2)
    async with fleet(source) as (app, screen, pilot):
        await play(screen, source, Fleet(rows=(ended,), batches=(paused, cancelled), workers=WORKERS))
        shown = screen_text(app)
        assert "32 jobs paused" in shown
        assert "1 of 33 finished" in shown
        for wrong in ("waits", "waiting:", "left", "for a worker", "32 waiting"):
            assert wrong not in shown, wrong
        await pilot.press("b", "down")
        assert [each.state for each in screen._list.listed] == ["held", "cancelled"]
        stopped = FleetRow(id="s", state="cancelled", batch="x", started=NOW - 60, finished=NOW - 1)
        await pilot.press("b")
        await play(screen, source, Fleet(rows=(stopped,), batches=(cancelled,)))
        assert "1 cancelled" in screen_text(app)
        assert "failed" not in screen_text(app)
        mine = tuple(
            FleetRow(id=state, state=state, started=NOW - 60, finished=NOW - 1)
            for state in ("done", "stopped", "crashed")
        )
        await play(screen, source, Fleet(rows=mine))
        assert "1 finished · 1 stopped · 1 crashed" in screen_text(app).splitlines()[0]


async def test_ctrl_c_twice_quits_as_everywhere(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source) as (app, screen, pilot):
        await play(screen, source, FLEET)
        await pilot.press("ctrl+c")
        await until(lambda: "Nothing is selected: press Ctrl+C again to quit." in notices(app))
        # However slow the machine is.
        app._copy_pressed_at = time.monotonic()
        await pilot.press("ctrl+c")
        await until(lambda: app._exit)


async def test_the_keys_at_the_bottom_are_those_of_the_list(tmp_path: Path) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source, SMALL) as (app, screen, pilot):
        await play(screen, source, FLEET)

        def keys() -> str:
            return screen_text(app).rstrip().splitlines()[-1]

        for wanted in (
            "Enter follow",
            "b batches",
            "m workers",
            "c cancel",
            "p pause",
            "Space mark",
            "Esc back",
        ):
            assert wanted in keys(), wanted
        await pilot.press("m")
        assert "m sessions" in keys()
        for wrong in ("Enter", "cancel", "again", "mark", "pause"):
            assert wrong not in keys(), wrong
        await pilot.press("escape", "b")
        assert "Enter sessions" in keys()


async def test_enter_follows_a_session_and_says_why_not(tmp_path: Path, monkeypatch: Patch) -> None:
    followed: list[str] = []

    def follow(app: object, row: FleetRow, source: object) -> None:
        followed.append(row.id)
        if len(followed) > 1:
            raise UniversalAgentError("There is no [red]terminal")

    monkeypatch.setattr("ua_tui.tui.screens.team.fleet.open_fleet_row", follow)
    source = PlayedSource(tmp_path)
    async with fleet(source) as (app, screen, pilot):
        await play(screen, source, FLEET)
        await pilot.press("enter")
        await until(lambda: followed == ["team:1"])
        await pilot.press("down", "enter")
        await until(lambda: "There is no [red]terminal" in notices(app))
        await pilot.press("w", "slash", *"Question 3", "enter", "enter")
        await until(lambda: "This job is still waiting" in notices(app))
        failed = FleetRow(id="team:9", state="failed", title="x", activity="no [b]key", session="9", job="99")
        await pilot.press("escape")
        await play(screen, source, Fleet(rows=(failed,)))
        await pilot.press("enter")
        await until(lambda: "ended before its session began: no [b]key" in notices(app))
        assert len(followed) == 2


async def test_an_absent_user_is_called_when_a_session_begins_to_need_them(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    source, written = PlayedSource(tmp_path), list[str]()
    async with fleet(source, settings=Settings(notify="bell")) as (app, screen, _):
        attention = app.attention
        assert attention is not None
        attention._write = written.append
        attention.focused = False
        await play(screen, source, FLEET)
        assert written == [], "that was so from the start"
        asks = msgspec.structs.replace(ROWS[1], state="needs_you")
        await play(screen, source, Fleet(rows=arrange([ROWS[0], asks])))
        await until(lambda: written == ["\x07"])
        await play(screen, source, Fleet(rows=arrange([ROWS[0], asks, ROWS[2]])))
        await play(screen, source, Fleet(rows=arrange([ROWS[0], ROWS[1]])))
        attention.focused = True
        attention.touched()
        await play(screen, source, Fleet(rows=arrange([ROWS[0], asks])))
        assert written == ["\x07"], "who is there sees it"


async def test_a_session_shows_the_fleet_by_its_command(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(lambda: app.state == "idle" and app.frame.prompt.has_focus_within)
        app.frame.prompt.put("/fleet")
        await pilot.pause()
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, FleetScreen) and "reading" not in screen_text(app))
        await until(lambda: "No sessions yet." in screen_text(app))
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)


async def test_a_question_of_the_team_is_shown(tmp_path: Path, team_database: Database) -> None:
    add_session(team_database, "a", title="Send the report", worker="w1")
    add_job(team_database, "w", "Wait for me")
    source = FleetSource(SessionIndex(tmp_path, tmp_path / "cache"), Address.parse(team_database.url))
    async with fleet(source) as (app, _, _):
        await until(lambda: "Send the report" in screen_text(app) and "Wait for me" in screen_text(app))
        ask(team_database, "a")
        await until(lambda: "1 needs you" in screen_text(app))
        await until(lambda: "asks to run Bash  rm -r /tmp/x" in screen_text(app))


def test_it_is_printed_without_a_terminal(tmp_path: Path, team_database: Database, capsys: Output) -> None:
    add_session(team_database, "a", title="Send the report", worker="w1")
    ask(team_database, "a")
    given = ["fleet", "--from", team_database.url, "--workspace", str(tmp_path)]
    assert main(given) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert row.startswith("needs you")
    assert row[header.index("TITLE") :].startswith("Send the report")
    assert main([*given, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["sessions"]
    assert (one["state"], one["where"], one["now"]) == ("needs_you", "w1", "asks to run Bash  rm -r /tmp/x")
    assert main(["fleet", "--workspace", str(tmp_path)]) == 0
    assert "there are no sessions" in capsys.readouterr().err
    assert main(["fleet", "--from", "postgresql://a:secret@b/c"]) != 0
    assert "secret" not in capsys.readouterr().err


@looks(DARK)
async def test_the_fleet(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: Size, theme: str, still: None
) -> None:
    source = PlayedSource(tmp_path)
    async with fleet(source, size, Settings(theme=theme)) as (app, screen, pilot):
        await play(screen, source, FLEET)
        no_blinking(app)
        await pilot.press("down")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")


async def test_all_rows_are_read_once_for_what_is_drawn_at_a_time() -> None:
    class Counted(FleetList):
        laid_out = 0

        def columns(self, width: int) -> Sequence[Column[Any]]:
            self.laid_out += 1
            return super().columns(width)

    rows = [FleetRow(id=f"e{n}", state="done", started=NOW - 60, finished=NOW) for n in range(100)]
    async with hosted(Counted(now=lambda: NOW), 100, 30) as (listed, _):
        listed.show(rows)
        before = listed.laid_out
        listed.redraw()
        assert listed.laid_out == before + 1
