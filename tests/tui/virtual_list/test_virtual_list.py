from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.events import MouseScrollUp
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip

from tests.tui.pane_host import PaneHost, hosted, rows
from tests.waiting import until
from ua_tui.tui.render.layout import Line, wrap
from ua_tui.tui.virtual_list.source import Heights, LineCache, Rendered
from ua_tui.tui.virtual_list.virtual_list import VirtualList


@dataclass
class Item:
    key: int
    text: str
    revision: int = 0


class Items(VirtualList[Item]):
    """Entries that wrap; the estimate is always wrong for tall ones."""

    def __init__(self) -> None:
        super().__init__()
        self.renders: list[Hashable] = []
        self.painted: list[Region] = []
        self.opens: list[int] = []
        self.clicks: list[tuple[int, int, int]] = []

    def render_entry(self, entry: Item, width: int) -> Sequence[Line]:
        self.renders.append(entry.key)
        return wrap([(entry.text, Style.null())], width)

    def render_below(self, width: int) -> Sequence[Line]:
        return [] if self.entries else wrap([("nothing yet", Style.null())], width)

    def open_entry(self, entry: Item) -> None:
        self.opens.append(entry.key)

    def click_entry(self, entry: Item, column: int, line: int) -> None:
        self.clicks.append((entry.key, column, line))

    def refresh(self, *regions: Region, **options: bool) -> Items:
        self.painted.extend(regions or [Region(0, 0, 999, 999)])
        super().refresh(*regions, **options)
        return self

    def add(self, *texts: str) -> None:
        start = len(self.entries)
        self.append(*[Item(start + n, text) for n, text in enumerate(texts)])
        self.update_rows()

    def change(self, key: int, text: str) -> None:
        index = self.index_of(key)
        assert index is not None
        entry = self.entries[index]
        entry.text, entry.revision = text, entry.revision + 1
        self.touch(key)
        self.update_rows()


def tall(key: int, lines: int) -> str:
    return "\n".join(f"{key}.{line}" for line in range(lines))


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 6), st.lists(st.integers(0, 5), max_size=8)), max_size=12
    )
)
def test_heights_are_the_sums_of_a_list(edits: list[tuple[int, int, list[int]]]) -> None:
    heights, plain = Heights(), list[int]()
    for start, removed, added in edits:
        at = min(start, len(plain))
        heights.splice(at, min(removed, len(plain) - at), added)
        plain[at : at + removed] = added
        heights.splice(len(plain), 0, [2])
        plain.append(2)
        heights.set(start % len(plain), removed)
        plain[start % len(plain)] = removed
        sums = [0, *accumulate(plain)]
        assert [heights.before(index) for index in range(len(plain) + 1)] == sums
        assert heights.total == sums[-1]
        for line in range(sums[-1]):
            index, offset = heights.at(line)
            assert sums[index] + offset == line
            assert offset < plain[index]


def test_the_cache_is_bounded_by_lines() -> None:
    cache = LineCache(most_lines=4)
    cache.put("a", Rendered(1, [Strip.blank(1)] * 2))
    cache.put("a", Rendered(2, [Strip.blank(1)] * 2))
    assert cache.get("a", 1) is None
    cache.put("b", Rendered(1, [Strip.blank(1)] * 3))
    assert cache.get("a", 2) is None
    assert cache.get("b", 1) is not None


def test_the_equal_lines_of_an_entry_that_is_rendered_again_are_the_same() -> None:
    cache = LineCache()
    older = Rendered(1, [Strip([Segment(text)]) for text in ("one", "two")])
    newer = Rendered(2, [Strip([Segment(text)]) for text in ("one", "two grows", "three")])
    cache.put("a", older)
    cache.put("a", newer)
    assert [strip.text for strip in newer.strips] == ["one", "two grows", "three"]
    assert newer.strips[0] is older.strips[0]


async def test_it_follows_the_end_and_stops_when_the_reader_moves_up() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(*[f"entry {n}" for n in range(40)])
        assert rows(view)[-1] == "entry 39"
        view.add("entry 40")
        assert rows(view)[-1] == "entry 40"
        await pilot.press("pageup")
        before = rows(view)
        view.add("late", "later")
        assert rows(view) == before
        assert view.new_below == 2
        assert view._border_subtitle is not None
        assert view._border_subtitle.plain == "2 new ↓"
        await pilot.press("end", "pageup")
        view.change(42, "later\nlater")
        assert view._border_subtitle is not None
        assert view._border_subtitle.plain == "more ↓", "text that grows is not counted"
        await pilot.press("end")
        assert rows(view)[-1] == "later"
        assert view._border_subtitle is None
        assert view.following


async def test_nothing_moves_when_heights_above_change() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(*[tall(n, 1 + n % 5) for n in range(60)])
        for _ in range(4):
            await pilot.press("pageup")
        before = rows(view)
        view.change(0, tall(0, 30))
        view.splice(1, 2, [Item(100, tall(100, 9))])
        view.update_rows()
        assert rows(view) == before


