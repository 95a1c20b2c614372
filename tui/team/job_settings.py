"""The settings of a job's session: those of the worker, with what the job sets for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ua_tui.core.errors import CredentialsError
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import SPECS, Settings
from ua_tui.core.team.jobs.batch_file import checked_settings

ASK = "ask"
"""The name under which a job says whether a person may be asked."""
NO_MODEL = "no way to reach a model is configured on this machine: set ANTHROPIC_API_KEY"


def settings_for_job(
    settings: Settings, given: Mapping[str, Any], limit_usd: float | None, *, of_team: bool = False
) -> tuple[Settings, bool]:
    """The settings of a job's session, and whether a person may be asked.

    They are checked again: whoever may write to the database may have written them. A job `of_team` may be anybody's:
    it does not end the plan mode of a worker.

    Raises:
        SettingsError: the job sets something that it may not, or a wrong value.
        CredentialsError: no way to reach a model is configured.
    """
    wanted = checked_settings(given)
    asks = wanted.pop(ASK, False) is True
    loaded = load_settings({**settings.options, **wanted}, by_name=True)
    changes: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(settings, name), *getattr(loaded, name))))
        if SPECS[name].adds_up
        else getattr(loaded, name)
        for name in wanted
    }
    if of_team and settings.permission_mode == "plan":
        changes["permission_mode"] = "plan"
    limits = [each for each in (limit_usd, changes.get("max_cost_usd")) if each is not None]
    if limits:
        changes["max_cost_usd"] = min(limits)
    merged = replace(settings, **changes)
    if not merged.has_credentials():
        raise CredentialsError(NO_MODEL)
    return merged, asks
