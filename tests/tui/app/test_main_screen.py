"""What a new size and the terminal's focus cost: nothing is painted or styled that need not be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from textual import events
from textual._compositor import Compositor, ReflowResult
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.geometry import Size
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.theme.themes import theme_named


async def resized(app: UaTuiApp, pilot: Pilot[str], width: int, height: int) -> None:
    await pilot.resize_terminal(width, height)
    await until(lambda: app.frame.size.width == width)
    await pilot.pause()


def picture(app: UaTuiApp) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def rules(app: UaTuiApp) -> dict[tuple[str, str], object]:
    """All styles of the panes, also those of what they draw themselves."""
    nodes = list(app.frame.walk_children(with_self=True))
    found: dict[tuple[str, str], object] = {(repr(node), ""): node.styles.base.get_rules() for node in nodes}
    return found | {
        (repr(node), name): styles.get_rules()
        for node in nodes
        for name, styles in node._component_styles.items()
    }


@pytest.mark.parametrize(
    ("before", "after", "mode"),
    [
        ((120, 40), (150, 44), "wide"),
        ((150, 44), (90, 30), "narrow"),
        ((120, 40), (110, 36), "stacked"),
        ((160, 50), (100, 34), "stacked"),
        ((120, 40), (120, 30), "medium"),
    ],
)
async def test_a_new_size_is_painted_once(
    tmp_path: Path, monkeypatch: Patch, before: tuple[int, int], after: tuple[int, int], mode: str
) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    painted: list[tuple[Size, bool]] = []
    laid_out: list[Size] = []
    drawn: list[DOMNode] = []
    paint, lay_out = Compositor.render_full_update, Compositor.reflow

    def noting(self: Compositor, simplify: bool = False) -> object:
        painted.append((self.size, app.frame.has_class(f"-{mode}")))
        return paint(self, simplify)

    def noting_layout(self: Compositor, parent: Widget, size: Size) -> ReflowResult:
        laid_out.append(size)
        return lay_out(self, parent, size)

    async with app.run_test(size=before) as pilot:
        await settled(app, pilot)
        await until(lambda: app.frame.is_filled)
        await pilot.pause()
        monkeypatch.setattr(Compositor, "render_full_update", noting)
        monkeypatch.setattr(Compositor, "reflow", noting_layout)
        monkeypatch.setattr(Stylesheet, "_process_component_classes", lambda _, node: drawn.append(node))
        await resized(app, pilot, *after)
        monkeypatch.undo()
        assert not drawn
        styles = rules(app)
        app.stylesheet.update_nodes(app.frame.walk_children(with_self=True))
        assert rules(app) == styles
        assert painted == [(Size(*after), True)]
        # Only a wide screen has the preview, which lays out its hint.
        assert len(laid_out) <= (3 if mode == "wide" else 1)
        # The hint of the preview, which only a wide screen has, comes from a worker.
        await until(lambda: mode != "wide" or any("The file under the" in row for row in picture(app)))
        first = picture(app)
        await resized(app, pilot, *before)
        await resized(app, pilot, *after)
        await until(lambda: picture(app) == first)


async def test_a_theme_and_a_closed_screen_are_one_frame(tmp_path: Path, monkeypatch: Patch) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    frames: list[str] = []
    display = App._display

    def noting(self: App[str], screen: Screen[None], update: object) -> None:
        if update is not None:
            frames.append(type(update).__name__)
        display(self, screen, update)  # type: ignore[arg-type]

    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await until(lambda: app.frame.is_filled)
        await pilot.pause()
        monkeypatch.setattr(App, "_display", noting)
        # What follows when a theme is chosen from a list, which was a screen above this one.
        app.screen.refresh(layout=True)
        app.set_reactive(App.theme, theme_named("light", app.available_themes))
        app.refresh_css(animate=False)
        await until(lambda: bool(frames))
        await pilot.pause()
        await pilot.pause()
        assert frames == ["LayoutUpdate"]


async def test_the_focus_of_the_terminal_styles_only_what_has_it(tmp_path: Path, monkeypatch: Patch) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    styled: list[str] = []
    style = Stylesheet.update_nodes

    def noting(self: Stylesheet, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        listed = list(nodes)
        styled.extend(str(node.id) for node in listed)
        style(self, listed, animate)

    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.state == "idle")
        await pilot.pause()
        prompt = app.frame.prompt
        border = prompt.styles.border_top
        monkeypatch.setattr(Stylesheet, "update_nodes", noting)
        app.post_message(events.AppBlur())
        await until(lambda: not prompt.has_focus)
        assert prompt.styles.border_top != border
        app.post_message(events.AppFocus())
        await until(lambda: prompt.has_focus)
        await pilot.pause()
        assert prompt.styles.border_top == border
        assert not {"conversation", "trace", "workspace"} & set(styled)
        await pilot.press("2")
        await pilot.press("f3")
        await until(lambda: app.frame.query_one("#trace").has_focus)
        assert "trace" in styled
