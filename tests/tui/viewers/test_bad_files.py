"""Whatever lies in the workspace, and however small the terminal is, there is a view or a clear message."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual import events

from tests.tui.files_host import Host, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.tree_host import laid_session, pane_of, rows
from tests.waiting import until
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.files.viewer import ViewerScreen

pytestmark = pytest.mark.slow


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _loop(path: Path) -> None:
    path.symlink_to("other")
    path.with_name("other").symlink_to(path.name)


def _table(path: Path) -> None:
    path.write_text("|h" * 20 + "|\n" + "|-" * 20 + "|\n" + ("|cell" * 20 + "|\n") * 80)


ODD: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "pipe": ("a.json", os.mkfifo, "This is a pipe."),
    "socket": ("a.csv", _socket, "This is a socket"),
    "loop": ("a.txt", _loop, "This is a link."),
    "way out": ("a.md", lambda path: path.symlink_to("/proc/self/status"), "This is a link."),
    "1 GB": ("a.log", _sparse, "00000000 00 00 00"),
    "one line": ("a.txt", lambda path: path.write_text("word " * 1_000_000), "word word word"),
    "one line of JSON": ("a.json", lambda path: path.write_text('["' + "x" * 5_000_000), "xxxxxxxxxx"),
    "wide table": ("a.md", _table, "cell"),
    "controls": ("a\x1b[2J\r\n\u202egpj.txt", lambda path: path.write_text("harmless\n"), "harmless"),
    "longest name": ("x" * 251 + ".txt", lambda path: path.write_text("shown\n"), "shown"),
    "no text": ("\udcff\udcfe.txt", lambda path: path.write_text("bytes\n"), "bytes"),
    "empty": ("a.json", lambda path: path.write_text(""), "This file is empty."),
}
KEYS = ("down", "end", "m", "home", "r")
SMALL = [(20, 5), (1, 1), (3, 40), (200, 1), (80, 24)]


def odd(folder: Path, which: str, monkeypatch: Patch) -> tuple[Path, str]:
    name, make, expected = ODD[which]
    folder = folder / which.replace(" ", "_")
    folder.mkdir()
    monkeypatch.chdir(folder)
    make(folder / name)
    return folder / name, expected


def is_shown(app: Host, expected: str) -> bool:
    """Whether the screen has a text; messages are folded to the width."""
    return expected in " ".join(screen_text(app).split())


async def test_the_preview_has_a_view_or_a_message(tmp_path: Path, monkeypatch: Patch) -> None:
    preview = PreviewPane()
    async with hosted(preview) as (app, pilot):
        for which in ODD:
            path, expected = odd(tmp_path, which, monkeypatch)
            preview.show_path(path)
            await until(partial(is_shown, app, expected))
            for size in SMALL:
                await pilot.resize_terminal(*size)
                await pilot.pause()
            await until(partial(is_shown, app, expected))
            assert not any(character in screen_text(app) for character in "\x1b\u202e\r"), which


@pytest.mark.parametrize("first", range(4))
async def test_the_viewer_has_a_view_or_a_message(tmp_path: Path, monkeypatch: Patch, first: int) -> None:
    async with hosted() as (app, pilot):
        for which in list(ODD)[first::4]:
            path, expected = odd(tmp_path, which, monkeypatch)
            await app.push_screen(ViewerScreen(path, tmp_path))
            await until(partial(is_shown, app, expected))
            for size in SMALL:
                await pilot.resize_terminal(*size)
                for key in KEYS:
                    app.post_message(events.Key(key, key if len(key) == 1 else None))
                await pilot.pause()
            await until(partial(is_shown, app, expected))
            assert not any(character in screen_text(app) for character in "\x1b\u202e\r"), which
            await app.pop_screen()


async def test_what_vanishes_while_it_is_previewed_is_reported(tmp_path: Path) -> None:
    session = laid_session(tmp_path)
    folder = session / "work_products"
    report, kept = folder / "b_report.txt", folder / "a_kept.txt"
    for path in (report, kept):
        path.write_text(f"words of {path.name}\n")
    pane, preview = pane_of(session), PreviewPane()
    pane.styles.height = preview.styles.height = 15
    async with hosted(pane, preview, size=(80, 40)) as (app, pilot):
        pane.focus()
        pane.reveal(report)
        await until(lambda: report in app.highlighted)
        preview.show_path(report)
        await until(lambda: "words of b_report.txt" in screen_text(app))
        report.unlink()
        await until(lambda: app.highlighted[-1] == kept)
        preview.show_path(report)
        await until(lambda: "no longer exists" in screen_text(app))
        preview.show_path(kept)
        await until(lambda: "words of a_kept.txt" in screen_text(app))
        shutil.rmtree(folder)
        await until(lambda: not any("a_kept.txt" in row for row in rows(pane)))
        preview.show_path(folder)
        await until(lambda: "no longer exists" in screen_text(app))
        shutil.rmtree(session)
        await until(lambda: rows(pane) == [])
        await pilot.press("down", "enter", "right")
        session.mkdir()
        (session / "back.txt").write_text("again\n")
        await until(lambda: rows(pane) == ["back.txt"])
