"""A theme that is chosen is there again the next time; what is said for one run is not kept."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.app_host import opened
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.waiting import until
from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.places import Places
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.theme.store import store_theme


def kept_in(folder: Path, **environ: str) -> Callable[[str], str]:
    folder.mkdir(exist_ok=True)
    return partial(store_theme, places=Places(environ=environ, cwd=folder, config_dir=folder))


async def choose(app: UaTuiApp, pilot: Pilot[str], name: str) -> None:
    app.action_change_theme()
    await until(lambda: len(app.screen_stack) == 2)
    # As fast as a person who knows the name: nothing is waited for.
    for key in name:
        app.post_message(events.Key(key, key))
    app.post_message(events.Key("enter", "\r"))
    await until(lambda: app.chosen_theme == name and len(app.screen_stack) == 1)
    await until(lambda: not any(worker.group == "kept theme" for worker in app.workers))


async def test_a_theme_that_is_chosen_is_stored_among_the_other_settings(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    kept = kept_in(folder)
    file = folder / "config.toml"
    file.write_text('# mine\ntheme = "nord"  # for now\nmodel = "m"\n')
    app = make_app(tmp_path, make_session(tmp_path))
    app.theme_store = kept
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.state == "idle")
        await choose(app, pilot, "light")
        assert app.theme == "ua-light"
        assert file.read_text() == '# mine\ntheme = "light"  # for now\nmodel = "m"\n'
        await choose(app, pilot, "gruvbox")
        assert tomllib.loads(file.read_text())["theme"] == app.theme == "gruvbox"
    settings = load_settings({}, Places(environ={}, cwd=folder, home=folder, config_dir=folder))
    again = make_app(tmp_path, make_session(tmp_path), theme=settings.theme)
    assert again.theme == "gruvbox"


async def test_a_theme_for_one_run_is_not_stored(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    app = make_app(tmp_path, make_session(tmp_path), theme="light")
    app.theme_store = kept_in(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state == "idle")
        await pilot.pause()
        assert app.theme == "ua-light"
    assert list(folder.iterdir()) == []
    assert app.chosen_theme is None


async def test_it_is_reported_when_a_theme_cannot_be_kept(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    app = make_app(tmp_path, make_session(tmp_path))
    app.theme_store = kept_in(folder)
    (folder / "config.toml").write_text("theme = \n")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.state == "idle")
        await choose(app, pilot, "ansi")
        assert app.theme == "ua-ansi"
        await until(
            lambda: any("applies only to this session" in each.message for each in app._notifications)
        )
    assert (folder / "config.toml").read_text() == "theme = \n"


def test_it_is_reported_what_wins_over_the_file(tmp_path: Path) -> None:
    assert kept_in(tmp_path)("light") == ""
    reported = kept_in(tmp_path, UA_THEME="nord")("dark")
    assert "UA_THEME" in reported
    assert tomllib.loads((tmp_path / "config.toml").read_text()) == {"theme": "dark"}


def test_our_themes_go_by_short_names(tmp_path: Path) -> None:
    names = {"ansi": "ua-ansi", "light": "ua-light", "ua-ansi": "ua-ansi", "nord": "nord", None: "ua-dark"}
    apps = {name: make_app(tmp_path, make_session(tmp_path), theme=name) for name in names}
    assert {name: app.theme for name, app in apps.items()} == names


@pytest.mark.parametrize(
    ("wanted", "told_as"),
    [("drak", r"'drak'; did you mean dark\?$"), ("xyzzy", "'xyzzy'. Available: dark, light, ansi, .*nord")],
)
def test_a_theme_that_nobody_knows_is_refused(tmp_path: Path, wanted: str, told_as: str) -> None:
    with pytest.raises(SettingsError, match=f"no theme {told_as}") as reported:
        make_app(tmp_path, make_session(tmp_path), theme=wanted)
    assert "ua-" not in str(reported.value)


async def test_our_themes_come_first_in_the_list_and_say_what_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path, (80, 24)) as (_, app, pilot):
        app.action_change_theme()
        await until(lambda: "16 colours" in screen_text(app))
        await pilot.pause()
        shown = screen_text(app)
        assert shown.index("dark") < shown.index("light") < shown.index("ansi") < shown.index("ansi-dark")
