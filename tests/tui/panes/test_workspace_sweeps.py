"""What a look at folders costs in which nothing changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ua_tui.tui.panes.workspace import scan as folder_scan
from ua_tui.tui.panes.workspace.folder_tree import FolderTree
from ua_tui.tui.panes.workspace.scan import Request, file_time_ns, list_folders

AGES_NS = ("_SETTLED_NS", "_WRITTEN_NS")
"""The ages from which on a folder and a file can be told from what comes later."""
HOUR_NS = 3_600 * 10**9


@pytest.fixture(autouse=True)
def new_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be too new, however long a busy machine takes for a step of a test."""
    for name in AGES_NS:
        monkeypatch.setattr(folder_scan, name, HOUR_NS)


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be old enough to be told from what comes later."""
    for name in AGES_NS:
        monkeypatch.setattr(folder_scan, name, -1)


def make_old(folder: Path) -> None:
    """Give a folder another time than that of a change that follows at once: some clocks of files are coarse."""
    long_ago = time.time_ns() - 2 * HOUR_NS
    os.utime(folder, ns=(long_ago, long_ago))


def test_a_folder_that_is_only_older_is_not_picked_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (tmp_path / f"{number}.json").write_text("{}")
    tree = FolderTree(str(tmp_path))
    fresh = list_folders([Request(str(tmp_path), 100)])[0]
    assert fresh.stamp == 0
    taken = tree.update(fresh)
    assert taken is not None
    assert len(taken[0]) == 20
    by_name = tree.folders[str(tmp_path)].by_name
    settle(monkeypatch)
    older = list_folders([Request(str(tmp_path), 100)])[0]
    assert older.stamp
    assert tree.update(older) is None
    assert tree.folders[str(tmp_path)].by_name is by_name
    # It is known now by which time a later change can be told.
    tree.doubted.add(str(tmp_path))
    assert tree.request(str(tmp_path)).unless == older.stamp


def test_an_unchanged_folder_is_not_read_and_a_changed_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("{}")
    make_old(tmp_path)
    settle(monkeypatch)
    tree = FolderTree(str(tmp_path))
    tree.update(list_folders([Request(str(tmp_path), 100)])[0])
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
    taken = tree.update(listing)
    assert taken is not None
    assert [entry.name for entry in taken[0]] == ["b.json"]


def test_a_file_that_was_still_being_written_is_looked_at_again_once_the_folder_is_older(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.json").touch()
    path = str(tmp_path)
    make_old(tmp_path)
    tree = FolderTree(path)
    tree.update(list_folders([Request(path, 100)])[0])
    (tmp_path / "a.json").write_text("{}")
    tree.doubted.add(path)
    (listing,) = list_folders([tree.request(path)])
    assert [entry.size for entry in listing.entries] == [2]
    # By the time of the folder nothing can be told before the file is settled, too.
    assert listing.stamp == 0


def test_a_folder_of_which_it_is_too_early_to_know_is_read_at_the_next_check(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    path = str(tmp_path)
    tree = FolderTree(path)
    tree.update(list_folders([Request(path, 100)])[0])
    touched = os.stat(path).st_mtime_ns
    # It came in the tick of the clock in which the folder was listed.
    (tmp_path / "b.json").write_text("{}")
    os.utime(path, ns=(touched, touched))
    tree.doubted.add(path)
    (listing,) = list_folders([tree.request(path)])
    taken = tree.update(listing)
    assert taken is not None
    assert [entry.name for entry in taken[0]] == ["b.json"]


def test_no_file_is_older_than_what_it_came_after(tmp_path: Path) -> None:
    since = {}
    for number in range(200):
        path = tmp_path / f"{number}.json"
        since[path] = file_time_ns()
        path.write_text("{}")
        # The clock of files is the kernel's, which stands still for some milliseconds: only real time moves it.
        time.sleep(0.0013)
    assert [path.name for path, asked in since.items() if path.stat().st_ctime_ns < asked] == []
