"""The lines around the content of a full-screen view: a title, and keys that can be clicked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from ua_tui.tui.keys.keymap import written_key
from ua_tui.tui.render.format import middle_cut, tail_cut

_GAP = 3

Key = tuple[str, str, str]
"""A key, what it does in a word or two, and its action."""


class TitleLine(Widget):
    """One line: a name and its place at the left, facts at the right."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mark: tuple[str, str] = ("", "")
        self.name_shown = ""
        self.place = ""
        self.facts = ""

    def show(
        self,
        name: str | None = None,
        *,
        place: str | None = None,
        facts: str | None = None,
        mark: tuple[str, str] | None = None,
    ) -> None:
        """Change parts of the line; `mark` is a glyph and its style. All text must be clean."""
        self.name_shown = self.name_shown if name is None else name
        self.place = self.place if place is None else place
        self.facts = self.facts if facts is None else facts
        self.mark = self.mark if mark is None else mark
        self.refresh()

    def render(self) -> Content:
        """Draw the line; if there is too little room, the place is cut first, then the facts, then the name."""
        width = max(1, self.content_size.width)
        glyph, glyph_style = self.mark
        room = width - (cell_len(glyph) + 1 if glyph else 0)
        facts = tail_cut(self.facts, max(0, room - min(cell_len(self.name_shown), room // 2) - 2))
        room -= cell_len(facts) + (2 if facts else 0)
        name = middle_cut(self.name_shown, room)
        room -= cell_len(name)
        place = middle_cut(self.place, room - 2) if self.place and room > 8 else ""
        parts: list[tuple[str, str]] = []
        if glyph:
            parts.append((f"{glyph} ", glyph_style))
        parts.append((name, "bold"))
        if place:
            parts.append((f"  {place}", "$text-muted"))
        used = sum(cell_len(text) for text, _ in parts)
        parts.append((" " * max(0, width - used - cell_len(facts)), ""))
        parts.append((facts, "$text-muted"))
        return Content.assemble(*parts)


class KeyLine(Static):
    """The keys of a screen; a click on a key has the effect of the key."""

    def __init__(self, *keys: Key, id: str | None = None, gap: int = _GAP) -> None:
        super().__init__(id=id)
        self._keys: Sequence[Key] = keys
        self.gap = gap
        """Cells between two keys."""

    def on_mount(self) -> None:
        """Draw the keys."""
        self._draw()

    def show_keys(self, *keys: Key | Literal[False]) -> None:
        """Show these keys, but those that have no effect now."""
        self._keys = [key for key in keys if key]
        self._draw()

    def on_resize(self) -> None:
        """Show as many keys as there is room for."""
        self._draw()

    def _draw(self) -> None:
        room = self.content_size.width or 1000
        keys = [(written_key(self, key), label, action) for key, label, action in self._keys]
        parts: list[Content] = []
        # The last key is always shown, as it lists all the others.
        shown = keys[-1:]
        used = sum(cell_len(f"{key} {label}") for key, label, _ in shown)
        for number, (key, label, _) in enumerate(keys[:-1]):
            used += cell_len(f"{key} {label}") + self.gap
            if used > room:
                break
            shown = [*keys[: number + 1], keys[-1]]
        for key, label, action in shown:
            parts.append(
                Content.assemble((key, "bold $accent"), (f" {label}", "$text-muted")).stylize(
                    Style.from_meta({"action": action})
                )
            )
        self.update(Content(" " * self.gap).join(parts))

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the key under the pointer."""
        action = event.style.meta.get("action")
        if isinstance(action, str):
            event.stop()
            await self.run_action(action)
