from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.setting_listing import Origin, list_settings, setting_of, store_setting
from core.settings import SPECS, Places

SECRET = "canary-0123456789"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("here", "home", "own"):
        (tmp_path / name).mkdir()
    return Places(environ={}, cwd=tmp_path / "here", home=tmp_path / "home", config_dir=tmp_path / "own")


def within(places: Places, environ: dict[str, str]) -> Places:
    return Places(environ, places.cwd, places.home, places.config_dir)


def test_every_setting_is_listed_with_what_it_is_for(places: Places) -> None:
    listed = list_settings(places)
    assert [each.name for each in listed] == list(SPECS)
    for each in listed:
        assert each.about.endswith(".")
        assert each.takes
        assert not each.origins


def test_a_value_is_told_with_every_place_that_gives_it(places: Places) -> None:
    places.user_file.write_text("# mine\nmax_turns = 3\n[composio]\nuser_id = 'me'\n")
    places.project_file.write_text("max_turns = 4")
    (places.cwd / ".env").write_text(f"A=1\nANTHROPIC_API_KEY={SECRET}\n")
    listed = {each.name: each for each in list_settings(within(places, {"UA_MAX_TURNS": "5"}))}
    assert listed["max_turns"].value == "5"
    assert listed["max_turns"].origins == (
        Origin("environment, UA_MAX_TURNS", None, "5"),
        Origin(str(places.project_file), 1, "4"),
        Origin(str(places.user_file), 2, "3"),
    )
    assert listed["composio_user_id"].origins == (Origin(str(places.user_file), 4, "me"),)
    assert listed["api_key"].origins == (
        Origin(f"{places.cwd}/.env, ANTHROPIC_API_KEY", 2, "set, not shown"),
    )
    assert SECRET not in repr(listed)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("max_turns", "max_turns"),
        ("--max-turns", "max_turns"),
        ("composio.user_id", "composio_user_id"),
        ("ANTHROPIC_API_KEY", "api_key"),
        ("UA_THEME", "theme"),
    ],
)
def test_a_setting_is_found_however_it_is_written(word: str, name: str) -> None:
    assert setting_of(word) == name


def test_a_setting_that_there_is_not_is_told_with_one_that_is_meant() -> None:
    with pytest.raises(SettingsError, match=r"'max-turn'; did you mean max_turns\?"):
        setting_of("max-turn")


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("max_turns", " 5 ", 5),
        ("max_cost_usd", "2.50", 2.5),
        ("plugins", "off", False),
        ("allow", "Bash(a,b), x", ["Bash(a,b)", "x"]),
        ("workspace_base", "~/runs", "~/runs"),
        ("theme", "nord", "nord"),
    ],
)
def test_a_value_is_stored_as_its_type(places: Places, name: str, text: str, stored: object) -> None:
    places.user_file.write_text("# mine\n")
    done = store_setting(name, text, places)
    assert (done.path, done.warning) == (places.user_file, "")
    assert places.user_file.read_text().startswith("# mine\n")
    assert tomllib.loads(places.user_file.read_text()) == {name: stored}
    assert next(each for each in list_settings(places) if each.name == name).origins
    store_setting(name, None, places)
    assert places.user_file.read_text() == "# mine\n"


def test_a_setting_that_stands_in_a_table_is_changed_there(places: Places) -> None:
    places.user_file.write_text("[composio]\nuser_id = 'me' # at work\n")
    store_setting("composio_user_id", "you", places)
    assert places.user_file.read_text() == '[composio]\nuser_id = "you" # at work\n'


@pytest.mark.parametrize(
    ("name", "text", "in_project", "told"),
    [
        ("max_turns", "none", False, "'none'.*a whole number of at least 1"),
        ("allow", "*", True, "may not be set by the files of a folder"),
        ("api_key", SECRET, True, r"is a secret.*\.env"),
        ("keys", "x", False, r"keys is a table.*config\.toml.*editor"),
    ],
)
def test_what_is_not_allowed_is_told_and_changes_nothing(
    places: Places, name: str, text: str, in_project: bool, told: str
) -> None:
    places.user_file.write_text("max_turns = 1\n")
    with pytest.raises(SettingsError, match=told) as refused:
        store_setting(name, text, places, in_project=in_project)
    assert SECRET not in str(refused.value)
    assert places.user_file.read_text() == "max_turns = 1\n"
    assert not places.project_file.exists()


def test_what_keeps_a_stored_value_from_holding_is_told(places: Places) -> None:
    environ = {"UA_THEME": "nord"}
    assert "UA_THEME wins" in store_setting("theme", "dracula", within(places, environ)).warning
    places.user_file.write_text(f'api_key = "{SECRET}"')
    told = store_setting("base_url", "https://other.example", places, in_project=True).warning
    assert "next start from this folder will fail" in told
    assert SECRET not in told
