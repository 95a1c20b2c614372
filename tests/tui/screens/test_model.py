from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.provider.models import KnownModel, ModelChoice
from tests.tui.fakes import FakeModels, make_app, make_session
from tests.tui.files_host import until
from tui.app.app import UaTuiApp
from tui.screens.session.model import ModelScreen


def shown(app: UaTuiApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


CHOICES: list[tuple[list[str], ModelChoice]] = [
    (["enter"], ModelChoice()),
    (["down", "enter"], ModelChoice("opus")),
    (["j", "j", "k", "enter"], ModelChoice("opus")),
    (["e", "e", "enter"], ModelChoice(None, None, "medium")),
    (["e"] * 6 + ["enter"], ModelChoice()),
    (["o", *"qwen3", "enter"], ModelChoice("qwen3")),
    (["o", *"x", "escape", "down", "enter"], ModelChoice("opus")),
    (["f", *"haiku", "enter", "down", "enter"], ModelChoice("opus", "haiku")),
    (["f", *"haiku", "enter", "escape"], ModelChoice(None, "haiku")),
    (["e", "f", *"haiku", "enter", "escape"], ModelChoice(None, "haiku")),
    (["f", *"haiku", "enter", "f", *"opus", "enter", "escape"], ModelChoice(None, "opus")),
]


async def test_each_key_chooses(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.state == "idle")
        for keys, choice in CHOICES:
            session.models.choice = ModelChoice()
            app.settings = replace(app.settings, model=None, fallback_model=None, effort=None)
            app.model_selection.open()
            await until(lambda: isinstance(app.screen, ModelScreen))
            await pilot.press(*keys)
            await until(lambda: not isinstance(app.screen, ModelScreen))
            assert session.models.choice == choice, keys
            settings = app.settings
            assert ModelChoice(settings.model, settings.fallback_model, settings.effort) == choice, keys


async def test_leaving_it_changes_nothing_and_a_model_that_is_not_listed_is_shown(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    session.models.choice = ModelChoice("glm-5", None, "max")
    app = make_app(tmp_path, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state == "idle")
        app.model_selection.open()
        await until(lambda: isinstance(app.screen, ModelScreen))
        await pilot.pause()
        assert "glm-5" in shown(app)
        assert "max" in shown(app)
        await pilot.press("e", "escape")
        assert session.models.choice == ModelChoice("glm-5", None, "max")


async def test_a_name_that_will_not_do_stays_in_the_line(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.state == "idle")
        app.model_selection.open()
        await until(lambda: isinstance(app.screen, ModelScreen))
        await pilot.press("o", *"two", "space", *"words", "enter")
        assert isinstance(app.screen, ModelScreen)
        assert "no spaces" in shown(app)


async def test_what_is_refused_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: FakeModels, _choice: ModelChoice) -> None:
        raise SettingsError("Not this one.")

    monkeypatch.setattr(FakeModels, "choose", refuse)
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.state == "idle")
        app.model_selection.open()
        await until(lambda: isinstance(app.screen, ModelScreen))
        await pilot.press("down", "enter")
        await until(lambda: any("Not this one." in reported.message for reported in app._notifications))
        assert app.settings.model is None


async def opened(app: UaTuiApp) -> None:
    await until(lambda: app.state == "idle")
    app.model_selection.open()
    await until(lambda: isinstance(app.screen, ModelScreen))


async def test_an_effort_that_was_not_taken_is_reported_and_nothing_else(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app)
        await pilot.press("e")
        await pilot.pause()
        assert "low (was: auto)" in shown(app)
        await pilot.press("escape")
        await until(lambda: any("Effort not changed" in reported.message for reported in app._notifications))
        assert session.models.choice == ModelChoice()
        app.clear_notifications()
        await opened(app)
        await pilot.press("j", "escape")
        await until(lambda: not isinstance(app.screen, ModelScreen))
        assert not app._notifications


async def test_what_is_typed_takes_the_place_of_the_name_that_stood_there(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    session.models.choice = ModelChoice("opus", "haiku")
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app)
        await pilot.press("f", *"fable", "enter", "o", *"qwen3", "enter")
        await until(lambda: not isinstance(app.screen, ModelScreen))
        assert session.models.choice == ModelChoice("qwen3", "fable")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_model_in_use_is_marked_wherever_the_cursor_is_and_prices_are_whole(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    about = "Opus 5 · The most capable of all for your hardest and longest-running tasks · $5/$25 per Mtok"
    known = (
        KnownModel("default", "Default"),
        KnownModel("opus", "Opus", about),
        KnownModel("haiku", "Haiku"),
    )
    monkeypatch.setattr(FakeModels, "known", known)
    session = make_session(tmp_path)
    session.models.choice = ModelChoice("haiku")
    app = make_app(tmp_path, session)
    async with app.run_test(size=size) as pilot:
        await opened(app)
        await pilot.press("k")
        await until(lambda: shown(app).count("$5/$25") == 2)
        rows = [line for line in shown(app).splitlines() if "opus " in line or "haiku " in line]
        assert ["● haiku" in row for row in rows[:2]] == [False, True]
        assert "$5/$25" in rows[0]
