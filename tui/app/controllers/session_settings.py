"""What a person can change in a running session: model, permission mode and budget."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from ua_tui.core.events.types import BudgetRaised, BudgetReached, Event
from ua_tui.core.events.units import spent_of
from ua_tui.core.settings.model import PermissionMode, refuse_skip_as_root
from ua_tui.core.view.session import SessionView
from ua_tui.tui.app.port import controls_or_notify, refusals_notified

if TYPE_CHECKING:
    from ua_tui.core.provider.models import ModelChoice
    from ua_tui.tui.app.app import UaTuiApp


class Budget:
    """Warns when most of the budget is spent, and asks what to do when all of it is."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._last: BudgetReached | BudgetRaised | None = None

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note an event about the budget: only the last one of a batch counts."""
        if isinstance(event, BudgetReached | BudgetRaised):
            self._last = event

    def show_view(self, view: SessionView) -> None:
        """Show what happened to the budget."""
        last, self._last = self._last, None
        match last:
            case BudgetReached(level="warning"):
                spent, limit = spent_of(last.spent_usd, last.limit_usd)
                text = f"{spent} of {limit} is spent; the agent stops at the limit"
                self._app.notice.show(text, "/budget raises it", "warning")
            case BudgetReached(level="spent"):
                # The conversation has a line about it, and the status line a mark.
                self._app.notice.clear()
                self._open(requested=False)
            case BudgetRaised():
                self._app.notice.clear()
            case _:
                pass

    def open(self) -> None:
        """Show what is spent because the user asked for it."""
        self._open(requested=True)

    def _open(self, *, requested: bool) -> None:
        from ua_tui.tui.screens.session.budget import BudgetScreen

        costs = self._app.view.costs
        if self._app.session is None or isinstance(self._app.screen, BudgetScreen):
            return
        dialog = BudgetScreen(
            costs.total or 0.0,
            costs.limit,
            unpriced=costs.all_unpriced,
            cached=costs.tokens.cached_share,
            running=self._app.state in ("running", "stopping"),
            waiting=len(self._app.queries.waiting),
            requested=requested,
        )
        self._app.push_screen(dialog, self.raise_limit)

    def raise_limit(self, limit: float | None) -> None:
        """Let the session cost up to `limit` US dollars; None leaves the limit as it is."""
        if limit is None or (controls := controls_or_notify(self._app)) is None:
            return
        with refusals_notified(self._app):
            controls.raise_budget(limit)
            # The session is resumed with these settings after another setup.
            self._app.settings = replace(self._app.settings, max_cost_usd=limit)
            if not self._app.frame.shows("conversation"):
                # Otherwise a line in the conversation says so.
                self._app.notify(f"Spending limit: {spent_of(0.0, limit)[1]} from now on.")


def open_models(app: UaTuiApp) -> None:
    """Show the available models."""
    from ua_tui.tui.screens.session.model import ModelScreen

    controls = controls_or_notify(app)
    if controls is not None and not isinstance(app.screen, ModelScreen):
        models, running = controls.models, app.state in ("running", "stopping")
        screen = ModelScreen(models.choice, models.known, partial(_choose_model, app), running=running)
        app.push_screen(screen, partial(_on_model, app))


def _on_model(app: UaTuiApp, choice: ModelChoice | None) -> None:
    if choice is not None:
        _choose_model(app, choice)


def _choose_model(app: UaTuiApp, choice: ModelChoice) -> bool:
    """Use another model; False if that is not possible, and the user was notified."""
    if (controls := controls_or_notify(app)) is not None:
        with refusals_notified(app):
            controls.models.choose(choice)
            # The session is resumed with these settings after another setup.
            app.settings = replace(
                app.settings,
                model=choice.model,
                fallback_model=choice.fallback,
                effort=choice.effort,
            )
            return True
    return False


_SKIP = "bypassPermissions"


def open_modes(app: UaTuiApp) -> None:
    """Show the modes."""
    from ua_tui.tui.screens.session.mode import ModeScreen

    controls, session = controls_or_notify(app), app.session
    if controls is not None and session is not None and not isinstance(app.screen, ModeScreen):
        app.push_screen(ModeScreen(session.permission_mode), partial(_on_mode, app))


def _on_mode(app: UaTuiApp, mode: str | None) -> None:
    session = app.session
    if mode is not None and session is not None and mode != session.permission_mode:
        choose_mode(app, mode)


def choose_mode(app: UaTuiApp, mode: str) -> None:
    """Change the mode, after a confirmation if it skips every check."""
    from ua_tui.tui.screens.session.mode import confirm_skip

    session = app.session
    if controls_or_notify(app) is None or session is None:
        return
    if mode == session.permission_mode:
        app.notify(f"The permission mode is already {mode}.")
        return
    if mode != _SKIP:
        change_mode(app, mode)
        return
    with refusals_notified(app):
        refuse_skip_as_root("The mode that skips every permission check")
        app.push_screen(confirm_skip(), lambda confirmed: change_mode(app, _SKIP) if confirmed else None)


def change_mode(app: UaTuiApp, mode: str) -> None:
    """Change the mode of the session."""
    app.spawn(partial(_change_mode, app, cast("PermissionMode", mode)), "permission mode", "agent")


async def _change_mode(app: UaTuiApp, mode: PermissionMode) -> None:
    if (controls := app.controls) is None:
        return
    with refusals_notified(app):
        await controls.set_permission_mode(mode)
        if mode != _SKIP:
            # The session is resumed with these settings after another setup.
            app.settings = replace(app.settings, permission_mode=mode, dangerously_skip_permissions=False)
