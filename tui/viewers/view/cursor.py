"""Bodies with a cursor: what can be folded, sorted, filtered and searched where it is not seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tui.render.markdown import MarkdownTheme
from tui.viewers.cancellation import Stop
from tui.viewers.view.document import Body, Rows

__all__ = ["Article", "Copy", "Key", "Order", "Outcome", "Steered", "SteeredRows", "Web", "Work"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a body for the line of keys: what is written, what it does in a word, the order it gives."""

    key: str
    word: str
    order: str


@dataclass(frozen=True, slots=True)
class Web:
    """The reader asked for a link; `url` is untrusted."""

    url: str


@dataclass(frozen=True, slots=True)
class Article:
    """The reader asked for another file of the session; `path` is untrusted and relative to its folder."""

    path: str


@dataclass(frozen=True, slots=True)
class Copy:
    """The reader asked for a text; `what` names it in a word."""

    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Work:
    """A change that may take long: `prepare` runs in a thread and gives what makes it, run afterwards.

    `word` says what is done meanwhile.
    """

    prepare: Callable[[Stop], Callable[[], None]]
    word: str = "working"


Outcome = bool | Web | Article | Copy | Work
"""What came of an order: whether something changed, or what the view has to do."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the reader wants: a name such as `fold`, `sort` or `filter`, and a text or a column with it."""

    name: str
    text: str = ""
    column: int = -1


class SteeredRows(Rows, Protocol):
    """The rows of a steered body; its entries take one row or several."""

    @property
    def head(self) -> int:
        """How many of the first rows stay in sight while the others scroll."""
        ...

    def span(self, entry: int) -> tuple[int, int]:
        """The first row of an entry, and how many it takes."""
        ...

    def entry_at(self, y: int) -> int | None:
        """The entry on row `y`; None on a row of the head or between entries."""
        ...

    def order_at(self, x: int, y: int) -> Order | None:
        """What a click on this cell asks for, beside moving the cursor."""
        ...


@runtime_checkable
class Steered(Body, Protocol):
    """A body that is changed by its reader. Everything but `find_entries` and works runs on the event loop."""

    cursor: int

    @property
    def entries(self) -> int:
        """The number of entries the cursor can be on."""
        ...

    @property
    def keys(self) -> Sequence[Key]:
        """The keys that do something here."""
        ...

    @property
    def state(self) -> str:
        """Filter and order in words, for the line of facts; empty when there is nothing to tell."""
        ...

    def lay_out(self, width: int, theme: MarkdownTheme) -> SteeredRows:
        """The rows for this width; they follow every later change."""
        ...

    def steer(self, order: Order) -> Outcome:
        """Carry out an order at the cursor; False for one that does nothing here."""
        ...

    def find_entries(self, needle: str, stop: Stop) -> Sequence[Hashable]:
        """The places of `needle`, also where they are folded, in order. Runs in a thread.

        Raises:
            Stopped: the flag was set.
        """
        ...

    def reveal(self, place: Hashable) -> None:
        """Put the cursor on a place that was found, unfolding what hides it."""
        ...

    def row_place(self) -> Hashable:
        """The place of the cursor; comparable to those of `find_entries`."""
        ...

    def detail(self) -> Body | None:
        """What is to be read of the entry under the cursor that has no room in its row."""
        ...
