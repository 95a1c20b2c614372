from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from tests.paths import PROJECT
from tests.tui.files_host import hosted, screen_text
from tests.tui.pane_host import handle_events
from tests.tui.tree_host import cursor, laid_session, model_of, on_screen, pane_of, rows
from tests.waiting import PATIENCE, until
from ua_tui.core.events.types import QueryFinished, QueryReceived
from ua_tui.tui.panes.workspace.folder_tree import FOLDER_CAP
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.panes.workspace.scan import Request, list_folders


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return laid_session(tmp_path)


async def test_articles_are_listed_by_their_titles_and_numbers_by_their_value(session: Path) -> None:
    articles = session / "extracted_articles"
    for number, title in ((1, "Zinc"), (2, "Report \\u201c10\\u201d"), (3, "")):
        text = f'{{"type":"article",\n"title":"{title}",\n"content":"..."}}'
        (articles / f"site_example_{number}_df6c390{number}_032151_fogl7pjwl3wd.json").write_text(text)
    (session / "search_results" / "crawl_site_a_a01771b69633.md").write_text('---\ntitle: "A page"\n---\n')
    searched = '{\n"type":"news",\n"tool":"NEWS",\n"query":"chips of the week",\n"results":[{"title":"One"}]}'
    (session / "search_results" / "search_news_102104_73e4it5tq5bpb.json").write_text(searched)
    for number in (2, 10, 1):
        (session / "work_products" / f"report{number}.html").write_text("x")
    pane = pane_of(session)
    async with hosted(pane, size=(60, 30)) as (app, pilot):
        await until(lambda: "  report10.html" in rows(pane))
        pane.reveal(articles / "x")
        await until(lambda: "Zinc" in screen_text(app))
        listed = [row.entry.title for row in pane.tree_view.model.rows.items if row.entry and row.depth]
        assert listed[:3] == ["Report “10”", "", "Zinc"]
        assert [row for row in rows(pane) if "report" in row] == [
            "  report1.html",
            "  report2.html",
            "  report10.html",
        ]
        assert "A page" in screen_text(app)
        assert "chips of the week" in screen_text(app)
        assert "crawl_site" not in screen_text(app)
        await pilot.press("slash", *"zin", "enter")
        await until(lambda: "Zinc" in screen_text(app) and "A page" not in screen_text(app))


async def test_a_root_that_comes_later_and_one_that_comes_back_are_watched(tmp_path: Path) -> None:
    root = tmp_path / "root"
    pane = WorkspacePane()
    async with hosted(pane):
        pane.set_root(root)
        root.mkdir()
        (root / "a.txt").write_text("a")
        await until(lambda: rows(pane) == ["a.txt"])
        (root / "b.txt").write_text("b")
        await until(lambda: rows(pane) == ["a.txt", "b.txt"])
        for path in list(root.iterdir()):
            path.unlink()
        root.rmdir()
        await until(lambda: rows(pane) == [])
        root.mkdir()
        (root / "b.txt").write_text("b")
        await until(lambda: rows(pane) == ["b.txt"])


async def test_cursor_folds_and_scroll_stay_while_files_come_and_go(session: Path) -> None:
    for number in range(40):
        (session / "search_results" / f"b{number:02}.json").write_text("{}")
    (session / "extracted_articles" / "x.md").write_text("x")
    pane = pane_of(session)
    async with hosted(pane, size=(40, 14)) as (_, pilot):
        await until(lambda: "  b39.json" in rows(pane))
        pane.focus()
        pane.reveal(session / "search_results" / "b30.json")
        await until(lambda: cursor(pane) == "b30.json")
        await pilot.pause()
        before = on_screen(pane)

        for number in range(25):
            (session / "search_results" / f"a{number:02}.json").write_text("{}")
        (session / "extracted_articles" / "y.md").write_text("y")
        (session / "search_results" / "b05.json").unlink()
        await until(lambda: "  a24.json" in rows(pane) and "  b05.json" not in rows(pane))
        await until(lambda: session / "extracted_articles" / "y.md" in pane.new_files)
        await pilot.pause()
        assert cursor(pane) == "b30.json"
        assert on_screen(pane) == before
        assert "  y.md" not in rows(pane), "a folder nobody opened stays closed"


async def test_many_folders_made_at_once_are_all_found(tmp_path: Path) -> None:
    pane = pane_of(tmp_path)
    async with hosted(pane) as (_, _pilot):
        handle_events(pane, [QueryReceived(query_id="q", text="go")])
        await until(lambda: model_of(pane).folders[str(tmp_path)].listing is not None)
        for outer in range(5):
            for inner in range(5):
                folder = tmp_path / f"o{outer}" / f"i{inner}"
                folder.mkdir(parents=True)
                (folder / "leaf.txt").write_text("x")
        pane.reveal(tmp_path / "o4" / "i4" / "leaf.txt")
        await until(lambda: cursor(pane) == "leaf.txt")
        for number in range(5):
            pane.reveal(tmp_path / f"o{number}" / "i0" / "leaf.txt")
            await until(lambda: model_of(pane).wanted is None)
        handle_events(pane, [QueryFinished(query_id="q", status="success")])


