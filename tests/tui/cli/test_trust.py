from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.fixture_types import Output, Patch
from ua_tui.api import open_session
from ua_tui.core.errors import CredentialsError, SettingsError
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.cli import main

KEY = "sk-ant-canary-0123456789"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text(f"ANTHROPIC_API_KEY={KEY}\nANTHROPIC_BASE_URL=https://x.example\n")
    monkeypatch.chdir(project)
    return project


def trust(out: Output, *args: str) -> tuple[int, str, str]:
    code = main(["trust", *args])
    return code, *out.readouterr()


def test_a_folder_is_shown_trusted_listed_and_forgotten(capsys: Output, folder: Path) -> None:
    code, shown, _ = trust(capsys)
    assert code == 0
    for text in (
        f"{folder}: not trusted yet",
        "Where your data goes:",
        "the model's server: https://x.example  [.env:2]",
        "ua-tui trust partly",
    ):
        assert text in shown
    assert trust(capsys, "list")[1] == "no folder is trusted\n"
    assert trust(capsys, "yes")[1].endswith(f"{folder}: trusted\n")
    assert load_settings().api_key == KEY
    row = trust(capsys, "list")[1].splitlines()[1]
    assert row.split()[:2] == [str(folder), "trusted"]
    assert trust(capsys, "partly")[0] == 0
    assert load_settings().api_key is None
    (listed,) = json.loads(trust(capsys, "list", "--json")[1])
    assert (listed["folder"], listed["answer"]) == (str(folder), "partly")
    assert "the next session there asks" in trust(capsys, "revoke")[1]
    assert "was stored" in trust(capsys, "revoke")[1]
    written = trust(capsys, "show", "--json")[1]
    assert json.loads(written)["state"] == "undecided"
    assert KEY not in written + shown


def test_another_folder_can_be_answered_about(capsys: Output, folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(folder.parent)
    assert f"no file in {folder.parent} needs to be trusted" in trust(capsys, "yes")[2]
    assert trust(capsys, "ignore", "project")[1].endswith(f"{folder}: ignored\n")
    monkeypatch.chdir(folder)
    assert load_settings().folder.state == "ignored"


def test_what_cannot_be_trusted_is_refused_with_the_reason(capsys: Output, folder: Path) -> None:
    (folder / "ua-tui.toml").write_text('allow = ["*"]\n')
    code, _, problem = trust(capsys, "yes")
    assert code == 1
    assert "allow in line 1 of" in problem
    assert trust(capsys, "yes", "--json")[0] == 2


@pytest.mark.parametrize("action", ["show", "yes"])
def test_a_folder_that_does_not_exist_is_named(capsys: Output, folder: Path, action: str) -> None:
    code, _, message = trust(capsys, action, "gone")
    assert code == 2
    assert f"there is no folder {folder / 'gone'}" in message
    assert trust(capsys, "revoke", "gone")[0] == 0


def test_config_says_what_is_held_back_and_why(capsys: Output, folder: Path) -> None:
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert f"base_url in {folder}/.env, ANTHROPIC_BASE_URL, line 2: this folder is not trusted" in shown
    assert main(["config", "base_url"]) == 0
    shown = capsys.readouterr().out
    assert f"held back: {folder}/.env, ANTHROPIC_BASE_URL, line 2: https://x.example (this folder" in shown
    assert "the default" in shown
    assert KEY not in shown


async def test_a_program_trusts_a_folder_only_if_it_says_so(folder: Path) -> None:
    with pytest.raises(CredentialsError):
        async with open_session():
            pass
    (folder / "ua-tui.toml").write_text("max_turns = 0\n")
    with pytest.raises(SettingsError, match="max_turns in line 1"):
        async with open_session(trust_folder=True):
            pass
