"""What the frame knows of a pane before it is imported: `panes.json` lists the panes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

import msgspec
from textual.widget import Widget

from ua_tui.core.json_values import table_of


class PaneCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that shows the pane and runs one of its actions; `key` is the id of the binding for that action."""

    name: str
    title: str
    key: str
    action: str


class PaneSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pane of the frame.

    Args:
        name: its id, and the end of the id of its key, `show.<name>`.
        title: shown in its border and on its tab.
        column: the id of the column it is in.
        order: its place in the column, and in the cycle of Tab; smaller ones come first.
        widget: its class, as `module:name`.
        number: its key, and its place among the tabs; None if it has no tab.
        shown_with: the pane without which it is not shown, nor where the panes of all columns are one above the other.
        least_lines: of the terminal, below which it is hidden unless all panes are side by side.
        parts: of the height, compared with the others, where the panes of all columns are one above the other.
        commands: what can be done in it by name.
    """

    name: str
    title: str
    column: str
    order: int
    widget: str
    number: int | None = None
    shown_with: str = ""
    least_lines: int = 0
    parts: int = 1
    commands: tuple[PaneCommand, ...] = ()

    @property
    def keys(self) -> str:
        """The keys that show it; none without a number."""
        return "" if self.number is None else f"{self.number},f{self.number + 1},alt+{self.number}"

    def load(self) -> type[Widget]:
        """Import its class."""
        module, _, name = self.widget.partition(":")
        loaded: type[Widget] = getattr(import_module(module), name)
        return loaded


_plugged: list[PaneSpec] = []


def add_panes(plugged: Sequence[PaneSpec]) -> None:
    """Add the panes of plug-ins, which are in the frame, for the whole process."""
    _plugged[:] = plugged
    pane_specs.cache_clear()


@cache
def pane_specs() -> tuple[PaneSpec, ...]:
    """Return the panes of `panes.json`, and of plug-ins, in their order."""
    own = table_of(__file__, "panes.json", list[PaneSpec])
    return tuple(sorted([*own, *_plugged], key=lambda spec: spec.order))


def column_specs() -> dict[str, list[PaneSpec]]:
    """Return the panes of each column, in the order of the screen."""
    columns: dict[str, list[PaneSpec]] = {}
    for spec in pane_specs():
        columns.setdefault(spec.column, []).append(spec)
    return columns


def tab_specs() -> tuple[PaneSpec, ...]:
    """Return the panes that have a tab, by their numbers."""
    return tuple(
        sorted((spec for spec in pane_specs() if spec.number is not None), key=lambda spec: spec.number or 0)
    )


def side_specs() -> tuple[PaneSpec, ...]:
    """Return the panes of which a medium screen shows one beside the first."""
    first, *others = tab_specs()
    return tuple(spec for spec in others if spec.column != first.column)
