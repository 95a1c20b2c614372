from __future__ import annotations

import asyncio
import json
import os
from datetime import date
from pathlib import Path

import pytest

from tests.e2e.live import processes
from tests.e2e.running import run
from tests.model_server import model_server
from tests.waiting import until
from ua_tui.core.doctor.child import run_checks_in_child
from ua_tui.core.doctor.findings import DoctorCheck
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.sources import KeyChoice, SourcedValue
from ua_tui.core.tasks import end_tasks

KEY = "sk-ant-api03-canary-9f8e7d6c5b4a"
NAMES = ["python", "agent", "workspace", "knowledge", "plugins", "model", "toolkit", "composio", "web_reader",
         "sub-agents", "logfire"]  # fmt: skip


def test_the_demo_could_start_and_says_so_as_json(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", "--demo", "--json")
    reported = json.loads(done.stdout)
    assert (done.code, reported["could_start"], done.stderr) == (0, True, "")
    assert [check["name"] for check in reported["checks"]] == NAMES
    states = {check["name"]: check["status"] for check in reported["checks"]}
    assert states == dict.fromkeys(NAMES, "ok") | dict.fromkeys(("web_reader", "logfire"), "skipped")
    assert "AGENT_RUN_WORKSPACES" not in os.listdir(tmp_path)


@pytest.mark.smoke
def test_without_credentials_it_says_what_to_set(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", "--json")
    reported = json.loads(done.stdout)
    assert (done.code, reported["could_start"]) == (1, False)
    (model,) = [check for check in reported["checks"] if check["name"] == "model"]
    assert (model["status"], model["required"]) == ("failed", True)
    assert "ANTHROPIC_API_KEY" in model["advice"]


async def test_beside_a_session_the_checks_are_made_with_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-another-0123456789")
    with model_server() as server:
        settings = Settings(
            workspace_base=tmp_path,
            base_url=server.url,
            api_key=KEY,
            model="m1",
            allow=("A_*", "B(c,d)"),
            mcp_servers=(
                SourcedValue(
                    {"gone": {"command": "/no/such"}}, "file", "mcp_servers", tmp_path / "config.toml"
                ),
            ),
            # A file of settings may say anything for a key, and only the screen minds.
            keys=(KeyChoice("quit", date(2026, 11, 22), "keys in config.toml"),),
        )
        found = list[DoctorCheck]()
        await run_checks_in_child(settings, found.append)
        checks = {check.name: check for check in found}
        ((headers, body),) = server.messages
    assert (headers["x-api-key"], body["model"]) == (KEY, "m1")
    assert sorted(checks) == sorted([*NAMES, "server gone"])
    assert checks["model"].status == "ok"
    assert "/no/such" in checks["server gone"].found
    assert checks["workspace"].found.startswith(str(tmp_path))


async def test_who_leaves_early_ends_the_checks(tmp_path: Path) -> None:
    found = list[DoctorCheck]()
    settings = Settings(workspace_base=tmp_path, cli_path=_slow(tmp_path))
    checks = asyncio.create_task(run_checks_in_child(settings, found.append))
    await until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
    await end_tasks(checks)
    assert checks.cancelled()
    assert "agent" not in {check.name for check in found}
    pid = int((tmp_path / "pid").read_text())
    # One whose parent is gone is at times never waited for, and counts as ended.
    await until(lambda: pid not in [each for each, _, _ in processes()])


def _slow(folder: Path) -> Path:
    path = folder / "claude"
    path.write_text(f"#!/bin/sh\necho $$ > {folder}/pid; exec sleep 600\n")
    path.chmod(0o700)
    return path
