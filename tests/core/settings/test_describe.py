from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.core.cases import cases_of
from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.describe import SettingOrigin, list_settings, setting_of, store_setting
from ua_tui.core.settings.model import ENVIRONMENT, SPECS
from ua_tui.core.settings.places import Places

CASES = cases_of(__file__)

SECRET = "canary-0123456789"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("here", "home", "own"):
        (tmp_path / name).mkdir()
    return Places(
        environ={},
        cwd=tmp_path / "here",
        home=tmp_path / "home",
        config_dir=tmp_path / "own",
        state=tmp_path / "state",
        trust="trusted",
    )


def test_every_setting_is_listed_with_what_it_is_for(places: Places) -> None:
    listed = list_settings(places)
    assert [each.name for each in listed] == list(SPECS)
    for each in listed:
        assert each.about.endswith(".")
        assert "None" not in each.about
        assert each.takes
        assert not each.origins
        assert each.value or each.without


def test_a_value_is_reported_with_every_place_that_gives_it(places: Places) -> None:
    places.user_file.write_text("# mine\nmax_turns = 3\n[composio]\nuser_id = 'me'\n")
    places.project_file.write_text("max_turns = 2")
    (places.cwd / ".env").write_text(f"A=1\nANTHROPIC_API_KEY={SECRET}\n")
    listed = {each.name: each for each in list_settings(replace(places, environ={"UA_MAX_TURNS": "5"}))}
    assert listed["max_turns"].value == "5"
    assert listed["max_turns"].origins == (
        SettingOrigin("environment, UA_MAX_TURNS", None, "5", 5),
        SettingOrigin(str(places.project_file), 1, "2", 2),
        SettingOrigin(str(places.user_file), 2, "3", 3),
    )
    assert listed["composio_user_id"].origins == (SettingOrigin(str(places.user_file), 4, "me", "me"),)
    assert listed["api_key"].origins == (
        SettingOrigin(f"{places.cwd}/.env, ANTHROPIC_API_KEY", 2, "set, not shown", "set, not shown"),
    )
    assert SECRET not in repr(listed)


def test_a_setting_is_found_however_it_is_written() -> None:
    words = ("max_turns", "--max-turns", "composio.user_id", "ANTHROPIC_API_KEY", "UA_THEME")
    names = ["max_turns", "max_turns", "composio_user_id", "api_key", "theme"]
    assert [setting_of(word) for word in words] == names
    with pytest.raises(SettingsError, match=r"'max-turn'; did you mean max_turns\?"):
        setting_of("max-turn")


@pytest.mark.parametrize(("name", "text", "stored"), CASES["a_value_is_stored_as_its_type"])
def test_a_value_is_stored_as_its_type(places: Places, name: str, text: str, stored: object) -> None:
    places.user_file.write_text("# mine\n")
    assert not store_setting(name, None, places).changed
    done = store_setting(name, text, places)
    assert (done.path, done.warning) == (places.user_file, "")
    assert places.user_file.read_text().startswith("# mine\n")
    assert tomllib.loads(places.user_file.read_text()) == {name: stored}
    assert next(each for each in list_settings(places) if each.name == name).origins
    assert store_setting(name, None, places).changed
    assert places.user_file.read_text() == "# mine\n"


def test_a_setting_that_stands_in_a_table_is_changed_there(places: Places) -> None:
    places.user_file.write_text("[composio]\nuser_id = 'me' # at work\n")
    store_setting("composio_user_id", "you", places)
    assert places.user_file.read_text() == '[composio]\nuser_id = "you" # at work\n'
    assert store_setting("composio_user_id", None, places).changed


@pytest.mark.parametrize(
    ("name", "text", "in_project", "reported"),
    [
        ("max_turns", "none", False, "'none'.*a whole number of at least 1"),
        ("allow", "*", True, "may not be set by the files of a folder"),
        ("api_key", SECRET, True, r"is a secret.*\.env"),
        ("keys", "x", False, r"keys is a table.*config\.toml.*editor"),
    ],
)
def test_a_forbidden_value(places: Places, name: str, text: str, in_project: bool, reported: str) -> None:
    places.user_file.write_text("max_turns = 1\n")
    with pytest.raises(SettingsError, match=reported) as refused:
        store_setting(name, text, places, in_project=in_project)
    assert SECRET not in str(refused.value)
    assert places.user_file.read_text() == "max_turns = 1\n"
    assert not places.project_file.exists()


