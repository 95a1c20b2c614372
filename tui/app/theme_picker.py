"""The list of themes in the command palette: ours first, by their names in the settings, then Textual's."""

from __future__ import annotations

from functools import partial
from typing import Protocol, runtime_checkable

from textual.command import DiscoveryHit, Hit, Hits, Provider

from ua_tui.tui.theme.themes import ABOUT, listed


@runtime_checkable
class HasThemes(Protocol):
    """An application whose theme can be chosen by its name in the settings."""

    def choose_theme(self, name: str) -> None:
        """Show a theme, and store the choice."""
        ...


class ThemeList(Provider):
    """Offers every theme; the chosen one is stored."""

    async def discover(self) -> Hits:
        """Offer all of them."""
        for name in self._names():
            yield DiscoveryHit(name, partial(self._choose, name), help=ABOUT.get(name))

    async def search(self, query: str) -> Hits:
        """Offer those with a matching name."""
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
        assert isinstance(app, HasThemes)
        app.choose_theme(name)
