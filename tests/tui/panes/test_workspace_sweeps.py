"""What it takes to list folders again and again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ua_tui.tui.panes.workspace import folder_tree
from ua_tui.tui.panes.workspace import scan as folder_scan
from ua_tui.tui.panes.workspace.folder_tree import FolderTree
from ua_tui.tui.panes.workspace.scan import file_time_ns, list_folder, list_folders


def listed_again(tree: FolderTree) -> list[str] | None:
    """The names that a further listing brings; None if the folder was not listed."""
    listings = list_folders([tree.request(tree.base)])
    return [entry.name for entry in listings[0].entries] if listings else None


def test_an_equal_listing_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    tree = FolderTree(str(tmp_path))
    assert tree.update(list_folder(str(tmp_path), 100)) is not None
    by_name = tree.folders[str(tmp_path)].by_name
    assert tree.update(list_folder(str(tmp_path), 100)) is None
    assert tree.folders[str(tmp_path)].by_name is by_name


def test_a_large_folder_is_listed_again_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_tree, "_LARGE", 1)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    tree = FolderTree(str(tmp_path))
    tree.update(list_folder(str(tmp_path), 100))
    # A change in the same tick of the clock would not be noticed, so a recent time says nothing.
    assert listed_again(tree) == ["a.json", "b.json"]
    monkeypatch.setattr(folder_scan, "_SETTLED_NS", -1)
    tree.update(list_folder(str(tmp_path), 100))
    assert listed_again(tree) is None
    tree.forget_times()
    assert listed_again(tree) == ["a.json", "b.json"]
    tree.update(list_folder(str(tmp_path), 100))
    (tmp_path / "c.json").write_text("{}")
    os.utime(tmp_path)
    assert listed_again(tree) == ["a.json", "b.json", "c.json"]


def test_no_file_is_older_than_what_it_came_after(tmp_path: Path) -> None:
    since = {}
    for number in range(200):
        path = tmp_path / f"{number}.json"
        since[path] = file_time_ns()
        path.write_text("{}")
        # The clock of files is the kernel's, which stands still for some milliseconds: only real time moves it.
        time.sleep(0.0013)
    assert [path.name for path, asked in since.items() if path.stat().st_ctime_ns < asked] == []
