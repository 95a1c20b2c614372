from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.core.cases import cases_of
from ua_tui.api import open_session
from ua_tui.core.agent.permissions.rule_set import rules_of
from ua_tui.core.errors import SettingsError
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.folder import PROJECT_FILE
from ua_tui.core.settings.layers import from_overrides
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import ENVIRONMENT, Settings, secrets
from ua_tui.core.settings.places import USER_FILE, Places
from ua_tui.tui.cli.arguments import COMMANDS

CASES = cases_of(__file__)


class Folders:
    def __init__(self, base: Path) -> None:
        self.cwd, self.home, self.config_dir = base / "cwd", base / "home", base / "config"
        for folder in (self.cwd, self.home, self.config_dir):
            folder.mkdir()

    def load(self, overrides: dict[str, Any] | None = None, /, **environ: str) -> Settings:
        where = {"cwd": self.cwd, "home": self.home, "config_dir": self.config_dir}
        return load_settings(overrides, Places(environ=environ, trust="trusted", **where))

    def refuse(self, message: str, overrides: dict[str, Any] | None = None, /, **environ: str) -> str:
        """Load what is refused with a message that matches; returns the whole message."""
        with pytest.raises(SettingsError, match=message) as caught:
            self.load(overrides, **environ)
        return str(caught.value)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_defaults_ask_for_everything_and_stay_in_the_current_folder(folders: Folders) -> None:
    settings = folders.load()
    assert settings.effective_permission_mode == "default"
    assert (settings.allow, settings.extra_tools) == ((), ())
    assert settings.workspace_base == folders.cwd
    assert settings.claude_config_dir == folders.home / ".claude"
    assert settings.classifier == "rules+model"
    assert not settings.has_credentials()


@pytest.mark.parametrize("name", ["SAVED_REPORTS", "AGENT_RUN_WORKSPACES"])
def test_a_link_of_the_folder_leads_nowhere_unless_the_user_names_the_folder(
    folders: Folders, name: str
) -> None:
    (folders.cwd / name).symlink_to(folders.home)
    (folders.cwd / PROJECT_FILE).write_text(f'workspace_base = "{folders.cwd}"')
    message = folders.refuse(f"{name} in .* is a link")
    assert f"--workspace {folders.cwd}" in message
    # The advice works; so do a variable and the user's own file.
    assert folders.load({"workspace_base": folders.cwd}).workspace_base == folders.cwd
    assert folders.load(UA_WORKSPACE_BASE=str(folders.cwd)).workspace_base == folders.cwd
    (folders.cwd / PROJECT_FILE).unlink()
    (folders.config_dir / USER_FILE).write_text(f'workspace_base = "{folders.cwd}"')
    assert folders.load().workspace_base == folders.cwd


def test_each_source_beats_the_ones_after_it(folders: Folders) -> None:
    (folders.config_dir / USER_FILE).write_text('model = "user"')
    assert folders.load().model == "user"
    (folders.cwd / PROJECT_FILE).write_text('model = "project"')
    assert folders.load().model == "project"
    (folders.cwd / ".env").write_text("ANTHROPIC_MODEL=dotenv\n")
    assert folders.load().model == "dotenv"
    assert folders.load(ANTHROPIC_MODEL="standard").model == "standard"
    both = {"ANTHROPIC_MODEL": "standard", "UA_MODEL": "own"}
    assert folders.load(**both).model == "own"
    assert folders.load({"model": "option"}, **both).model == "option"
    assert folders.load({"model": None}, **both).model == "own"


def test_rules_say_where_they_come_from(folders: Folders) -> None:
    (folders.config_dir / USER_FILE).write_text('ask = ["Read"]\ndeny = ["Grep"]\nallow = ["Glob"]')
    settings = folders.load({"allow": ("Read",)}, UA_ASK="Bash", UA_DENY="Grep, Write")
    # Rules that ask or deny add up; a rule in two places comes from the first.
    assert [(rule.effect, rule.text, rule.origin) for rule in rules_of(settings)] == [
        ("allow", "Read", "option"),
        ("ask", "Bash", "environment"),
        ("ask", "Read", "config.toml"),
        ("deny", "Grep", "environment"),
        ("deny", "Write", "environment"),
    ]
    assert folders.load(UA_DENY="").deny == ("Grep",)


