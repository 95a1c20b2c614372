"""Opening files in the programs of the desktop: by whom, with what, and where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.files_host import hosted, screen_text, sit_at_a_desktop
from tests.tui.fixture_types import Patch
from tests.waiting import PATIENCE, until
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.terminal import desktop
from ua_tui.tui.terminal.desktop import NoDesktop, opener, start, why_no_desktop

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def programs_may_start_slowly(monkeypatch: Patch) -> None:
    """Wait for the end of a program, however long a busy machine takes for it."""
    monkeypatch.setattr(desktop, "_FAILS_WITHIN", PATIENCE)


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("environment", "platform", "reached"), TABLES["desktops"])
def test_a_desktop_is_where_somebody_sits(environment: dict[str, str], platform: str, reached: bool) -> None:
    assert (why_no_desktop(environment, platform) is None) is reached


def test_without_a_desktop_the_path_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with pytest.raises(NoDesktop, match=r"remote shell without a display.*a\.png"):
        opener(path, {"SSH_CONNECTION": "a 1 b 2"}, "linux")
    with pytest.raises(NoDesktop, match=r"xdg-open was not found.*a\.png"):
        opener(path, {"DISPLAY": ":0", "PATH": str(tmp_path)}, "linux")


def test_a_program_in_the_current_folder_is_not_taken(tmp_path: Path, monkeypatch: Patch) -> None:
    program(tmp_path / "bin", "xdg-open", "exit 0")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoDesktop, match="was not found"):
        opener(tmp_path / "a.png", {"DISPLAY": ":0", "PATH": "bin"}, "linux")


def test_the_opener_gets_the_path_and_no_keys(tmp_path: Path) -> None:
    reported = tmp_path / "told"
    program(
        tmp_path / "bin", "xdg-open", f'printf "%s|" "$#" "$1" "$DISPLAY" "$ANTHROPIC_API_KEY" > {reported}'
    )
    path = tmp_path / "a $(touch x); b.png"
    environment = {"DISPLAY": ":7", "PATH": str(tmp_path / "bin"), "ANTHROPIC_API_KEY": "secret"}
    start(path, environment, "linux")
    assert reported.read_text() == f"1|{path}|:7||"
    program(tmp_path / "bin", "xdg-open", "exit 3")
    with pytest.raises(NoDesktop, match=r"failed with code 3"):
        start(path, environment, "linux")


async def test_o_opens_a_picture_in_the_desktops_program(tmp_path: Path, monkeypatch: Patch) -> None:
    reported = tmp_path / "told"
    program(tmp_path / "bin", "xdg-open", f'printf "%s" "$1" > {reported}')
    sit_at_a_desktop(monkeypatch, tmp_path / "bin")
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4\n")
    async with hosted(screen=ViewerScreen(path)) as (app, pilot):
        await until(lambda: "a.pdf" in screen_text(app))
        await pilot.press("o")
        await until(lambda: app.shown_text)
        assert app.shown_text == ["Opening a.pdf in another program."]
        assert reported.read_text() == str(path)
        assert app.urls == []


async def test_over_ssh_o_says_that_there_is_no_display(tmp_path: Path, monkeypatch: Patch) -> None:
    sit_at_a_desktop(monkeypatch)
    monkeypatch.setenv("SSH_CONNECTION", "a 1 b 2")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, text in (("a.png", "x"), ("a.html", "<p>x")):
        path = tmp_path / name
        path.write_text(text)
        async with hosted(screen=ViewerScreen(path)) as (app, pilot):
            await until(lambda name=name: name in screen_text(app))  # type: ignore[misc]
            await pilot.press("o")
            await until(lambda app=app: app.shown_text)  # type: ignore[misc]
            assert "remote shell without a display" in app.shown_text[0]
            assert str(tmp_path) in app.shown_text[0]
            assert app.urls == []
