"""What another theme costs: nothing is parsed, refreshed or painted more often than it has to be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.style import Style
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.theme import BUILTIN_THEMES

from tests.tui.app_host import opened
from tests.tui.fakes import make_app, make_session
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.settings.parsers import OF_TEXTUAL, OWN_THEMES
from ua_tui.tui.theme.themes import ABOUT, THEMES
from ua_tui.tui.virtual_list.virtual_list import VirtualList


def looks(nodes: Iterable[DOMNode]) -> dict[str, object]:
    """The rules of each node and of each of its components."""
    found: dict[str, object] = {}
    for node in nodes:
        found[f"{node}"] = dict(node.styles.base._rules)
        for name, component in node._component_styles.items():
            found[f"{node} {name}"] = dict(component.base._rules)
    return found


@pytest.mark.parametrize("theme", ["ua-light", "ua-ansi", "nord"])
async def test_every_node_and_list_looks_as_in_an_ordinary_stylesheet(tmp_path: Path, theme: str) -> None:
    async with opened(tmp_path, (150, 44)) as (_, app, pilot):
        await pilot.pause()
        before = looks(app.walk_children(with_self=True))
        app.theme = theme
        await pilot.pause()
        await pilot.pause()
        kept = looks(app.walk_children(with_self=True))
        ordinary = Stylesheet(variables=app.get_css_variables())
        ordinary.source = dict(app.stylesheet.source)
        ordinary.parse()
        ordinary.update(app)
        assert len(kept) > 150
        assert kept == looks(app.walk_children(with_self=True))
        assert kept != before
        app.frame.query_one("#trace").styles.opacity = 0.5
        read = [(view, name) for view in app.query(VirtualList) for name in view._get_component_classes()]
        assert len(read) > 60
        for view, name in read:
            full = view.get_component_rich_style(name)
            own = view.get_component_rich_style(name, partial=True)
            color = full.color if own.color is not None else None
            combined = Style.from_color(color, full.bgcolor if own.bgcolor is not None else None)
            assert view._component(name) == own + combined


async def test_a_node_is_matched_with_few_rules(tmp_path: Path, monkeypatch: Patch) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    looked_at: list[int] = []
    apply = Stylesheet.apply

    def noting(self: Stylesheet, node: DOMNode, **how: object) -> None:
        looked_at.append(len(self.rules))
        apply(self, node, **how)  # type: ignore[arg-type]

    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.state == "idle")
        await pilot.pause()
        every = len(app.stylesheet.rules)
        monkeypatch.setattr(Stylesheet, "apply", noting)
        app.stylesheet.update(app)
        assert len(looked_at) > 100
        assert max(looked_at) < every / 4
        assert len(app.stylesheet.rules) == every


def test_the_settings_know_every_theme_and_no_others() -> None:
    assert set(OF_TEXTUAL) == set(BUILTIN_THEMES)
    assert list(OWN_THEMES.values()) == [theme.name for theme in THEMES]
    assert list(OWN_THEMES) == list(ABOUT)
