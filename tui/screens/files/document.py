"""The base of screens that show one document with a search line and a detail panel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, TypeVar

from textual import getters
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.widgets import Input

from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.export import save_csv
from ua_tui.tui.screens.files.link import choose_link, follow_link
from ua_tui.tui.viewers.claims.view import EvidencePanel
from ua_tui.tui.viewers.cursor_body import BodyCommand, OpenArticle, SaveCsv
from ua_tui.tui.viewers.view.chrome import Key, KeyLine, TitleLine
from ua_tui.tui.viewers.view.detail_panel import DetailPanel
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.viewers.view.links import LinkClicked
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

_SEARCH = "search (Enter finds, Esc closes)"
_FILTER = "show only rows with this text (empty: all)"

Answer = TypeVar("Answer")


class DocumentScreen(Modal[Answer]):
    """A screen with a `DocumentView`, with a `DetailPanel` and an `Input` to search.

    A subclass may put other widgets around the content, and updates what is around it in `update_chrome`.
    """

    AUTO_FOCUS = "#viewer-view"
    PARTS: ClassVar[tuple[type[DOMNode], ...]] = (DocumentView,)
    view = getters.query_one("#viewer-view", DocumentView)
    """The content."""
    title_line = getters.query_one(TitleLine)
    key_line = getters.query_one(KeyLine)

    steps_landmarks: ClassVar[bool] = False
    """Whether the keys of matches go to landmarks, such as changes, while nothing is searched for."""

    landmark = -1
    """The number of the landmark that was gone to; -1 for none."""

    # What a subclass provides

    def compose_content(self) -> ComposeResult:
        """Create the content and its details."""
        yield DocumentView(id="viewer-view")
        yield DetailPanel(id="viewer-detail", min_lines=16)

    @abstractmethod
    def update_chrome(self) -> None:
        """Update the title and the keys."""

    def go_to_article(self, found: OpenArticle) -> None:
        """Show the article of a row of the document."""

    @property
    def has_all_rows(self) -> bool:
        """Whether a table has all rows that there are."""
        return True

    @property
    def name_of_table(self) -> str:
        """What the file of a table is called, without its ending."""
        return "table"

    def compose(self) -> ComposeResult:
        """Create title, notice, content, search line and keys."""
        yield TitleLine(id="viewer-title")
        yield Words(id="viewer-notice")
        yield from self.compose_content()
        yield Input(id="viewer-search", compact=True)
        yield KeyLine(id="viewer-keys")

    # Messages of the view

    def on_document_view_cursor_moved(self) -> None:
        """Show the details of the row under the cursor."""
        cursor_body = self.view.cursor_body
        self.query_one(DetailPanel).show_detail(cursor_body.detail() if cursor_body is not None else None)
        self.update_chrome()

    def on_document_view_requested(self, event: DocumentView.Requested) -> None:
        """Show the file that a row refers to, or save a table."""
        match event.outcome:
            case OpenArticle() as found:
                self.go_to_article(found)
            case SaveCsv(text):
                start_job(
                    self.app,
                    partial(save_csv, self.app, self.name_of_table, text, is_whole=self.has_all_rows),
                    "csv",
                )

    def on_link_clicked(self, event: LinkClicked) -> None:
        """Ask before a link is opened."""
        follow_link(self, event.url)

    def on_document_view_links_found(self, event: DocumentView.LinksFound) -> None:
        """Let the person choose one of several links."""
        choose_link(self.app, event.links, event.choose)

    # Keys

    def action_export(self) -> None:
        """Write the rows of a table that are shown as a CSV file."""
        self.view.run_command(BodyCommand("export"))

    def action_leave(self) -> None:
        """Close the line, then stop work, then clear the search, then the filter, then close the screen."""
        line = self.query_one(Input)
        if line.display:
            line.display = False
            self.view.focus()
        elif self.view.stop_work():
            pass
        elif self.view.matches[1]:
            start_job(self, self._find, "search", "")
        elif self.view.cursor_body is not None and self.view.cursor_body.filter:
            self.view.run_command(BodyCommand("filter", ""))
        else:
            self.action_close()

    def action_command(self, name: str) -> None:
        """Run an order of the view, as a click on its key does."""
        if name == "ask_filter":
            self.action_ask_filter()
        else:
            self.view.run_command(BodyCommand(name))

    def action_scroll_evidence(self, pages: int) -> None:
        """Scroll the evidence of a claim by pages."""
        self.query_one(EvidencePanel).scroll_pages(pages)

    # Searching and filtering

    def action_search(self) -> None:
        """Open the line to search."""
        self._ask(_SEARCH)

    def action_ask_filter(self) -> None:
        """Open the line to filter the rows of a table."""
        cursor_body = self.view.cursor_body
        if cursor_body is not None and cursor_body.filter is not None:
            self._ask(_FILTER, cursor_body.filter)

    def _ask(self, what: str, value: str = "") -> None:
        line = self.query_one(Input)
        line.placeholder = what
        line.value = value
        line.display = True
        line.focus()

    def action_match(self, step: int) -> None:
        """Go to the next or the previous match of a search; without one, to what else can be stepped through."""
        if self.view.matches[1]:
            self.view.step_match(step)
        elif self.steps_landmarks:
            self.landmark = self.view.step_landmark(step)
        self.update_chrome()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the line and use its text."""
        event.input.display = False
        self.view.focus()
        if event.input.placeholder == _FILTER:
            self.view.run_command(BodyCommand("filter", event.value))
        else:
            start_job(self, self._find, "search", event.value)

    def search_keys(self) -> Iterator[Key]:
        """The keys to search, and to go through what was found."""
        yield "/", "search", "screen.search"
        if self.view.matches[1]:
            yield "n", "next", "screen.match(1)"

    def body_keys(self) -> list[Key]:
        """The keys of a body that has a cursor."""
        keys = self.view.cursor_body.keys if self.view.cursor_body is not None else ()
        return [(each.key, each.label, f"screen.command({each.command!r})") for each in keys]

    def search_facts(self) -> list[str]:
        """What the view is doing, and which match it is at."""
        number, count = self.view.matches
        busy = [f"{self.view.busy}… Esc stops"] if self.view.busy else []
        return [*busy, f"match {number:,} of {count:,}"] if count else busy

    async def _find(self, needle: str) -> None:
        found = await self.view.search(needle)
        if needle and not found:
            self.warn(f"Not found: {clean_line(needle, 60)}")
        self.update_chrome()
