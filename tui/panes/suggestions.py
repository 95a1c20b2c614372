"""The queries to try in a new session: the conversation shows them, and the empty prompt chooses and sends one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ua_tui.core.events.types import Event, McpStatus, QueryReceived
from ua_tui.core.json_values import table_of
from ua_tui.core.settings.model import Settings

_UNUSABLE = frozenset({"disabled", "failed", "needs-auth", "off"})
LISTS: dict[str, list[str]] = table_of(__file__, "suggestions.toml")
"""The queries, by the kind of session."""


class Suggestions:
    """Queries to try until the first query is sent.

    Attributes:
        queries: those that are offered.
        chosen: the index of the one that Enter sends; None if there is none.
        changed: called when something else is offered or chosen.
    """

    def __init__(self) -> None:
        self.queries: Sequence[str] = ()
        self.chosen: int | None = None
        self.changed: Callable[[], None] = lambda: None
        self._is_typing = False
        self._first: int | None = None

    @property
    def query(self) -> str | None:
        """The chosen one."""
        return None if self.chosen is None else self.queries[self.chosen]

    def offer(self, settings: Settings) -> None:
        """Offer what a session with these settings can do; in the demo, which costs nothing, the first is chosen."""
        kind = "demo" if settings.demo else "composio" if settings.composio_api_key else "local"
        self._show(LISTS[kind], 0 if settings.demo else None)

    def handle_event(self, event: Event) -> None:
        """Offer nothing more after the first query, and nothing that needs Composio if that cannot be used."""
        match event:
            case QueryReceived():
                self.end()
            case McpStatus(servers=servers) if self.queries is LISTS["composio"] and self.chosen is None:
                if any(each.name == "composio" and each.status in _UNUSABLE for each in servers):
                    self._show(LISTS["local"])
            case _:
                pass

    def end(self) -> None:
        """Offer nothing more."""
        if self.queries:
            self._show(())

    def choose(self, index: int | None) -> None:
        """Choose one, or none; while something is typed, none is chosen."""
        self.chosen = None if self._is_typing else index
        self.changed()

    def move(self, by: int) -> bool:
        """Choose the one below or above; False if there is none."""
        index = (-1 if self.chosen is None else self.chosen) + by
        if is_there := 0 <= index < len(self.queries) and not self._is_typing:
            self.choose(index)
        return is_there

    def note_typing(self, *, is_typing: bool) -> None:
        """Note whether something is typed, which is sent in place of the chosen one."""
        if is_typing != self._is_typing:
            self._is_typing = is_typing
            self.choose(self._first)

    def _show(self, queries: Sequence[str], first: int | None = None) -> None:
        self.queries, self._first = queries, first
        self.choose(first)
