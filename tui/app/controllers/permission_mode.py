"""The permission mode of the session, which a person can change at any time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.model import PermissionMode, refuse_skip_as_root
from ua_tui.tui.app.port import controls_or_notify

if TYPE_CHECKING:
    from ua_tui.tui.app.port import AppPort

_SKIP = "bypassPermissions"


class PermissionModeSelection:
    """Opens the list of modes, asks for confirmation if need be, and gives the session the chosen one."""

    def __init__(self, app: AppPort) -> None:
        self._app = app

    def open(self) -> None:
        """Show the modes."""
        from ua_tui.tui.screens.session.mode import ModeScreen

        controls, session = controls_or_notify(self._app), self._app.session
        if controls is not None and session is not None and not isinstance(self._app.screen, ModeScreen):
            self._app.push_screen(ModeScreen(session.permission_mode), self._on_choice)

    def _on_choice(self, mode: str | None) -> None:
        session = self._app.session
        if mode is not None and session is not None and mode != session.permission_mode:
            self.choose(mode)

    def choose(self, mode: str) -> None:
        """Change the mode, after a confirmation if it skips every check."""
        from ua_tui.tui.screens.session.mode import SkipScreen

        session = self._app.session
        if controls_or_notify(self._app) is None or session is None:
            return
        if mode == session.permission_mode:
            self._app.notify(f"The permission mode is {mode} already.", markup=False)
            return
        if mode != _SKIP:
            self.change(mode)
            return
        try:
            refuse_skip_as_root("The mode that skips every permission check")
        except SettingsError as error:
            self._app.notify(str(error), severity="warning", markup=False)
        else:
            self._app.push_screen(SkipScreen(), lambda confirmed: self.change(_SKIP) if confirmed else None)

    def change(self, mode: str) -> None:
        """Change the mode of the session."""
        self._app.spawn(partial(self._change, cast("PermissionMode", mode)), "permission mode", "agent")

    async def _change(self, mode: PermissionMode) -> None:
        controls = self._app.controls
        if controls is None:
            return
        try:
            await controls.set_permission_mode(mode)
        except SettingsError as error:
            self._app.notify(str(error), severity="warning", markup=False)
            return
        if mode != _SKIP:
            # The session is resumed with these settings after another setup.
            self._app.settings = replace(
                self._app.settings, permission_mode=mode, dangerously_skip_permissions=False
            )
