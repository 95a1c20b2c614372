"""Pastes of dropped files: the ways in which terminals write their paths."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from urllib.parse import quote as percent

import pytest

from ua_tui.tui.panes.prompt.attachments import dropped_files, may_be_dropped


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    file, folder = tmp_path / "a b's.png", tmp_path / "c.d"
    file.write_text("x")
    folder.mkdir()
    return file, folder


def test_every_way_of_writing_the_paths_is_read(files: tuple[Path, Path]) -> None:
    one, two = files
    escaped = str(one).replace(" ", "\\ ").replace("'", "\\'")
    for text in (
        f"{quote(str(one))} {two} ",
        f"{escaped} {two}",
        f"file://{percent(str(one))}\r\nfile://localhost{two}\n",
        f"{one}\n{two}",
    ):
        assert may_be_dropped(text)
        assert dropped_files(text) == [one, two]


def test_anything_else_in_a_paste_makes_it_text(files: tuple[Path, Path], tmp_path: Path) -> None:
    for text in (f"see {files[1]}", f"{files[1]} and more", "/", "/missing", "c.txt", "'/torn", "",
                 f"file://elsewhere{files[1]}", "/a\0b", "/" + "x" * 5_000, f"{files[1]} " * 21):  # fmt: skip
        assert dropped_files(text) == []
    assert not may_be_dropped("see /etc/hosts")
    assert not may_be_dropped("/x" * 5_000)
