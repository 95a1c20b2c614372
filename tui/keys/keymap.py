"""The active keys: the standard ones, and those that the settings replace."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widget import Widget

from ua_tui.core.json_values import table_of
from ua_tui.core.settings.sources import KeyChoice, ended
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import STANDARD_OF_CLASSES
from ua_tui.tui.keys.names import is_typed, key_name, shown_key

_TABLES = table_of(__file__, "standard.json")
STANDARD: Mapping[str, str] = STANDARD_OF_CLASSES | _TABLES["panes"]
"""The standard keys of every action, by the name that the settings use.

Keys can be checked and shown without importing every screen. `python -m tests.docs` makes `standard.json` from the
bindings: change the binding, not the file.
"""
TOGETHER: Sequence[str] = _TABLES["together"]
"""The actions that are active at the same time, for each place that may have the focus."""


class Hint(NamedTuple):
    """A key as the screen names it, what it does in a word or two, and its name."""

    shown: str
    word: str
    key: str


def hints_of(focused: Widget, keys: Keys) -> Iterator[Hint]:
    """Give the hints of the pane that has the focus.

    A pane has them in `key_hints`: names of actions, or keys, with what they do in a word or two, the most useful ones
    first.
    """
    found = (getattr(node, "key_hints", None) for node in focused.ancestors_with_self)
    hints: Sequence[tuple[str, str]] = next((each for each in found if each is not None), ())
    for name, word in hints:
        active = keys.of(name) if name in STANDARD else (key_name(name),)
        if active:
            yield Hint(shown_key(active[0]), word, active[0])


_EDITING = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "backspace", "delete", "tab"}
)
_MOST_KEYS = 8
_ALWAYS_ACTIVE = frozenset({"quit", "copy", "commands", "app.suspend"})
"""Active everywhere, also in the prompt: none of them can be a key that is text."""
_GUARDED = ("permission.", "delete.", "quit.", "auth.", "link.", "fresh.", "budget.", "folder.", "opinion.")
"""The answers to questions, whose keys the settings of a folder may not change."""


@dataclass(frozen=True)
class Keys:
    """The active keys of every action, by its name.

    `chosen` are the keys that the settings give, empty for an action without keys; `problems` are the settings that
    are ignored, a sentence each.
    """

    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, name: str) -> tuple[str, ...]:
        """Return the keys of an action, the first one first; none are known of what plug-ins add."""
        chosen = self.chosen.get(name)
        return tuple(filter(None, STANDARD.get(name, "").split(","))) if chosen is None else chosen

    def shown(self, name: str) -> str:
        """Return the label of the first key of an action; that of the command palette if it has none."""
        keys = self.of(name)
        return shown_key(keys[0]) if keys else "Ctrl+P"


STANDARD_KEYS = Keys()


def keys_of(app: App[object]) -> Keys:
    """Return the active keys of `app`."""
    keys = getattr(app, "keys", None)
    return keys if isinstance(keys, Keys) else STANDARD_KEYS


def written_key(widget: Widget, key: str) -> str:
    """Return the label for a key that the screen of `widget` names, such as `m`: the key that replaces it, if any."""
    chosen = keys_of(widget.app).chosen
    if not chosen:
        return key
    try:
        name = key_name(key)
    except ValueError:
        # Several keys in one word, such as arrows, have no replacement.
        return key
    for node in (widget.screen, *widget.screen.walk_children(Widget)):
        for binding in node._bindings.key_to_bindings.get(name, ()):
            if binding.id is not None and binding.id in chosen:
                return " ".join(shown_key(each) for each in chosen[binding.id][:1])
    return key


class ActiveBindings:
    """The bindings of widgets with the keys that were chosen.

    Textual has a keymap, too. It is applied after removing the keys that are text in an input, so one of those could
    not be moved to a key that works there; and it takes every action off a key from which one moves.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._by_class: dict[type[DOMNode], dict[str, list[Binding]]] = {}

    def of(self, node: DOMNode) -> Mapping[str, list[Binding]]:
        """Return the bindings of `node` by key."""
        bindings = self._by_class.get(type(node))
        if bindings is None:
            bindings = self._by_class[type(node)] = {}
            done: set[Binding] = set()
            for key, binding in node._bindings:
                chosen = self._keys.chosen.get(binding.id or "")
                if chosen is None:
                    bindings.setdefault(key, []).append(binding)
                    continue
                action = binding.with_key("")
                if action not in done:
                    done.add(action)
                    for each in chosen:
                        bindings.setdefault(each, []).append(binding)
        return bindings


