from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.files_host import Host
from tests.tui.pictured import DARK, MEDIUM, SMALL, Compare, looks
from tests.tui.tree_host import laid_session, pane_of, rows
from tests.waiting import until
from ua_tui.tui.panes.workspace.pane import WorkspacePane

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


@asynccontextmanager
async def shown(tmp_path: Path, size: tuple[int, int], theme: str, *keys: str) -> AsyncIterator[Pilot[None]]:
    """Let files come to a session that is shown, then press keys."""
    session = laid_session(tmp_path)
    for day in (3, 11):
        laid_session(tmp_path, f"session_202611{day:02}_050000")
    pane = pane_of(session, tmp_path / "SAVED_REPORTS")
    app = Host(pane, theme=theme)
    app.previewing = False
    async with app.run_test(size=size) as pilot:
        await until(lambda: "run.log" in rows(pane))
        for name, bytes_ in FILES:
            (session / name).write_bytes(b"x" * bytes_)
        await until(lambda: len(pane.new_files) == len(FILES), reported=lambda: state_of(pane))
        # Every row has come: the keys below count them.
        await until(lambda: set(SHOWN) <= set(rows(pane)), reported=lambda: rows(pane))
        pane._line.cursor_blink = False
        pane.focus()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            # What the key has begun to read is there before the next one.
            await until(lambda: all(each.group == "watch" or each.is_finished for each in app.workers))
        yield pilot


@looks(DARK, (MEDIUM, "ua-light"))
async def test_files_that_are_new(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    async with shown(tmp_path, size, theme, "down", "down") as pilot:
        await snap_compare(pilot)
        if theme == "ua-dark":
            await pilot.resize_terminal(*SMALL)
            await screen_compare(pilot, "80x24")


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("slash", *"json"), id="filter"),
        pytest.param(("slash", *"*.json", "enter", "n"), id="matches"),
        pytest.param(("s", "s"), id="size"),
        pytest.param(("T", "right"), id="others"),
        pytest.param(("slash", *"nowhere"), id="nothing"),
    ],
)
async def test_what_keys_make_of_it(screen_compare: Compare, tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with shown(tmp_path, (60, 18), "ua-dark", *keys) as pilot:
        await screen_compare(pilot)
