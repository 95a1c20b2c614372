"""What screens share that show one document: it is searched, and below it stands the detail of a row."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.text import clean_line
from tui.screens.files.link import follow_link
from tui.screens.files.links import LinksScreen
from tui.terminal.copy import copy_text
from tui.viewers.cursor_body import BodyCommand, CopyText, OpenArticle
from tui.viewers.view.document_view import DetailPanel, DocumentView
from tui.widgets.modal import Modal
from tui.widgets.workers import start_job

__all__ = ["DocumentScreen"]

_SEARCH = "search, Enter finds, Esc leaves"

Answer = TypeVar("Answer")


class DocumentScreen(Modal[Answer]):
    """A screen around a `DocumentView`, with a `DetailPanel` and an `Input` to search.

    A subclass puts these down and says in `tell` what stands around them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="screen.leave", show=False),
        Binding("q", "close", "Close", id="screen.close", show=False),
        Binding("slash", "search", "Search", id="find.search", show=False),
        Binding("n", "match(1)", "Next match", id="find.next", show=False),
        Binding("N", "match(-1)", "Match before", id="find.previous", show=False),
    ]

    # What a subclass gives

    @property
    @abstractmethod
    def view(self) -> DocumentView:
        """The content."""

    @abstractmethod
    def tell(self) -> None:
        """Say anew what is told of the document, and offer the keys that do something by now."""

    def step_back(self) -> bool:
        """Take back what was done to the document besides searching it; False when nothing was."""
        return False

    def entered(self, text: str) -> None:
        """Do what the line was asked for; by default, search."""
        start_job(self, partial(self._find, text), "search")

    def go_to_article(self, path: str) -> None:
        """Show another file, as a row of the document names it."""

    # What the view asks for

    def on_mount(self) -> None:
        """Wait with the line until it is asked for."""
        self.query_one(Input).display = False

    def on_document_view_cursor_moved(self, event: DocumentView.CursorMoved) -> None:
        """Show what has no room in the row under the cursor."""
        event.stop()
        cursor_body = self.view.cursor_body
        self.query_one(DetailPanel).show_detail(cursor_body.detail() if cursor_body is not None else None)
        self.tell()

    def on_document_view_requested(self, event: DocumentView.Requested) -> None:
        """Copy a part of the document, or show what it refers to."""
        event.stop()
        match event.outcome:
            case CopyText(label, text):
                copy_text(self, text, label.capitalize())
            case OpenArticle(path):
                self.go_to_article(path)

    def on_document_view_link_clicked(self, event: DocumentView.LinkClicked) -> None:
        """Ask before a link is opened."""
        event.stop()
        follow_link(self, event.url)

    def on_document_view_links_found(self, event: DocumentView.LinksFound) -> None:
        """Let the person choose one of several links."""
        event.stop()
        self.app.push_screen(LinksScreen(event.links, event.first), event.choose)

    # Keys

    def action_leave(self) -> None:
        """Leave the line, then what is being done, then the marks of the search, at last the screen."""
        line = self.query_one(Input)
        if line.display:
            line.display = False
            self.view.focus()
        elif self.view.stop_work():
            pass
        elif self.view.matches[1]:
            start_job(self, partial(self._find, ""), "search")
        elif not self.step_back():
            self.action_close()

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_command(self, name: str) -> None:
        """Give an order to what is shown, as a click on its key does."""
        self.view.run_command(BodyCommand(name))

    # Searching

    def action_search(self) -> None:
        """Ask what to search for."""
        self.ask(_SEARCH)

    def ask(self, what: str, value: str = "") -> None:
        """Let something be typed; `entered` gets it."""
        line = self.query_one(Input)
        line.placeholder = what
        line.value = value
        line.display = True
        line.focus()

    def action_match(self, step: int) -> None:
        """Go to the next match, or to the one before."""
        self.view.step_match(step)
        self.tell()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed."""
        event.stop()
        event.input.display = False
        self.view.focus()
        self.entered(event.value)

    async def _find(self, needle: str) -> None:
        found = await self.view.search(needle)
        if needle and not found:
            self.notify(f"Not found: {clean_line(needle, 60)}", markup=False, severity="warning")
        self.tell()