async def test_every_line_comes_by_whichever_way_one_scrolls() -> None:
    view = Items()
    texts = [tall(n, 1 + n * 7 % 13) for n in range(30)]
    expected = "\n".join(texts).split("\n")
    async with PaneHost(view).run_test(size=(30, 9)) as pilot:
        view.add(*texts)
        height = len(rows(view))
        seen = rows(view)
        while view.scroll_y > 0:
            top = rows(view)[0]
            view.scroll_to(y=view.scroll_y - 3)
            now = rows(view)
            moved = now.index(top)
            assert 0 < moved <= 3
            seen = now[:moved] + seen
        assert seen == expected
        await pilot.press("home")
        assert rows(view) == expected[:height]
        view.scroll_to(y=10_000)
        assert rows(view) == expected[-height:]
        assert view.following


async def test_only_what_is_seen_is_rendered() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        await pilot.pause()
        assert rows(view)[0] == "nothing yet"
        await pilot.press("up", "down", "pageup", "pagedown", "home", "end", "enter")
        view.add("one")
        assert rows(view)[0] == "one"
        view.splice(0, 1, ())
        view.update_rows()
        assert rows(view)[0] == "nothing yet"
        view.display = False
        await pilot.pause()
        view.renders.clear()
        view.add(*[f"entry {n}" for n in range(5_000)])
        assert view.renders == [], "hidden, it only keeps records"
        view.display = True
        await pilot.pause()
        assert rows(view)[-1] == "entry 4999"
        assert len(set(view.renders)) < 20
        view.renders.clear()
        view.change(4_999, "changed")
        assert view.renders == [4_999]
        view.focus()
        await pilot.pause()
        view.renders.clear()
        await pilot.press("tab")
        await pilot.pause()
        assert not view.has_focus
        assert view.renders == []
        pilot.app.theme = "ua-light"
        await pilot.pause()
        assert 4_999 in view.renders, "a new theme renders again, and the focus does not"


async def test_only_changed_rows_are_painted() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(tall(0, 3), "tail")
        await pilot.pause()
        view.painted.clear()
        view.change(1, "tail grows")
        assert [(region.y, region.height) for region in view.painted] == [(3, 1)]
        view.painted.clear()
        view.change(1, "tail grows\nand breaks")
        assert [(region.y, region.height) for region in view.painted] == [(4, 1)]


async def test_what_is_selected_is_painted_where_it_moves_among_equal_lines() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(*["the same"] * 40)
        view.place_at(0, 0)
        view.screen.selections = {view: Selection(Offset(0, 3), Offset(8, 4))}
        await pilot.pause()
        view.painted.clear()
        view.place_at(1, 0)
        painted = {y for region in view.painted for y in range(region.y, region.bottom)}
        assert {2, 3, 4} <= painted, "two lines are selected, and one was before"


async def test_lines_have_the_edges_that_textual_gives_them() -> None:
    view = Items()

    def cells(strips: Sequence[Strip]) -> list[list[tuple[str, Style | None]]]:
        return [[(text, style) for part, style, _ in strip for text in part] for strip in strips]

    async with PaneHost(view).run_test(size=(30, 9)) as pilot:
        for styles in ({}, {"border": ("round", "red")}, {"padding": (1, 2)}, {"opacity": 0.5}):
            for name, value in styles.items():
                setattr(view.styles, name, value)
            view.add("short", tall(len(view.entries), 3), "a line\nthat breaks", "世界")
            view.screen.selections = {view: Selection(Offset(0, 2), Offset(3, 3))}
            await pilot.press("up")
            await pilot.pause()
            for crop in (
                view.region.reset_offset,
                Region(0, 2, view.region.width, 4),
                Region(3, 0, 5, view.region.height),
            ):
                found = cells(view.render_lines(crop))
                view._styles_cache.clear()
                view._painting = True
                assert found == cells(view._styles_cache.render_widget(view, crop))
                view._painting = False


async def test_the_scroll_bar_is_painted_when_it_moves_and_only_then() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(tall(0, 400))
        await pilot.pause()
        bar, painted = view.vertical_scrollbar, 0
        shown = [strip.text for strip in bar.render_lines(bar.size.region)]
        for number in range(1, 60):
            view.add(f"line {number}")
            if bar._repaint_regions:
                painted += 1
                shown = [strip.text for strip in bar.render_lines(bar.size.region)]
                bar._exchange_repaint_regions()
            bar._styles_cache.clear()
            bar._dirty_regions.add(bar.size.region)
            assert shown == [strip.text for strip in bar.render_lines(bar.size.region)]
        assert 0 < painted < 20
        # What made it dirty before is painted.
        bar.refresh()
        view.add("one more")
        assert bar._repaint_regions