def test_messages_name_the_options_that_there_are() -> None:
    arguments = COMMANDS[None].arguments.items()
    options = {how["setting"]: names.split()[0] for names, how in arguments if "setting" in how}
    named = from_overrides(dict.fromkeys(options, "x"))
    assert {name: given.name for name, given in named.items()} == options | {"plugins": "--plugins"}


def test_standard_names_are_understood(folders: Folders) -> None:
    settings = folders.load(
        ANTHROPIC_API_KEY="sk-1", ANTHROPIC_AUTH_TOKEN="tok", ANTHROPIC_BASE_URL="http://127.0.0.1:8080/",
        COMPOSIO_API_KEY="ak_1", LOGFIRE_TOKEN="lf",
    )  # fmt: skip
    assert (settings.api_key, settings.auth_token, settings.composio_api_key) == ("sk-1", "tok", "ak_1")
    assert (settings.base_url, settings.logfire_token) == ("http://127.0.0.1:8080", "lf")
    (folders.config_dir / USER_FILE).write_text("[composio]\nuser_id = 'me'\napi_key = 'ak_1'\n")
    settings = folders.load()
    assert (settings.composio_user_id, settings.composio_api_key) == ("me", "ak_1")


def test_an_empty_variable_hides_later_sources_and_lines_of_others_do_no_harm(folders: Folders) -> None:
    (folders.cwd / ".env").write_text("COMPOSIO_API_KEY=ak_from_file\nUA_MAX_TURNS=4")
    assert folders.load().composio_api_key == "ak_from_file"
    settings = folders.load(COMPOSIO_API_KEY="", UA_MAX_TURNS="")
    assert (settings.composio_api_key, settings.max_turns) == (None, None)
    (folders.cwd / ".env").write_text("what is this?\nOTHER=${HOME}\nexport ANTHROPIC_API_KEY='a$b'\n")
    assert folders.load(HOME="/x").api_key == "a$b"


def test_values_become_their_types(folders: Folders) -> None:
    (folders.config_dir / USER_FILE).write_text(
        'allow = ["Bash(git *)"]\nmax_cost_usd = 2\nclassifier = false\ndemo_pace = 0\nlog_level = "debug"'
    )
    settings = folders.load(
        UA_EXTRA_TOOLS="bash, WebFetch,Bash", UA_MAX_TURNS=" 12 ", UA_DEMO="yes", UA_WORKSPACE_BASE="~/runs",
        UA_CLI_PATH="bin/claude",
    )  # fmt: skip
    assert (settings.allow, settings.extra_tools) == (("Bash(git *)",), ("Bash", "WebFetch"))
    assert (settings.max_cost_usd, settings.max_turns, settings.demo_pace) == (2.0, 12, 0.0)
    assert (settings.demo, settings.classifier, settings.log_level) == (True, "off", "DEBUG")
    assert settings.workspace_base == folders.home / "runs"
    assert settings.cli_path == folders.cwd / "bin/claude"
    allowed = folders.load(UA_ALLOW="Bash(ls a,b), mcp__composio__*,").allow
    assert allowed == ("Bash(ls a,b)", "mcp__composio__*")


def test_the_knowledge_base_is_on_off_a_path_or_the_database_of_a_team(folders: Folders) -> None:
    assert [folders.load(UA_KNOWLEDGE=each).knowledge for each in ("on", "No")] == ["on", "off"]
    places = {"~/k.db": "home/k.db", "notes/k": "cwd/notes/k", "k.db": "cwd/k.db"}
    for written, meant in places.items():
        assert folders.load(UA_KNOWLEDGE=written).knowledge == folders.cwd.parent / meant
    url = "postgresql://me@db.example:5433/team?sslmode=verify-full"
    found = folders.load({"knowledge": f" {url} "}).knowledge
    assert isinstance(found, Address)
    assert found.url == url
    for word in ("of", "onn", "disabled"):
        folders.refuse("on, off, the path of a file", {"knowledge": word})


