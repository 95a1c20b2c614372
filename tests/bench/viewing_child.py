"""Files brought into the real application, with a heartbeat beside: `MODE RESULT_FILE`.

The application has Textual's headless driver in place of a terminal; the time to the first sight of a file is that
from the key to the first line of it that is drawn.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.settings.loading import load_settings
from tests.bench.heartbeat import Heartbeat
from tests.bench.sights import SIGHTS, SORTED, make_million

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp
    from tui.panes.workspace.preview import PreviewPane
    from tui.panes.workspace.tree import WorkspaceTree
    from tui.viewers.bodies.table import Table
    from tui.viewers.view.document_view import DocumentView

SIZE = (200, 50)
FILES = 5_000
STEP = 0.001
WARM = 5.0  # the libraries of the agent are imported meanwhile
SECONDS = 60.0
START, REST = "start", "rest"
WRITER = """
import os, sys
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for number in range(int(sys.argv[2])):
    with open(os.path.join(folder, f"found_{number:05d}.json"), "w") as file:
        file.write("{}")
"""


async def _until(there: Callable[[], object], seconds: float = SECONDS) -> float:
    """Wait until something holds; how long that took, in milliseconds."""
    began = time.perf_counter()
    while not there():
        if time.perf_counter() - began > seconds:
            raise TimeoutError("what was waited for did not come")
        await asyncio.sleep(STEP)
    return (time.perf_counter() - began) * 1_000


def _has(tree: WorkspaceTree, count: int) -> bool:
    return len(tree.unseen) >= count


def _shows(preview: PreviewPane, path: Path) -> bool:
    return preview.document is not None and preview.document.path == path and _drawn(preview)


def _viewed(app: UaTuiApp) -> bool:
    from tui.screens.files.viewer import ViewerScreen

    screen = app.screen
    return isinstance(screen, ViewerScreen) and screen.document is not None and _drawn(screen.view)


def _is_sorted(table: Table, column: int) -> bool:
    return table.sorted_by == column


def _drawn(view: DocumentView) -> bool:
    return view.row_count > 0 and len(view._strips) > 0


async def _bring_files(app: UaTuiApp, heart: Heartbeat, folder: Path) -> dict[str, float]:
    """Have another process write files into a new and into an open folder of the session, as fast as it can."""
    from tui.panes.workspace.pane import WorkspacePane

    pane = app.query_one(WorkspacePane)
    times = {}
    for phase, inner in (("files", "found"), ("open", "search_results")):
        heart.phase = phase
        began = time.perf_counter()
        there = len(pane.tree_view.unseen) + FILES
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(folder / inner), str(FILES), stdin=asyncio.subprocess.DEVNULL
        )
        await writer.wait()
        await _until(partial(_has, pane.tree_view, there))
        times[phase] = (time.perf_counter() - began) * 1_000
        await asyncio.sleep(4.0)
        heart.phase = REST
    return times


async def _see_files(app: UaTuiApp, heart: Heartbeat, folder: Path) -> dict[str, float]:
    """Come to each file with the cursor, then open it; wait until both are done reading."""
    from tui.panes.workspace.pane import WorkspacePane
    from tui.panes.workspace.preview import PreviewPane
    from tui.screens.files.viewer import ViewerScreen

    pane, preview = app.query_one(WorkspacePane), app.query_one(PreviewPane)
    times: dict[str, float] = {}
    names = [name for name in SIGHTS if (folder / name).exists()]
    tree = pane.tree_view
    pane.rescan()
    await _until(
        lambda: tree.model is not None and all(tree.model.place(str(folder / name)) >= 0 for name in names)
    )
    for name in names:
        path = folder / name
        await asyncio.sleep(0.5)
        heart.phase = f"preview {name}"
        pane.reveal(path)
        times[heart.phase] = await _until(partial(_shows, preview, path))
        await _idle(app)
        heart.phase = REST
        await asyncio.sleep(0.5)
        heart.phase = f"viewer {name}"
        pane.post_message(WorkspacePane.Opened(path))
        times[heart.phase] = await _until(partial(_viewed, app))
        times[f"{heart.phase} whole"] = times[heart.phase] + await _idle(app)
        heart.phase = REST
        app.screen.dismiss(None)
        await _until(lambda: not isinstance(app.screen, ViewerScreen))
    return times


async def _sort(app: UaTuiApp, heart: Heartbeat, folder: Path) -> dict[str, float]:
    """Sort a table of a million rows by a column of numbers and by one of words."""
    from tui.panes.workspace.pane import WorkspacePane
    from tui.screens.files.viewer import ViewerScreen
    from tui.viewers.bodies.table import Table

    app.query_one(WorkspacePane).post_message(WorkspacePane.Opened(folder / SORTED))
    await _until(lambda: isinstance(app.screen, ViewerScreen) and app.screen.document is not None)
    assert isinstance(app.screen, ViewerScreen)
    view = app.screen.view
    await _until(lambda: view.cursor_body is not None and view.cursor_body.entries >= 1_000_000)
    await _idle(app)
    table = view.cursor_body
    assert isinstance(table, Table)
    times = {}
    for phase, column in (("sort numbers", 2), ("sort words", 1)):
        table.column = column
        heart.phase = phase
        view.action_command("sort")
        times[phase] = await _until(partial(_is_sorted, table, column))
        await asyncio.sleep(0.5)
        heart.phase = REST
    return times


async def _idle(app: UaTuiApp) -> float:
    """Wait until nothing is read or laid out any more; in milliseconds."""
    busy = {"viewer", "preview", "layout"}
    return await _until(
        lambda: not any(worker.group in busy and not worker.is_finished for worker in app.workers)
    )


MODES = {"files": _bring_files, "see": _see_files, "sort": _sort}


async def measured(mode: str) -> dict[str, Any]:
    """Run one mode in a session without a query; times in milliseconds."""
    from tui.cli.full_screen import make_app
    from tui.panes.workspace.pane import WorkspacePane

    heart = Heartbeat()
    app = make_app(load_settings({"demo": True, "workspace_base": Path.cwd()}))
    async with app.run_test(size=SIZE):
        await _until(lambda: app.is_running and app.session_folder is not None)
        folder = app.session_folder
        assert folder is not None
        await _until(
            lambda: list(app.query(WorkspacePane)) and app.query_one(WorkspacePane).root_path is not None
        )
        if mode == "see":
            for name, (_, make) in SIGHTS.items():
                await asyncio.to_thread(make, folder / name)
        elif mode == "sort":
            await asyncio.to_thread(make_million, folder / SORTED)
        app.query_one(WorkspacePane).focus()
        await asyncio.sleep(WARM)
        heart.start()
        heart.phase = REST
        times = await MODES[mode](app, heart, folder)
        heart.stop()
    return heart.report() | {"times": times}


def main(mode: str, result: str) -> None:
    """Run the session of `mode`, and write what the heart felt to `result`."""
    Path(result).write_text(json.dumps(asyncio.run(measured(mode))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
