"""The kinds, sites and sessions of the hits, with how many hits have each; choosing one narrows the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ua_tui.core.events.units import count
from ua_tui.core.knowledge.records import Facet
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.widgets.choice_list import LetterKeyList

DIMENSIONS = ("kind", "site", "session")
_MOST = 8


class FacetList(LetterKeyList):
    """Lists the facets below a heading for each dimension; those that narrow the search are marked."""

    @dataclass
    class Chosen(Message):
        """A facet was chosen."""

        dimension: str
        value: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Sequence[tuple[str, Facet, str]], Mapping[str, str]] = ((), {})
        self._drawn: object = None

    def show(self, facets: Sequence[tuple[str, Facet, str]], narrowing: Mapping[str, str]) -> None:
        """Show facets with their dimensions and names, in the order of these, and which of them narrow the search."""
        self._shown = (facets, dict(narrowing))
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the names to the width."""
        self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Report the chosen facet."""
        event.stop()
        dimension, _, value = (event.option_id or "").partition(":")
        self.post_message(self.Chosen(dimension, value))

    def _draw(self) -> None:
        facets, narrowing = self._shown
        width = self.scrollable_content_region.width
        if self._drawn == (self._shown, width) or not width:
            return
        self._drawn = (self._shown, width)
        before = self.highlighted_option.id if self.highlighted_option is not None else None
        options = list[Option]()
        for dimension in DIMENSIONS:
            found = [each for each in facets if each[0] == dimension][:_MOST]
            if found:
                gap = [Option("", disabled=True)] if options else []
                options += [*gap, Option(Content.styled(dimension.capitalize(), "bold"), disabled=True)]
            for _, facet, name in found:
                is_chosen = narrowing.get(dimension) == facet.value
                cut = middle_cut if dimension == "site" else tail_cut
                counted = count(facet.count) if facet.count else ""
                shown = cut(name, max(1, width - 3 - cell_len(counted)))
                gap_cells = " " * max(1, width - 2 - cell_len(shown) - cell_len(counted))
                line = Content.assemble(
                    ("● ", "$accent") if is_chosen else "  ",
                    (shown, "bold" if is_chosen else ""),
                    gap_cells,
                    (counted, "$text-muted"),
                )
                options.append(Option(line, id=f"{dimension}:{facet.value}"))
        self.clear_options()
        self.add_options(options)
        ids = [each.id for each in options]
        self.highlighted = ids.index(before) if before is not None and before in ids else None
