from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest

from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli import main

SECRET = "canary-0123456789"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "own" / "ua-tui" / "config.toml"


def test_all_settings_stand_in_a_table_with_where_they_come_from(own: Path, capsys: Output) -> None:
    assert main(["config", "set", "max-turns", "7"]) == 0
    assert str(own) in capsys.readouterr().out
    assert main(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "FROM"]
    (row,) = (line for line in lines if line.startswith("max_turns "))
    assert row.split() == ["max_turns", "7", f"{own},", "line", "1"]
    (row,) = (line for line in lines if line.startswith("log_level "))
    assert row.split() == ["log_level", "INFO", "default"]


def test_one_setting_is_shown_with_what_it_takes(capsys: Output) -> None:
    assert main(["config", "log_level", "--json"]) == 0
    (reported,) = json.loads(capsys.readouterr().out)
    assert (reported["name"], reported["value"], reported["origins"]) == ("log_level", "INFO", [])
    assert main(["config", "log_level", "theme"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert "accepts one of DEBUG, INFO, WARNING, ERROR" in first
    assert second.startswith("theme = (not set: dark)\n")
    assert main(["config", "base_url"]) == 0
    assert "accepts an address such as https://host" in capsys.readouterr().out
    assert main(["config", "api_key"]) == 0
    assert capsys.readouterr().out.startswith("api_key = (none)\n")
    for words in (["get"], ["list"], []):
        assert main(["config", *words, "theme"]) == 0
        assert capsys.readouterr().out.startswith("theme = ")
        assert main(["config", *words]) == 0
        assert capsys.readouterr().out.startswith("SETTING ")


def test_the_list_for_programs_has_the_types_of_json(own: Path, capsys: Output) -> None:
    own.parent.mkdir(parents=True)
    own.write_text(
        "max_turns = 7\nmax_cost_usd = 1.5\nplugins = false\nallow = ['a', 'b']\ntheme = ''\n"
        f"api_key = '{SECRET}'\nkeys.quit = 1979-05-27\n[mcp_servers.mine]\ncommand = 'x'\n"
    )
    assert main(["config", "--json"]) == 0
    reported = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    values = {name: each["value"] for name, each in reported.items()}
    expected = {"max_turns": 7, "max_cost_usd": 1.5, "plugins": False, "allow": ["a", "b"], "theme": None}
    assert {name: values[name] for name in expected} == expected
    assert {name: reported[name]["origins"][0]["value"] for name in expected} == expected
    assert (values["demo"], values["model"], values["skills"]) == (False, None, [])
    assert (values["api_key"], values["mcp_servers"]) == ("set, not shown", ["mine"])
    assert values["keys"] == {"quit": "1979-05-27"}


def test_of_servers_in_two_files_none_is_overruled(own: Path, tmp_path: Path, capsys: Output) -> None:
    own.parent.mkdir(parents=True)
    own.write_text("[mcp_servers.mine]\ncommand = 'x'\n")
    (tmp_path / "ua-tui.toml").write_text("[mcp_servers.theirs]\ncommand = 'y'\n")
    assert main(["config", "mcp_servers"]) == 0
    reported = capsys.readouterr().out
    assert reported.startswith("mcp_servers = mine, theirs\n")
    assert f"from {own}: mine" in reported
    assert f"and from {tmp_path / 'ua-tui.toml'}: theirs" in reported
    assert "overruled" not in reported
    assert "one line of text" not in reported


def test_an_empty_value_and_one_not_set_are_reported(own: Path, tmp_path: Path, capsys: Output) -> None:
    assert main(["config", "unset", "theme"]) == 0
    assert capsys.readouterr().out == f"theme is not set in {own}\n"
    assert main(["config", "set", "composio_disabled_toolkits", ""]) == 0
    reported = capsys.readouterr().out
    assert reported == f"composio_disabled_toolkits has its default, exa, firecrawl: it is not set in {own}\n"
    assert main(["config", "set", "theme", "", "--project"]) == 0
    assert f"its default, dark: it is stored empty in {tmp_path / 'ua-tui.toml'}" in capsys.readouterr().out
    assert main(["config", "unset", "theme", "--project"]) == 0
    assert "was removed from" in capsys.readouterr().out
    assert not (tmp_path / "ua-tui.toml").exists()
    # What a project has in a file of its own wins.
    assert main(["config", "set", "theme", "nord", "--project"]) == 0
    assert (tmp_path / "ua-tui.toml").read_text() == 'theme = "nord"\n'
    assert main(["config", "set", "theme", "dracula"]) == 0
    assert "ua-tui.toml overrides it" in capsys.readouterr().err


def test_a_secret_is_read_unseen_and_never_shown(own: Path, capsys: Output, monkeypatch: Patch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
    assert main(["config", "set", "api_key", "-"]) == 0
    assert SECRET in own.read_text()
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert main(["config"]) == main(["config", "api_key"]) == main(["config", "--json"]) == 0
    reported = capsys.readouterr()
    assert "set, not shown" in reported.out
    assert SECRET not in reported.out + reported.err
    assert main(["config", "unset", "api_key"]) == 0
    assert not own.exists()


@pytest.mark.parametrize(("words", "reported"), [
    (["set", "max_turns", "x"], "a whole number"),
    (["set", "max_turn", "1"], "did you mean max_turns?"),
    (["set", "max_turns"], "set takes a name and a value"),
    (["unset"], "unset takes one name"),
    (["theme", "--project"], "--project can only be used with set and unset"),
    (["unset", "theme", "--json"], "--json cannot be used with"),
    (["nothing"], "no setting 'nothing'"),
])  # fmt: skip
def test_wrong_words_are_reported(words: list[str], reported: str, own: Path, capsys: Output) -> None:
    assert main(["config", *words]) == 2
    assert reported in capsys.readouterr().err
    assert not own.exists()
