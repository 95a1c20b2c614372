from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ua_tui.core.agent.environment import PrivateFolder, cli_environment, make_private
from ua_tui.core.agent.options import own_environment, tool_search
from ua_tui.core.settings.model import Settings


def test_the_agent_sees_nothing_it_was_not_given_and_of_a_cloud_only_when_it_is_switched_on() -> None:
    ours = {"PATH": "/bin", "COMPOSIO_API_KEY": "ak_secret", "LOGFIRE_TOKEN": "t", "ANTHROPIC_API_KEY": "old"}
    aws = {"AWS_SECRET_ACCESS_KEY": "x"}
    merged = ours | aws | cli_environment(ours | aws, {"ANTHROPIC_API_KEY": "sk-given"})
    blank = dict.fromkeys((*aws, "COMPOSIO_API_KEY", "LOGFIRE_TOKEN"), "")
    given = blank | {"PATH": "/bin", "ANTHROPIC_API_KEY": "sk-given"}
    assert {name: merged[name] for name in given} == given
    assert "AWS_SECRET_ACCESS_KEY" not in cli_environment(aws, {}, "bedrock")


def test_servers_are_written_where_only_this_user_can_read_them(tmp_path: Path) -> None:
    folder = PrivateFolder()
    try:
        servers = {"composio": {"type": "http", "url": "http://127.0.0.1/", "headers": {"x-api-key": "k"}}}
        path = folder.write("mcp.json", {"mcpServers": servers})
        assert json.loads(path.read_text()) == {"mcpServers": servers}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    finally:
        folder.remove()
    assert not folder.path.exists()
    # So is the folder of the agent's conversations.
    home = tmp_path / "state" / "agent"
    home.mkdir(parents=True, mode=0o755)
    make_private(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_folders_of_processes_that_were_killed_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"ua-tui-{ended.pid}-abc"
    mine = tmp_path / f"ua-tui-{os.getpid()}-abc"
    other = tmp_path / "ua-tui-report"
    for folder in (left, mine, other):
        folder.mkdir()
        (folder / "mcp.json").write_text("{}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = PrivateFolder()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([mine.name, other.name, made.path.name])
    made.remove()


def test_a_login_kept_elsewhere_is_looked_for_there(tmp_path: Path) -> None:
    elsewhere, private = Settings(claude_config_dir=tmp_path / "claude"), tmp_path / "private"
    assert own_environment(elsewhere, None, private)["CLAUDE_CONFIG_DIR"] == str(tmp_path / "claude")
    own = own_environment(elsewhere, tmp_path / "own", private)
    assert own["CLAUDE_CONFIG_DIR"] == str(tmp_path / "own")
    assert own["XDG_CACHE_HOME"].startswith(str(private))
    # Where it looks by itself, it is not told: with a folder of its own it reads other files.
    usual = Settings(claude_config_dir=Path.home() / ".claude")
    assert "CLAUDE_CONFIG_DIR" not in own_environment(usual, None, private)


def test_tools_are_searched_from_a_share_of_the_context_window_on() -> None:
    for settings, environ, mode in (
        (Settings(), {}, "auto:1"),
        (Settings(context_window=200_000), {}, "auto:5"),
        (Settings(context_window=32_000), {}, "auto:10"),
        (Settings(), {"ENABLE_TOOL_SEARCH": "false"}, "false"),
    ):  # fmt: skip
        assert tool_search(settings, environ) == mode
