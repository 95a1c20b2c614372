"""Which model answers, where a person can choose another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.errors import SettingsError

if TYPE_CHECKING:
    from core.provider.models import ModelChoice
    from tui.app.app import UaTuiApp

__all__ = ["Modelling"]


class Modelling:
    """Opens the choice of models in `app`, and hands on what was chosen."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app

    def open(self) -> None:
        """Show the models there are."""
        from tui.screens.session.model import ModelScreen

        session = self._app.session
        if session is None:
            self._app.notify("The session has not begun yet.", markup=False)
            return
        models = session.models
        if not isinstance(self._app.screen, ModelScreen):
            running = self._app.state in ("running", "stopping")
            screen = ModelScreen(models.choice, models.known, self._take, running=running)
            self._app.push_screen(screen, self._choose)

    def _choose(self, choice: ModelChoice | None) -> None:
        if choice is not None:
            self._take(choice)

    def _take(self, choice: ModelChoice) -> bool:
        """Have something else answer; False when it cannot be had, which is told."""
        session = self._app.session
        if session is None:
            return False
        try:
            session.models.choose(choice)
        except SettingsError as error:
            self._app.notify(str(error), severity="warning", markup=False)
            return False
        # With these the session goes on after another setup.
        self._app.settings = replace(
            self._app.settings,
            model=choice.model,
            fallback_model=choice.fallback,
            effort=choice.effort,
        )
        return True
