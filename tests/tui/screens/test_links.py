"""The links of a document, chosen with keys."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.command import CommandList
from textual.pilot import Pilot
from textual.strip import Strip

from tests.tui.files_host import Host, hosted, screen_text
from tests.waiting import until
from ua_tui.tui.screens.application.command_palette import Palette
from ua_tui.tui.screens.files.link import LinkScreen, choose_link
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.document import ListRows
from ua_tui.tui.viewers.view.links import FoundLink, first_from, links_in

TEXT = (
    "# Head\n\nSee [the bank](https://bank.example/login) and [evil](vscode://x).\n\n"
    + "Words.\n\n" * 60
    + "At last [the end](https://end.example/[b]?a=1)."
)


def shows(app: Host, text: str) -> bool:
    return text in screen_text(app)


async def listed(app: Host, pilot: Pilot[None]) -> None:
    """Ask for the links, and wait until all are there."""
    await pilot.press("L")
    await until(lambda: isinstance(app.screen, Palette) and shows(app, "the end · end.example"))


async def test_a_link_is_chosen_and_opened_after_asking(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT)
    viewer = ViewerScreen(tmp_path / "a.md")
    async with hosted(screen=viewer) as (app, pilot):
        await until(partial(shows, app, "the bank"))
        await until(lambda: viewer.view.row_count > 100)
        await listed(app, pilot)
        assert "the bank · bank.example" in screen_text(app)
        assert "evil · not a web link" in screen_text(app)
        await pilot.press("escape")
        await until(lambda: app.screen is viewer)
        await listed(app, pilot)
        await pilot.press("down", "up", "enter")
        await until(lambda: isinstance(app.screen, LinkScreen) and app.screen.is_mounted)
        assert app.urls == []
        await pilot.press("o")
        await until(lambda: app.urls == ["https://bank.example/login"])
        await pilot.press("end")
        await until(partial(shows, app, "At last"))
        await listed(app, pilot)
        # The first one in view.
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, LinkScreen))
        assert isinstance(app.screen, LinkScreen)
        assert app.screen.url == "https://end.example/%5Bb%5D?a=1"


async def test_one_link_needs_no_choice_and_none_is_shown(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("[the bank](https://bank.example/login)")
    (tmp_path / "none.md").write_text("nothing")
    async with hosted(screen=ViewerScreen(tmp_path / "one.md")) as (app, pilot):
        await until(partial(shows, app, "the bank"))
        await pilot.press("L")
        await until(lambda: isinstance(app.screen, LinkScreen))
    async with hosted(screen=ViewerScreen(tmp_path / "none.md")) as (app, pilot):
        await until(partial(shows, app, "nothing"))
        await pilot.press("L")
        await until(lambda: app.shown_text == ["This document has no links."])


def test_a_link_broken_over_rows_is_one_and_neighbours_are_two() -> None:
    a, b = Style(meta={"url": "https://a.example"}), Style(meta={"url": "https://b.example"})
    rows = ListRows([
        Strip([Segment("before "), Segment("the", a)]),
        Strip([Segment("  "), Segment("bank\x1b", a), Segment(" "), Segment("next", b)]),
        Strip([Segment("between"), Segment("again", b)]),
    ])  # fmt: skip
    found = links_in(rows)
    assert [(link.text, link.url, link.row) for link in found] == [
        ("the bank\N{REPLACEMENT CHARACTER}", "https://a.example", 0),
        ("next", "https://b.example", 1),
    ]
    assert [first_from(found, row) for row in (0, 1, 2, 3)] == [0, 1, 1, 1]


def test_an_address_takes_the_first_text_that_is_not_an_address() -> None:
    a = Style(meta={"url": "https://a.example/x"})
    rows = ListRows([Strip([Segment("https://a.example/x", a), Segment(" and "), Segment("the bank", a)])])
    assert links_in(rows) == [FoundLink("the bank", "https://a.example/x", 0)]


async def test_links_are_filtered_by_their_text_and_their_host_and_are_no_markup() -> None:
    chosen: list[str] = []
    links = [FoundLink(f"Title {number}", f"https://s{number}.example/p", number) for number in range(1, 12)]
    links.append(FoundLink("", "https://long.example/" + "middle/" * 40 + "end", 20))
    links.append(FoundLink("[b]Open[/b] [@click=app.quit]", "https://[::1]/x", 21))
    async with hosted() as (app, pilot):
        choose_link(app, links, chosen.append)
        await until(partial(shows, app, "(b)Open(/b) (@click=app.quit) · (::1)"))
        await pilot.press(*"long.ex")
        await until(lambda: not shows(app, "Title") and shows(app, "https://long.example/middle/"))
        await pilot.press(*["backspace"] * 7, *"s10.ex")
        await until(lambda: shows(app, "Title 10 · s10.example") and not shows(app, "Title 4"))
        await pilot.press("enter")
        await until(lambda: chosen == ["https://s10.example/p"])


async def test_thousands_of_links_are_offered_as_quickly_as_a_few() -> None:
    links = [FoundLink("source", f"https://a.example/{each}", each) for each in range(3_000)]
    chosen: list[str] = []
    async with hosted() as (app, pilot):
        choose_link(app, [*links, FoundLink("the end", "https://end.example/", 3_000)], chosen.append)
        await until(lambda: isinstance(app.screen, Palette) and shows(app, "source · a.example"))
        palette = app.screen
        assert len(palette.query_one(CommandList).options) <= 200
        await pilot.press(*"end")
        await until(partial(shows, app, "the end · end.example"))
        await pilot.press("enter")
        await until(lambda: chosen == ["https://end.example/"])
