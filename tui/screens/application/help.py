"""The help: the keys of the focused pane or screen, or all keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.keys.keymap import Keys, keys_of
from tui.keys.names import is_typed, shown_key
from tui.keys.table import PLACES, Row
from tui.widgets.dialog import NARROW, Box, Foot
from tui.widgets.modal import Modal

__all__ = ["HelpScreen", "places_at", "row_of", "show_help"]


FEW_ROWS = [(0, "-few-rows"), (30, "-many-rows")]


class HelpScreen(Modal[None]):
    """Shows the active keys, grouped by where they work.

    Args:
        here: the places to show, the nearest first; None shows all.
    """

    HORIZONTAL_BREAKPOINTS = NARROW
    VERTICAL_BREAKPOINTS = FEW_ROWS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="screen.back", show=False),
        Binding("enter", "close", "Close", show=False),
        Binding("question_mark", "close", "Close", id="help.here", show=False),
        Binding("f1", "show_all", "All keys", id="help.all", show=False),
        Binding("up", "scroll_box(-1)", show=False),
        Binding("down", "scroll_box(1)", show=False),
        Binding("pageup", "scroll_box(-10)", show=False),
        Binding("pagedown", "scroll_box(10)", show=False),
    ]

    def __init__(self, here: Sequence[str] | None = None) -> None:
        super().__init__()
        self.here = here

    def compose(self) -> ComposeResult:
        """Create the box."""
        with Box(classes="box"):
            yield Static(classes="facts")
            yield Foot()

    def on_mount(self) -> None:
        """Show the keys."""
        self._show_keys()

    def _show_keys(self) -> None:
        keys = keys_of(self.app)
        places = tuple(PLACES) if self.here is None else self.here
        groups = [(PLACES[place].title, list(_rows(place, keys))) for place in places]
        width = max(len(key) for _, rows in groups for key, _ in rows)
        parts: list[tuple[str, str]] = []
        if self.here is None and keys.problems:
            parts.append(("Ignored settings\n", "bold $warning"))
            parts += [(f"  {problem}\n", "") for problem in keys.problems]
            parts.append(("\n", ""))
        for title, rows in groups:
            parts.append((f"{title}\n", "bold"))
            for key, what in rows:
                parts += [(f"  {key:<{width}}  ", "$accent"), (f"{what}\n", "")]
            parts.append(("\n", ""))
        box = self.query_one(Box)
        where = "" if self.here is None else " for this pane" if "pane" in self.here else " for this screen"
        box.border_title = Content(f"Keys{where}")
        self.query_one(".facts", Static).update(Content.assemble(*parts[:-1]))
        every = "" if self.here is None else f"{keys.shown('help.all')} all keys   "
        close = keys.shown("screen.back")
        self.query_one(".hint", Static).update(Content(f"{every}↑↓ scroll   {close} close"))
        box.scroll_home(animate=False)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)

    def action_show_all(self) -> None:
        """Show every key; go back when every key is shown already."""
        if self.here is None:
            self.dismiss(None)
        else:
            self.here = None
            self._show_keys()

    def action_scroll_box(self, rows: int) -> None:
        """Scroll the keys."""
        self.query_one(Box).scroll_relative(y=rows, animate=False)


def show_help(app: App[Any], *, everything: bool = False) -> None:
    """Show the keys of the focused pane or screen, or every key; nothing happens if the help is open already."""
    if not isinstance(app.screen, HelpScreen):
        app.push_screen(HelpScreen(None if everything else places_at(app)))


def places_at(app: App[Any]) -> tuple[str, ...]:
    """Return the places whose keys are active where the focus is, the nearest first."""
    focused = app.focused
    for node in (*(focused.ancestors_with_self if focused is not None else ()), app.screen):
        classes = {each.__name__ for each in type(node).__mro__}
        for name, place in PLACES.items():
            if classes & set(place.classes) and name not in ("screen", "pane"):
                return (name, *place.also)
    return ("pane", "anywhere") if len(app.screen_stack) == 1 else ("screen",)


def _rows(place: str, keys: Keys) -> Iterator[tuple[str, str]]:
    for row in PLACES[place].rows:
        found = row_of(row, place, keys)
        if found is not None:
            yield found


def row_of(row: Row, place: str, keys: Keys) -> tuple[str, str] | None:
    """Return the keys of a row and what they do, as shown; None if no key is left of it."""
    if row.fixed:
        return row.fixed, row.what
    first: list[str] = []
    others: list[str] = []
    for name in row.ids:
        active = keys.of(name)
        # Panes are shown by digits too, but not where text is typed.
        if place == "anywhere":
            active = tuple(key for key in active if not is_typed(key))
        elif name.startswith("show."):
            active = tuple(key for key in active if is_typed(key))
        first += active[:1]
        others += active[1:]
    if not first:
        return None
    also = f"; also {' '.join(map(shown_key, others))}" if others else ""
    return " ".join(map(shown_key, first)), row.what + also
