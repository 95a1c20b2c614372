from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.errors import CredentialsError, SettingsError
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.team.job_session import settings_for_job

KEY = {"api_key": "sk-ant-test-0123456789"}


def test_a_job_has_the_settings_of_the_worker_and_its_own(tmp_path: Path) -> None:
    worker = load_settings(
        {**KEY, "workspace_base": tmp_path, "deny": ("Bash",), "allow": ("a_tool",), "model": "one"}
    )
    settings, asks = settings_for_job(
        worker, {"model": "two", "deny": ["Write"], "allow": ["b_tool"], "ask": True}, 2.5
    )
    assert asks
    assert settings.model == "two"
    # What the worker denies stays denied.
    assert settings.deny == ("Bash", "Write")
    assert settings.allow == ("b_tool",)
    assert settings.max_cost_usd == 2.5
    assert settings.workspace_base == tmp_path
    assert settings.api_key == KEY["api_key"]
    same, asks = settings_for_job(worker, {}, None)
    assert same == worker
    assert not asks


@pytest.mark.parametrize(("given", "limit", "expected"), [(1.0, 2.5, 1.0), (9.0, 2.5, 2.5), (3.0, None, 3.0)])
def test_the_lower_limit_counts(given: float, limit: float | None, expected: float) -> None:
    settings, _ = settings_for_job(load_settings(KEY), {"max_cost_usd": given}, limit)
    assert settings.max_cost_usd == expected


def test_a_job_of_the_team_does_not_end_the_plan_mode_of_a_worker() -> None:
    worker = load_settings({**KEY, "permission_mode": "plan"})
    given = {"permission_mode": "acceptEdits"}
    assert settings_for_job(worker, given, None, of_team=True)[0].permission_mode == "plan"
    assert settings_for_job(worker, given, None)[0].permission_mode == "acceptEdits"
    assert settings_for_job(load_settings(KEY), given, None, of_team=True)[0].permission_mode == "acceptEdits"


@pytest.mark.parametrize(
    "given",
    [
        {"api_key": "other"}, {"cli_path": "/bin/sh"}, {"workspace_base": "/"}, {"mcp_servers": {}},
        {"dangerously_skip_permissions": True}, {"permission_mode": "bypassPermissions"},
        {"model": 5}, {"max_cost_usd": -1}, {"no\nsetting": 1}, {"ask": ["Bash"]},
    ],
)  # fmt: skip
def test_a_job_may_not_set_what_is_the_workers(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as refused:
        settings_for_job(load_settings(KEY), given, None)
    assert "\n" not in str(refused.value)


def test_without_a_way_to_a_model_it_says_so() -> None:
    with pytest.raises(CredentialsError, match="ANTHROPIC_API_KEY"):
        settings_for_job(load_settings({}), {}, None)
    assert settings_for_job(load_settings({}), {"demo": True}, None)[0].demo
