from __future__ import annotations

from dataclasses import replace
from glob import glob
from pathlib import Path

import pytest

from tests.tui.fixture_types import Patch
from ua_tui.core.errors import AgentUnavailable, SettingsError
from ua_tui.core.pipelines import BeforeTool
from ua_tui.core.session.runner import AgentConnection
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.places import Places
from ua_tui.core.team.actions import FolderActions
from ua_tui.core.team.records import SessionId
from ua_tui.tui import compose


async def test_every_line_becomes_a_handler(monkeypatch: Patch) -> None:
    def deny(call: BeforeTool) -> BeforeTool:
        return replace(call, denied="not here")

    monkeypatch.setattr(compose, "HANDLERS", (("tool.before_execute", deny, 10),))
    pipelines = compose.default_pipelines()
    call = BeforeTool(tool_use_id="t", name="X", input={})
    assert (await pipelines.run("tool.before_execute", call)).denied == "not here"


@pytest.mark.parametrize("team", [{}, {"team": "postgresql://127.0.0.1:1/x"}])
async def test_a_session_that_cannot_be_put_together_leaves_no_folder(
    tmp_path: Path, team: dict[str, str]
) -> None:
    settings = load_settings(
        {**team, "workspace_base": tmp_path, "allow": ("Nope((",), "api_key": "sk-ant-test-0123456789"},
        Places(environ={}, cwd=tmp_path, home=tmp_path),
    )  # fmt: skip
    with pytest.raises(SettingsError, match="cannot be used"):
        await compose.compose_session(settings, interactive=False)
    assert not glob(str(tmp_path / "*/session_*"))


async def test_only_a_session_of_nobody_else_in_which_nothing_was_asked_leaves_no_folder(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    settings = load_settings(
        {"workspace_base": tmp_path, "api_key": "sk-ant-test-0123456789"},
        Places(environ={}, cwd=tmp_path, home=tmp_path),
    )  # fmt: skip
    unused = await compose.compose_session(settings, interactive=False)
    asked = await compose.compose_session(settings, interactive=False)
    asked.submit("Why?")
    ledger = FolderActions(SessionId(id="a" * 32, attempt=1), on_superseded=lambda _: None)
    of_a_job = await compose.compose_session(settings, interactive=False, ledger=ledger)
    failed = await compose.compose_session(settings, interactive=False)

    async def connect(_: AgentConnection) -> bool:
        raise AgentUnavailable("no command line")

    monkeypatch.setattr(AgentConnection, "connect", connect)
    # A person is told that its log has more.
    await failed.start()
    sessions = (unused, asked, of_a_job, failed)
    for session in sessions:
        await session.close("test")
    assert [each.workspace.path.exists() for each in sessions] == [False, True, True, True]
