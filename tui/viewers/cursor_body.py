"""Bodies with a cursor: the reader folds, sorts and filters them, and searches what is not visible."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.document import Body, Rows

if TYPE_CHECKING:
    from ua_tui.core.toolkit.articles import Article


@dataclass(frozen=True, slots=True)
class KeyHint:
    """A key of a body, for the line of keys: the key, what it does in a word or two, and the name of its command."""

    key: str
    label: str
    command: str


@dataclass(frozen=True, slots=True)
class OpenLink:
    """The reader opened a link; `url` is untrusted."""

    url: str


@dataclass(frozen=True, slots=True)
class OpenArticle:
    """The reader opened the article of a row.

    Args:
        page: what the row itself has of the article; its text may be empty.
        path: the file of the article; untrusted, and relative to the session's folder. Empty if the row names none.
    """

    page: Article
    path: str = ""


@dataclass(frozen=True, slots=True)
class CopyText:
    """The reader copied a text; `label` names it in a word."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class SaveCsv:
    """The reader wants the rows of a table as a CSV file; `text` makes its text, which may take long."""

    text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """A change that may take long: `prepare` runs in a thread, and the function that it returns makes the change.

    `label` is shown meanwhile.
    """

    prepare: Callable[[], Callable[[], None]]
    label: str = "working"


Outcome = bool | OpenLink | OpenArticle | CopyText | SaveCsv | BackgroundWork
"""The result of a command: whether something changed, or what the view has to do."""


@dataclass(frozen=True, slots=True)
class BodyCommand:
    """What the reader wants: a name such as `fold`, `sort` or `filter`, and the text or the column that it needs."""

    name: str
    text: str = ""
    column: int = -1


class CursorRows(Rows):
    """The rows of a body with a cursor: one for each entry below the head, unless a subclass has others."""

    head = 0
    """How many of the first rows stay visible while the others scroll."""

    def __init__(self, body: CursorBody, width: int) -> None:
        self._body = body
        self._width = width

    def span(self, entry: int) -> tuple[int, int]:
        """The first row of an entry, and its number of rows."""
        return (entry + self.head, 1)

    def entry_at(self, y: int) -> int | None:
        """The entry on row `y`; None for a row of the head or between entries."""
        return y - self.head if self.head <= y < self.head + self._body.entries else None

    def command_at(self, x: int, y: int) -> BodyCommand | None:
        """The command of a click on this cell, apart from moving the cursor."""
        return None


class CursorBody(Body, ABC):
    """A body that the reader can change. Only `find_places` and background work run outside the event loop."""

    cursor: int = 0

    @property
    @abstractmethod
    def entries(self) -> int:
        """The number of entries that the cursor can be on."""

    @property
    @abstractmethod
    def keys(self) -> Sequence[KeyHint]:
        """The keys that have an effect."""

    @property
    def state(self) -> str:
        """The filter and the order, for the line of facts; empty if there are none."""
        return ""

    @property
    def filter(self) -> str | None:
        """The text that the rows at the cursor are filtered by; empty if they are all shown, None if they cannot be."""
        return None

    @abstractmethod
    def lay_out(self, width: int, theme: MarkdownTheme) -> CursorRows:
        """Return the rows for this width; they follow every later change."""

    @abstractmethod
    def execute(self, command: BodyCommand) -> Outcome:
        """Carry out a command at the cursor; False if it has no effect."""

    @abstractmethod
    def find_places(self, needle: str) -> Sequence[Hashable]:
        """Return the places of `needle` in order, including folded ones. Runs in a thread.

        Raises:
            Stopped: the result is no longer needed.
        """

    def reveal(self, place: Hashable) -> None:
        """Move the cursor to a place that was found, and unfold what hides it."""
        if isinstance(place, int):
            self.cursor = place

    def cursor_place(self) -> Hashable:
        """The place of the cursor; comparable to those of `find_places`."""
        return self.cursor

    @abstractmethod
    def detail(self) -> Body | None:
        """What does not fit into the row of the entry under the cursor."""
