"""Every theme there is, on the screens there are: what is written can be read on what it is written on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.pilot import Pilot
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES
from textual.widget import Widget

from tests.tui.app.test_snapshots import played_app, steps
from tests.tui.app_host import shown
from tests.tui.files_host import hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pictured import Stage
from tests.tui.screens.test_dialog_snapshots import DIALOGS, listens
from tests.waiting import run_ready, until
from ua_tui.core.events.types import BudgetReached, ErrorRaised, McpServer, McpStatus
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.prompt.completion import CompletionList
from ua_tui.tui.panes.prompt.pane import Prompt
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.theme.themes import DIM, TEXT, THEMES, legible, readable
from ua_tui.tui.theme.themes import contrast as contrast_of
from ua_tui.tui.viewers.view.document_view import DocumentView

# A colour on its way to another one is none of a theme.
pytestmark = pytest.mark.usefixtures("still")

SIZE = (150, 46)
SMALL = (90, 36)
PARTS = 3
DARK_AND_CLEAR = {
    "background": "#000000", "foreground": "#FFFFFF", "primary": "#88AAFF", "secondary": "#CCCCCC",
    "accent": "#88AAFF", "success": "#88FF88", "warning": "#FFDD66", "error": "#FF9999",
}  # fmt: skip
DOCUMENT = (
    "# One\n\n## Two\n\n### Three\n\ntext *em* **strong** `code` [link](https://a.example)\n\n> quote\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\ndef f(x: int) -> str:\n    # comment\n    return 'a' + str(1)\n"
    "```\n\n- item\n\n![picture](x.png)\n"
)
COLOURED = [theme.name for theme in (*THEMES, *BUILTIN_THEMES.values()) if not theme.ansi]
NO_TEXT = set("─│╭╮╰╯┃━▌▐█▀▄▁▂▃▅▆▇▔▏▎▍▊▋▉╷╵╶╴┌┐└┘├┤┬┴┼═║╔╗╚╝")


contrast = lru_cache(None)(contrast_of)


def parts(style: Style | None) -> tuple[Color, Color] | None:
    """The colours of a text and of what is behind it; None where the terminal chooses one."""
    if style is None or style.color is None or style.bgcolor is None:
        return None
    if style.color.triplet is None or style.bgcolor.triplet is None:
        return None
    ink, ground = Color(*style.color.triplet), Color(*style.bgcolor.triplet)
    return (ground, ink) if style.reverse else (ink, ground)


def unreadable(app: Any, quiet: set[Color]) -> dict[tuple[str, str], set[str]]:
    """What stands on the screen in colours too near to each other; `quiet` are those of what is said quietly."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for text, style, _ in strip:
            colours = parts(style)
            at, x = x, x + sum(1 for _ in text)
            if colours is None or not set(text.strip()) - NO_TEXT:
                continue
            if contrast(*colours) < TEXT - 0.05:
                widget, _region = app.screen.get_widget_at(min(at, app.size.width - 1), y)
                hint = text.strip() in str(getattr(widget, "placeholder", ""))
                if (hint or quiet & set(colours)) and contrast(*colours) >= DIM - 0.05:
                    continue
                # What lies behind a dialog is meant to be less than that, and so is what cannot be chosen.
                if not isinstance(widget, Screen) and not widget.disabled:
                    name = f"{type(widget).__name__} {text.strip()[:24]!r} {contrast(*colours):.1f}"
                    found[(colours[0].hex, colours[1].hex)].add(name)
    return found


def quiet_colours(app: App[Any]) -> set[Color]:
    names = ("foreground-muted", "foreground-disabled", "text-muted", "text-disabled", "border-blurred")
    return {Color.parse(app.theme_variables[name]) for name in names}


async def still_unreadable(app: App[Any]) -> dict[tuple[str, str], set[str]]:
    """What is unreadable once a document has its colours, which a thread gives it."""
    if not (found := unreadable(app, quiet_colours(app))):
        return {}
    with suppress(AssertionError):
        await until(lambda: not unreadable(app, quiet_colours(app)), 10)
        return {}
    return dict(found)


async def recolour(app: BaseApp, theme: str) -> None:
    """Choose a theme, and wait until everything has its styles and every thread has done its work."""
    if theme != app.theme:
        app.theme_variables = {}
        app.theme = theme
    await until(lambda: app.theme_variables)
    await run_ready()
    await until(lambda: all(each.is_finished or each.group == "watch" for each in app.workers))


async def scenes(pilot: Pilot[str]) -> AsyncIterator[str]:
    """Go through the panes and name them; the conversation has found a word, and the prompt offers commands last."""
    app = pilot.app
    for pane in ("conversation", "trace", "observers", "workspace"):
        view = app.query_one(f"#{pane}")
        view.focus()
        yield pane
    prompt = app.query_one(Prompt)
    prompt.focus()
    prompt.insert("/")
    await until(lambda: app.query_one(CompletionList).is_open)
    yield "commands"
    prompt.clear()


def trouble(app: Any) -> None:
    """Let something have failed, and something be told."""
    bus = app.session_under_test.bus
    bus.publish(McpStatus(servers=[McpServer(name="composio", status="failed", error="401")]))
    bus.publish(BudgetReached(level="warning", spent_usd=0.9, limit_usd=1.0))
    bus.publish(ErrorRaised(where="records", message="It broke"))
    for severity in ("information", "warning", "error"):
        app.notify(f"Words of a kind: {severity}", severity=severity, timeout=1000)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.slow
