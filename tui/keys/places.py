"""Where keys are active, and what they do there: read from the bindings of classes, for the help and the documents.

A class with keys that have a section in the help has a `PLACE`. Each binding with an `id` and a description is a line
of that section; those with the same description, or of one group, share a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from textual.binding import Binding
from textual.dom import DOMNode

from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.keys.names import is_typed, shown_key


@dataclass(frozen=True)
class KeyPlace:
    """A section of the help.

    Attributes:
        parts: the classes of its parts, whose keys are active there, too.
        without: the beginnings of the names of actions that do nothing there, though a part has keys for them.
        fixed: keys that the class handles without a binding, and what they do.
    """

    title: str
    parts: tuple[type[DOMNode], ...] = ()
    without: tuple[str, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()


Lines = dict[str, dict[str, tuple[str, ...]]]
"""The lines of a section: what is done, by which actions, and the keys of each."""


ANYWHERE = KeyPlace("Anywhere")
IN_PANE = KeyPlace("In a pane")
_MOVING = KeyPlace("Moving and searching")
_DOCUMENT = KeyPlace("In a file, or where one is shown")
_SCREEN = KeyPlace("On other screens")
_QUESTION = KeyPlace("In a question")
_CLAIMS = KeyPlace(
    "On the claims of a report",
    fixed=(
        ("✗, ?", "signs: a source has something else, or the link was never seen; in nothing that was read"),
        ("=, ·", "signs: calculated from sources; found in a source, its sentence was not judged"),
    ),
)
_MOVE = Binding.Group("move")
_EDGES = Binding.Group("first, last (last follows new output)")
_OPEN = Binding.Group("open")
_MOVING_GROUPS = (_MOVE, _EDGES, _OPEN)
_SHARED: Mapping[str, KeyPlace] = {
    "table.filter": _MOVING,
    "file.": _DOCUMENT,
    "table.": _DOCUMENT,
    "results.": _DOCUMENT,
    "picture.": _DOCUMENT,
    "call.origin": _DOCUMENT,
    "claim.": _CLAIMS,
    "claims.": _CLAIMS,
    "find.": _MOVING,
    "trace.filter": _MOVING,
    "workspace.leave_filter": _MOVING,
    "move.fold": _MOVING,
    "move.unfold": _MOVING,
    "link.": _SCREEN,
    "screen.": _SCREEN,
    "help.": _SCREEN,
    "form.": _QUESTION,
    "subagent.": IN_PANE,
    "agents.read": _SCREEN,
    "permissions.read": _SCREEN,
}
"""Where actions are listed that do the same in many places, by the beginnings of their names."""

CLAIM_DECISION = Binding.Group("accept, reject, open again")
CLAIM_DOUBTFUL = Binding.Group("next, previous doubtful claim (Enter: its evidence)")
CLAIM_SCROLL = Binding.Group("scroll the evidence")
CLAIM_TABLE = Binding.Group("from the report to the table of its claims, and back")
COPY_FILE = Binding.Group("copy the path, the text")
FOLD = Binding.Group("fold and unfold; in a table: change the column")
LINK = Binding.Group("open the link, copy it")
FILTER = Binding.Group("filter: the rows of a table; calls, by words, tool:news or state:failed")
KEEP = Binding.Group("no, stay, keep it")
REMOVE = Binding.Group("remove or delete it; a session only after a question")
SEARCH = Binding.Group("search or filter, Esc clears it; next, previous match or change")
UNANSWERED = Binding.Group("no answer: deny or cancel; in another program's session, decide later")
DECLINE = Binding.Group("decline; a plan: continue planning")
_SHARED_GROUPS = (UNANSWERED, REMOVE)


def key_binding(
    name: str,
    keys: str,
    action: str,
    description: str = "",
    group: Binding.Group | None = None,
    *,
    priority: bool = False,
) -> Binding:
    """Return a binding whose keys can be changed under this name; it is shown in the help, not in a footer."""
    return Binding(keys, action, description, show=False, priority=priority, id=name, group=group)


TO_PROMPT = key_binding("screen.prompt", "i", "app.write", "write in the prompt")


def moving(
    *,
    up: str = "",
    down: str = "",
    page_up: str = "",
    page_down: str = "",
    first: str = "",
    last: str = "",
    opening: str = "",
) -> list[Binding]:
    """Return the bindings that move a cursor, for the actions that are given."""
    bindings = (
        key_binding("move.up", "up,k", up, "up", _MOVE),
        key_binding("move.down", "down,j", down, "down", _MOVE),
        key_binding("move.page_up", "pageup", page_up, "page up", _MOVE),
        key_binding("move.page_down", "pagedown", page_down, "page down", _MOVE),
        key_binding("move.first", "home,g", first, "first", _EDGES),
        key_binding("move.last", "end,G", last, "last", _EDGES),
        key_binding("move.open", "enter", opening, "open", _OPEN),
    )
    return [each for each in bindings if each.action]


def bindings_of(node: type[DOMNode]) -> Iterator[tuple[KeyPlace, Binding]]:
    """Give the named bindings of a class and of its parts, each with the place it belongs to."""
    own: KeyPlace = node.PLACE  # type: ignore[attr-defined]  # `classes_with_place` has checked it
    for each in (node, *own.parts):
        place, bound = own, set[str]()
        for base in each.__mro__:
            if each is node:
                place = vars(base).get("PLACE", place)
            bindings = [binding for binding in vars(base).get("BINDINGS", ()) if isinstance(binding, Binding)]
            for binding in bindings:
                is_left_out = not binding.id or not binding.description or binding.id.startswith(own.without)
                if not is_left_out and not bound.issuperset(binding.key.split(",")):
                    yield _place_of(binding, place), binding
            bound.update(key for binding in bindings for key in binding.key.split(","))


def _place_of(binding: Binding, own: KeyPlace) -> KeyPlace:
    if binding.group in _MOVING_GROUPS:
        return _MOVING
    if binding.group in _SHARED_GROUPS:
        return _QUESTION if binding.group == UNANSWERED else _SCREEN
    name = binding.id or ""
    shared = (place for start, place in _SHARED.items() if name.startswith(start))
    return own if own == ANYWHERE else next(shared, own)


def classes_with_place(nodes: Iterable[DOMNode]) -> list[type[DOMNode]]:
    """Return the classes of `nodes` that have a place."""
    return [type(node) for node in nodes if hasattr(node, "PLACE")]


def _with_own_place_first(node: type[DOMNode]) -> Iterator[tuple[KeyPlace, Binding | None]]:
    own: KeyPlace = node.PLACE  # type: ignore[attr-defined]
    if own != ANYWHERE:
        yield own, None
    yield from bindings_of(node)


def sections_of(
    classes: Iterable[type[DOMNode]], keys: Keys, *, typing: bool = False, without: tuple[str, ...] = ()
) -> dict[KeyPlace, Lines]:
    """Return the sections of the help for these classes, in their order.

    With `typing`, keys that are text where the focus is are left out; `without` are beginnings of names of actions
    that do nothing with what is shown.
    """
    found: dict[KeyPlace, Lines] = {}
    for place, binding in chain.from_iterable(map(_with_own_place_first, classes)):
        if binding is None:
            found.setdefault(place, {})
            continue
        if (binding.id or "").startswith(without):
            continue
        active = keys.of(binding.id or "")
        typed = tuple(key for key in active if is_typed(key))
        parts = [(place, active)]
        if place == ANYWHERE:
            # Keys that are text work in a pane, but not in the prompt.
            parts = [(ANYWHERE, tuple(key for key in active if key not in typed)), (IN_PANE, typed)]
        for section, part in parts:
            lines = found.setdefault(section, {})
            shown = tuple(key for key in part if not typing or key not in typed)
            if shown:
                what = binding.group.description if binding.group is not None else binding.description
                lines.setdefault(what, {})[binding.id or ""] = shown
    return {place: lines for place, lines in found.items() if lines or place.fixed}


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
