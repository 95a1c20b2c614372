"""The looks of the application: its styles, themes, and what may reach the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.filter import LineFilter
from textual.worker import Worker

from core.text import clean_line
from tui.terminal.browser import BrowsingApp
from tui.terminal.copy import CopyingApp
from tui.terminal.output_filter import ControlFilter
from tui.theme.colors_256 import PaletteFilter
from tui.theme.stylesheet import CachedStylesheet
from tui.theme.themes import MISSING, THEMES, readable, setting_of, theme_named

if TYPE_CHECKING:
    from tui.terminal.clipboard import Clipboard
    from tui.theme.store import ThemeStore

__all__ = ["StyledApp"]

STYLES = Path(__file__).parents[2] / "styles"
FIRST_STYLES = ("app.tcss", "status.tcss")


class StyledApp(CopyingApp, BrowsingApp):
    """An application in the styles of ua-tui, of which the first frame reads only what it needs.

    Args:
        routes: knows the routes to a clipboard; by default those that fit the terminal.
        theme: the theme wanted, by its name in the settings; None for the usual one.

    Attributes:
        theme_store: where a theme that is chosen from the list is kept; None forgets it.
        chosen_theme: the one that was chosen so, by its name in the settings; None before.

    Raises:
        SettingsError: there is no such theme.
    """

    stylesheet: CachedStylesheet
    CSS_PATH: ClassVar[list[str | Path]] = [STYLES / name for name in FIRST_STYLES]  # type: ignore[assignment]  # a list of paths

    def __init__(self, routes: Clipboard | None, theme: str | None) -> None:
        super().__init__(routes)
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())
        # Always the same one: strips keep what each filter made of them.
        self._fence = ControlFilter()
        self._palette = PaletteFilter(self.console.color_system == "256")
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme_named(theme, self.available_themes)
        self.theme_store: ThemeStore | None = None
        self.chosen_theme: str | None = None
        self._keeping = asyncio.Lock()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing through to the terminal that could steer it."""
        palette = [self._palette] if self._palette.enabled else []
        return [*super().get_line_filters(), *palette, self._fence]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Fill in what some themes leave out."""
        return MISSING

    def get_css_variables(self) -> dict[str, str]:
        """Give the variables of the theme, those of a theme that is not ours such that it can be read."""
        variables = readable(self.current_theme, super().get_css_variables())
        self.theme_variables = variables
        return variables

    def refresh_css(self, animate: bool = True) -> None:
        """Style everything anew; before there is a screen nothing has been styled, and one parse is enough."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def action_command_palette(self) -> None:
        """Offer every command by name."""
        from tui.screens.application.command_palette import Palette

        if self.use_command_palette and not Palette.is_open(self.app):
            self.push_screen(Palette(id="--command-palette"))

    def action_help(self) -> None:
        """Show every key."""
        from tui.screens.application.help import show_help

        show_help(self, everything=True)

    def action_keys_here(self) -> None:
        """Show the keys of the pane or screen that has the focus."""
        from tui.screens.application.help import show_help

        show_help(self)

    def search_themes(self) -> None:
        """Offer the themes, and get ours ready while one is chosen."""
        from tui.app.theme_picker import ThemeList
        from tui.screens.application.command_palette import Palette

        self.push_screen(Palette(providers=[ThemeList], placeholder="Search for themes…"))
        _: Worker[None] = self.run_worker(
            self._prepare_themes, name="themes", group="themes", exclusive=True, exit_on_error=False
        )

    def choose_theme(self, name: str) -> None:
        """Show a theme that the person chose, by its name in the settings, and keep the choice.

        Raises:
            SettingsError: there is no such theme.
        """
        self.theme = theme_named(name, self.available_themes)
        self.chosen_theme = setting_of(self.theme)
        if self.theme_store is not None:
            work = self._keep_theme(self.theme_store, self.chosen_theme)
            _: Worker[None] = self.run_worker(work, name="theme", group="kept theme", exit_on_error=False)

    async def _keep_theme(self, kept: ThemeStore, name: str) -> None:
        # One after the other: the last choice is the one that stays.
        async with self._keeping:
            if told := await asyncio.to_thread(kept.keep, name):
                self.notify(clean_line(told, 500), severity="warning", markup=False)

    async def _prepare_themes(self) -> None:
        for theme in THEMES:
            variables = {**MISSING, **theme.to_color_system().generate(), **theme.variables}
            for _ in self.stylesheet.preparing(variables):
                await asyncio.sleep(0)

    def read_other_styles(self) -> None:
        """Read the styles of what stands behind the first frame."""
        for path in sorted(STYLES.glob("*.tcss")):
            if path.name not in FIRST_STYLES:
                self.stylesheet.read(path)
        # Reading alone does not make Textual forget the rules it has looked up so far.
        self.stylesheet.parse()
