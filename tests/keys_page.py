"""The keys in `docs/keys.md`, and the table of the standard keys, from the bindings of all classes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache

from textual.binding import Binding
from textual.dom import DOMNode

import tui
from tui.keys.names import shown_key
from tui.keys.table import HANDLED, PLACES, Row

__all__ = ["classes_with_keys", "keys_page", "named_bindings", "standard_keys", "standard_module"]

OWN_PROGRAMS = {"tui.viewers.types.pdf_child", "tui.cli.served_tab"}
"""Modules that only run in processes of their own."""
FIXED_CLASSES = {"SetupScreen"}
"""Classes whose keys cannot be changed."""


@cache
def classes_with_keys() -> frozenset[type[DOMNode]]:
    """Every class of the screen that has bindings."""
    found: set[type[DOMNode]] = set()
    for module in pkgutil.walk_packages(tui.__path__, "tui."):
        if module.name in OWN_PROGRAMS:
            continue
        for each in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(each) and issubclass(each, DOMNode) and vars(each).get("BINDINGS"):
                found.add(each)
    return frozenset(each for each in found if each.__module__.startswith("tui."))


def named_bindings() -> Iterator[tuple[type[DOMNode], Binding]]:
    """Every binding whose keys can be changed."""
    for each in sorted(classes_with_keys(), key=lambda each: (each.__module__, each.__name__)):
        if each.__name__ not in FIXED_CLASSES:
            yield from ((each, binding) for binding in vars(each)["BINDINGS"] if binding.id is not None)


def standard_keys() -> dict[str, str]:
    """The keys of each action, as its bindings have them, in the order of the places."""
    bound = {binding.id or "": binding.key for _, binding in named_bindings()}
    bound.update(HANDLED)
    names = dict.fromkeys(name for place in PLACES.values() for row in place.rows for name in row.ids)
    return {name: bound.pop(name) for name in names if name in bound} | dict(sorted(bound.items()))


def standard_module(text: str) -> str:
    """The text of the module with its table made again."""
    start = text.index("{\n") + 2
    rows = "".join(f'    "{name}": "{keys}",\n' for name, keys in standard_keys().items())
    return text[:start] + rows + text[text.index("}\n", start) :]


def keys_page(text: str) -> str:
    """The text of the page with its tables made again."""
    for name, table in (("places", _places_table()), ("actions", _actions_table())):
        start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, _, rest = text.partition(start)
        after = rest.partition(end)[2]
        text = f"{before}{start}\n{table}\n\n{end}{after}"
    return text


def _places_table() -> str:
    rows = ["| where | keys | what |", "|---|---|---|"]
    for place in PLACES.values():
        title = place.title
        for row in place.rows:
            rows.append(f"| {title} | {_row_keys(row)} | {_cell(row.what)} |")
            title = ""
    return "\n".join(rows)


def _row_keys(row: Row) -> str:
    if row.fixed:
        return f"`{_cell(row.fixed)}`"
    standard = standard_keys()
    return ", ".join(_written(standard[name]) for name in row.ids)


def _actions_table() -> str:
    described = {binding.id: binding.description for _, binding in named_bindings() if binding.description}
    alone = {row.names: row.what for place in PLACES.values() for row in place.rows if len(row.ids) == 1}
    rows = ["| action | keys | what |", "|---|---|---|"]
    for name, keys in standard_keys().items():
        what = alone.get(name) or described.get(name) or ""
        rows.append(f"| `{name}` | {_written(keys)} | {_cell(what[:1].lower() + what[1:])} |")
    return "\n".join(rows)


def _written(keys: str) -> str:
    return " ".join(f"`{shown_key(key)}`" for key in keys.split(","))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