@pytest.mark.parametrize("address", CASES["the_address_of_a_database_has_no_password_and_shows_none"])
def test_the_address_of_a_database_has_no_password_and_shows_none(folders: Folders, address: str) -> None:
    refused = [
        folders.refuse(r"UA_TEAM.* without a password", UA_TEAM=address),
        folders.refuse(r"--team .*without a password", {"team": address}),
        folders.refuse("without a password", {"knowledge": address}),
    ]
    assert "hunter2" not in str(refused)
    for other in ("http://host/hunter2-secret", "host=x password=hunter2-secret"):
        assert "hunter2" not in folders.refuse(r"UA_TEAM.* without a password", UA_TEAM=other)


def test_a_wrong_value_is_named_with_its_place_and_what_is_allowed(folders: Folders) -> None:
    for name, value, allowed in CASES["a_wrong_value_is_named_with_its_place_and_what_is_allowed"]:
        variable = ENVIRONMENT[name][0]
        message = folders.refuse(variable, **{variable: value})
        assert [part for part in (variable, repr(value), allowed) if part not in message] == []
        folders.refuse(f"^--.*{allowed.partition(',')[0]}", {name: value})


def test_a_wrong_value_in_a_file_names_the_file_even_when_it_is_overridden(folders: Folders) -> None:
    (folders.config_dir / USER_FILE).write_text("max_turns = true")
    folders.refuse(r"max_turns in .*config\.toml is True", {"max_turns": 3})


@pytest.mark.parametrize(("file", "content", "reported"), CASES["a_wrong_line_is_reported_by_number"])
def test_a_wrong_line_is_reported_by_number(folders: Folders, file: str, content: str, reported: str) -> None:
    (folders.cwd / file).write_text(content)
    folders.refuse(reported)


@pytest.mark.parametrize("written", ['["sk-ant-hidden"]', "sk-ant-hidden"])
def test_a_wrong_secret_is_not_shown(folders: Folders, written: str) -> None:
    (folders.config_dir / USER_FILE).write_text(f"api_key = {written}")
    assert "hidden" not in folders.refuse("api_key in line 1|not valid TOML: .*line 1")


def test_what_is_refused_is_called_as_it_is_typed(folders: Folders) -> None:
    folders.refuse("^--max-cost is 'abc'", {"max_cost_usd": "abc"})
    folders.refuse("^--tool is 'Bsah, Bash', but", {"extra_tools": ("Bsah", "Bash")})
    folders.refuse("^--workspace is 1", {"workspace_base": 1})
    folders.refuse(r"UA_THEEM.*UA_THEME", UA_THEEM="dark")
    folders.refuse("'colour'", {"colour": "dark"})


def test_a_theme_that_nobody_knows_is_refused_wherever_it_stands(folders: Folders) -> None:
    folders.refuse(r"--theme is 'drak'.*dark, light, ansi or .*did you mean dark\?$", {"theme": "drak"})
    folders.refuse(r"UA_THEME is 'nonsense'.*such as nord\.$", UA_THEME="nonsense")
    (folders.cwd / PROJECT_FILE).write_text('theme = "grubox"')
    folders.refuse(r"theme in line 1 of .*mean gruvbox\?$")
    (folders.cwd / PROJECT_FILE).unlink()
    assert [folders.load({"theme": each}).theme for each in ("Light", "nord")] == ["light", "nord"]


def test_files_that_are_no_files_no_text_or_too_large(folders: Folders) -> None:
    (folders.cwd / ".env").mkdir()
    assert folders.load().model is None
    for path in (folders.cwd / PROJECT_FILE, folders.config_dir / USER_FILE):
        path.mkdir()
        assert str(path) in folders.refuse("is a folder, and settings are read from a file")
        path.rmdir()
    (folders.cwd / PROJECT_FILE).write_bytes(b'model = "\xff"')
    folders.refuse("not UTF-8")
    (folders.cwd / ".env").rmdir()
    for name in (PROJECT_FILE, ".env"):
        (folders.cwd / name).write_text("# x\n" * 100_000)
        folders.refuse(f"{name} is larger than 256 KiB")
        (folders.cwd / name).unlink()