@pytest.mark.slow
async def test_a_folder_of_thousands_is_capped_and_says_so(tmp_path: Path) -> None:
    for number in range(FOLDER_CAP + 3):
        (tmp_path / f"f{number:05}").touch()
    pane = pane_of(tmp_path)
    async with hosted(pane) as (app, pilot):
        await until(lambda: len(rows(pane)) == FOLDER_CAP + 1)
        assert rows(pane)[-1] == "… 3 more"
        pane.focus()
        await pilot.press("end", "enter")
        assert "… 3 more" in screen_text(app)
        assert not pane.new_files


async def test_names_of_two_lines_or_that_are_no_text_are_shown_harmlessly(tmp_path: Path) -> None:
    (tmp_path / "a\nb").write_text("x")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    pane = pane_of(tmp_path)
    async with hosted(pane, size=(60, 16)) as (app, pilot):
        await until(lambda: len(rows(pane)) == 2)
        await pilot.pause()
        assert "a b" in screen_text(app)
        assert "\xff" not in screen_text(app)
        for line in range(2):
            await pilot.click(pane, offset=(4, 1 + line))
        assert len(app.highlighted) == 2


async def test_when_the_system_allows_no_watch_the_folder_is_polled_and_says_so(tmp_path: Path) -> None:
    import watchfiles  # noqa: F401 - loaded while there are descriptors left

    root = tmp_path / "root"
    root.mkdir()
    pane = WorkspacePane()
    async with hosted(pane) as (app, pilot):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        taken: list[int] = []
        try:
            with suppress(OSError):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            pane.set_root(root)
            await until(lambda: pane.tree_view.polling)
        finally:
            for descriptor in taken:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await pilot.pause()
        assert "polling" in screen_text(app)
        (root / "a.txt").write_text("a")
        await until(lambda: rows(pane) == ["a.txt"])
        (root / "b.txt").write_text("b")
        await until(lambda: rows(pane) == ["a.txt", "b.txt"])


def test_leaving_never_hangs(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"d{number}").mkdir()
    code = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from textual.app import App
        from ua_tui.tui.panes.workspace.pane import WorkspacePane
        class Leaves(App):
            def compose(self):
                pane = WorkspacePane()
                pane.set_root(Path(sys.argv[1]), Path(sys.argv[1]) / "missing")
                yield pane
            async def on_mount(self):
                self.run_worker(self.leave)
            async def leave(self):
                pane = self.query_one(WorkspacePane)
                while len(pane.tree_view.model.folders[sys.argv[1]].by_name) < 50:
                    await asyncio.sleep(0.01)
                for number in range(50):
                    (Path(sys.argv[1]) / f"d{number}" / "f").write_text("x")
                pane.tree_view.rescan()
                self.exit()
        Leaves().run(headless=True)
        print("left")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout.strip() == "left", done.stderr
    assert done.returncode == 0


def test_nothing_heavy_is_imported_before_a_folder_is_watched_or_a_file_acted_on() -> None:
    code = (
        "import sys, ua_tui.tui.panes.workspace.pane; heavy = {'ua_tui.tui.terminal.programs', 'ua_tui.core.toolkit', "
        "'ua_tui.tui.screens.session.confirm', 'ua_tui.tui.viewers.safe_html'}; first = heavy & {*sys.modules}; "
        "import ua_tui.tui.panes.workspace.preview; print(first | ({'watchfiles', 'nh3'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_a_listing_orders_folders_first_and_ignores_case(tmp_path: Path) -> None:
    for name in ("b", "A", "c"):
        (tmp_path / name).write_text(name)
    (tmp_path / "Z").mkdir()
    listing = list_folders([Request(str(tmp_path), 3)])[0]
    assert [entry.name for entry in listing.entries] == ["Z", "A", "b"]
    assert listing.more == 1


def test_a_folder_that_is_none_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    gone, file = list_folders([Request(str(tmp_path / name), 10) for name in ("gone", "file")])
    assert gone.missing
    assert file.error


async def test_the_preview_follows_the_cursor_and_shows_only_where_it_rests(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number:02}.md").write_text(f"# Number {number}\n")
    preview = PreviewPane()
    async with hosted(preview, size=(60, 20)) as (app, pilot):
        await until(lambda: "The file under the cursor" in screen_text(app))
        for number in range(30):
            preview.show_path(tmp_path / f"f{number:02}.md")
        await until(lambda: preview.document is not None)
        await until(lambda: "Number 29" in screen_text(app))
        assert str(preview.border_title) == "f29.md"
        article = tmp_path / "extracted_articles" / "a_example_1f2e3d4c.json"
        article.parent.mkdir()
        article.write_text('{"title": "Halden ships"}')
        preview.show_path(article)
        await until(lambda: str(preview.border_title) == "Halden ships")
        preview.show_path(tmp_path)
        await until(lambda: str(preview.border_subtitle) == "folder")
        os.mkfifo(tmp_path / "pipe")
        preview.show_path(tmp_path / "pipe")
        await until(lambda: "This is a pipe" in screen_text(app))
        await pilot.pause()


async def test_what_a_hidden_preview_was_given_is_there_when_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# First")
    (tmp_path / "b.md").write_text("# Second")
    preview = PreviewPane()
    async with hosted(preview, size=(60, 20)) as (app, pilot):
        preview.show_path(tmp_path / "a.md")
        await until(lambda: "First" in screen_text(app))
        preview.display = False
        await pilot.pause()
        preview.show_path(tmp_path / "b.md")
        await until(lambda: preview.document is not None and preview.document.path.name == "b.md")
        preview.display = True
        await until(lambda: "Second" in screen_text(app))
