"""A session's folder for the tests of the workspace pane, and what its tree shows."""

from __future__ import annotations

import time
from pathlib import Path

from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.workspace.folder_tree import FolderTree, Row
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.panes.workspace.scan import file_time_ns


def laid_session(folder: Path, name: str = "session_20261121_050000") -> Path:
    """Lay a session's folder with nothing found or written in it yet."""
    path = folder / "AGENT_RUN_WORKSPACES" / name
    for inner in ("search_results", "extracted_articles", "work_products/media"):
        (path / inner).mkdir(parents=True)
    (path / "run.log").write_text("begun\n")
    return path


def rows(pane: WorkspacePane) -> list[str]:
    """The names on the tree, indented by depth, in the order they stand."""
    return [
        "  " * row.depth + (Path(row.path).name if row.entry is not None else row.note)
        for row in pane.tree_view.model.rows.items
    ]


def cursor(pane: WorkspacePane) -> str | None:
    row = pane.tree_view.cursor
    return None if row is None else Path(row.path).name


def on_screen(pane: WorkspacePane) -> int:
    """The line of the screen that the cursor is on, within the tree."""
    return pane.tree_view.model.place(pane.tree_view.model.cursor) - int(pane.tree_view.scroll_offset.y)


def model_of(pane: WorkspacePane) -> FolderTree:
    """The tree that is shown."""
    return pane.tree_view.model


def is_folder(row: Row) -> bool:
    return row.entry is not None and row.entry.is_folder


async def previewed(app: UaTuiApp, path: Path) -> PreviewPane:
    """Point the workspace at a file and wait for its preview."""
    await until(lambda: app.query(WorkspacePane) and app.state == "idle")
    pane = app.query_one(WorkspacePane)
    pane.set_root(path.parent)
    await until(lambda: any(path.name in row for row in rows(pane)))
    pane.reveal(path)
    await until(lambda: cursor(pane) == path.name)
    preview = app.query_one(PreviewPane)
    await until(lambda: preview.path == path and preview.document is not None and preview.row_count)
    return preview


def pane_of(root: Path, saved_reports: Path | None = None) -> WorkspacePane:
    """A pane that shows the folder of a session."""
    # What came in the tick of the clock of files in which it is shown counts as new, and the clock may lag by a tick.
    begun = time.time_ns()
    while file_time_ns() <= begun:
        pass
    pane = WorkspacePane()
    pane.set_root(root, saved_reports)
    return pane
