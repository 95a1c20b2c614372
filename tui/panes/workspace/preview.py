"""The preview of the file under the workspace's cursor, read in a thread; a read ends when the cursor moves on."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from textual.content import Content
from textual.message import Message

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.events.types import ArtifactChanged, ArtifactSaved, Event
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.workspace.file_actions import FileAction
from ua_tui.tui.panes.workspace.folder_tree import title_of
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.claims.checked import find_check
from ua_tui.tui.viewers.claims.panel import summary_body
from ua_tui.tui.viewers.contract import PREVIEW_LIMIT, Document
from ua_tui.tui.viewers.cursor_body import OpenArticle
from ua_tui.tui.viewers.document import Body, JoinedBody
from ua_tui.tui.viewers.reader import FileUnviewable
from ua_tui.tui.viewers.registry import READING, read_document
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.workers import start_job

_PATIENCE_SECONDS = 0.06
_HERE = "The file under the cursor in the workspace is shown here. Enter opens it in full."
_NAME = 120
_Version = tuple[Path, int, int]


class PreviewPane(DocumentView):
    """Shows the beginning of a file, rendered; `show_path` replaces it and cancels what was being read."""

    BINDINGS = bindings("PreviewPane")

    @dataclass
    class ActionRequested(Message):
        """An action of the workspace is to be run on the file that is shown."""

        path: Path
        action: FileAction

    @dataclass
    class ArticleRequested(Message):
        """The article of a row of the file is to be opened."""

        path: Path
        found: OpenArticle

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = Content("Preview")
        self.path: Path | None = None
        self.document: Document | None = None
        self._is_outdated = False
        self._version: _Version | None = None
        self._raw = False
        self._summary: TextBody | None = None

    @property
    def key_hints(self) -> tuple[tuple[str, str], ...]:
        """The most useful keys; the raw form, the text and editing are offered for text."""
        is_text = self.document is not None and self.document.is_text
        of_text = (("file.compare", "compare"), ("file.copy_text", "copy text"), ("file.edit", "edit"))
        form = ("file.raw", "raw") if is_text else ("picture.width", "full width")
        return (
            ("file.page_down", "page"),
            *((form,) if is_text or self.has_picture else ()),
            ("file.links", "links"),
            *(of_text if is_text else ()),
            ("file.open_outside", "open externally"),
        )

    def on_mount(self) -> None:
        """Show what this pane is for."""
        if self.path is None:
            self.clear()

    def action_toggle_raw(self) -> None:
        """Switch between the rendered form and the source."""
        document = self.document
        if document is not None and not document.is_text:
            self.notify("This file is not text, so it has no raw form.")
        elif document is not None and document.rendered is not None:
            self._raw = not self._raw
            self.show(document.raw if self._raw else self._with_summary(document.rendered), place=self.place)

    def action_file(self, action: FileAction) -> None:
        """Request an action of the workspace on the file that is shown."""
        if self.path is not None:
            self.post_message(self.ActionRequested(self.path, action))

    def action_copy_path(self) -> None:
        """Copy the path of the file shown."""
        if self.path is not None:
            copy_text(self, os.fspath(self.path), "Path")

    def action_copy_text(self) -> None:
        """Copy the text of the file shown: the complete text, or nothing."""
        from ua_tui.tui.viewers.export import copy_file

        if self.path is not None:
            start_job(self, copy_file, "copy", self, self.path)

    def on_document_view_requested(self, event: DocumentView.Requested) -> None:
        """Request that the article of a row is opened."""
        event.stop()
        if isinstance(event.outcome, OpenArticle) and self.path is not None:
            self.post_message(self.ArticleRequested(self.path, event.outcome))

    def clear(self) -> None:
        """Show only what this pane is for."""
        self.workers.cancel_group(self, "preview")
        self.path = self.document = None
        self._say("Preview", _HERE)

    def show_path(self, path: Path) -> None:
        """Read a file and show its beginning."""
        self.path = path
        start_job(self, partial(self._read, path), "preview")

    def has_read(self, path: Path) -> bool:
        """Whether this file is shown, and has not changed since it was read."""
        return path == self.path and self._version is not None and self._version == _version_of(path)

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note that a new version of the file was saved."""
        if isinstance(event, ArtifactSaved | ArtifactChanged) and self.path is not None:
            # An artifact that is saved again may be compressed now, or no longer.
            shown = inner_name(self.path.as_posix())
            self._is_outdated |= shown.endswith(f"/{inner_name(event.path)}")

    def show_view(self, view: SessionView) -> None:
        """Read the file again if there is a new version of it."""
        if self._is_outdated and self.path is not None:
            self._is_outdated = False
            self.show_path(self.path)

    async def _read(self, path: Path) -> None:
        # The cursor passes many files on its way: only one that it rests on is read.
        await asyncio.sleep(_PATIENCE_SECONDS)
        name = clean_line(path.name, _NAME)
        self._version = await asyncio.to_thread(_version_of, path)
        if self._version is not None:
            title = await asyncio.to_thread(title_of, os.fspath(path.parent), path.name, self._version[1])
            name = title[:_NAME] or name
        try:
            if await asyncio.to_thread(_is_folder, path):
                self._say(name, _HERE, "folder")
                return
            document = await read_document(path, PREVIEW_LIMIT, partial(self._show_reading, name))
        except FileUnviewable as error:
            self.document = None
            self._say(name, str(error))
            return
        self._summary = await in_thread(_find_summary, path)
        self.document = document
        self._raw = False
        facts = " · ".join((document.kind, document.size_text))
        self._set_titles(name, facts)
        if document.notice and not document.size:
            self._say(name, document.notice, facts)
        elif document.notice and document.rendered is None:
            self.show(JoinedBody((TextBody(f"{document.notice}\n\n", style="dim"), document.raw)))
        else:
            self.show(self._with_summary(document.best))

    def _with_summary(self, body: Body) -> Body:
        """A report below what its check found."""
        return body if self._summary is None else JoinedBody((self._summary, body))

    def _show_reading(self, name: str) -> None:
        self.document = None
        self._say(name, READING)

    def _say(self, title: str, text: str, facts: str = "") -> None:
        """Show a text of the program in the place of a file."""
        self._set_titles(title, facts)
        self.show(TextBody(text, style="dim"))

    def _set_titles(self, title: str, facts: str) -> None:
        self.border_title = Content(title)
        self.border_subtitle = Content(facts) if facts else None


def _find_summary(path: Path) -> TextBody | None:
    """What the check of a report found, if it is of the report as it is."""
    found = find_check(path)
    return summary_body(found.report) if found is not None and found.report is not None else None


def _version_of(path: Path) -> _Version | None:
    """What tells one version of a file from another; None for what is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (path, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
