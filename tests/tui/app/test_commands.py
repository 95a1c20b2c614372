"""What is done by name, in the palette and after a slash, does what its key does."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from tests.observers.knowledge.recorded import Recorded
from tests.tui.app_host import opened, settled, shown
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.panes.test_trace import SESSION
from tests.waiting import until
from ua_tui.core.telemetry.tracer import Trace
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.commands import commands_of
from ua_tui.tui.keys.keymap import STANDARD
from ua_tui.tui.screens.files.link import LinkScreen
from ua_tui.tui.screens.session.status import StatusScreen
from ua_tui.tui.widgets.command import typed_command

WIDE = (200, 50)
HANDS_ON = {"copy", "commands", "app.suspend", "next_pane", "previous_pane"}
"""Of the keys of the whole screen those that do something with where one is."""


def focused(app: UaTuiApp) -> str | None:
    assert app.focused is not None
    return next(node.id for node in app.focused.ancestors_with_self if node.id)


async def by_name(app: UaTuiApp, pilot: Pilot[str], name: str) -> None:
    command = typed_command(f"/{name}", commands_of(app))
    assert command is not None, name
    command.run()
    await pilot.pause()
    await pilot.pause()


async def test_what_keys_do_is_there_by_name_and_the_agent_is_stopped(tmp_path: Path) -> None:
    async with opened(tmp_path, WIDE) as (session, app, pilot):
        reported = {command.help for command in commands_of(app)}
        whole = {
            name for name in STANDARD if name.split(".")[0] in ("show", "pane", "help") or "." not in name
        }
        assert [name for name in whole - HANDS_ON if app.keys.shown(name) not in reported] == []
        await by_name(app, pilot, "stop")
        assert [note.message for note in app._notifications] == ["The agent is not running: nothing to stop."]
        assert focused(app) == "prompt"
        await pilot.press(*"asked", "enter")
        await shown(app, pilot)
        await by_name(app, pilot, "stop")
        await until(lambda: session.interrupts == 1)


async def test_what_is_used_most_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path, WIDE) as (_, app, _pilot):
        names = [command.name for command in commands_of(app)]
    assert " ".join(names).startswith(
        "report find sessions model mode budget queue rewind context connections permissions agents fleet status setup "
        "blacklist export replay"
    )


async def test_the_trace_is_led_to_by_name_and_by_its_mark_in_the_status_line(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    session.trace = Trace("0f3a")
    app = make_app(tmp_path, session)
    async with app.run_test(size=WIDE) as pilot:
        await settled(app, pilot)
        await by_name(app, pilot, "trace-link")
        assert isinstance(app.screen, StatusScreen)
        assert "0f3a" in screen_text(app)
        await pilot.press("escape")
        # Logfire tells the address of the project while the session runs.
        session.trace = Trace("0f3a", "https://logfire.example/me/mine")
        app.status.open("tracing")
        await until(lambda: "logfire.example" in screen_text(app))
        assert isinstance(app.screen, LinkScreen)


async def test_the_session_is_exported_by_name(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.write_report("cats", "# Cats\n\nCats smile.")
    session = make_session(tmp_path)
    session.workspace.path = recorded.folder
    app = make_app(tmp_path, session)
    async with app.run_test(size=WIDE) as pilot:
        await settled(app, pilot)
        await by_name(app, pilot, "export")
        await until(lambda: "Export as" in screen_text(app))
        await pilot.press("enter")
        await until(lambda: [*tmp_path.rglob("SAVED_REPORTS/cats.html")] != [])


async def test_sizes_are_changed_by_name(tmp_path: Path) -> None:
    async with opened(tmp_path, WIDE) as (_, app, pilot):
        talk = app.frame.query_one("#talk")
        trace = app.frame.query_one("#trace")
        width, height = talk.region.width, trace.region.height
        await by_name(app, pilot, "wider")
        assert talk.region.width == width + 4
        await by_name(app, pilot, "narrower")
        assert talk.region.width == width
        await pilot.press("f3")
        await by_name(app, pilot, "higher")
        assert trace.region.height == height + 2
        await by_name(app, pilot, "lower")
        await by_name(app, pilot, "lower")
        assert trace.region.height == height - 2
        await by_name(app, pilot, "sizes")
        assert trace.region.height == height
        await by_name(app, pilot, "maximise")
        assert app.frame.maximised
        await by_name(app, pilot, "maximise")
        # What is chosen in the palette acts on the pane one was in.
        await pilot.press("f5")
        before = app.frame.query_one("#files").region.width
        await pilot.press("ctrl+p", *"wider pane")
        await until(lambda: "Wider pane" in screen_text(app))
        await pilot.press("enter")
        await until(lambda: app.frame.query_one("#files").region.width == before + 4)


async def test_what_is_done_in_a_pane_goes_there_first(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    (session.workspace.path / ".secret").write_text("x")
    app = make_app(tmp_path, session)
    async with app.run_test(size=WIDE) as pilot:
        await settled(app, pilot)
        for event in SESSION:
            session.bus.publish(event)
        await shown(app, pilot)
        await by_name(app, pilot, "failure")
        trace = app.frame.query_one("#trace")
        failed = trace.cursor  # type: ignore[attr-defined]
        assert focused(app) == "trace"
        assert failed is not trace.entries[-1]  # type: ignore[attr-defined]
        await by_name(app, pilot, "follow")
        assert trace.following  # type: ignore[attr-defined]
        await by_name(app, pilot, "filter")
        assert trace.tree_rows.query.active  # type: ignore[attr-defined]
        await pilot.press("escape")
        await by_name(app, pilot, "search")
        assert focused(app) == "conversation"
        assert app.frame.query_one("#conversation").search.query.active  # type: ignore[attr-defined]
        await pilot.press("escape")
        await by_name(app, pilot, "numbers")
        assert focused(app) == "observers"
        assert app.frame.query_one("#observers")._with_table  # type: ignore[attr-defined]
        assert ".secret" not in screen_text(app)
        await by_name(app, pilot, "hidden")
        assert focused(app) == "workspace"
        await until(lambda: ".secret" in screen_text(app))
        await by_name(app, pilot, "follow")
        assert app._notifications
        await by_name(app, pilot, "find-file")
        await pilot.press(*"secr")
        assert isinstance(app.focused, Input)
        assert app.focused.value == "secr"
