"""What each kind of event changes: a table, as most events change little, and there are many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ua_tui.core.events.types import Event

Step = Callable[[Any, Any], Any]


class Steps(dict[type[Event], Step | None]):
    """Finds the function for a kind of event, or for the kind that it is derived from; None if there is none."""

    def __init__(self, steps: Mapping[Step, Iterable[type[Event]]]) -> None:
        super().__init__({kind: step for step, kinds in steps.items() for kind in kinds})

    def __missing__(self, kind: type[Event]) -> Step | None:
        """Remember what was found for a kind that is derived from another one, or for which there is nothing."""
        self[kind] = next((self[base] for base in kind.__mro__[1:] if base in self), None)
        return self[kind]
