"""Tables are sorted in small steps, and the order is that of sorting at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.files_host import hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.bodies import table as sorting
from ua_tui.tui.viewers.bodies.table import SortKey, Table, sorted_gently
from ua_tui.tui.viewers.types.csv import DelimitedTable

KEYS = st.none() | st.floats(allow_nan=False) | st.text(max_size=3)


def plainly(keys: list[SortKey], *, descending: bool) -> list[int]:
    """What one sort of each kind gives."""
    found: list[int] = []
    for kind in (str, float) if descending else (float, str):
        numbers = [number for number, key in enumerate(keys) if type(key) is kind]
        found += sorted(numbers, key=lambda number: keys[number], reverse=descending)  # type: ignore[arg-type,return-value]
    return found + [number for number, key in enumerate(keys) if key is None]


@given(keys=st.lists(KEYS, max_size=200), descending=st.booleans(), run=st.integers(1, 40))
def test_small_steps_give_the_same_order(keys: list[SortKey], descending: bool, run: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_RUN", run)
        assert list(sorted_gently(range(len(keys)), keys, descending=descending)) == plainly(
            keys, descending=descending
        )


async def test_sorting_is_shown_and_cancelled_with_esc(tmp_path: Path, monkeypatch: Patch) -> None:
    held = threading.Event()

    def keys_in_the_end(table: Table, numbers: Sequence[int], column: int) -> list[SortKey]:
        while not held.wait(0.005):
            check_stopped()
        return [float(-number) for number in numbers]

    monkeypatch.setattr(DelimitedTable, "sort_keys", keys_in_the_end)
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "".join(f"{number}\n" for number in range(50)))
    screen = ViewerScreen(path, tmp_path)
    async with hosted(screen=screen, size=(100, 24)) as (app, pilot):
        await until(lambda: screen.view.cursor_body is not None)
        table = screen.view.cursor_body
        assert isinstance(table, Table)
        await pilot.press("s")
        await until(lambda: "sorting… Esc stops" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "sorting" not in screen_text(app))
        assert app.screen is screen
        assert table.sorted_by is None
        held.set()
        await pilot.press("s")
        await until(lambda: table.sorted_by == 0)
        await until(lambda: "by n" in screen_text(app))
        assert list(table.order) == list(range(49, -1, -1))
        await pilot.press("escape")
        await until(lambda: app.screen is not screen)
