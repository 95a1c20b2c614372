from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.core.cases import cases_of
from tests.trusted import TRUSTED
from ua_tui.core.provider.credentials import claude_program, find_login, login_environment
from ua_tui.core.provider.setup import (
    ZAI_URL,
    ModelSetup,
    SetupInput,
    SetupMethod,
    find_input_error,
    normalize_address,
    normalize_key,
)
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places

CASES = cases_of(__file__)

KEY = "sk-ant-api03-canary-9f8e7d6c5b4a"


def test_a_pasted_key_and_address_are_written_as_the_api_wants_them() -> None:
    for pasted in (
        KEY, f"  {KEY}\r\n", f"\n\n{KEY}", f'"{KEY}"', f"export ANTHROPIC_API_KEY='{KEY}'\n",
        f"ANTHROPIC_AUTH_TOKEN={KEY}", f"{KEY[:10]}\n{KEY[10:]}", f"\t{KEY[:10]} {KEY[10:]} ",
    ):  # fmt: skip
        assert normalize_key(pasted) == KEY
    for typed, address in CASES["an_address_is_written_as_the_api_wants_it"]:
        assert normalize_address(typed) == address


def test_a_wrong_entry_is_reported_with_its_field() -> None:
    for way, fields, field in (
        *CASES["a_wrong_entry_is_reported_with_its_field"],
        ("anthropic", {"key": "x" * 5000}, "key"),
        ("server", {"address": "http://x", "model": "m" * 300}, "model"),
    ):
        given = SetupInput(**fields)
        wrong = find_input_error(way, given)
        assert wrong is not None
        assert wrong[0] == field
        assert given.key not in wrong[1] or not given.key


def desk(tmp_path: Path, settings: Settings | None = None, **environ: str) -> ModelSetup:
    work = tmp_path / "work"
    work.mkdir(parents=True, exist_ok=True)
    return ModelSetup(
        settings or Settings(folder=TRUSTED),
        Places(environ=environ, cwd=work, config_dir=tmp_path / "conf"),
    )


def stored(tmp_path: Path, **environ: str) -> Settings:
    work, own = tmp_path / "work", tmp_path / "conf"
    return load_settings(None, Places(environ=environ, cwd=work, home=tmp_path, config_dir=own))


def test_each_way_stores_what_the_next_start_reads_and_takes_out_the_others(tmp_path: Path) -> None:
    there = desk(tmp_path)
    there.store(there.plan("zai", SetupInput(key="z-key-123456", model="glm-9")))
    after = stored(tmp_path)
    assert (after.auth_token, after.base_url, after.model) == ("z-key-123456", ZAI_URL, "glm-9")

    there = desk(tmp_path, after)
    plan = there.plan("anthropic", SetupInput(key=KEY))
    assert there.describe_changes(plan) == "sets api_key and removes auth_token, base_url, model"
    there.store(plan)
    after = stored(tmp_path)
    assert (after.api_key, after.auth_token, after.base_url, after.model) == (KEY, None, None, None)
    assert plan.settings.api_key == KEY
    assert plan.settings.auth_token is None

    there = desk(tmp_path, after)
    there.store(there.plan("server", SetupInput(address="http://127.0.0.1:1", model="m", key="tok-123456")))
    after = stored(tmp_path)
    assert (after.api_key, after.auth_token, after.base_url) == (None, "tok-123456", "http://127.0.0.1:1")

    there = desk(tmp_path, after)
    # A cloud that was set would be used instead.
    there.settings = replace(there.settings, bedrock=True)
    login = there.plan("login", SetupInput())
    assert (login.changes["bedrock"], login.settings.cloud) == (None, None)
    there.store(login)
    assert not there.path.exists()


def test_another_key_for_the_same_server_keeps_the_model(tmp_path: Path) -> None:
    now = Settings(api_key="old-key-1234", model="claude-opus-5", simple_model="claude-haiku-4-5")
    plan = desk(tmp_path, now).plan("anthropic", SetupInput(key=KEY))
    assert plan.settings.model == "claude-opus-5"
    assert plan.settings.simple_model == "claude-haiku-4-5"
    other = desk(tmp_path, now).plan("server", SetupInput(address="http://127.0.0.1:1"))
    assert (other.settings.model, other.settings.simple_model) == (None, None)