async def test_every_pane_can_be_read_in_every_theme(tmp_path: Path, part: int) -> None:
    app = played_app(tmp_path)
    bad = {}
    async with app.run_test(size=SIZE) as pilot:
        await steps("f4", "down", "f3", "down", "f2", "slash", *"chip", "enter")(pilot)
        trouble(app)
        await shown(app, pilot)
        for theme in COLOURED[part::PARTS]:
            await recolour(app, theme)
            async for scene in scenes(pilot):
                await pilot.pause()
                if found := await still_unreadable(app):
                    bad[theme, scene] = found
    assert bad == {}


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.slow
async def test_every_dialog_can_be_read_in_every_theme(part: int) -> None:
    app = Stage()
    bad = {}
    async with app.run_test(size=SMALL) as pilot:
        for theme in COLOURED[part::PARTS]:
            await recolour(app, theme)
            for name, (make, keys) in DIALOGS.items():
                dialog = make()
                app.push_screen(dialog)
                await until(partial(listens, dialog))
                await pilot.press(*keys)
                if found := await still_unreadable(app):
                    bad[theme, name] = found
                dialog.dismiss(None)
                await pilot.pause()
    assert bad == {}


async def test_a_document_takes_the_colours_of_each_theme_that_is_chosen(tmp_path: Path) -> None:
    app = played_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await steps()(pilot)
        folder = app.session_under_test.workspace.path  # type: ignore[attr-defined]
        path = folder / "all.md"
        path.write_text(DOCUMENT)
        app.push_screen(ViewerScreen(path, folder))
        await until(lambda: "quote" in screen_text(app))
        for theme in ("ua-light", "nord", "textual-light"):
            app.theme = theme
            await until(lambda: not unreadable(app, quiet_colours(app)))


def test_a_theme_keeps_what_can_be_read_of_it() -> None:
    for theme in BUILTIN_THEMES.values():
        given = {**theme.to_color_system().generate(), **theme.variables}
        found = readable(theme, given)
        assert set(given) <= set(found)
        assert found["background"].upper() == given["background"].upper() or theme.ansi
        if theme.ansi:
            assert "reverse" in found["block-cursor-text-style"]
            continue
        ground, cursor = Color.parse(found["background"]), Color.parse(found["block-cursor-background"])
        assert contrast(ground, cursor) >= 1.12, "the row of the cursor is seen"
        for name in ("foreground", "foreground-muted", "accent", "success", "warning", "error"):
            for behind in (ground, cursor):
                assert contrast(Color.parse(found[name]), behind) >= TEXT, (theme.name, name)


def test_colours_that_can_be_read_stay_what_they_are() -> None:
    given = {**DARK_AND_CLEAR, **dict.fromkeys(("surface", "panel"), "#000000")}
    found = legible(given)
    assert {name: found[name] for name in DARK_AND_CLEAR} == DARK_AND_CLEAR
    assert legible({**given, "warning": "#202000"})["warning"] != "#202000"


def test_our_own_themes_are_left_alone_and_can_be_read_everywhere() -> None:
    for theme in THEMES:
        assert readable(theme, {"foreground": "x"}) == {"foreground": "x"}
        if theme.ansi:
            continue
        colours = {
            name: Color.parse(value) for name, value in vars(theme).items() if str(value).startswith("#")
        }
        for ground in ("background", "surface", "panel"):
            for ink in ("foreground", "accent", "success", "warning", "error", "secondary"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (theme.name, ink, ground)
        behind = Color.parse(theme.variables["block-cursor-background"])
        for kind in ("success", "warning", "accent"):
            assert contrast(colours[kind], behind) >= TEXT, "the kinds of JSON under the cursor"


def grounds(app: App[Any], widget: Widget) -> list[set[Color]]:
    """The colours behind the text of each row of a widget."""
    region = widget.region
    strips = app.screen._compositor.render_strips()[region.y : region.bottom]
    rows = [[parts(style) for _, style, _ in strip.crop(region.x, region.right)] for strip in strips]
    return [{colours[1] for colours in row if colours is not None} for row in rows]


async def test_without_colours_cursor_and_states_are_seen(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = played_app(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await steps()(pilot)
        await pilot.press("f3", "down", "up")
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        colours = {colour for strip in strips for _, style, _ in strip for colour in parts(style) or ()}
        assert len(colours) > 3
        assert all(colour.r == colour.g == colour.b for colour in colours)
        assert unreadable(app, colours) == {}
        trace = app.query_one("#trace")
        rows = grounds(app, trace)
        (plain,) = rows[0]
        lit = [row - {plain} for row in rows if row - {plain}]
        assert len(lit) == 1, "one row is the cursor's"
        assert all(contrast(ground, plain) >= 1.12 for ground in lit[0])
        assert "bold" in str(trace.styles.border_title_style)
        assert "bold" not in str(app.query_one("#conversation").styles.border_title_style)
        shown = "\n".join(strip.text for strip in strips)
        assert all(mark in shown for mark in ("✓", "⊘", "⟲", "denied"))


async def test_code_in_16_colours_is_neither_yellow_nor_grey() -> None:
    """Yellow cannot be read on a bright ground, and some palettes make grey the ground itself."""
    view, conversation = DocumentView(), ConversationPane()
    async with hosted(view, conversation, theme="ua-ansi"):
        for widget in (view, conversation):
            parts = [
                name for name in widget.COMPONENT_CLASSES if "code" in name or "document--comment" in name
            ]
            assert len(parts) >= 9
            found = {name: widget.get_component_rich_style(name, partial=True).color for name in parts}
            assert not [
                name for name, color in found.items() if color is not None and color.number in {3, 7, 8, 11}
            ]
