from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tui.replay.test_past_session import many, past, write
from tests.tui.tree_host import cursor
from tests.waiting import until
from tui.screens.files.viewer import ViewerScreen


async def test_a_file_of_a_past_session_is_opened_only_to_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path, many(1))
    (folder / "notes.txt").write_text("kept")
    async with past(folder) as (app, pilot):
        workspace: Any = app.frame.query_one("#workspace")
        workspace.reveal(folder / "notes.txt")
        await until(lambda: cursor(workspace) == "notes.txt")
        await pilot.press("4", "enter")
        await until(lambda: isinstance(app.screen, ViewerScreen))
        assert isinstance(app.screen, ViewerScreen)
        assert app.screen.read_only