def test_what_keeps_a_stored_value_from_holding_is_reported(places: Places) -> None:
    named = replace(places, environ={"UA_THEME": "nord"})
    assert "UA_THEME overrides it" in store_setting("theme", "dracula", named).warning
    places.user_file.write_text(f'api_key = "{SECRET}"')
    reported = store_setting("base_url", "https://other.example", places, in_project=True).warning
    assert "next start from this folder will fail" in reported
    assert SECRET not in reported


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_value_is_the_default_for_every_setting(places: Places, text: str) -> None:
    default = {each.name: (each.value, each.data) for each in list_settings(places)}
    for name in ENVIRONMENT:
        # What the user's own file says of it is gone.
        places.user_file.write_text(f"# mine\n{name} = ''\n")
        done = store_setting(name, text, places)
        assert (done.path, done.warning, done.empty, done.changed) == (places.user_file, "", False, True)
        assert done.default
        assert places.user_file.read_text() == "# mine\n"
        # A variable and a file say the same by an empty value.
        places.user_file.write_text(f"{name} = {text!r}\n")
        for given in (places, replace(places, environ={ENVIRONMENT[name][0]: text})):
            listed = {each.name: each for each in list_settings(given)}
            assert {each.name: (each.value, each.data) for each in listed.values()} == default
            assert (listed[name].origins[0].value, listed[name].origins[0].data) == ("", None)


def test_an_empty_value_of_a_folder_hides_what_the_users_own_file_says(places: Places) -> None:
    default = {each.name: each.value for each in list_settings(places)}
    for name in [name for name in ENVIRONMENT if not SPECS[name].user_only and not SPECS[name].secret]:
        done = store_setting(name, "", places, in_project=True)
        assert (done.path, done.warning, done.empty) == (places.project_file, "", True)
        assert tomllib.loads(places.project_file.read_text()) == {name: ""}
        assert {each.name: each.value for each in list_settings(places)} == default
        places.project_file.unlink()


def test_no_toolkit_is_another_thing_than_the_default_ones(places: Places) -> None:
    def shown() -> tuple[str, object]:
        listed = {each.name: each for each in list_settings(places)}["composio_disabled_toolkits"]
        return listed.value, listed.data

    store_setting("composio_disabled_toolkits", "none", places)
    assert shown() == ("none", [])
    assert store_setting("composio_disabled_toolkits", "", places).default == "exa, firecrawl"
    assert shown() == ("exa, firecrawl", ["exa", "firecrawl"])


def test_servers_and_keys_of_all_files_count(places: Places) -> None:
    places.user_file.write_text(
        "[mcp_servers.mine]\ncommand = 'a'\n[mcp_servers.both]\ncommand = 'b'\n[keys]\nquit = 'f8'\nx = 1\n"
    )
    places.project_file.write_text(
        "keys.quit = 'f9'\n[mcp_servers.both]\ncommand = 'c'\n[mcp_servers.theirs]\ncommand = 'd'\n"
    )
    listed = {each.name: each for each in list_settings(places)}
    servers, keys = listed["mcp_servers"], listed["keys"]
    assert servers.gathered
    assert keys.gathered
    assert sorted(servers.data) == ["both", "mine", "theirs"]
    assert [(each.place, each.value) for each in servers.origins] == [
        (str(places.user_file), "mine, both"),
        (str(places.project_file), "both, theirs"),
    ]
    assert keys.data == {"quit": "f9", "x": 1}
    assert [each.data for each in keys.origins] == [{"quit": "f9"}, {"quit": "f8", "x": 1}]
    assert "config.toml" in servers.about
    assert "None" not in servers.takes + keys.takes
    assert "table" in servers.takes
    assert "table" in keys.takes


@pytest.mark.parametrize("name", ["base_url", "web_reader_url", "composio_base_url"])
def test_the_password_of_an_address_is_shown_nowhere(places: Places, name: str) -> None:
    places.user_file.write_text(f"{name} = 'http://eve:{SECRET}@a.example:1/x'\n")
    listed = next(each for each in list_settings(places) if each.name == name)
    assert listed.value == listed.data == "http://eve:[redacted]@a.example:1/x"
    assert SECRET not in repr(listed)
    with pytest.raises(SettingsError, match=r"eve:\[redacted\]@") as refused:
        store_setting(name, f"ftp://eve:{SECRET}@a.example/", places)
    assert SECRET not in str(refused.value)
