from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.files_host import Host, until
from tests.tui.pictured import every_look
from tests.tui.tree_host import laid_session, rows
from tui.panes.workspace.pane import WorkspacePane

FILES = (
    ("search_results/composio_search_news_140203_abcdefgh.json", 14_300),
    ("search_results/urls.txt", 1_900),
    ("extracted_articles/a_example_140210_abcdefgh.json", 2_900),
    ("work_products/ai-chip-news.html", 12_345),
    ("expanded_corpus.json", 21_000),
)
SHOWN = (
    "  composio_search_news_140203_abcdefgh.json",
    "  urls.txt",
    "  ai-chip-news.html",
    "expanded_corpus.json",
)
pytestmark = pytest.mark.usefixtures("still")


def state_of(pane: WorkspacePane) -> str:
    """What the pane took for new, and what it knows of each folder."""
    tree = pane.tree_view
    known = {
        path: [entry.name for entry in folder.listing.entries] if folder.listing else None
        for path, folder in (tree.model.folders if tree.model else {}).items()
    }
    return f"new {sorted(map(str, pane.new_files))}, polling {tree.polling}, {tree.workers}, {known}"


def steps(pane: WorkspacePane, session: Path, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Let files come to a session that is shown, then press keys."""

    async def before(pilot: Pilot[None]) -> None:
        await until(lambda: "run.log" in rows(pane))
        for name, size in FILES:
            (session / name).write_bytes(b"x" * size)
        await until(lambda: len(pane.new_files) == len(FILES), reported=lambda: state_of(pane))
        # Every row has come: the keys below count them.
        await until(lambda: set(SHOWN) <= set(rows(pane)), reported=lambda: rows(pane))
        pane._line.cursor_blink = False
        pane.focus()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            # What the key has begun to read is there before the next one.
            await until(lambda: all(each.group == "watch" or each.is_finished for each in pilot.app.workers))
        await pilot.pause()

    return before


def shown(tmp_path: Path, theme: str) -> tuple[Host, WorkspacePane, Path]:
    session = laid_session(tmp_path)
    for day in (3, 11):
        laid_session(tmp_path, f"session_202611{day:02}_050000")
    pane = WorkspacePane(session, tmp_path / "SAVED_REPORTS")
    app = Host(pane, theme=theme)
    app.previewing = False
    return app, pane, session


@every_look
def test_files_that_are_new(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    app, pane, session = shown(tmp_path, theme)
    assert snap_compare(app, terminal_size=size, run_before=steps(pane, session, "down", "down"))


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("filter", ("slash", *"json")),
        ("matches", ("slash", *"*.json", "enter", "n")),
        ("size", ("s", "s")),
        ("others", ("T", "right")),
        ("nothing", ("slash", *"nowhere")),
    ],
)
def test_what_keys_make_of_it(
    snap_compare: Callable[..., bool], tmp_path: Path, name: str, keys: tuple[str, ...]
) -> None:
    app, pane, session = shown(tmp_path, "ua-dark")
    assert snap_compare(app, terminal_size=(60, 18), run_before=steps(pane, session, *keys))