def test_what_wins_over_the_stored_is_reported(tmp_path: Path) -> None:
    there = desk(tmp_path, ANTHROPIC_API_KEY="another-key-12", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    (tmp_path / "work" / ".env").write_text("ANTHROPIC_AUTH_TOKEN=tok\n")
    warnings = there.store(there.plan("anthropic", SetupInput(key=KEY))).warnings
    assert len(warnings) == 3
    reported = "\n".join(warnings)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", ".env"):
        assert name in reported
    assert KEY not in reported
    assert "another-key-12" not in reported
    # The same in the environment is no warning, and a plan shows no secret.
    there = desk(tmp_path / "same", ANTHROPIC_API_KEY=KEY)
    plan = there.plan("anthropic", SetupInput(key=KEY))
    assert there.store(plan).warnings == ()
    assert KEY not in repr(plan) + repr(SetupInput(key=KEY))
    assert KEY in plan.secrets


def test_a_folder_that_will_be_refused_is_reported(tmp_path: Path) -> None:
    there = desk(tmp_path)
    (tmp_path / "work" / "ua-tui.toml").write_text("base_url = 'http://127.0.0.1:9'\n")
    (warning,) = there.store(there.plan("anthropic", SetupInput(key=KEY))).warnings
    assert "next start" in warning
    assert "ua-tui.toml" in warning
    assert KEY not in warning


def test_what_is_known_already_is_offered_without_its_secrets(tmp_path: Path) -> None:
    def known(way: SetupMethod, **now: str) -> SetupInput:
        return desk(tmp_path, Settings(**now)).given(way)  # type: ignore[arg-type]  # texts

    here = "http://127.0.0.1:1"
    assert known("server", base_url=here, model="m", auth_token="t-canary-1") == SetupInput(
        address=here, model="m"
    )
    assert known("server", base_url="http://ann:hunter2hunter2@127.0.0.1:1", model="m") == SetupInput(
        model="m"
    )
    assert known("server", base_url=ZAI_URL, model="glm-9") == SetupInput()
    assert known("zai", base_url=ZAI_URL, model="glm-9") == SetupInput(model="glm-9")
    assert known("zai", base_url=here, model="m") == known("anthropic", api_key=KEY) == SetupInput()
    now = desk(tmp_path, Settings(base_url="http://ann:hunter2hunter2@127.0.0.1:1", api_key=KEY)).now
    assert now == "http://127.0.0.1:1, with a key"


def test_a_login_is_searched_for(tmp_path: Path) -> None:
    for content, usable, reported in CASES["a_login_is_searched_for"]:
        if content is not None:
            text = content if isinstance(content, str) else json.dumps({"claudeAiOauth": content})
            (tmp_path / ".credentials.json").write_text(text)
        login = find_login(Settings(claude_config_dir=tmp_path))
        assert login.usable == usable
        assert reported in login.message
        assert "canary" not in login.message
        assert "\x1b" not in login.message


def test_the_command_line_of_the_sdk_logs_in_without_keys_in_its_environment(tmp_path: Path) -> None:
    program = claude_program(Settings())
    assert program is not None
    assert program.name == "claude"
    assert program.is_file()
    assert claude_program(Settings(cli_path=tmp_path / "none")) is None
    environ = {"PATH": "/bin", "ANTHROPIC_API_KEY": "k", "UA_API_KEY": "k", "BROWSER": "b"}
    assert login_environment(Settings(claude_config_dir=tmp_path), environ) == {
        "PATH": "/bin", "BROWSER": "b", "CLAUDE_CONFIG_DIR": str(tmp_path),
    }  # fmt: skip
    assert "CLAUDE_CONFIG_DIR" not in login_environment(
        Settings(claude_config_dir=Path.home() / ".claude"), environ
    )
