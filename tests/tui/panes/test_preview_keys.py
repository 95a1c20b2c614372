"""The keys of the preview: those of its file, and those to read it with."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import sit_at_a_desktop
from tests.tui.tree_host import previewed
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.session.confirm import DeleteScreen

NOTES = "notes.txt"


async def preview_of(app: UaTuiApp, pilot: Pilot[str], path: Path) -> PreviewPane:
    """Point the workspace at a file and go to its preview."""
    preview = await previewed(app, path)
    preview.focus()
    await pilot.pause()
    return preview


def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "session_20261121_140200"
    folder.mkdir(exist_ok=True)
    path = folder / NOTES
    path.write_text("".join(f"line {number}\n" for number in range(200)))
    return path


async def test_the_preview_is_read_with_the_usual_keys(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(160, 50)) as pilot:
        preview = await preview_of(app, pilot, notes(tmp_path))
        for key, moves in (
            ("down", 1),
            ("j", 1),
            ("pagedown", 5),
            ("space", 5),
            ("up", -1),
            ("k", -1),
            ("b", -5),
        ):
            before = preview.scroll_offset.y
            await pilot.press(key)
            await pilot.wait_for_animation()
            change = preview.scroll_offset.y - before
            assert change * moves > 0, key
            assert abs(change) >= abs(moves)
        await pilot.press("end")
        await until(lambda: preview.scroll_offset.y == preview.max_scroll_y)
        await pilot.press("home")
        await until(lambda: preview.scroll_offset.y == 0)


async def test_the_preview_opens_edits_and_deletes_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = notes(tmp_path)
    reported = tmp_path / "told"
    (tmp_path / "bin").mkdir()
    opener = tmp_path / "bin" / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {reported}\n')
    opener.chmod(0o755)
    sit_at_a_desktop(monkeypatch, tmp_path / "bin")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    shown_text: list[str] = []
    app = make_app(tmp_path, make_session(tmp_path))
    monkeypatch.setattr(UaTuiApp, "notify", lambda _app, message, **_: shown_text.append(message))
    async with app.run_test(size=(160, 50)) as pilot:
        await preview_of(app, pilot, path)
        await pilot.press("o")
        await until(lambda: shown_text == [f"Opening {NOTES} in another program."])
        await until(lambda: reported.exists() and reported.read_text() == str(path))
        await pilot.press("e")
        await until(lambda: "No editor found" in shown_text[-1])
        await pilot.press("d")
        await until(lambda: isinstance(app.screen, DeleteScreen) and app.screen._quiet_until)
        app.screen._quiet_until = 0.0  # type: ignore[attr-defined]  # nobody was typing
        await pilot.press("d")
        await until(lambda: f"{NOTES} is deleted." in shown_text)
        assert not path.exists()


async def test_the_preview_leaves_alone_what_the_cursor_has_left(tmp_path: Path) -> None:
    path = notes(tmp_path)
    other = path.with_name("other.txt")
    other.write_text("other")
    shown_text: list[str] = []
    app = make_app(tmp_path, make_session(tmp_path))
    app.notify = lambda message, **_: shown_text.append(message)  # type: ignore[method-assign]
    async with app.run_test(size=(160, 50)) as pilot:
        preview = await preview_of(app, pilot, path)
        preview.path = other
        await pilot.press("d")
        await until(lambda: "other.txt is no longer selected in the workspace." in shown_text)
        assert not isinstance(app.screen, DeleteScreen)