def test_of_a_slow_file_no_line_is_given(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    loads = tomllib.loads

    def counted(text: str) -> Any:
        nonlocal read
        read += len(text)
        return loads(text)

    monkeypatch.setattr(tomllib, "loads", counted)
    (folders.cwd / PROJECT_FILE).write_text("# effort = 1\n" * 15_000 + "effort = 5\n")
    folders.refuse(rf"effort in {folders.cwd}/ua-tui\.toml is 5")
    assert read < 8 << 20


@pytest.mark.parametrize(("file", "content"), CASES["a_folder_cannot_give_itself_rights"])
def test_a_folder_cannot_give_itself_rights(folders: Folders, file: str, content: str) -> None:
    (folders.cwd / file).write_text(content)
    folders.refuse("may not be set by the files of a folder")
    if file == PROJECT_FILE:
        (folders.cwd / file).rename(folders.config_dir / USER_FILE)
        folders.load()


def test_bypassing_permissions_needs_the_dangerous_word(folders: Folders) -> None:
    folders.refuse("dangerously-skip-permissions", {"permission_mode": "bypassPermissions"})
    settings = folders.load({"dangerously_skip_permissions": True})
    assert settings.effective_permission_mode == "bypassPermissions"


def test_credentials_are_a_key_a_token_a_login_a_server_of_ones_own_a_cloud_or_the_demo(
    folders: Folders,
) -> None:
    for given in (
        {"api_key": "k"}, {"auth_token": "t"}, {"demo": True}, {"vertex": True}, {"base_url": "http://127.0.0.1:1"},
    ):  # fmt: skip
        assert folders.load(given).has_credentials()
    assert folders.load(CLAUDE_CODE_USE_BEDROCK="1").cloud == "bedrock"
    assert not folders.load().has_credentials()
    (folders.home / ".claude").mkdir()
    (folders.home / ".claude" / ".credentials.json").write_text("{}")
    assert folders.load().has_credentials()


def test_secrets_come_from_settings_and_the_environment_and_are_not_in_the_repr(folders: Folders) -> None:
    settings = folders.load({"api_key": "sk-ant-hidden", "model": "opus"})
    assert "sk-ant-hidden" not in repr(settings)
    assert "model='opus'" in repr(settings)
    given = {"composio_api_key": "ak_setting", "base_url": "http://user:pa55word@host.example"}
    environ = CASES["secrets_come_from_settings_and_from_the_environment.environ"]
    found = {"ak_setting", "pa55word", "ghp_value", "s3cretpw", "headervalue", "other", "of-the-team"}
    assert secrets(folders.load(given), environ) == found


def test_a_folder_cannot_have_the_users_key_sent_elsewhere(folders: Folders) -> None:
    key = "sk-ant-of-the-user"
    (folders.cwd / ".env").write_text("ANTHROPIC_BASE_URL=https://thief.example\n")
    assert key not in folders.refuse(r"thief\.example", ANTHROPIC_API_KEY=key)
    assert folders.load().base_url == "https://thief.example"
    both = "ANTHROPIC_BASE_URL=https://own.example\nANTHROPIC_AUTH_TOKEN=token-of-the-folder\n"
    (folders.cwd / ".env").write_text(both)
    assert folders.load().base_url == "https://own.example"
    elsewhere = folders.load(ANTHROPIC_API_KEY=key, ANTHROPIC_BASE_URL="https://mine.example")
    assert elsewhere.base_url == "https://mine.example"


@pytest.mark.parametrize(("given", "message"), CASES["a_program_is_known_by_the_name_it_wrote"])
async def test_a_program_is_known_by_the_name_it_wrote(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        async with open_session(**given):
            pass
