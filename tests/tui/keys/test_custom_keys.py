"""Keys that the settings give: where they hold, where the screen names them, and what is passed over."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.app_host import opened, shown
from tests.tui.fakes import FakeSession
from tests.tui.files_host import screen_text
from tests.tui.panes.test_trace import SESSION
from tests.waiting import until
from ua_tui.core.events.types import PermissionAsked
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.places import Places
from ua_tui.core.settings.sources import KeyChoice
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.commands import commands_of
from ua_tui.tui.keys.keymap import Keys, choose_keys
from ua_tui.tui.render.format import first_sentence
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen


def chosen(*keys: tuple[str, object], in_folder: bool = False) -> tuple[KeyChoice, ...]:
    return tuple(
        KeyChoice(name, value, "keys in /home/me/config.toml", in_folder=in_folder) for name, value in keys
    )


def with_keys(
    tmp_path: Path, *keys: tuple[str, object], size: tuple[int, int] = (200, 50)
) -> AbstractAsyncContextManager[tuple[FakeSession, UaTuiApp, Pilot[str]]]:
    """The application with these keys."""
    return opened(tmp_path, size, keys=chosen(*keys))


async def press(pilot: Pilot[str], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


def focused(app: UaTuiApp) -> str | None:
    return app.focused.id if app.focused is not None else None


async def test_a_key_of_the_whole_screen_works_in_the_prompt_too(tmp_path: Path) -> None:
    async with with_keys(
        tmp_path, ("pane.maximise", "f9, ctrl+t"), ("show.trace", "f11"), ("next_pane", "f12")
    ) as (_session, app, pilot):
        await press(pilot, "f9")
        assert app.frame.maximised
        await press(pilot, "ctrl+t")
        assert not app.frame.maximised
        await press(pilot, "f11")
        assert focused(app) == "trace"
        await press(pilot, "f3", "tab")
        assert focused(app) == "trace"
        await press(pilot, "z", "2")
        assert not app.frame.maximised
        assert app.frame.prompt.text == "z2"
        await press(pilot, "f11", "f12")
        assert focused(app) == "observers"
        await press(pilot, "shift+tab")
        assert focused(app) == "trace"


async def test_keys_that_change_places_both_hold(tmp_path: Path) -> None:
    async with with_keys(
        tmp_path, ("trace.next_failure", "n"), ("find.next", "ctrl+t"), ("move.down", "ctrl+n")
    ) as (session, app, pilot):
        assert app.keys.problems == ()
        for event in SESSION:
            session.bus.publish(event)
        await shown(app, pilot)
        await press(pilot, "f3", "home", "ctrl+n")
        trace = app.frame.query_one("#trace")
        second = trace.cursor  # type: ignore[attr-defined]
        assert second is not trace.entries[0]  # type: ignore[attr-defined]
        await press(pilot, "home", "n")
        failed = trace.cursor  # type: ignore[attr-defined]
        assert failed not in (second, trace.entries[0])  # type: ignore[attr-defined]
        await press(pilot, "home", "e", "ctrl+t", "j", "down")
        assert trace.cursor is trace.entries[0]  # type: ignore[attr-defined]


async def test_the_prompt_sends_and_breaks_lines_as_it_is_set_to(tmp_path: Path) -> None:
    async with with_keys(
        tmp_path, ("prompt.send", "ctrl+d"), ("prompt.new_line", ["enter"]), ("prompt.steer", "")
    ) as (session, app, pilot):
        await press(pilot, "a", "enter", "b", "ctrl+s", "ctrl+j")
        assert app.frame.prompt.text == "a\nb"
        await press(pilot, "ctrl+d")
        await shown(app, pilot)
        assert session.submitted == ["a\nb"]
        assert session.steered == []


async def test_what_is_text_is_typed_whatever_keys_are_chosen(tmp_path: Path) -> None:
    async with with_keys(
        tmp_path, ("stop", "x"), ("pane.maximise", "q"), ("show.trace", "comma"), ("help.here", "U")
    ) as (_session, app, pilot):
        assert app.keys.problems == ()
        await press(pilot, "x", "q", "comma", "U")
        assert app.frame.prompt.text == "xq,U"
        await press(pilot, "f2", "q")
        assert app.frame.maximised
        await press(pilot, "x")
        assert focused(app) == "prompt"
        await press(pilot, "f2", "comma")
        assert focused(app) == "trace"
        assert app.frame.prompt.text == "xq,U"


async def test_the_screen_names_the_keys_that_hold(tmp_path: Path) -> None:
    async with with_keys(
        tmp_path,
        ("help.all", "f12"),
        ("quit", "ctrl+x"),
        ("pane.maximise", "f9"),
        ("call.copy_result", "c"),
        ("file.copy_value", "Z"),
        ("permission.once", "ctrl+y"),
    ) as (session, app, pilot):
        assert app.keys.problems == ()
        assert "F12 keys  ^X quit" in str(app.status.render())
        assert {each.name: each.help for each in commands_of(app)}["maximise"] == "F9"
        line = str(app.status.render())
        await pilot.click(app.status, offset=(1 + line.index("F12 keys") + 2, 0))
        await pilot.pause()
        assert "F9 " in screen_text(app)
        assert "Ctrl+X" in screen_text(app)
        await press(pilot, "f12")
        assert len(app.screen_stack) == 1
        for event in SESSION:
            session.bus.publish(event)
        await shown(app, pilot)
        await press(pilot, "f3", "end", "enter")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        await until(lambda: "c copy result" in screen_text(app))
        await press(pilot, "escape")
        session.bus.publish(PermissionAsked(request_id="r", tool_name="Bash", input={}))
        await until(lambda: isinstance(app.screen, PermissionScreen))
        await until(lambda: "Ctrl+Y Allow once" in screen_text(app))


PASSED_OVER = json.loads(Path(__file__).with_name("passed_over.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("choice", "reported"), PASSED_OVER.values(), ids=PASSED_OVER)
def test_what_is_wrong_is_reported_and_all_else_holds(choice: tuple[str, object], reported: str) -> None:
    keys = choose_keys(chosen(choice, ("pane.standard", "f9")))
    (problem,) = keys.problems
    assert reported in problem
    assert "?." not in problem
    assert "?;" not in problem
    assert "/home/me/config.toml" in problem
    assert choice[0] in first_sentence(problem)
    assert keys.chosen == {"pane.standard": ("f9",)}


async def test_problems_are_notified_in_one_line_and_the_help_has_the_reasons(tmp_path: Path) -> None:
    async with with_keys(tmp_path, ("pane.maximise", "f9,,")) as (_, app, pilot):
        (problem,) = app.keys.problems
        assert [note.message for note in app._notifications] == [first_sentence(problem)]
        await press(pilot, "f2", "z")
        assert app.frame.maximised, "the standard key holds"
        await press(pilot, "f1")
        assert "Ignored settings" in screen_text(app)
        assert problem[-20:].split()[-1] in screen_text(app)
    async with with_keys(tmp_path, *((f"nothing.{number}", "x") for number in range(3)), size=(80, 24)) as (
        _session,
        app,
        pilot,
    ):
        (note,) = [note.message for note in app._notifications]
        assert note == "3 key settings are ignored: F1 shows why."
        await press(pilot, "f1")
        assert isinstance(app.screen, HelpScreen)
        assert all(f"nothing.{number} " in screen_text(app) for number in range(3))


def test_a_folder_changes_no_answer_to_a_question() -> None:
    keys = choose_keys(chosen(("permission.deny", "a"), ("permission.once", "d"), in_folder=True))
    assert keys.chosen == {}
    assert all("a folder may not set how questions are answered" in problem for problem in keys.problems)
    mine = choose_keys(chosen(("permission.deny", "a"), ("permission.once", "d")))
    assert mine == Keys({"permission.deny": ("a",), "permission.once": ("d",)})


def test_the_tables_of_both_files_are_read_and_the_folder_counts_more(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[keys]\npane.maximise = "f9"\n"stop" = "f12"\nprompt.new_line = ["enter", "ctrl+j"]\nprompt.send = "ctrl+d"\n'
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ua-tui.toml").write_text('theme = "ua-light"\n[keys]\npane.maximise = "f10"\nbad.key = 1\n')
    settings = load_settings({}, Places(environ={}, cwd=folder, home=tmp_path, config_dir=tmp_path))
    assert settings.theme == "ua-light"
    keys = choose_keys(settings.keys)
    assert keys.of("pane.maximise") == ("f10",)
    assert keys.of("stop") == ("f12",)
    assert keys.of("prompt.new_line") == ("enter", "ctrl+j")
    (problem,) = keys.problems[:1]
    assert problem.startswith(f"bad.key in [keys] of {folder / 'ua-tui.toml'}: there is no such action")


def test_nothing_in_the_table_keeps_the_program_from_starting(tmp_path: Path) -> None:
    for line in ("keys = 3", "keys = [1]", 'keys = "z"', "[keys]\na.b.c.d = 1", "[[keys]]"):
        (tmp_path / "config.toml").write_text(line)
        settings = load_settings({}, Places(environ={}, cwd=tmp_path, home=tmp_path, config_dir=tmp_path))
        keys = choose_keys(settings.keys)
        assert keys.chosen == {}
        assert str(tmp_path / "config.toml") in keys.problems[0]
