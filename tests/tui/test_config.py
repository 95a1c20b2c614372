from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest

from tui.cli import main

SECRET = "canary-0123456789"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "own" / "ua-tui" / "config.toml"


def test_all_settings_stand_in_a_table_with_where_they_come_from(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "max-turns", "7"]) == 0
    assert str(own) in capsys.readouterr().out
    assert main(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "FROM"]
    (row,) = (line for line in lines if line.startswith("max_turns "))
    assert row.split() == ["max_turns", "7", f"{own},", "line", "1"]
    (row,) = (line for line in lines if line.startswith("log_level "))
    assert row.split() == ["log_level", "INFO", "default"]


def test_one_setting_is_shown_with_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "log_level", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["name"], told["value"], told["origins"]) == ("log_level", "INFO", [])
    assert main(["config", "log_level", "theme"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert "takes one of DEBUG, INFO, WARNING, ERROR" in first
    assert second.startswith("theme = (nothing)")


def test_a_secret_is_read_unseen_and_never_shown(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
    assert main(["config", "set", "api_key", "-"]) == 0
    assert SECRET in own.read_text()
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert main(["config"]) == main(["config", "api_key"]) == main(["config", "--json"]) == 0
    told = capsys.readouterr()
    assert "set, not shown" in told.out
    assert SECRET not in told.out + told.err
    assert main(["config", "unset", "api_key"]) == 0
    assert own.read_text() == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["set", "max_turns", "x"], "a whole number"),
        (["set", "max_turn", "1"], "did you mean max_turns?"),
        (["set", "max_turns"], "set takes a name and a value"),
        (["unset"], "unset takes one name"),
        (["theme", "--project"], "--project goes with set and unset"),
        (["unset", "theme", "--json"], "--json goes without"),
        (["nothing"], "no setting 'nothing'"),
    ],
)
def test_wrong_words_are_told(
    words: list[str], told: str, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", *words]) == 2
    assert told in capsys.readouterr().err
    assert not own.exists()


def test_a_project_has_a_file_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "theme", "nord", "--project"]) == 0
    assert (tmp_path / "ua-tui.toml").read_text() == 'theme = "nord"\n'
    assert main(["config", "set", "theme", "dracula"]) == 0
    assert "ua-tui.toml wins" in capsys.readouterr().err
