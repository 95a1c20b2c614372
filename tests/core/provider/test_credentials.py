from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.cases import cases_of
from ua_tui.core.provider.credentials import Credential, credentials_of
from ua_tui.core.provider.probe import model_server
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places

CASES = cases_of(__file__)

SECRET = "canary-0123456789"


def found(tmp_path: Path, environ: dict[str, str], **files: str) -> dict[str, str]:
    folder, own = tmp_path / "here", tmp_path / "own"
    for path, text in (
        (folder / ".env", files.get("dotenv")),
        (folder / "ua-tui.toml", files.get("project")),
        (own / "config.toml", files.get("user")),
    ):
        path.parent.mkdir(exist_ok=True)
        if text is not None:
            path.write_text(text)
    places = Places(environ=environ, cwd=folder, home=tmp_path, config_dir=own, trust="trusted")
    reported = credentials_of(load_settings(None, places), places)
    assert SECRET not in repr(reported)
    return {each.name: each.place for each in reported if each.place}


@pytest.mark.parametrize(("environ", "files", "place"), CASES["a_key_is_located"])
def test_a_key_is_located(tmp_path: Path, environ: dict[str, str], files: dict[str, str], place: str) -> None:
    wanted = place.format(here=tmp_path / "here")
    assert found(tmp_path, environ, **files) == {"ANTHROPIC_API_KEY": wanted}


def test_an_empty_value_means_that_it_is_missing(tmp_path: Path) -> None:
    assert found(tmp_path, {"ANTHROPIC_API_KEY": ""}, user=f'api_key = "{SECRET}"') == {}


def test_a_login_is_reported_with_its_folder_when_it_can_be_used(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    login = tmp_path / ".claude" / ".credentials.json"
    login.write_text("{}")
    assert found(tmp_path, {}) == {}
    login.write_text(f'{{"claudeAiOauth": {{"refreshToken": "{SECRET}"}}}}')
    assert found(tmp_path, {}) == {"Claude login": str(tmp_path / ".claude")}


def test_what_the_program_was_given_and_files_that_broke_meanwhile(tmp_path: Path) -> None:
    settings = Settings(composio_api_key=SECRET, logfire_token=SECRET, claude_config_dir=tmp_path)
    (tmp_path / "ua-tui.toml").write_text("]")
    (tmp_path / "config.toml").write_text("]")
    reported = credentials_of(settings, Places(environ={}, cwd=tmp_path, config_dir=tmp_path))
    assert [each for each in reported if each.place] == [
        Credential("COMPOSIO_API_KEY", "given by the program"),
        Credential("LOGFIRE_TOKEN", "given by the program"),
    ]


def test_the_address_of_a_model_is_shown_without_its_password() -> None:
    assert model_server(Settings(base_url=f"https://user:{SECRET}@a.example/v1")) == "https://a.example/v1"
    assert model_server(Settings()) == "https://api.anthropic.com"
