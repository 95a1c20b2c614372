"""Two sessions compared: what they have in common, and how they differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.screens.files.export import redactor_of, settings_of
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.registry import READING
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.tui.viewers.document import Body


class ComparisonScreen(DocumentScreen[None]):
    """Shows what two sessions have in common and what not.

    Args:
        a: the folder of one session.
        b: that of the other one.
    """

    steps_landmarks = True

    def __init__(self, a: Path, b: Path) -> None:
        super().__init__()
        self._folders = (a, b)

    def on_mount(self) -> None:
        """Compare in a thread."""
        a, b = (clean_line(folder.name, 100) for folder in self._folders)
        self.title_line.show("Two sessions compared", place=f"{a} and {b}")
        self.view.show(TextBody(READING))
        self.update_chrome()
        start_job(self, self._compare, "compare")

    async def _compare(self) -> None:
        try:
            body = await in_thread(_body, self.app, *self._folders)
        except UniversalAgentError as error:
            body = TextBody(f"These sessions cannot be compared: {error}")
        self.view.show(body)
        self.update_chrome()

    def update_chrome(self) -> None:
        """Update the title and the keys."""
        self.title_line.show(facts=" · ".join(self.search_facts()))
        self.key_line.show_keys(
            ("Esc", "back", "screen.close"),
            ("n", "next part", "screen.match(1)"),
            ("N", "previous", "screen.match(-1)"),
            ("/", "search", "screen.search"),
            ("?", "keys", "app.keys_here"),
        )


def _body(app: App[Any], a: Path, b: Path) -> Body:
    # Its parts are needed only here.
    from ua_tui.core.knowledge.place import place_of
    from ua_tui.tui.comparison.body import comparison_body
    from ua_tui.tui.comparison.sessions import compare_sessions

    return comparison_body(*compare_sessions(a, b, redactor_of(app), place_of(settings_of(app))))
