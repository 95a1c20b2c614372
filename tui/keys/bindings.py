"""The keys of every class: `bindings.json` has them, and what they do.

`actions` are what the settings, the help and the documents name: the keys, what they do, and the group with which they
share a line of the help. `classes` says which of them a class has, and the action of Textual that each runs there; a
class that says in other words what it does has both. Keys that no setting changes are there instead of a name. `first`
are handled before the widget with the focus. `places` are the sections of the help, most of them by their class; an
action that does the same in many places is listed in a shared one, by the beginning of its name or by its group.
"""

from __future__ import annotations

import msgspec
from textual.binding import Binding, BindingType

from ua_tui.core.json_values import table_of


class _Action(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    keys: str
    about: str
    group: str = ""


class KeyPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A section of the help.

    Attributes:
        without: the beginnings of the names of actions that do nothing there, though a part has keys for them.
        fixed: keys that the class handles without a binding, and what they do.
    """

    title: str
    without: tuple[str, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    groups: dict[str, str]
    actions: dict[str, _Action]
    first: frozenset[str]
    places: dict[str, KeyPlace]
    shared: dict[str, str]
    shared_groups: dict[str, str]
    classes: dict[str, dict[str, str | tuple[str, str]]]


_TABLES = table_of(__file__, "bindings.json", _Tables)

GROUPS = {name: Binding.Group(text) for name, text in _TABLES.groups.items()}
"""Actions that share a line of the help, by the name of their group."""
_ABOUTS = {(action.group, action.about) for action in _TABLES.actions.values()}
MIXED_GROUPS = {GROUPS[name] for name in GROUPS if sum(group == name for group, _ in _ABOUTS) > 1}
"""The groups whose actions do different things."""
STANDARD_OF_CLASSES = {name: action.keys for name, action in _TABLES.actions.items()}
"""The standard keys of every action, but of those that show a pane."""
PLACES = _TABLES.places
"""The sections of the help, by the names of the classes whose keys they list."""
SHARED = {start: PLACES[name] for start, name in _TABLES.shared.items()}
"""Where actions are listed that do the same in many places, by the beginnings of their names."""
SHARED_GROUPS = {GROUPS[group]: PLACES[name] for group, name in _TABLES.shared_groups.items()}
"""The same, by their groups; these come first."""
CLASSES = _TABLES.classes
"""What the keys of each class run, by the names of the actions."""


def bindings(class_name: str) -> list[BindingType]:
    """Return the bindings of a class, in their order; they are shown in the help, not in a footer."""
    found: list[BindingType] = []
    for name, runs in CLASSES[class_name].items():
        known = _TABLES.actions.get(name, _Action(name, ""))
        own = (known.about, GROUPS.get(known.group)) if isinstance(runs, str) else (runs[1], None)
        action, id_ = runs if isinstance(runs, str) else runs[0], name if name in _TABLES.actions else None
        first = name in _TABLES.first
        found.append(Binding(known.keys, action, own[0], False, priority=first, id=id_, group=own[1]))
    return found
