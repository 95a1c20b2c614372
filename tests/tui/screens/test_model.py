from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tests.tui import app_host
from tests.tui.app_host import notices
from tests.tui.fakes import FakeModels, FakeSession
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.errors import SettingsError
from ua_tui.core.provider.models import KnownModel, ModelChoice
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.session_settings import open_models
from ua_tui.tui.screens.session.model import ModelScreen


@asynccontextmanager
async def opened(
    tmp_path: Path, choice: ModelChoice | None = None
) -> AsyncIterator[tuple[UaTuiApp, FakeSession, Pilot[str]]]:
    async with app_host.opened(tmp_path, (100, 30)) as (session, app, pilot):
        session.models.choice = choice or ModelChoice()
        await opens(app)
        yield app, session, pilot


async def opens(app: UaTuiApp) -> None:
    open_models(app)
    await until(lambda: isinstance(app.screen, ModelScreen))


CHOICES: list[tuple[list[str], ModelChoice]] = [
    (["enter"], ModelChoice()),
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
    async with opened(tmp_path, ModelChoice("opus", "haiku")) as (app, session, pilot):
        # What is typed takes the place of the name that stood there.
        typed = ["f", *"fable", "enter", "o", *"qwen3", "enter"]
        for keys, choice in ((typed, ModelChoice("qwen3", "fable")), *CHOICES):
            await pilot.press(*keys)
            await until(lambda: not isinstance(app.screen, ModelScreen))
            assert session.models.choice == choice, keys
            settings = app.settings
            assert ModelChoice(settings.model, settings.fallback_model, settings.effort) == choice, keys
            session.models.choice = ModelChoice()
            app.settings = replace(settings, model=None, fallback_model=None, effort=None)
            await opens(app)
        # Leaving it changes nothing, and a model that is not listed is shown.
        await pilot.press("escape")
        session.models.choice = ModelChoice("glm-5", None, "max")
        await pilot.resize_terminal(80, 24)
        await opens(app)
        await until(lambda: "glm-5" in screen_text(app) and "max" in screen_text(app))
        await pilot.press("e", "escape")
        assert session.models.choice == ModelChoice("glm-5", None, "max")


async def test_a_name_that_will_not_do_stays_in_the_line_and_what_is_refused_is_reported(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def refuse(_self: FakeModels, _choice: ModelChoice) -> None:
        raise SettingsError("Not this one.")

    monkeypatch.setattr(FakeModels, "choose", refuse)
    async with opened(tmp_path) as (app, _, pilot):
        await pilot.press("o", *"two", "space", *"words", "enter")
        assert isinstance(app.screen, ModelScreen)
        assert "no spaces" in screen_text(app)
        await pilot.press("escape", "down", "enter")
        await until(lambda: "Not this one." in notices(app))
        assert app.settings.model is None


async def test_an_effort_without_a_model_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, session, pilot):
        await pilot.press("e")
        await until(lambda: "low (was: auto); press Enter on a model to apply" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, ModelScreen))
        assert session.models.choice == ModelChoice()


async def test_the_model_in_use_is_marked_wherever_the_cursor_is_and_prices_are_whole(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    about = "Opus 5 · The most capable of all for your hardest and longest-running tasks · $5/$25 per Mtok"
    names = (("default", "Default", ""), ("opus", "Opus", about), ("haiku", "Haiku", ""))
    monkeypatch.setattr(FakeModels, "known", tuple(KnownModel(*each) for each in names))
    async with opened(tmp_path, ModelChoice("haiku")) as (app, _, pilot):
        await pilot.press("k")
        for width in (80, 200):
            await pilot.resize_terminal(width, 40)
            await until(lambda: app.screen.size.width == width and screen_text(app).count("$5/$25") == 2)  # noqa: B023
            rows = [line for line in screen_text(app).splitlines() if "opus " in line or "haiku " in line]
            assert ["● haiku" in row for row in rows[:2]] == [False, True]
            assert "$5/$25" in rows[0]
