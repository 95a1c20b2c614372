"""The list of themes in the command palette: ours first, by the names that the settings know, then Textual's."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.app.base_app import StyledApp
from tui.theme.themes import ABOUT, listed

__all__ = ["ThemeList"]


class ThemeList(Provider):
    """Offers every theme; one that is chosen is kept."""

    async def discover(self) -> Hits:
        """Offer all of them."""
        for name in self._names():
            yield DiscoveryHit(name, partial(self._choose, name), help=ABOUT.get(name))

    async def search(self, query: str) -> Hits:
        """Offer those with such a name."""
        matcher = self.matcher(query)
        for name in self._names():
            if (score := matcher.match(name)) > 0:
                yield Hit(
                    score,
                    matcher.highlight(name),
                    partial(self._choose, name),
                    help=ABOUT.get(name),
                    text=name,
                )

    def _names(self) -> tuple[str, ...]:
        return listed(self.app.available_themes)

    def _choose(self, name: str) -> None:
        app = self.app
        assert isinstance(app, StyledApp)
        app.choose_theme(name)
