from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.tui.app_host import opened, settled, shown
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.panes.test_prompt import PromptApp
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.prompt.pane import QueueBar
from ua_tui.tui.render.format import first_line
from ua_tui.tui.screens.session.queue import QueueScreen


def rows(app: PromptApp | UaTuiApp) -> list[str]:
    bar = app.screen_stack[0].query(QueueBar)
    return (
        [row.rstrip() for row in str(bar.first().render()).splitlines()]
        if bar and bar.first().display
        else []
    )


def listed(app: UaTuiApp) -> list[str]:
    return [str(option.prompt) for option in app.screen.query_one(OptionList).options]


async def queue_of(app: UaTuiApp, pilot: Pilot[str], session: FakeSession, *texts: str) -> None:
    """Have a query run and these wait behind it."""
    await settled(app, pilot)
    for text in ("running", *texts):
        app.frame.prompt.put(text)
        await pilot.press("enter")
    await pilot.pause()
    assert session.waiting == list(texts)


def test_only_the_first_line_is_shown_and_harmless() -> None:
    assert first_line("one") == "one"
    assert first_line("  one\ntwo") == "one …"
    assert first_line("a\x1b[2Jb\u202e\nc").isprintable()


async def test_at_most_three_rows_and_how_many_more_there_are() -> None:
    app = PromptApp()
    async with app.run_test(size=(40, 20)) as pilot:
        assert rows(app) == []
        app.prompt.show_queue(["first\nmore", "b" * 99])
        await pilot.pause()
        assert rows(app)[0] == "› first …"
        assert len(rows(app)) == 2
        assert app.query_one(QueueBar).region.bottom == app.prompt.region.y
        app.prompt.show_queue([str(number) for number in range(9)], paused=True)
        await pilot.pause()
        assert rows(app) == ["‖ 0", "‖ 1", "‖ 2  +6"]
        assert app.query_one(QueueBar).region.height == 3
        assert "9 paused · Enter sends when empty · " in str(app.prompt.border_subtitle)
        app.prompt.show_queue([])
        await pilot.pause()
        assert app.query_one(QueueBar).region.height == 0


async def test_what_waits_survives_an_interrupt_and_enter_sends_it_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await queue_of(app, pilot, session, "one", "two")
        await pilot.press("escape")
        await settled(app, pilot)
        assert session.waiting == ["one", "two"]
        assert rows(app) == ["‖ one", "‖ two"]
        await pilot.press("enter")
        await shown(app, pilot)
        assert session.submitted[-1] == "one"
        assert rows(app) == ["› two"]


async def test_a_dead_agent_is_restarted_before_the_queue_is_resumed(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await queue_of(app, pilot, session, "one")
        session.queue_paused = True
        session.state = "failed"
        app.queries.show()
        await pilot.press("enter")
        await pilot.pause()
        assert session.waiting == ["one"]
        assert any("Ctrl+R" in each.message for each in app._notifications)
        await pilot.press("ctrl+r")
        await settled(app, pilot)
        assert rows(app) == ["‖ one"]
        await pilot.press("enter")
        assert session.submitted[-1] == "one"


async def test_queries_are_moved_deleted_and_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await queue_of(app, pilot, session, "one", "two", "three")
        await pilot.press("alt+up")
        await pilot.pause()
        assert isinstance(app.screen, QueueScreen)
        await pilot.press("shift+down", "shift+down", "shift+down")
        assert session.waiting == ["two", "three", "one"]
        await pilot.press("K")
        assert session.waiting == ["two", "one", "three"]
        await pilot.press("up", "d")
        assert session.waiting == ["one", "three"]
        await pilot.press("down", "enter")
        await pilot.pause()
        assert session.waiting == ["one"]
        assert app.frame.prompt.text == "three"
        assert app.frame.prompt.has_focus
        assert rows(app) == ["› one"]


async def test_a_queue_that_moves_on_is_followed_and_never_overwritten(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await queue_of(app, pilot, session, "one", "two", "three")
        await pilot.press(*"/queue", "enter")
        await pilot.pause()
        await pilot.press("down")
        del session.waiting[0]
        await pilot.press("d")
        assert session.waiting == ["two", "three"]
        assert listed(app) == ["two", "three"]
        del session.waiting[0]
        app.queries.show()
        assert listed(app) == ["three"]
        await pilot.press("d", "d", "escape")
        await pilot.pause()
        assert session.waiting == []
        assert len(app.screen_stack) == 1


async def test_what_waits_for_a_session_can_be_changed_too(tmp_path: Path) -> None:
    session = make_session(tmp_path, hold_start=True)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await pilot.press("a", "enter", "b", "enter", "alt+up")
        await pilot.pause()
        assert listed(app) == ["a", "b"]
        await pilot.press("J", "escape")
        session.may_start.set()
        await settled(app, pilot)
        assert session.submitted == ["b", "a"]


async def test_what_could_not_be_handed_on_is_kept_with_the_session(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await queue_of(app, pilot, session, "one")
        session.state = "failed"
        await pilot.press(*"two", "enter")
        await pilot.pause()
        assert session.waiting == ["one"]
        app.shutdown.begin("quit")
        await until(lambda: bool(session.closed))
        assert session.waiting == ["one", "two"]


async def test_an_empty_queue_opens_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, app, pilot):
        await pilot.press("alt+up", "enter")
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_ctrl_s_says_it_into_the_running_query(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await pilot.press("a", "ctrl+s")
        await shown(app, pilot)
        assert session.submitted == ["a"]
        await pilot.press("b", "ctrl+s")
        await settled(app, pilot)
        assert session.steered == ["b"]
        assert app.frame.prompt.text == ""
        pane = app.query_one("#conversation")
        assert "steered" in str(pane.render_lines(pane.size.region))


async def test_what_the_agent_cannot_hear_runs_next(tmp_path: Path) -> None:
    session = make_session(tmp_path, deaf=True)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await queue_of(app, pilot, session, "one")
        await pilot.press("b", "ctrl+s")
        await settled(app, pilot)
        assert session.waiting == ["b", "one"]
        assert rows(app) == ["› b", "› one"]
        assert any("it is queued and runs next" in each.message for each in app._notifications)
