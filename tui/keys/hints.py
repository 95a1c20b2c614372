"""Hints about the keys of a pane, for the status line: the most useful ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from textual.widget import Widget

from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.keys.names import key_name, shown_key
from ua_tui.tui.keys.standard import STANDARD


class Hint(NamedTuple):
    """A key as the screen names it, what it does in a word or two, and its name."""

    shown: str
    word: str
    key: str


@runtime_checkable
class _HasHints(Protocol):
    @property
    def key_hints(self) -> Sequence[tuple[str, str]]:
        """Names of actions, or keys, with what they do in a word or two; the most useful ones first."""


@runtime_checkable
class _ClearsOnEscape(Protocol):
    @property
    def escape_clears(self) -> str:
        """What Esc does in the widget now, such as `clear filter`; empty if it does nothing there."""


def hints_of(focused: Widget, keys: Keys) -> Iterator[Hint]:
    """Give the hints of the pane that has the focus."""
    pane = next((node for node in focused.ancestors_with_self if isinstance(node, _HasHints)), None)
    for name, word in pane.key_hints if pane is not None else ():
        active = keys.of(name) if name in STANDARD else (key_name(name),)
        if active:
            yield Hint(shown_key(active[0]), word, active[0])


def word_of_escape(focused: Widget) -> str:
    """Return what Esc does in the focused widget or around it; empty if it is left to the application."""
    nodes = (node for node in focused.ancestors_with_self if isinstance(node, _ClearsOnEscape))
    return next((node.escape_clears for node in nodes if node.escape_clears), "")
