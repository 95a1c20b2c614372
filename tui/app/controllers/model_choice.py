"""The choice of the model for the next queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ua_tui.core.errors import SettingsError
from ua_tui.tui.app.port import controls_or_notify

if TYPE_CHECKING:
    from ua_tui.core.provider.models import ModelChoice
    from ua_tui.tui.app.port import AppPort


class ModelSelection:
    """Opens the list of models, and gives the session the chosen one."""

    def __init__(self, app: AppPort) -> None:
        self._app = app

    def open(self) -> None:
        """Show the available models."""
        from ua_tui.tui.screens.session.model import ModelScreen

        controls = controls_or_notify(self._app)
        if controls is not None and not isinstance(self._app.screen, ModelScreen):
            models, running = controls.models, self._app.state in ("running", "stopping")
            screen = ModelScreen(models.choice, models.known, self._choose, running=running)
            self._app.push_screen(screen, self._on_choice)

    def _on_choice(self, choice: ModelChoice | None) -> None:
        if choice is not None:
            self._choose(choice)

    def _choose(self, choice: ModelChoice) -> bool:
        """Use another model; False if that is not possible, and the user was notified."""
        controls = controls_or_notify(self._app)
        if controls is None:
            return False
        try:
            controls.models.choose(choice)
        except SettingsError as error:
            self._app.notify(str(error), severity="warning", markup=False)
            return False
        # The session is resumed with these settings after another setup.
        self._app.settings = replace(
            self._app.settings,
            model=choice.model,
            fallback_model=choice.fallback,
            effort=choice.effort,
        )
        return True
