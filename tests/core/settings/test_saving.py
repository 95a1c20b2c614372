from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from tests.permissions import permissions_obeyed
from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.saving import changed, store_settings, stored_names

CASES = cases_of(__file__)

OVERRIDABLE = """\
# mine
theme = "ua-light"   # easier on the eyes

allow = [
    "COMPOSIO_*",  # "api_key = 1"
    "x",
]
api_key = "old"  # of work # really
note = 1
"""


def file_of(folder: Path) -> Path:
    return folder / "config.toml"


def test_a_new_file_is_for_its_owner_alone_and_so_is_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "ua-tui"
    assert store_settings(file_of(folder), {"api_key": "k1", "base_url": None}) == file_of(folder)
    assert tomllib.loads(file_of(folder).read_text()) == {"api_key": "k1"}
    assert stat.S_IMODE(file_of(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert os.listdir(folder) == ["config.toml"]


def test_what_else_stands_in_the_file_stays_as_it_is(tmp_path: Path) -> None:
    file_of(tmp_path).write_text(OVERRIDABLE)
    file_of(tmp_path).chmod(0o644)
    store_settings(
        file_of(tmp_path), {"api_key": 'new"\\ü', "base_url": "http://127.0.0.1:1", "auth_token": None}
    )
    text = file_of(tmp_path).read_text()
    assert text == OVERRIDABLE.replace('"old"', r'"new\"\\ü"') + 'base_url = "http://127.0.0.1:1"\n'
    assert stat.S_IMODE(file_of(tmp_path).stat().st_mode) == 0o600


@pytest.mark.parametrize(("before", "after"), CASES["a_setting_is_taken_out_whole_and_nothing_else"])
def test_a_setting_is_taken_out_whole_and_nothing_else(before: str, after: str) -> None:
    assert changed(before, {"model": None}, Path("f")).rstrip("\n") == after.rstrip("\n")


@pytest.mark.parametrize(
    "before", ["b = 2", "b = 2\r\n", "b = 2\r\nmodel = 'x'\r\n", "b = 2\r\nmodel = 'x'", "\ufeff"]
)
def test_a_setting_is_put_in_with_the_line_ends_of_the_file(before: str) -> None:
    after = changed(before.removeprefix("\ufeff"), {"model": "y"}, Path("f"))
    assert tomllib.loads(after)["model"] == "y"
    if "\r\n" in before:
        assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize(
    ("before", "after"), CASES["a_new_setting_comes_before_the_tables_and_their_comments"]
)
def test_a_new_setting_comes_before_the_tables_and_their_comments(before: str, after: str) -> None:
    assert changed(before, {"model": "y"}, Path("f")) == after.replace("'y'", '"y"')


def test_a_setting_in_a_table_is_set_and_taken_out(tmp_path: Path) -> None:
    before = "a = 1\n[composio]  # mine\nmode = 'mcp' # for now\nother = 2\n"
    after = changed(before, {"composio.mode": "native", "b": True, "max": 2.5, "l": ["x", "y"]}, Path("f"))
    assert after == (
        'a = 1\nb = true\nmax = 2.5\nl = ["x", "y"]\n'
        '[composio]  # mine\nmode = "native" # for now\nother = 2\n'
    )
    assert changed(before, {"composio.mode": None, "not.there": None}, Path("f")) == (
        "a = 1\n[composio]  # mine\nother = 2\n"
    )
    assert changed("a = 1\n", {"composio.mode": "mcp"}, Path("f")) == 'a = 1\n\n[composio]\nmode = "mcp"\n'


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_is_stored_as_it_is(value: str) -> None:
    assert tomllib.loads(changed(OVERRIDABLE, {"model": value}, Path("f")))["model"] == value


def test_the_same_again_or_nothing_writes_nothing(tmp_path: Path) -> None:
    store_settings(file_of(tmp_path), {"api_key": "k"})
    before = file_of(tmp_path).stat()
    store_settings(file_of(tmp_path), {"api_key": "k", "model": None})
    assert file_of(tmp_path).stat().st_ino == before.st_ino
    store_settings(file_of(tmp_path / "new"), {"api_key": None})
    assert not (tmp_path / "new").exists()


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.mkdir()
    (real / "ua.toml").write_text("theme = 'x'\n")
    (tmp_path / "conf").mkdir()
    file_of(tmp_path / "conf").symlink_to(real / "ua.toml")
    assert store_settings(file_of(tmp_path / "conf"), {"api_key": "k"}) == real / "ua.toml"
    assert file_of(tmp_path / "conf").is_symlink()
    assert tomllib.loads((real / "ua.toml").read_text()) == {"theme": "x", "api_key": "k"}


@pytest.mark.parametrize("text", [b"api_key = ", b"\xff\xfe", b"a" * ((1 << 20) + 1)])
def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path: Path, text: bytes) -> None:
    file_of(tmp_path).write_bytes(text)
    with pytest.raises(SettingsError, match=r"config\.toml"):
        store_settings(file_of(tmp_path), {"api_key": "k"})
    assert file_of(tmp_path).read_bytes() == text
    assert stored_names(file_of(tmp_path)) == frozenset()


def test_a_folder_in_the_place_of_the_file_is_reported(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir()
    with pytest.raises(SettingsError, match="is a folder"):
        store_settings(file_of(tmp_path), {"api_key": "k"})


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_of(tmp_path).write_text(OVERRIDABLE)

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SettingsError, match="No space left") as failed:
        store_settings(file_of(tmp_path), {"api_key": "secret-of-mine"})
    monkeypatch.undo()
    assert str(file_of(tmp_path)) in str(failed.value)
    assert "secret-of-mine" not in str(failed.value)
    assert file_of(tmp_path).read_text() == OVERRIDABLE
    assert os.listdir(tmp_path) == ["config.toml"]


def test_a_folder_that_may_not_be_written_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir()
    file_of(folder).write_text(OVERRIDABLE)
    folder.chmod(0o500)
    with permissions_obeyed(), pytest.raises(SettingsError, match="Permission denied") as failed:
        store_settings(file_of(folder), {"api_key": "k"})
    folder.chmod(0o700)
    assert str(file_of(folder)) in str(failed.value)
    assert file_of(folder).read_text() == OVERRIDABLE
