"""The kinds, sites and sessions of the hits, with how many hits have each; choosing one narrows the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ua_tui.core.events.units import count
from ua_tui.core.knowledge.records import Facet, Results
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.screens.knowledge.hit_list import KIND_NAMES
from ua_tui.tui.screens.knowledge.reader import Narrowing
from ua_tui.tui.widgets.choice_list import LetterKeyList

DIMENSIONS = ("kind", "site", "session")
_MOST = {"kind": 8, "site": 8, "session": 8}
_HEADS = {"kind": "Kind", "site": "Site", "session": "Session"}


@dataclass(frozen=True, slots=True)
class Facets:
    """The facets of the last answers: in a dimension that is narrowed, those of the answer before that."""

    kind: Sequence[Facet] = ()
    site: Sequence[Facet] = ()
    session: Sequence[Facet] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    def after(self, results: Results, narrowing: Narrowing) -> Facets:
        """Return the facets after the answer to a search."""
        titles = {hit.session: hit.session_title for hit in results.hits if hit.session_title}
        return Facets(
            self.kind if narrowing.kind else results.kinds,
            self.site if narrowing.site else results.sites,
            self.session if narrowing.session else results.sessions,
            {**self.titles, **titles},
        )

    def of(self, dimension: str) -> Sequence[Facet]:
        """The facets of a dimension, the most frequent ones first."""
        found: Sequence[Facet] = getattr(self, dimension)
        return found[: _MOST[dimension]]

    def name(self, dimension: str, value: str) -> str:
        """What a person reads for a value."""
        if dimension == "kind":
            return KIND_NAMES.get(value, value)
        return self.titles.get(value) or value


class FacetList(LetterKeyList):
    """Lists the facets below a heading for each dimension; those that narrow the search are marked."""

    @dataclass
    class Chosen(Message):
        """A facet was chosen."""

        dimension: str
        value: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[tuple[str, str] | None] = []
        self._drawn: object = None
        self._shown = (Facets(), Narrowing())

    def show(self, facets: Facets, narrowing: Narrowing) -> None:
        """Show these facets."""
        self._shown = (facets, narrowing)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the names to the width."""
        self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Report the chosen facet."""
        event.stop()
        row = self._rows[event.option_index]
        if row is not None:
            self.post_message(self.Chosen(*row))

    def _draw(self) -> None:
        facets, narrowing = self._shown
        width = self.scrollable_content_region.width
        drawn = (facets, narrowing, width)
        if drawn == self._drawn or not width:
            return
        self._drawn = drawn
        at = self.highlighted
        before = self._rows[at] if at is not None and at < len(self._rows) else None
        self._rows, options = [], list[Option]()
        for dimension in DIMENSIONS:
            chosen: str = getattr(narrowing, dimension)
            found = _with(facets.of(dimension), chosen)
            if not found:
                continue
            if options:
                self._add(options, Content(""), None)
            self._add(options, Content.styled(_HEADS[dimension], "bold"), None)
            for each in found:
                name = clean_line(facets.name(dimension, each.value))
                line = _row(name, each, width, is_chosen=each.value == chosen, ends=dimension == "site")
                self._add(options, line, (dimension, each.value))
        self.clear_options()
        self.add_options(options)
        self.highlighted = self._rows.index(before) if before in self._rows else None

    def _add(self, options: list[Option], line: Content, row: tuple[str, str] | None) -> None:
        options.append(Option(line, disabled=row is None))
        self._rows.append(row)


def _with(found: Sequence[Facet], chosen: str) -> Sequence[Facet]:
    """The facets, with the chosen one if it is not among them."""
    missing = chosen and all(each.value != chosen for each in found)
    return [*found, Facet(chosen, 0)] if missing else found


def _row(name: str, facet: Facet, width: int, *, is_chosen: bool, ends: bool) -> Content:
    counted = count(facet.count) if facet.count else ""
    room = max(1, width - 2 - cell_len(counted) - 1)
    shown = middle_cut(name, room) if ends else tail_cut(name, room)
    gap = " " * max(1, width - 2 - cell_len(shown) - cell_len(counted))
    mark = ("● ", "$accent") if is_chosen else ("  ", "")
    return Content.assemble(mark, (shown, "bold" if is_chosen else ""), gap, (counted, "$text-muted"))


def toggled(narrowing: Narrowing, dimension: str, value: str) -> Narrowing:
    """Narrow by a value, or no longer if that is the one that narrows already."""
    current: str = getattr(narrowing, dimension)
    return replace(narrowing, **{dimension: "" if value == current else value})
