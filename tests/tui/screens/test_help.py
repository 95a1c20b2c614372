"""What the help tells where: the keys of the place one came from, and all of them."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Static

from tests.tui.app_host import opened, settled, shown
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.panes.test_trace import SESSION
from tests.tui.screens.test_blacklist import fill
from tests.waiting import until
from ua_tui.core.events.types import PermissionAsked
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.commands import commands_of
from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.keys.places import sections_of
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.knowledge.find import FindScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.services.blacklist import BlacklistScreen
from ua_tui.tui.screens.session.sessions import SessionsScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.widgets.command import typed_command

WIDE = (200, 56)
MOVING = "Moving and searching"
DOCUMENT = "In a file or a preview"


def help_of(app: UaTuiApp) -> HelpScreen:
    assert isinstance(app.screen, HelpScreen)
    return app.screen


def told(app: UaTuiApp) -> str:
    """All that the help says, also what is scrolled out of sight."""
    return str(help_of(app).query_one(".facts", Static).content)


def titles(app: UaTuiApp) -> list[str]:
    """The titles of the sections for where one came from."""
    here = help_of(app).here
    assert here is not None
    return [place.title for place in sections_of(here, app.keys)]


def test_a_line_tells_only_of_the_keys_it_lists() -> None:
    told_of = {
        screen: [what for lines in sections_of([screen], Keys()).values() for what in lines]
        for screen in (SessionsScreen, FindScreen, ToolCallScreen, TracePane)
    }
    assert "search" in told_of[SessionsScreen], "`n` gives a title there"
    assert "open in the browser" in told_of[FindScreen]
    assert "page down" in told_of[ToolCallScreen]
    assert any("next, previous match" in each for each in told_of[ToolCallScreen])
    assert any("tool:news" in each for each in told_of[TracePane])


async def test_the_keys_of_where_one_is_come_first(tmp_path: Path) -> None:
    async with opened(tmp_path, WIDE) as (_, app, pilot):
        for key, place in (("f2", "conversation"), ("f3", "trace"), ("f4", "observers"), ("f5", "workspace")):
            await pilot.press(key, "question_mark")
            await pilot.pause()
            assert titles(app)[0] == f"In the {place}"
            assert {MOVING, "In a pane", "On the main screen"} < set(titles(app))
            text = screen_text(app)
            assert text.index(f"In the {place}") < text.index("In a pane") < text.index("On the main screen")
            assert "In the prompt" not in text
            await pilot.press("f1")
            await pilot.pause()
            text = told(app)
            assert help_of(app).here is None
            assert text.index("On the main screen") < text.index("In the prompt")
            await pilot.press("f1")
            await pilot.pause()
            assert len(app.screen_stack) == 1
        await pilot.press("question_mark", "question_mark")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        # In the prompt F1 shows everything, and a command the keys of the prompt.
        app.frame.prompt.focus()
        await pilot.press("question_mark", "f1")
        await pilot.pause()
        assert app.frame.prompt.text == "?"
        assert help_of(app).here is None
        await pilot.press("escape")
        command = typed_command("/keys-here", commands_of(app))
        assert command is not None
        command.run()
        await pilot.pause()
        text = screen_text(app)
        assert text.index("In the prompt") < text.index("On the main screen")
        assert "In a pane" not in text
        assert "send to the running query now" in text
        await pilot.press("escape")
        # Where there are few rows, all but three are for the keys.
        await pilot.resize_terminal(80, 24)
        await pilot.press("f3", "question_mark")
        await until(lambda: "In the trace" in screen_text(app))
        rows = screen_text(app).splitlines()
        assert rows[0].startswith("╭─ Keys for this")
        assert rows[1].strip("│ ") == "In the trace"
        assert "Esc close" in rows[-2]
        assert rows[-1].startswith("╰")
        assert sum(not row.strip("│ ") for row in rows) <= 3


async def test_previews_screens_and_questions_show_their_keys_and_wait(tmp_path: Path) -> None:
    fill(tmp_path, ("papers.example", 3))
    session = make_session(tmp_path)
    (session.workspace.path / "notes.md").write_text("# Notes\n")
    app = make_app(tmp_path, session)
    async with app.run_test(size=WIDE) as pilot:
        await settled(app, pilot)
        await pilot.press("f5", "tab", "question_mark")
        await pilot.pause()
        assert set(titles(app)[:2]) == {DOCUMENT, MOVING}
        await pilot.press("escape")
        app.push_screen(ViewerScreen(session.workspace.path / "notes.md"))
        await until(lambda: isinstance(app.screen, ViewerScreen) and app.screen.document is not None)
        for key, everything in (("question_mark", False), ("f1", True)):
            await pilot.press(key)
            await pilot.pause()
            assert help_of(app).here is None if everything else titles(app)[0] == DOCUMENT
            # A text has neither claims nor columns; every key is listed among all.
            for part in ("copy the path", "doubtful claim", "sort, reverse", "unfold all"):
                assert (part in told(app)) == (everything or part == "copy the path"), part
            await pilot.press("q")
            await pilot.pause()
        await pilot.press("slash", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, ViewerScreen)
        app.screen.dismiss()
        await pilot.pause()
        commands = {each.name: each for each in commands_of(app)}
        for open_it, kind, place in (
            (commands["sessions"].run, SessionsScreen, "sessions"),
            (commands["blacklist"].run, BlacklistScreen, "blacklist"),
        ):
            open_it()
            await until(lambda kind=kind: isinstance(app.screen, kind))  # type: ignore[misc]
            await until(lambda: place != "blacklist" or "papers.example" in screen_text(app))  # noqa: B023
            await pilot.press("question_mark")
            await pilot.pause()
            assert titles(app)[0] == f"In the {place}"
            await pilot.press("escape")
            app.screen.dismiss()
            await pilot.pause()
        for event in SESSION:
            session.bus.publish(event)
        await shown(app, pilot)
        await pilot.press("f3", "end", "enter")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        await pilot.press("question_mark")
        await pilot.pause()
        assert titles(app)[0] == "In a tool call"
        # There is no picture in it. What is too long for its line goes on below its beginning.
        assert "picture: full width" not in told(app)
        assert "Esc clears it; next, previous" in told(app)
        await pilot.resize_terminal(60, 24)
        await until(lambda: "Esc clears it; next, previous" not in told(app))
        (rest,) = (line for line in told(app).splitlines() if "next, previous match" in line)
        assert rest.startswith(" " * 12)
        await pilot.resize_terminal(*WIDE)
        await pilot.press("escape", "escape")
        await pilot.pause()
        session.bus.publish(PermissionAsked(request_id="r", tool_name="Bash", input={}))
        await until(lambda: isinstance(app.screen, PermissionScreen))
        await pilot.press("f1")
        await until(lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, PermissionScreen)
        assert session.answers == []
