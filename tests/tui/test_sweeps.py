"""What a look at folders costs in which nothing changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tui.panes.folder_scan import list_folder, list_folders
from tui.panes.folder_tree import FolderTree


def test_a_folder_that_is_only_older_is_not_taken_up_again(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.json").write_text("{}")
    tree = FolderTree(str(tmp_path))
    fresh = list_folder(str(tmp_path), 100)
    assert fresh.stamp == 0
    taken = tree.take(fresh)
    assert taken is not None
    assert len(taken[0]) == 20
    by_name = tree.folders[str(tmp_path)].by_name
    long_ago = time.time() - 60
    os.utime(tmp_path, (long_ago, long_ago))
    older = list_folder(str(tmp_path), 100)
    assert older.stamp
    assert tree.take(older) is None
    assert tree.folders[str(tmp_path)].by_name is by_name
    # It is known now by which time a later change can be told.
    tree.doubted.add(str(tmp_path))
    assert tree.request(str(tmp_path)).unless == older.stamp


def test_an_unchanged_folder_is_not_read_and_a_changed_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("{}")
    long_ago = time.time() - 60
    os.utime(tmp_path, (long_ago, long_ago))
    tree = FolderTree(str(tmp_path))
    tree.take(list_folder(str(tmp_path), 100))
    tree.doubted.add(str(tmp_path))
    read: list[str] = []
    scan = os.scandir

    def noting(path: str) -> object:
        read.append(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", noting)
    assert list_folders([tree.request(str(tmp_path))]) == []
    assert read == []
    (tmp_path / "b.json").write_text("{}")
    (listing,) = list_folders([tree.request(str(tmp_path))])
    taken = tree.take(listing)
    assert taken is not None
    assert [entry.name for entry in taken[0]] == ["b.json"]