async def test_a_key_in_a_group_of_many_entries_renders_no_more_than_it_shows() -> None:
    class OneGroup(Items):
        def group(self, entry: Item) -> Hashable:
            return 0 if entry.key < 60 else entry.key

    async with hosted(OneGroup(), 30, 9) as (view, _pilot):
        view.add(*(tall(key, 5) for key in range(61)))
        for press in (
            view.action_cursor_up,
            view.action_cursor_up,
            view.action_cursor_home,
            view.action_cursor_down,
        ):
            view.renders.clear()
            press()
            assert len(view.renders) <= 4, press


async def test_the_cursor_goes_by_entry_and_reads_through_tall_ones() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        height = view.size.height
        view.add("first", tall(1, 20), "last")
        await pilot.press("home")
        assert view.cursor is view.entries[0]
        await pilot.press("down")
        assert view.cursor is view.entries[1]
        steps = 0
        while view.cursor is view.entries[1]:
            await pilot.press("down")
            steps += 1
        assert 20 // height < steps < 20
        assert view.cursor is view.entries[2]
        assert rows(view)[-1] == "last"
        await pilot.press("up")
        assert view.cursor is view.entries[1]
        assert not view.following
        await pilot.press("enter")
        assert view.opens == [1]
        await pilot.press("pageup", "pageup", "pageup", "pageup", "pageup")
        assert view.cursor is view.entries[0]
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown", "pagedown")
        assert view.following


async def test_the_mouse_chooses_opens_and_scrolls() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(*[f"entry {n}" for n in range(40)])
        top = rows(view)[0]
        await pilot.click(view, offset=(4, 2))
        assert view.clicks == [(int(top.split()[1]) + 1, 2, 0)]
        assert view.cursor is not None
        assert view.cursor.key == view.clicks[0][0]
        await pilot.double_click(view, offset=(4, 3))
        assert view.opens == [view.cursor.key]
        await pilot.press("end")
        view.post_message(MouseScrollUp(view, 4, 3, 0, -1, 0, False, False, False))
        await pilot.pause()
        assert not view.following


async def test_any_size_shows_what_fits() -> None:
    async with hosted(Items(), 40, 12) as (view, pilot):
        view.add(*[f"entry {n} 中文 words that wrap" for n in range(30)], "[/no] [@click=x]y[/] wrap")
        for size in ((1, 1), (2, 2), (3, 3), (4, 4), (20, 5), (240, 60)):
            await pilot.resize_terminal(*size)
            await pilot.press("up", "pageup", "down", "home", "end")
            await pilot.resize_terminal(40, 12)
            await until(lambda: rows(view)[-1] == "[/no] [@click=x]y[/] wrap")


async def test_a_resize_keeps_the_reader_where_he_was() -> None:
    async with hosted(Items(), 60, 12) as (view, pilot):
        view.add(*[f"entry {n} " + "word " * 20 for n in range(50)])
        for _ in range(3):
            await pilot.press("pageup")
        top = rows(view)[0] if rows(view)[0].startswith("entry") else rows(view)[1]
        await pilot.resize_terminal(30, 12)
        await until(lambda: view.size.width <= 30)
        await until(lambda: any(row.startswith(" ".join(top.split()[:2])) for row in rows(view)[:8]))
        assert not view.following


class Fixed(Items):
    FOLLOWS_END = False


async def test_a_list_that_does_not_follow_its_end_begins_at_the_top_without_a_cursor() -> None:
    async with hosted(Fixed(), 30, 9) as (view, pilot):
        view.add(*[f"entry {n}" for n in range(40)])
        assert (rows(view)[0], view.cursor) == ("entry 0", None)
        await pilot.press("end")
        assert view.cursor is not None
        assert (rows(view)[-1], view.cursor.key) == ("entry 39", 39)
        view.add("entry 40")
        assert (rows(view)[-1], view.cursor.key, view.new_below) == ("entry 39", 39, 1)
        await pilot.press("down")
        assert (rows(view)[-1], view.cursor.key) == ("entry 40", 40)


async def test_selected_text_is_given_line_by_line() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add(*[f"entry {n}" for n in range(40)])
        await pilot.pause()
        found = view.get_selection(Selection(Offset(2, 3), Offset(5, 5)))
        assert found == ("try 3\nentry 4\nentry", "\n")
        view.screen.selections = {view: Selection(Offset(0, 38), Offset(3, 38))}
        await pilot.pause()
        line = view.render_line(view.size.height - 2)
        assert next(segment.text for segment in line) == "ent"


async def test_keys_do_nothing_in_a_hidden_list_whose_entries_are_gone() -> None:
    async with hosted(Items(), 30, 9) as (view, pilot):
        view.add("one", "two", "three")
        view.display = False
        await pilot.pause()
        view.splice(0, 3, ())
        view.update_rows()
        for move in (view.action_cursor_down, view.action_cursor_up, lambda: view.action_cursor_page(1)):
            move()
        view.display = True
        await pilot.pause()
        assert rows(view)[0] == "nothing yet"
