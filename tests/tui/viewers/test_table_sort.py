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
from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.bodies import table_sort as sorting
from ua_tui.tui.viewers.bodies.table import Column, Table
from ua_tui.tui.viewers.bodies.table_sort import SortKey, key_of, sorted_gently
from ua_tui.tui.viewers.types.csv import DelimitedTable, Lines, record_starts

KEYS = st.none() | st.floats(allow_nan=False) | st.text(max_size=3)
CELLS = st.text(st.characters(codec="utf-8", exclude_characters=",\n\r"), max_size=9) | st.sampled_from(
    ["12", "-3.5", "$1,200", " 7 ", "2026-11-21", "1e3", "5%", '"a', '"x ""y"', "٣", ".5", "1_0"]
)


def plainly(keys: list[SortKey], *, descending: bool) -> list[int]:
    """What one sort of each kind gives."""
    found: list[int] = []
    for kind in (str, float) if descending else (float, str):
        numbers = [number for number, key in enumerate(keys) if type(key) is kind]
        found += sorted(numbers, key=lambda number: keys[number], reverse=descending)  # type: ignore[arg-type,return-value]
    return found + [number for number, key in enumerate(keys) if key is None]


@given(keys=st.lists(KEYS, max_size=200), descending=st.booleans(), bucket=st.integers(1, 40))
def test_small_steps_give_the_same_order(keys: list[SortKey], descending: bool, bucket: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_BUCKET", bucket)
        assert list(sorted_gently(range(len(keys)), keys, NEVER, descending=descending)) == plainly(
            keys, descending=descending
        )


@pytest.mark.parametrize("distinct", [1, 3, 1_000, 100_000])
def test_no_step_is_large_whatever_the_keys_repeat(distinct: int) -> None:
    keys = [float(number % distinct) for number in range(100_000)]
    runs = sorting._buckets(list(range(100_000)), keys, NEVER, descending=False)
    sorted_runs = [run for run in runs if len({keys[place] for place in run}) > 1]
    assert all(len(run) < 15_000 for run in sorted_runs)
    assert bool(sorted_runs) is (distinct > 3), "what is all equal is not sorted"


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=30), st.integers(0, 3))
def test_a_column_at_once_has_the_keys_of_its_cells(rows: list[list[str]], column: int) -> None:
    data = "\r\n".join(",".join(row) for row in rows).encode()
    lines = Lines(data, ",", record_starts(data))
    table = DelimitedTable([Column("")] * 4, lines)
    table.lines = lines
    numbers = range(len(lines))
    assert list(table.sort_keys(numbers, column, NEVER)) == [
        key_of(lines.cell(each, column)) for each in numbers
    ]


async def test_sorting_is_shown_and_cancelled_with_esc(tmp_path: Path, monkeypatch: Patch) -> None:
    held = threading.Event()

    def keys_in_the_end(table: Table, numbers: Sequence[int], column: int, stop: Stop) -> list[SortKey]:
        while not held.wait(0.005):
            stop.check()
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