def choose_keys(choices: Sequence[KeyChoice]) -> Keys:
    """Return the keys according to the settings; the last one wins if several settings name an action.

    A setting that cannot be used is reported and ignored: an unknown action or key, a key that is text in an input,
    or a key that another action of the same place has.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    origins: dict[str, str] = {}
    problems: list[str] = []
    for choice in choices:
        try:
            keys = _keys_for(choice)
        except ValueError as error:
            problems.append(ended(f"{_where(choice)}: {error}"))
            continue
        chosen[choice.action], origins[choice.action] = keys, _where(choice)
    while (clash := next(_clashes(chosen), None)) is not None:
        name, key, other = clash
        del chosen[name]
        now = Keys(chosen)
        problems.append(
            f"{origins[name]}: {shown_key(key)} is already the key of {other} in the same place, so {name} stays on "
            f"{', '.join(map(shown_key, now.of(name)))}; choose another key, or give {other} another one in [keys]."
        )
    return Keys({name: keys for name, keys in chosen.items() if Keys().of(name) != keys}, tuple(problems))


def _where(choice: KeyChoice) -> str:
    path = clean_line(choice.origin.removeprefix("keys in "), 300)
    return f"{clean_line(choice.action, 60)} in [keys] of {path}" if choice.action else f"[keys] of {path}"


def _keys_for(choice: KeyChoice) -> tuple[str, ...]:
    name, written = choice.action, choice.keys
    if not name:
        raise ValueError('it is not a table: write [keys] and below it lines such as "pane.maximise" = "f9"')
    if isinstance(written, Mapping):
        raise ValueError('it is a table: put quotes around the name, such as "pane.maximise" = "f9"')
    if name not in STANDARD:
        close = difflib.get_close_matches(name, STANDARD, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"there is no such action; docs/keys.md lists them all{hint}")
    if choice.in_folder and name.startswith(_GUARDED):
        raise ValueError("a folder may not set how questions are answered: set it in your own config.toml")
    if isinstance(written, str):
        written = written.split(",") if written.strip() else []
    if not isinstance(written, list) or not all(isinstance(each, str) for each in written):
        raise ValueError('keys are text, such as "f9" or "ctrl+k, alt+k"')
    if len(written) > _MOST_KEYS:
        raise ValueError(f"there are at most {_MOST_KEYS} keys")
    keys = tuple(dict.fromkeys(key_name(each) for each in written))
    if name in _ALWAYS_ACTIVE or name.startswith("prompt."):
        for key in keys:
            if is_typed(key) or key in _EDITING or (name in _ALWAYS_ACTIVE and key == "enter"):
                raise ValueError(
                    f"{shown_key(key)} is needed for typing, and this action is active in the prompt: "
                    "choose a key with Ctrl or Alt, or F1 to F12"
                )
    return keys


def _clashes(chosen: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """The actions with a chosen key that another action of the same place has: name, key, other name."""
    keys, places = Keys(chosen), [names.split() for names in TOGETHER]
    for name in reversed(tuple(chosen)):
        added = [key for key in chosen[name] if key not in STANDARD[name].split(",")]
        for key in added:
            for names in places:
                if name not in names:
                    continue
                for other in sorted(names):
                    if other != name and key in keys.of(other):
                        yield name, key, other
