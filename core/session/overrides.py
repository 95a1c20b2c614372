"""Settings chosen in a session, which apply again when it is resumed: the models, the effort, the spending limit."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import BudgetRaised, Event, ModelChosen, SessionStarted
from ua_tui.core.provider.models import ModelChoice, checked_choice
from ua_tui.core.settings.model import Settings

OVERRIDABLE = ("model", "fallback_model", "effort", "max_cost_usd")
"""The settings that can be changed in a session."""

Value = str | float | None


class ResumedSettings(msgspec.Struct, frozen=True):
    """The settings of a resumed session.

    `applied` are the names of those that were chosen in it; `overruled` are those that were chosen but no longer apply.
    """

    settings: Settings
    applied: frozenset[str] = frozenset()
    overruled: dict[str, Value] = msgspec.field(default_factory=dict)


class Overrides(msgspec.Struct):
    """What a person chose in a session, by the names of the settings; a setting never chosen is missing."""

    chosen: dict[str, Value] = msgspec.field(default_factory=dict)

    def handle_event(self, event: Event) -> None:
        """Record the choice that an event of the journal reports; events come in order."""
        match event:
            case ModelChosen():
                self.chosen["model"] = event.model
                self.chosen["fallback_model"] = event.fallback_model
                self.chosen["effort"] = event.effort
            case BudgetRaised():
                self.chosen["max_cost_usd"] = event.limit_usd
            case SessionStarted():
                # The setting named instead is the newest choice.
                for name in event.overruled:
                    if name in self.chosen:
                        self.chosen[name] = getattr(event, name)

    def apply(self, settings: Settings, named: Collection[str]) -> ResumedSettings:
        """Apply the choices of the session, except for settings that are `named` for this run.

        A choice that is invalid in this version is overruled, too, so that it cannot prevent the resumption.
        """
        changes: dict[str, Any] = {}
        overruled: dict[str, Value] = {}
        for name in filter(self.chosen.__contains__, OVERRIDABLE):
            value = self.chosen[name]
            if name not in named and _is_valid(name, value):
                changes[name] = value
            elif getattr(settings, name) != value:
                overruled[name] = value
        settings = replace(settings, **changes)
        fallback = settings.fallback_model
        # The agent does not start if these two are the same.
        if fallback is not None and fallback == settings.model and "fallback_model" not in named:
            settings = replace(settings, fallback_model=None)
            overruled["fallback_model"] = fallback
        return ResumedSettings(settings, frozenset(changes), overruled)


def _is_valid(name: str, value: Value) -> bool:
    match name, value:
        case _, None:
            return True
        case "max_cost_usd", int() | float():
            return math.isfinite(value) and value > 0
        case "model" | "fallback_model" | "effort", str():
            field_of_choice = {"fallback_model": "fallback"}.get(name, name)
            try:
                checked_choice(ModelChoice(**{field_of_choice: value}))  # type: ignore[arg-type]  # what is checked
            except SettingsError:
                return False
            return True
        case _:
            return False
