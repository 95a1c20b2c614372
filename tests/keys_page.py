"""The keys in `docs/keys.md`, and the table of the standard keys, from the bindings of all classes."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache

from textual.binding import Binding
from textual.dom import DOMNode

from ua_tui import tui
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.main_screen import MainScreen
from ua_tui.tui.keys.bindings import STANDARD_OF_CLASSES
from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.keys.names import shown_key
from ua_tui.tui.keys.places import MAIN_SCREEN, bindings_of, distinct, place_of, sections_of
from ua_tui.tui.layout.frame import Frame
from ua_tui.tui.panes.spec import pane_specs
from ua_tui.tui.replay.time_line import TimeLine
from ua_tui.tui.screens.application.help import screen_places
from ua_tui.tui.widgets.modal import Modal

OWN_PROGRAMS = {"ua_tui.tui.cli.served_session"}
"""Modules that only run in processes of their own."""


@cache
def classes_with_keys() -> frozenset[type[DOMNode]]:
    """Every class of the screen that has bindings."""
    found: set[type[DOMNode]] = set()
    for module in pkgutil.walk_packages(tui.__path__, "ua_tui.tui."):
        if module.name in OWN_PROGRAMS:
            continue
        for each in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(each) and issubclass(each, DOMNode) and vars(each).get("BINDINGS"):
                found.add(each)
    return frozenset(each for each in found if each.__module__.startswith("ua_tui.tui."))


def named_bindings() -> Iterator[tuple[type[DOMNode], Binding]]:
    """Every binding whose keys can be changed."""
    for each in sorted(classes_with_keys(), key=lambda each: (each.__module__, each.__name__)):
        yield from ((each, binding) for binding in vars(each)["BINDINGS"] if binding.id is not None)


def standard_keys() -> dict[str, str]:
    """The keys of each action, as its bindings have them, in the order of the help."""
    bound = {binding.id or "": binding.key for _, binding in named_bindings()}
    shown = dict.fromkeys(binding.id or "" for each in every_place() for _, binding in bindings_of(each))
    return {name: bound.pop(name) for name in shown} | dict(sorted(bound.items()))


def every_place() -> list[type[DOMNode]]:
    """The classes with a section of the help, in its order."""
    panes = (spec.load() for spec in pane_specs())
    running: list[type[DOMNode]] = [MainScreen, Frame, *panes, TimeLine, UaTuiApp]
    return [each for each in (*running, *screen_places()) if place_of(each) is not None]


def together() -> dict[str, list[str]]:
    """The actions that are active at the same time, by the place that has the focus."""
    around: tuple[type[DOMNode], ...] = (Frame, MainScreen, UaTuiApp)
    return {
        (place_of(each) or MAIN_SCREEN).title: sorted(
            {
                binding.id or ""
                for node in (each, *(() if issubclass(each, Modal) else around))
                for _, binding in bindings_of(node)
            }
        )
        for each in every_place()
        if each not in around
    }


def standard_tables(_: str) -> str:
    """The file with the keys that show panes, and the actions of each place, made again."""
    panes = {name: keys for name, keys in standard_keys().items() if name not in STANDARD_OF_CLASSES}
    tables = {"panes": panes, "together": [" ".join(names) for names in together().values()]}
    return json.dumps(tables, indent=1) + "\n"


def keys_page(text: str) -> str:
    """The text of the page with its table made again."""
    start, end = "<!-- generated: places -->\n", "<!-- end: places -->"
    before, _, rest = text.partition(start)
    after = rest.partition(end)[2]
    return f"{before}{start}\n{_places_table()}\n\n{end}{after}"


def _places_table() -> str:
    rows = ["| where | keys | what | action |", "|---|---|---|---|"]
    # Not the table of standard keys, which is generated, too.
    keys = Keys({name: tuple(keys.split(",")) for name, keys in standard_keys().items()})
    for place, lines in sections_of(every_place(), keys).items():
        cells = [
            (", ".join(map(_written, distinct(each.values()))), what, " ".join(f"`{name}`" for name in each))
            for what, each in lines.items()
        ]
        cells += [(f"`{fixed}`", what, "") for fixed, what in place.fixed]
        for title, (written, what, names) in zip((place.title, *[""] * len(cells)), cells, strict=False):
            rows.append(f"| {title} | {written} | {what} | {names} |")
    return "\n".join(rows)


def _written(keys: Iterable[str]) -> str:
    return " ".join(f"`{shown_key(key)}`" for key in keys)
