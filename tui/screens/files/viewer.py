"""A file over the whole screen, rendered or raw, searched, read on page by page."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from core.events.units import size
from core.text import clean_line
from tui.screens.files.viewer_actions import ViewerDeeds
from tui.viewers.bodies.hex import HexBody
from tui.viewers.bodies.table import Table
from tui.viewers.bodies.text import TextBody
from tui.viewers.cancellation import in_thread
from tui.viewers.contract import FULL_LIMIT, PREVIEW_LIMIT
from tui.viewers.cursor_body import BodyCommand, CursorBody
from tui.viewers.document import Body, Document
from tui.viewers.reader import FileUnviewable
from tui.viewers.registry import load, load_page
from tui.viewers.view.chrome import KeyLine, TitleLine
from tui.viewers.view.document_view import DetailPanel, DocumentView
from tui.widgets.workers import start_job

__all__ = ["ViewerScreen"]

_PATIENCE_SECONDS = 0.05
_MOST_LOADED = 16 * 1024 * 1024
_NAME = 200
_DETAIL_FROM = 16
_FILTER = "show only rows with this text; nothing shows all"


class ViewerScreen(ViewerDeeds):
    """Shows one file until it is closed.

    Args:
        path: the file.
        root: the folder that paths are shown relative to.
        copies: where sanitised copies for the browser are written; the user's cache folder by default.
        read_only: the file is of a session that is only looked at: it is neither edited nor deleted.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "toggle_raw", "Rendered or raw", id="file.raw", show=False),
        Binding("r", "reload", "Read again", id="file.reload", show=False),
        Binding("f", "ask_filter", "Filter", id="table.filter", show=False),
    ]
    AUTO_FOCUS = "#viewer-view"

    def __init__(
        self, path: Path, root: Path | None = None, *, copies: Path | None = None, read_only: bool = False
    ) -> None:
        super().__init__()
        self.path = path
        self.document: Document | None = None
        self.raw = False
        self.root = root
        self.copies = copies
        self.read_only = read_only
        self._reading_on = False
        self._filtering = False

    def compose(self) -> ComposeResult:
        """Put down title, notice, content, search line and keys."""
        yield TitleLine(id="viewer-title")
        yield Static(id="viewer-notice")
        yield DocumentView(id="viewer-view")
        yield DetailPanel(id="viewer-detail", min_lines=_DETAIL_FROM)
        yield Input(id="viewer-search", compact=True)
        yield KeyLine(id="viewer-keys")

    def on_mount(self) -> None:
        """Read the file."""
        self.query_one("#viewer-notice").display = False
        title = self.query_one(TitleLine)
        title.show(clean_line(self.path.name, _NAME), place=self._shown_folder())
        self._offer_keys()
        self._read()

    @property
    def view(self) -> DocumentView:
        """The content."""
        return self.query_one(DocumentView)

    # -- reading ----------------------------------------------------------------------------------

    def _read(self, place: float = 0.0) -> None:
        start_job(self, partial(self._load, place), "viewer")

    async def _load(self, place: float = 0.0) -> None:
        beginning: Document | None = None
        try:
            document = await in_thread(partial(load, self.path, PREVIEW_LIMIT))
            if document.size > PREVIEW_LIMIT:
                if document.size > FULL_LIMIT and not place:
                    # To read so much takes a while: the beginning comes first, and has the time to be drawn.
                    beginning = self._begin_with(document)
                    await asyncio.sleep(_PATIENCE_SECONDS)
                reading = asyncio.ensure_future(in_thread(partial(load, self.path, FULL_LIMIT)))
                try:
                    await asyncio.wait({reading}, timeout=_PATIENCE_SECONDS)
                    if not reading.done() and beginning is None and not place:
                        beginning = self._begin_with(document)
                    document = await reading
                finally:
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)
        except FileUnviewable as error:
            self._explain(str(error))
            return
        if beginning is None:
            self._show(document, place)
        else:
            self._go_on_with(document)

    def _begin_with(self, document: Document) -> Document:
        self._show(document)
        return document

    def _show(self, document: Document, place: float = 0.0) -> None:
        self._take(document)
        self.view.show(self._body(), place=place, unfinished=document.end < document.size)

    def _go_on_with(self, document: Document) -> None:
        """Show all of a file whose beginning is shown, where its reader is by now."""
        before, cursor = self._body(), self.view.cursor_body
        if document.rendered is None and document.end < document.size:
            return
        self._take(document)
        body, unfinished = self._body(), document.end < document.size
        if isinstance(body, CursorBody):
            if cursor is not None:
                body.reveal(cursor.cursor_place())
            self.view.show(body, unfinished=unfinished)
        elif type(body) is type(before):
            self.view.extend(body, unfinished=unfinished)
        else:
            self.view.show(body, unfinished=unfinished)

    async def _load_tail(self, document: Document) -> None:
        offset = max(0, document.size - FULL_LIMIT // 16)
        try:
            tail = await asyncio.to_thread(load_page, self.path, offset, at_line=True)
        except FileUnviewable as error:
            self._explain(str(error))
            return
        shown = self.document
        if shown is None or shown.end >= shown.size or not self.view.wants_end:
            # The end came by itself, or the reader went elsewhere.
            return
        self.workers.cancel_group(self, "viewer")
        self.raw = True
        self._show(tail, place=1.0)

    async def _read_on(self, document: Document) -> None:
        try:
            page = await asyncio.to_thread(load_page, self.path, document.end)
            body = await asyncio.to_thread(_joined, document.raw, page.raw)
        except FileUnviewable as error:
            self._tell(str(error))
            return
        finally:
            self._reading_on = False
        if self.document is document and body is not None:
            self._take(replace(document, raw=body, end=page.end, size=page.size))
            self.view.extend(body, unfinished=page.end < page.size)

    def _take(self, document: Document) -> None:
        self.document = document
        self.tell()

    def _explain(self, message: str) -> None:
        self.document = None
        self._tell("")
        self.query_one(TitleLine).show(facts="")
        self.view.show(TextBody(message))
        self._offer_keys()

    def _body(self) -> Body:
        assert self.document is not None
        return self.document.raw if self.raw else self.document.best

    def on_document_view_near_end(self, event: DocumentView.NearEnd) -> None:
        """Read on where the file is longer than what is shown."""
        event.stop()
        document = self.document
        if document is None or self._reading_on or document.end >= document.size:
            return
        if self._body() is document.raw and document.end - document.start < _MOST_LOADED:
            self._reading_on = True
            start_job(self, partial(self._read_on, document), "viewer", replacing=False)

    def on_document_view_edge_requested(self, event: DocumentView.EdgeRequested) -> None:
        """Jump to the real end or beginning of a file that is shown in part."""
        event.stop()
        document = self.document
        if document is None or document.complete or self._body() is not document.raw:
            return
        if event.last and document.end < document.size:
            start_job(self, partial(self._load_tail, document), "tail")
        elif not event.last and document.start > 0:
            self._read()

    # -- what is told -----------------------------------------------------------------------------

    def _shown_folder(self) -> str:
        folder = self.path.parent
        if self.root is not None and folder.is_relative_to(self.root):
            inside = folder.relative_to(self.root).as_posix()
            return "" if inside == "." else clean_line(inside, 1000)
        return clean_line(os.fspath(folder), 1000)

    def tell(self) -> None:
        """Say anew what is shown of the file, and offer the keys that do something by now."""
        self._show_facts()
        self._offer_keys()

    def _show_facts(self) -> None:
        document = self.document
        if document is None:
            return
        facts = [document.kind, document.size_text, *document.facts]
        if self.raw and document.rendered is not None:
            facts.insert(1, "raw")
        if self.view.cursor_body is not None and (state := self.view.cursor_body.state):
            facts.insert(0, state)
        number, count = self.view.matches
        if count:
            facts.insert(0, f"match {number:,} of {count:,}")
        if self.view.busy:
            facts.insert(0, f"{self.view.busy}… Esc stops")
        self.query_one(TitleLine).show(facts=" · ".join(clean_line(fact, 80) for fact in facts))
        self._tell(
            " ".join(part for part in (document.notice, self._told_range(document)) if part),
            warning=document.notice is not None,
        )

    def _told_range(self, document: Document) -> str:
        if document.complete or (document.all_rendered and self._body() is not document.raw):
            return ""
        total = size(document.size)
        if document.start > 0:
            return (
                f"The last {size(document.end - document.start)} of {total}. Home goes back to the beginning."
            )
        shown = f"The first {size(document.end)} of {total}."
        if self._body() is not document.raw:
            return f"{shown} Press m to read on as it is written."
        if document.end >= _MOST_LOADED:
            return f"{shown} End goes to the last part."
        return f"{shown} More is read as you scroll; End goes to the last part."

    def _tell(self, notice: str, *, warning: bool = False) -> None:
        line = self.query_one("#viewer-notice", Static)
        line.set_class(warning, "-warning")
        line.update(Content(notice))
        line.display = bool(notice)

    def _offer_keys(self) -> None:
        cursor_body = self.view.cursor_body
        keys = [("Esc", "close", "screen.close")]
        document = self.document
        if document is not None:
            if document.rendered is not None:
                keys.append(("m", "rendered" if self.raw else "raw", "screen.toggle_raw"))
            keys.append(("/", "search", "screen.search"))
            if self.view.matches[1]:
                keys.append(("n", "next", "screen.match(1)"))
            if cursor_body is not None:
                keys += [(key.key, key.label, f"screen.command({key.command!r})") for key in cursor_body.keys]
            keys.append(("o", "open", "screen.open_outside"))
            if not self.read_only:
                keys.append(("e", "edit", "screen.edit"))
            keys.append(("y", "copy path", "screen.copy_path"))
            keys.append(("Y", "copy text", "screen.copy_text"))
            if not self.read_only:
                keys.append(("d", "delete", "screen.delete"))
        keys.append(("?", "keys", "app.keys_here"))
        self.query_one(KeyLine).show_keys(*keys)

    # -- keys -------------------------------------------------------------------------------------

    def step_back(self) -> bool:
        """Show all rows of a table again."""
        table = self.view.cursor_body
        if not isinstance(table, Table) or not table.filter:
            return False
        self.view.run_command(BodyCommand("filter", ""))
        return True

    def action_command(self, name: str) -> None:
        """Give an order to what is shown, as a click on its key does."""
        if name == "ask_filter":
            self.action_ask_filter()
        else:
            super().action_command(name)

    def action_toggle_raw(self) -> None:
        """Change between the rendered form and the text as it is written."""
        if self.document is None or self.document.rendered is None:
            self.notify("This file has only one form.", markup=False)
            return
        self.raw = not self.raw
        self._show(self.document, self.view.place)

    def action_reload(self) -> None:
        """Read the file again."""
        self._read(self.view.place)

    def action_search(self) -> None:
        """Ask what to search for."""
        self._filtering = False
        super().action_search()

    def action_ask_filter(self) -> None:
        """Ask which rows of a table to show."""
        cursor_body = self.view.cursor_body
        if isinstance(cursor_body, Table):
            self._filtering = True
            self.ask(_FILTER, cursor_body.filter)

    def entered(self, text: str) -> None:
        """Search, or show only the rows asked for."""
        if self._filtering:
            self.view.run_command(BodyCommand("filter", text))
        else:
            super().entered(text)


def _joined(first: Body, second: Body) -> Body | None:
    """One body of two that follow each other; None when they are of different kinds."""
    match first, second:
        case TextBody(), TextBody():
            return first.followed_by(second)
        case HexBody(), HexBody():
            return HexBody(first.data + second.data, first.offset)
        case _:
            return None
