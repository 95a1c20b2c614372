"""The viewer: a file on the full screen, rendered or raw, and what can be done with it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from textual import getters
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import OptionList

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import size
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.paths import words_of
from ua_tui.core.storage.workspace import is_record
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.article import open_article
from ua_tui.tui.screens.files.evidence import ReportScreen
from ua_tui.tui.screens.files.export import export_session
from ua_tui.tui.screens.files.headings import ChoiceScreen, OutlineList
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.articles.page import session_of
from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.page import LEAST_HEADINGS, PageBody
from ua_tui.tui.viewers.bodies.table import EXPORT_KEY
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.claims.marks import MarkedBody
from ua_tui.tui.viewers.claims.view import EvidencePanel, ReportView
from ua_tui.tui.viewers.contract import FULL_LIMIT, PREVIEW_LIMIT, Document
from ua_tui.tui.viewers.cursor_body import CursorBody, OpenArticle
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.export import copy_file, open_outside, why_not_edited
from ua_tui.tui.viewers.passage import Passage
from ua_tui.tui.viewers.reader import FileUnviewable
from ua_tui.tui.viewers.registry import READING, load_page, read_document
from ua_tui.tui.viewers.view.chrome import Key, TitleLine
from ua_tui.tui.viewers.view.detail_panel import DetailPanel
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.workers import start_job

_PATIENCE_SECONDS = 0.05
_MOST_LOADED = 16 * 1024 * 1024
_NAME = 200


class ViewerScreen(ReportScreen):
    """Shows one file.

    Args:
        path: the file.
        root: the folder of the session; paths are shown relative to it.
        read_only: whether the file belongs to a past session, so that it cannot be edited or deleted.
        line: the line of its text to show first, from 1; 0 for its beginning, in the form to read.
        passage: the passage to show first, if it is there.
    """

    _outline = getters.query_one(OutlineList)

    @dataclass
    class QueryRequested(Message):
        """The query for which a report was written is to be asked again."""

        report: Path

    def __init__(
        self,
        path: Path,
        root: Path | None = None,
        *,
        read_only: bool = False,
        line: int = 0,
        passage: Passage | None = None,
    ) -> None:
        super().__init__(path)
        self.document: Document | None = None
        self.raw = False
        self.root = root
        self.read_only = read_only
        self._line = line
        self._passage = passage
        self._is_loaded = False
        self._loading_page = False

    @property
    def idle_actions(self) -> tuple[str, ...]:
        """The beginnings of the names of actions that do nothing with this file, for the help."""
        claims = () if self.check is not None else ("claim.",)
        return (*claims, *(() if self.view.landmarks else ("file.headings",)))

    def compose_content(self) -> ComposeResult:
        """Create the content between its headings and its evidence."""
        yield Words(id="viewer-check")
        with Horizontal(id="viewer-main"):
            yield OutlineList(id="viewer-outline")
            with Vertical():
                yield ReportView(self.choose_claim, self.action_open_claim, id="viewer-view")
                yield DetailPanel(id="viewer-detail", min_lines=16)
                yield EvidencePanel(id="viewer-evidence")

    def on_mount(self) -> None:
        """Read the file."""
        self.watch(self.view, "scroll_y", self._show_current_heading, init=False)
        title = self.query_one(TitleLine)
        title.show(self._file_name, place=self._shown_folder())
        self._offer_keys()
        self._read()

    # -- reading ----------------------------------------------------------------------------------

    def _read(self, place: float = 0.0) -> None:
        start_job(self, self._load, "viewer", place)

    async def _load(self, place: float = 0.0) -> None:
        from_top = not place and not self._line
        begun: list[Document] = []

        def begin() -> None:
            if from_top and not begun:
                begun.append(document)
                self._show(document)

        try:
            document = await read_document(self.path, PREVIEW_LIMIT, self._show_reading)
            if document.size > PREVIEW_LIMIT:
                if document.size > FULL_LIMIT and from_top:
                    # A large file takes a while: its beginning is shown first and gets time to be drawn.
                    begin()
                    await asyncio.sleep(_PATIENCE_SECONDS)
                document = await read_document(self.path, FULL_LIMIT, begin, _PATIENCE_SECONDS)
        except FileUnviewable as error:
            self.is_read = True
            self._show_error(str(error))
            return
        self._is_loaded = True
        if begun:
            self._extend_to(document)
        else:
            self._show(document, place)
        start_job(self, self.read_check, "evidence")

    def _show_reading(self) -> None:
        if self.document is None:
            self.view.show(TextBody(READING))

    def _show(self, document: Document, place: float = 0.0) -> None:
        if self._line and isinstance(document.raw, TextBody):
            self.raw = document.rendered is not None
        self._set_document(document)
        self._show_outline()
        self.view.show(self._marked(), place=place, unfinished=document.end < document.size, line=self._line)
        self._line = 0

    def _extend_to(self, document: Document) -> None:
        """Show the full file in place of its beginning, at the position that the person has scrolled to."""
        before, cursor = self._body(), self.view.cursor_body
        if document.rendered is None and document.end < document.size:
            return
        self._set_document(document)
        self._show_outline()
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
            self._show_error(str(error))
            return
        shown = self.document
        if shown is None or shown.end >= shown.size or not self.view.wants_end:
            # The end is loaded already, or the person scrolled elsewhere.
            return
        self.workers.cancel_group(self, "viewer")
        self.raw = True
        self._show(tail, place=1.0)

    async def _load_page(self, document: Document) -> None:
        self._loading_page = True
        try:
            page = await asyncio.to_thread(load_page, self.path, document.end)
            body = await asyncio.to_thread(joined_pages, document.raw, page.raw)
        except FileUnviewable as error:
            self._show_notice(str(error))
            return
        finally:
            self._loading_page = False
        if self.document is document and body is not None:
            self._set_document(replace(document, raw=body, end=page.end, size=page.size))
            self.view.extend(body, unfinished=page.end < page.size)

    def _set_document(self, document: Document) -> None:
        self.document = document
        self.update_chrome()

    def _show_error(self, message: str) -> None:
        self.document = None
        self._show_notice("")
        self.title_line.show(facts="")
        self.view.show(TextBody(message))
        self._offer_keys()

    def _body(self) -> Body:
        assert self.document is not None
        return self.document.raw if self.raw else self.document.best

    def _marked(self) -> Body:
        """The content with the marks of its claims, if they are known and the complete file is shown."""
        body, document = self._body(), self.document
        is_whole = document is not None and document.complete
        if not is_whole or self.check is None or self.view.cursor_body is not None:
            return body
        return MarkedBody(body, self.claims)

    def show_marks(self) -> None:
        """Show the content with its marks, at the position that the person has scrolled to."""
        if self.document is not None:
            self.view.extend(self._marked(), unfinished=self.document.end < self.document.size)

    def on_document_view_near_end(self) -> None:
        """Load the next page of a file that is shown in part."""
        document = self.document
        if document is None or self._loading_page or document.end >= document.size:
            return
        if self._body() is document.raw and document.end - document.start < _MOST_LOADED:
            start_job(self, self._load_page, "page", document)

    def on_document_view_edge_requested(self, event: DocumentView.EdgeRequested) -> None:
        """Go to the end or the beginning of a file that is shown in part."""
        document = self.document
        if document is None or document.complete or self._body() is not document.raw:
            return
        if event.last and document.end < document.size:
            start_job(self, self._load_tail, "tail", document)
        elif not event.last and document.start > 0:
            self._read()

    # -- headings ---------------------------------------------------------------------------------

    def _show_outline(self) -> None:
        """Show the column of headings where there is room for it, before the text is laid out beside it."""
        body = self._body() if self.document is not None else None
        has_outline = isinstance(body, PageBody) and body.has_outline
        self._outline.display = has_outline and self.size.width >= 140

    def on_resize(self) -> None:
        """Show or hide the column of headings, and fit the summary."""
        if self.is_mounted:
            self._show_outline()
            self.show_summary()

    def on_document_view_laid_out(self) -> None:
        """List the headings."""
        self._outline.show(self.view.landmarks)
        self._show_current_heading()
        self._offer_keys()
        if self._passage is not None and self.document is not None and self.view.is_laid_out:
            start_job(self, self._go_to_passage, "passage", self._passage)

    async def _go_to_passage(self, passage: Passage) -> None:
        """Go to the passage; one that is not in the beginning of a long file may come with the rest of it."""
        is_all = self._is_loaded
        if await self.view.show_passage(passage):
            self._passage = None
            self.update_chrome()
        elif is_all and self.view.is_laid_out:
            self._passage = None
            self.notify("The passage was not found in this file.")

    def _show_current_heading(self) -> None:
        if not self._outline.has_focus:
            self._outline.mark_current(int(self.view.scroll_offset.y))

    def action_headings(self) -> None:
        """Go to the column of headings, or list them in a dialog if there is no room for the column."""
        if self._outline.display:
            if self._outline.has_focus:
                self.view.focus()
            else:
                self._outline.focus()
        elif self.view.landmarks:
            headings = OutlineList(id="headings-found")
            headings.show(self.view.landmarks)
            headings.mark_current(int(self.view.scroll_offset.y))
            numbers = range(len(headings.headings))
            self.app.push_screen(ChoiceScreen("Headings", headings, numbers, "go to it"), self._go_to_heading)
        else:
            self.notify("This file has no headings.")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the chosen heading."""
        self.view.focus()
        self._go_to_heading(event.option_index)

    def _go_to_heading(self, number: int | None) -> None:
        if number is not None:
            self.view.go_to_landmark(number)

    def action_leave(self) -> None:
        """Leave the column of headings, then what else can be left, then the screen."""
        if self._outline.has_focus:
            self.view.focus()
        else:
            super().action_leave()

    # -- title and keys -----------------------------------------------------------------------------

    @property
    def _file_name(self) -> str:
        return clean_line(self.path.name, _NAME)

    def _shown_folder(self) -> str:
        folder = self.path.parent
        if self.root is not None and folder.is_relative_to(self.root):
            inside = folder.relative_to(self.root).as_posix()
            return "" if inside == "." else clean_line(inside, 1000)
        return clean_line(os.fspath(folder), 1000)

    def update_chrome(self) -> None:
        """Update the title and the keys."""
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
        if fact := self.claim_fact():
            facts.insert(0, fact)
        facts = [*self.search_facts(), *facts]
        name, folder = self._file_name, self._shown_folder()
        self.title_line.show(
            document.title or name,
            place="/".join(filter(None, (folder, name))) if document.title else folder,
            facts=" · ".join(clean_line(fact, 80) for fact in facts),
        )
        self._show_notice(
            " ".join(filter(None, (document.notice, self._describe_range(document)))),
            warning=document.notice is not None,
        )

    def _describe_range(self, document: Document) -> str:
        if document.complete or (document.all_rendered and self._body() is not document.raw):
            return ""
        total = size(document.size)
        if document.start > 0:
            return f"The last {size(document.end - document.start)} of {total}. Press Home for the beginning."
        shown = f"The first {size(document.end)} of {total}."
        if self._body() is not document.raw:
            return f"{shown} Press m to read the rest as raw text."
        if document.end >= _MOST_LOADED:
            return f"{shown} Press End for the last part."
        return f"{shown} Scroll to load more; press End for the last part."

    def _show_notice(self, notice: str, *, warning: bool = False) -> None:
        line = self.query_one("#viewer-notice", Words)
        line.set_class(warning, "-warning")
        line.show(notice)

    def _offer_keys(self) -> None:
        line, is_checked = self.key_line, self.check is not None
        # The keys of claims have room in 80 columns.
        line.gap = 2 if is_checked else 3
        line.show_keys(
            not is_checked and ("Esc", "close", "screen.close"),
            *(self._keys_of(self.document) if self.document is not None else ()),
            ("?", "keys", "app.keys_here"),
        )

    def _keys_of(self, document: Document) -> Sequence[Key | Literal[False]]:
        view, is_text, has_report = self.view, document.is_text, self.origin is not None
        return (
            *self.claim_keys(),
            document.rendered is not None
            and is_text
            and ("m", "rendered" if self.raw else "raw", "screen.toggle_raw"),
            *self.search_keys(),
            *self.body_keys(),
            len(view.landmarks) >= LEAST_HEADINGS and ("t", "headings", "screen.headings"),
            view.has_picture and ("w", "whole" if view.full_width else "full width", "screen.full_width"),
            view.cursor_body is None and is_text and ("v", "versions", "screen.compare"),
            has_report and ("X", "export", "screen.export"),
            has_report and ("Q", "ask again", "screen.ask_again"),
            ("o", "open", "screen.open_outside"),
            is_text and document.packed is None and not self.read_only and ("e", "edit", "screen.edit"),
            ("y", "copy path", "screen.copy_path"),
            is_text and ("Y", "copy text", "screen.copy_text"),
            not self.read_only and ("d", "delete", "screen.delete"),
        )

    def open_source(self, path: Path, session: Path, passage: Passage) -> None:
        """Show a source of a claim."""
        read_only = self.read_only or session != self.root
        self.app.push_screen(ViewerScreen(path, session, read_only=read_only, passage=passage))

    # -- keys -------------------------------------------------------------------------------------

    def action_toggle_raw(self) -> None:
        """Switch between the rendered form and the raw text."""
        if self.document is None or self.document.rendered is None:
            self.notify("This file has no rendered form.")
            return
        if not self.document.is_text:
            self.notify("This file is not text, so it has no raw form.")
            return
        self.raw = not self.raw
        self._show(self.document, self.view.place)
        self.keeps_claim = self.view.claim >= 0

    def action_full_width(self) -> None:
        """Show a picture in the full width, or the whole picture, as a click on the key does."""
        self.view.action_full_width()
        self.update_chrome()

    def action_reload(self) -> None:
        """Read the file again."""
        self._read(self.view.place)

    # -- the file ------------------------------------------------------------------------------------

    def action_copy_path(self) -> None:
        """Copy the path."""
        copy_text(self, os.fspath(self.path), "Path")

    def action_copy_text(self) -> None:
        """Copy the full raw text, or nothing."""
        start_job(self, copy_file, "copy", self, self.path)

    def action_open_outside(self) -> None:
        """Open the file in another program; HTML in the browser, without scripts."""
        start_job(self, open_outside, "outside", self, self.path)

    @property
    def has_all_rows(self) -> bool:
        """Whether the whole file is loaded."""
        return self.document is None or self.document.complete or self.document.all_rendered

    @property
    def name_of_table(self) -> str:
        """The title of what is shown, or the name of the file."""
        return (words_of(self.document.title) if self.document is not None else "") or self.path.stem

    def action_export(self) -> None:
        """Export the session with this report, or a table."""
        body = self.view.cursor_body
        if body is not None and EXPORT_KEY in body.keys:
            super().action_export()
        elif (origin := self.origin) is None:
            self.warn("Only tables and session reports can be exported, and in a replay only tables.")
        else:
            export_session(self.app, origin.session, origin.source)

    def action_edit(self) -> None:
        """Open the file in the person's editor, then read it again."""
        from ua_tui.tui.terminal.programs import edit_file

        why = self._protection("changed") or why_not_edited(self.path)
        if why is not None:
            self.warn(why)
        else:
            edit_file(self, self.path, self.action_reload)

    def action_compare(self) -> None:
        """Compare the file with the version before it."""
        from ua_tui.tui.screens.files.compare import CompareScreen

        self.app.push_screen(CompareScreen(self.path))

    def action_ask_again(self) -> None:
        """Ask the query for which a report was written again."""
        if self.origin is None:
            self.warn("Only the query of a report that a session wrote can be run again.")
        else:
            self.post_message(self.QueryRequested(self.path))

    def action_delete(self) -> None:
        """Delete the file after a confirmation, then close."""
        from ua_tui.tui.screens.session.confirm import DeleteScreen

        why = self._protection("deleted")
        if why is not None:
            self.warn(why)
            return
        try:
            facts = f"A file of {size(os.lstat(self.path).st_size)}."
        except OSError:
            self.warn("This file no longer exists.")
            return

        def answered(confirmed: bool | None) -> None:
            if confirmed:
                start_job(self, self._delete, "delete", replacing=False)

        self.app.push_screen(DeleteScreen(clean_line(self._relative(), 400), facts), answered)

    async def _delete(self) -> None:
        assert self.root is not None
        name = clean_line(self.path.name, _NAME)
        try:
            existed = await asyncio.to_thread(Root(self.root).remove, self._relative())
        except UniversalAgentError as error:
            self.warn(error.advice.sentence)
            return
        self.notify(f"{name} deleted." if existed else f"{name} was already deleted.")
        self.action_close()

    def go_to_article(self, found: OpenArticle) -> None:
        """Show the article of a row."""
        session = session_of(self.path, self.root)
        viewer = partial(ViewerScreen, root=session, read_only=self.read_only)
        start_job(self, open_article, "article", self, found, session, viewer)

    def _relative(self) -> str:
        assert self.root is not None
        return self.path.relative_to(self.root).as_posix()

    def _protection(self, action: str) -> str | None:
        if self.read_only:
            return f"Read-only: past session. This file cannot be {action} here."
        if self.root is None or not self.path.is_relative_to(self.root):
            return f"This file is outside this session and cannot be {action} here."
        relative = self._relative()
        if is_record(relative):
            return f"{relative} is a record of this session and cannot be {action}."
        if relative.startswith("tool_results/"):
            return f"The journal of this session refers to this result, so it cannot be {action}."
        return None


def joined_pages(first: Body, second: Body) -> Body | None:
    """Join two consecutive bodies; None if they are of different kinds."""
    match first, second:
        case TextBody(), TextBody():
            return TextBody(first.text + second.text, style=first.style, numbers=first.numbers)
        case HexBody(), HexBody():
            return HexBody(first.data + second.data, first.offset)
        case _:
            return None
