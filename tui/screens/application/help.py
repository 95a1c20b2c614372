"""The help: the keys of the focused pane or screen, or all keys."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from typing import Any

from textual.app import App
from textual.content import Content
from textual.dom import DOMNode

import ua_tui.tui.screens
from ua_tui.tui.keys.bindings import PLACES
from ua_tui.tui.keys.places import classes_with_place, sections_of, shown_line
from ua_tui.tui.screens.services.row_screen import hanging
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot, Words
from ua_tui.tui.widgets.modal import Modal

FEW_ROWS = [(0, "-few-rows"), (30, "-many-rows")]


class _Keys(Words):
    """The keys, which are wrapped again for another width."""

    def on_resize(self) -> None:
        """Show them at the new width."""
        self.query_ancestor(HelpScreen).show_keys()


class HelpScreen(Dialog[None]):
    """Shows the active keys, grouped by where they work.

    Args:
        here: the classes whose keys to show, the nearest first; None shows those of all classes.
        typing: whether keys that are text are left out of them.
        without: beginnings of the names of actions that do nothing with what is shown.
    """

    VERTICAL_BREAKPOINTS = FEW_ROWS

    def __init__(
        self,
        here: Sequence[type[DOMNode]] | None = None,
        *,
        typing: bool = False,
        without: tuple[str, ...] = (),
    ) -> None:
        super().__init__(Box("", "", _Keys(kind="facts"), Foot()), requested=True)
        self.here = here
        self._in_text = typing
        self._without = without

    def show_keys(self) -> None:
        """Show the keys, each with its text beside it."""
        keys, app = self.keys, self.app
        places = self.here
        if places is None:
            running = classes_with_place([*app.screen_stack[0].walk_children(with_self=True), app])
            places = [*running, *screen_places()]
        typing, without = (self._in_text, self._without) if self.here is not None else (False, ())
        sections = sections_of(places, keys, typing=typing, without=without)
        groups = [
            (place.title, [*(shown_line(each.values(), what) for what, each in lines.items()), *place.fixed])
            for place, lines in sections.items()
        ]
        width = max(len(key) for _, rows in groups for key, _ in rows)
        parts: list[tuple[str, str] | Content] = []
        if self.here is None and keys.problems:
            parts.append(("Ignored settings\n", "bold $warning"))
            parts += [(f"  {problem}\n", "") for problem in keys.problems]
            parts.append(("\n", ""))
        facts, box = self.query_one(".facts", Words), self.query_one(Box)
        room = facts.size.width or app.size.width
        for title, rows in groups:
            parts.append((f"{title}\n", "bold"))
            for key, what in rows:
                parts += [hanging((f"  {key:<{width}}  ", "$accent"), what, room), ("\n", "")]
            parts.append(("\n", ""))
        is_screen = any(issubclass(each, Modal) for each in places)
        where = "" if self.here is None else " for this screen" if is_screen else " for this pane"
        box.border_title = Content(f"Keys{where}")
        facts.update(Content.assemble(*parts[:-1]))
        every = "" if self.here is None else f"{keys.shown('help.all')} all keys   "
        close = keys.shown("screen.back")
        self.query_one(".hint", Words).update(f"{every}↑↓ scroll   {close} close")

    def action_show_all(self) -> None:
        """Show every key; go back when every key is shown already."""
        if self.here is None:
            self.dismiss(None)
        else:
            self.here = None
            self.show_keys()
            self.query_one(Box).scroll_home(animate=False)


def show_help(app: App[Any], *, everything: bool = False) -> None:
    """Show the keys of the focused pane or screen, or every key; nothing happens if the help is open already."""
    if isinstance(app.screen, HelpScreen):
        return
    focused = app.focused
    nodes: list[DOMNode] = []
    for node in (focused or app.screen).ancestors_with_self:
        # The keys that no pane takes are those of the controls, such as the time line of a replay.
        controls = getattr(node, "controls", None)
        nodes += [controls, node] if isinstance(controls, DOMNode) else [node]
    here = classes_with_place(node for node in nodes if node is not app or not isinstance(app.screen, Modal))
    typing = focused is not None and focused.check_consume_key("a", "a")
    idle = (getattr(node, "idle_actions", ()) for node in nodes)
    without = tuple(chain.from_iterable(idle))
    app.push_screen(HelpScreen(None if everything else here, typing=typing, without=without))


def screen_places() -> list[type[DOMNode]]:
    """Return the screens above the panes that have keys of their own; imports all screens."""
    names = (
        module.name for module in pkgutil.walk_packages(ua_tui.tui.screens.__path__, "ua_tui.tui.screens.")
    )
    classes = (each for name in names for each in vars(import_module(name)).values())
    return [
        each
        for each in classes
        if isinstance(each, type)
        and issubclass(each, DOMNode)
        and each.__name__ in PLACES
        and each is not Modal
    ]
