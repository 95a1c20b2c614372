"""The keys: those of where the person is, or all of them."""

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
    """The keys that hold, by where they work; any of its closing keys goes back.

    Args:
        here: the places to tell of, the nearest first; None tells of all.
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
        """Put down the box."""
        with Box(classes="box"):
            yield Static(classes="facts")
            yield Foot()

    def on_mount(self) -> None:
        """Set the keys out."""
        self._tell()

    def _tell(self) -> None:
        keys = keys_of(self.app)
        places = tuple(PLACES) if self.here is None else self.here
        told = [(PLACES[place].title, list(_rows(place, keys))) for place in places]
        width = max(len(key) for _, rows in told for key, _ in rows)
        parts: list[tuple[str, str]] = []
        if self.here is None and keys.problems:
            parts.append(("Ignored settings\n", "bold $warning"))
            parts += [(f"  {problem}\n", "") for problem in keys.problems]
            parts.append(("\n", ""))
        for title, rows in told:
            parts.append((f"{title}\n", "bold"))
            for key, what in rows:
                parts += [(f"  {key:<{width}}  ", "$accent"), (f"{what}\n", "")]
            parts.append(("\n", ""))
        box = self.query_one(Box)
        box.border_title = Content("Keys" if self.here is None else "Keys for this pane")
        self.query_one(".facts", Static).update(Content.assemble(*parts[:-1]))
        every = "" if self.here is None else f"{keys.shown('help.all')} every key   "
        close = keys.shown("screen.back")
        self.query_one(".hint", Static).update(Content(f"{every}↑↓ scroll   {close} close"))
        box.scroll_home(animate=False)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_show_all(self) -> None:
        """Show every key; go back when every key is shown already."""
        if self.here is None:
            self.dismiss(None)
        else:
            self.here = None
            self._tell()

    def action_scroll_box(self, rows: int) -> None:
        """Scroll what has no room."""
        self.query_one(Box).scroll_relative(y=rows, animate=False)


def show_help(app: App[Any], *, everything: bool = False) -> None:
    """Show every key, or those of where the person is; nothing more when that is shown already."""
    if not isinstance(app.screen, HelpScreen):
        app.push_screen(HelpScreen(None if everything else places_at(app)))


def places_at(app: App[Any]) -> tuple[str, ...]:
    """Return the places whose keys hold where the focus is, the nearest first."""
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
    """Return the keys of a row and what they do as they are shown; None when no key is left of it."""
    if row.fixed:
        return row.fixed, row.what
    first: list[str] = []
    others: list[str] = []
    for name in row.ids:
        held = keys.of(name)
        # Panes are shown by digits too, but not where one types.
        if place == "anywhere":
            held = tuple(key for key in held if not is_typed(key))
        elif name.startswith("show."):
            held = tuple(key for key in held if is_typed(key))
        first += held[:1]
        others += held[1:]
    if not first:
        return None
    also = f"; also {' '.join(map(shown_key, others))}" if others else ""
    return " ".join(map(shown_key, first)), row.what + also
