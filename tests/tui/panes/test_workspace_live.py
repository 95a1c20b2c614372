from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec
import pytest

from tests.tui.files_host import hosted, screen_text
from tests.tui.pane_host import handle_events
from tests.tui.tree_host import cursor, laid_session, on_screen, pane_of, rows
from tests.waiting import until
from ua_tui.core.events.types import QueryFinished, QueryReceived, SessionStarted
from ua_tui.tui.panes.workspace import tree as workspace_tree
from ua_tui.tui.panes.workspace import watch as folder_watch
from ua_tui.tui.panes.workspace.folder_tree import FolderTree
from ua_tui.tui.panes.workspace.scan import FileEntry, Listing, Order, list_folders
from ua_tui.tui.panes.workspace.watch import FolderWatch, Unseen


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return laid_session(tmp_path)


async def test_thousands_of_files_at_once_are_picked_up_in_few_rounds(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first.json", *(f"z{number:02}.json" for number in range(30))):
        (session / "search_results" / name).write_text("{}")
    pane = pane_of(session)
    async with hosted(pane, size=(50, 20)) as (app, pilot):
        await until(lambda: "  first.json" in rows(pane))
        pane.focus()
        pane.reveal(session / "search_results" / "first.json")
        await until(lambda: cursor(pane) == "first.json")
        await pilot.pause()
        line = on_screen(pane)
        builds: list[int] = []
        build = FolderTree.build

        def counted(tree: FolderTree) -> None:
            builds.append(1)
            build(tree)

        monkeypatch.setattr(FolderTree, "build", counted)
        for number in range(5_000):
            (session / "search_results" / f"a{number:04}.json").touch()
        await until(lambda: len(pane.new_files) == 5_000)
        assert len(builds) < 100, "a burst is not taken up file by file"
        assert len(rows(pane)) == 5_033
        assert (cursor(pane), on_screen(pane)) == ("first.json", line)
        await until(lambda: "5,000 new" in screen_text(app))


async def test_a_sweep_finds_what_the_kernel_did_not_report(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(self: FolderWatch):  # type: ignore[no-untyped-def]  # a watch that never hears anything
        await self._stop.wait()
        return
        yield

    monkeypatch.setattr(FolderWatch, "hints", deaf)
    monkeypatch.setattr(workspace_tree, "SWEEP_SECONDS", 0.05)
    pane = pane_of(session)
    async with hosted(pane, size=(50, 20)):
        await until(lambda: "run.log" in rows(pane))
        (session / "at_rest.txt").write_text("x")
        await until(lambda: "at_rest.txt" in rows(pane))
        handle_events(pane, [QueryReceived(query_id="q", text="go")])
        (session / "at_work.txt").write_text("x")
        await until(lambda: "at_work.txt" in rows(pane))
        assert pane.new_files == {session / "at_rest.txt", session / "at_work.txt"}


async def test_what_is_written_before_the_watch_has_begun_is_seen_without_a_sweep(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_watch = threading.Event()
    bring_in = folder_watch._import_watchfiles

    def slowly() -> object:
        may_watch.wait()
        return bring_in()

    monkeypatch.setattr(folder_watch, "_import_watchfiles", slowly)
    monkeypatch.setattr(workspace_tree, "SWEEP_SECONDS", 3_600.0)
    found = session / "search_results" / "found.json"
    found.touch()
    pane = pane_of(session)
    async with hosted(pane, size=(50, 20)) as (app, _):
        pane.reveal(found)
        await until(lambda: cursor(pane) == "found.json" and "0B" in screen_text(app))
        found.write_text("x" * 7)
        may_watch.set()
        await until(lambda: "7B" in screen_text(app))


async def test_a_place_that_is_polled_says_so_only_while_it_is_in_sight(session: Path) -> None:
    (session.parent / "session_20261101_050000").mkdir()
    pane = pane_of(session)
    async with hosted(pane, size=(60, 20)) as (app, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.tree_view._on_polling("Raise the limit.")
        await pilot.pause()
        assert "polling" in screen_text(app)
        pane.focus()
        await pilot.press("t")
        await until(lambda: rows(pane) == ["session_20261101_050000"])
        assert "polling" not in screen_text(app)


async def test_a_new_session_shows_its_records_once_a_query_has_finished(session: Path) -> None:
    pane = pane_of(session)
    started = SessionStarted(session_id="s", workspace=str(session), cwd="/", version="0")
    everything = ["extracted_articles", "search_results", "work_products", "run.log"]
    async with hosted(pane, size=(60, 20)) as (app, pilot):
        pane.focus()
        handle_events(pane, [started])
        await until(lambda: rows(pane) == [] and "appears here" in screen_text(app))
        await pilot.press("full_stop")
        await until(lambda: rows(pane) == everything)
        await pilot.press("full_stop")
        await until(lambda: rows(pane) == [])
        (session / "search_results" / "found.json").write_text("{}")
        await until(lambda: rows(pane) == ["search_results", "  found.json"])
        handle_events(pane, [QueryFinished(query_id="q", status="success", duration_ms=1)])
        await until(lambda: rows(pane) == ["search_results", "  found.json", "run.log"])
        # A session that continues an earlier one has had its first query, and a past one is shown as it is.
        handle_events(pane, [msgspec.structs.replace(started, resumed_from="s")])
        assert "run.log" in rows(pane)
        assert {"file.edit", "file.delete"} <= dict(pane.key_hints).keys()
        pane.set_root(session, read_only=True)
        assert {"file.edit", "file.delete"}.isdisjoint(dict(pane.key_hints))
        handle_events(pane, [started])
        await until(lambda: "run.log" in rows(pane))


@pytest.mark.parametrize("size", [(20, 5), (8, 4), (1, 1), (200, 60)])
async def test_any_size_of_terminal_shows_something(session: Path, size: tuple[int, int]) -> None:
    deep = session / "work_products" / "a" / "b" / "c" / "d" / "e" / "f"
    deep.mkdir(parents=True)
    (deep / "表計算.md").write_text("x")
    pane = pane_of(session)
    async with hosted(pane, size=size) as (_, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.focus()
        pane.reveal(deep / "表計算.md")
        await until(lambda: cursor(pane) == "表計算.md")
        await pilot.press("s", "slash", "x", "escape", "t", "T", "home", "end")
        await pilot.resize_terminal(3, 3)
        await pilot.resize_terminal(*size)
        await pilot.pause()


def entries(*names: str) -> tuple[FileEntry, ...]:
    return tuple(FileEntry(name.rstrip("/"), name.endswith("/")) for name in names)


def shown(tree: FolderTree) -> list[str]:
    tree.build()
    return ["  " * row.depth + os.path.basename(row.path) for row in tree.rows.items]


def test_the_cursor_goes_to_the_nearest_row_that_stays() -> None:
    tree = FolderTree("/s")
    tree.update(Listing("/s", entries("d/", "x", "y")))
    tree.set_open(tree.folders["/s/d"], open_=True)
    tree.update(Listing("/s/d", entries("a", "b", "c")))
    shown(tree)
    tree.cursor = "/s/d/b"
    for left, cursor_at in (
        (("a", "c"), "/s/d/c"),
        (("a",), "/s/d/a"),
        ((), "/s/d"),
    ):
        tree.update(Listing("/s/d", entries(*left)))
        tree.build()
        assert tree.cursor == cursor_at
    tree.cursor = "/s/d"
    tree.update(Listing("/s", entries("x", "y")))
    tree.build()
    assert tree.cursor == "/s/x"
    tree.update(Listing("/s", ()))
    tree.build()
    assert tree.cursor is None
    assert "/s/d" not in tree.folders


def test_in_another_order_what_is_listed_is_listed_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("22")
    tree = FolderTree(str(tmp_path))

    def listed() -> list[str]:
        for listing in list_folders([tree.request(path) for path in tree.dirty]):
            tree.update(listing)
        tree.dirty.clear()
        return shown(tree)

    assert listed() == ["a", "b"]
    tree.doubted = set(tree.folders)
    tree.resort(Order.SIZE)
    assert listed() == ["b", "a"]


def test_what_a_folder_does_not_list_is_reported_on_a_row_that_no_file_can_be() -> None:
    tree = FolderTree("/s")
    tree.update(Listing("/s", entries("a"), more=12_345))
    tree.build()
    assert [(row.note, row.key) for row in tree.rows.items] == [("", "/s/a"), ("… 12,345 more", "/s/")]
    tree.update(Listing("/s", error="Permission denied"))
    tree.build()
    assert [row.note for row in tree.rows.items] == ["cannot be read: Permission denied"]


def test_unseen_files_are_counted_for_the_folders_above_them() -> None:
    unseen = Unseen()
    for folder, name in (("/s/a", "x"), ("/s/a/b", "y"), ("/s", "z"), ("/s", "z")):
        unseen.add(folder, (name,))
    assert [unseen.beneath(folder) for folder in ("/s", "/s/a", "/s/a/b", "/t")] == [3, 2, 1, 0]
    unseen.keep("/s/a", lambda name, as_folder: (name, as_folder) == ("b", True))
    assert set(unseen) == {"/s/a/b/y", "/s/z"}
    assert not unseen.discard("/s/a/x")
    assert unseen.discard("/s/z")
    assert [unseen.beneath(folder) for folder in ("/s", "/s/a", "/s/a/b")] == [1, 1, 1]
