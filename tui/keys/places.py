"""Where keys are active, and what they do there: read from the bindings of classes, for the help and the documents.

A class whose keys have a section in the help has a place. Each binding with an `id` and a description is a line of
that section; those with the same description, or of one group, share a line. The classes in the `PARTS` of a class have
keys that are active there, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.binding import Binding
from textual.dom import DOMNode

from ua_tui.tui.keys.bindings import MIXED_GROUPS, PLACES, SHARED, SHARED_GROUPS, KeyPlace
from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.keys.names import is_typed, shown_key

Lines = dict[str, dict[str, tuple[str, ...]]]
"""The lines of a section: what is done, by which actions, and the keys of each."""


MAIN_SCREEN = PLACES["MainScreen"]
_IN_PANE = PLACES["Frame"]


def place_of(node: type[DOMNode]) -> KeyPlace | None:
    """Return the place of a class, or of the nearest one it is made from; None without one."""
    return next((PLACES[base.__name__] for base in node.__mro__ if base.__name__ in PLACES), None)


def bindings_of(node: type[DOMNode]) -> Iterator[tuple[KeyPlace, Binding]]:
    """Give the named bindings of a class with a place and of its parts, each with the place it belongs to."""
    own = place_of(node) or MAIN_SCREEN
    for each in (node, *getattr(node, "PARTS", ())):
        place, bound = own, set[str]()
        for base in each.__mro__:
            if each is node:
                place = PLACES.get(base.__name__, place)
            bindings = [binding for binding in vars(base).get("BINDINGS", ()) if isinstance(binding, Binding)]
            for binding in bindings:
                is_left_out = not binding.id or not binding.description or binding.id.startswith(own.without)
                if not is_left_out and not bound.issuperset(binding.key.split(",")):
                    yield _listed_in(binding, place), binding
            bound.update(key for binding in bindings for key in binding.key.split(","))


def _listed_in(binding: Binding, own: KeyPlace) -> KeyPlace:
    if binding.group in SHARED_GROUPS:
        return SHARED_GROUPS[binding.group]
    shared = (place for start, place in SHARED.items() if (binding.id or "").startswith(start))
    return own if own == MAIN_SCREEN else next(shared, own)


def classes_with_place(nodes: Iterable[DOMNode]) -> list[type[DOMNode]]:
    """Return the classes of `nodes` that have a place."""
    return [type(node) for node in nodes if place_of(type(node)) is not None]


def sections_of(
    classes: Iterable[type[DOMNode]], keys: Keys, *, typing: bool = False, without: tuple[str, ...] = ()
) -> dict[KeyPlace, Lines]:
    """Return the sections of the help for these classes, in their order.

    With `typing`, keys that are text where the focus is are left out; `without` are beginnings of names of actions
    that do nothing with what is shown.
    """
    found: dict[KeyPlace, Lines] = {}
    alone: dict[tuple[str, ...], str] = {}
    for node in classes:
        if (own := place_of(node)) is not None and own != MAIN_SCREEN:
            # Its section comes before those of its parts.
            found.setdefault(own, {})
        for place, binding in bindings_of(node):
            name, active = binding.id or "", keys.of(binding.id or "")
            if name.startswith(without):
                continue
            parts = [(place, active)]
            if place == MAIN_SCREEN:
                # Keys that are text work in a pane, but not in the prompt.
                typed = tuple(filter(is_typed, active))
                parts = [(MAIN_SCREEN, tuple(key for key in active if key not in typed)), (_IN_PANE, typed)]
            for section, part in parts:
                lines = found.setdefault(section, {})
                if shown := tuple(key for key in part if not (typing and is_typed(key))):
                    what = binding.group.description if binding.group is not None else binding.description
                    lines.setdefault(what, {})[name] = shown
                    if binding.group in MIXED_GROUPS:
                        alone[what, name] = binding.description
    return {place: _without_absent(lines, alone) for place, lines in found.items() if lines or place.fixed}


def _without_absent(lines: Lines, alone: dict[tuple[str, ...], str]) -> Lines:
    """The lines, of which one with a single action of its group tells only what that action does."""
    shown: Lines = {}
    for what, actions in lines.items():
        shown.setdefault(alone.get((what, *actions), what), {}).update(actions)
    return shown


def distinct(actions: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the keys of the actions of a line without those of an earlier one: in many places Esc goes back."""
    known: set[str] = set()
    found = []
    for keys in actions:
        if others := tuple(key for key in keys if key not in known):
            found.append(others)
            known.update(others)
    return found


def shown_line(keys: Iterable[tuple[str, ...]], what: str) -> tuple[str, str]:
    """Return the first key of each action of a line, and what they do, with the other keys."""
    each_once = distinct(keys)
    others = [shown_key(key) for each in each_once for key in each[1:]]
    also = f"; also {' '.join(others)}" if others else ""
    return " ".join(shown_key(each[0]) for each in each_once), what + also
