"""One tool call in full: its state, arguments, result, and the files it created."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from textual import getters
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widgets import OptionList

from ua_tui.core.events.tool_names import tool_label, tool_name
from ua_tui.core.events.types import UNSTAMPED, Event
from ua_tui.core.events.units import duration, milliseconds, size
from ua_tui.core.observation import Observation
from ua_tui.core.text import clean_line
from ua_tui.core.view.calls import FullCall
from ua_tui.core.view.records import Call
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.format import Mark, clock
from ua_tui.tui.screens.files.article import open_article
from ua_tui.tui.screens.files.artifact_list import ArtifactList, files_of_call
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.terminal.copy import MOST_COPIED, copy_text
from ua_tui.tui.viewers.cursor_body import CursorBody, OpenArticle
from ua_tui.tui.viewers.reader import missing_reason
from ua_tui.tui.viewers.tool_call.body import (
    StoredResult,
    arguments_text,
    call_body,
    is_agent,
    read_stored_result,
    result_text,
)
from ua_tui.tui.viewers.tool_call.sections import SectionsBody
from ua_tui.tui.viewers.view.detail_panel import DetailPanel
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.workers import start_job

_DETAIL_FROM = 20
_COPY_ARGUMENTS = ("a", "copy arguments", "screen.copy_arguments")
_MARKS = {
    "success": (Mark.SUCCESS, "$success"),
    "error": (Mark.ERROR, "$error"),
    "denied": (Mark.DENIED, "$warning"),
    "cancelled": (Mark.CANCELLED, "$warning"),
    "waiting": (Mark.HELD, "$warning"),
    "blocked": (Mark.BLOCKED, "$warning"),
}


class CallView(DocumentView):
    """Shows the sections of a call; an update replaces them without flicker."""

    BINDINGS = bindings("CallView")

    def action_copy_arguments(self) -> None:
        """Copy the arguments; in a table of results, where the key opens the page of a row, do that."""
        if _opens_pages(self.cursor_body):
            self.action_command("article")
        else:
            self.query_ancestor(ToolCallScreen).action_copy_arguments()

    def show_call(self, body: SectionsBody) -> None:
        """Show a call or an update of it; cursor and folds are kept."""
        before = self.cursor_body
        if isinstance(before, SectionsBody):
            body.restore(before)
            self.extend(body)
        else:
            self.show(body)


class ToolCallScreen(DocumentScreen[str | None]):
    """Shows a call; closes with the path of an artifact (as in the event) if the person opens one.

    Args:
        call: the call; `handle_event` adds its end and its files while it runs.
        folder: the session's folder with large results and artifacts; None if unknown.
        record: what the session's view says about it, such as the progress of a sub-agent.
        read_only: whether the call is one of a past session, so that its files cannot be edited or deleted.
    """

    PARTS = (CallView,)
    view = getters.query_one(CallView)

    @property
    def name_of_table(self) -> str:
        """The name of the tool."""
        return tool_name(self.call.started.name).short.lower()

    def __init__(
        self,
        call: FullCall,
        *,
        folder: Path | None = None,
        record: Call | None = None,
        read_only: bool = False,
    ) -> None:
        super().__init__()
        self.call = replace(call)
        self._record = record
        self.as_text = False
        self._folder = folder
        self._read_only = read_only
        self._whole: StoredResult | None = None
        self._clock: Timer | None = None
        self._drawn = replace(call)

    def compose_content(self) -> ComposeResult:
        """Create the call, the details of a row, and the files."""
        yield CallView(id="viewer-view")
        yield DetailPanel(id="viewer-detail", min_lines=_DETAIL_FROM)
        yield ArtifactList(id="call-artifacts")

    def on_mount(self) -> None:
        """Show the call."""
        if self.call.finished is None:
            self._clock = self.set_interval(1, self._show_title)
        self._show()

    @property
    def result(self) -> Observation | None:
        """The result of the call, complete as soon as it is read."""
        return self._whole.observation if self._whole is not None else self.call.observation

    # -- events -----------------------------------------------------------------------------------

    def handle_event(self, event: Event) -> None:
        """Note what an event says about the end, the files and the arguments of this call."""
        self.call.add(event)

    def show_record(self, record: Call | None) -> None:
        """Show what has changed, and what the session's view says about the call now."""
        is_new, self._record = record != self._record, record
        if not self.is_mounted:
            return
        drawn = self._drawn
        if is_new or (self.call.finished, self.call.started) != (drawn.finished, drawn.started):
            self._show()
        elif self.call.artifacts != drawn.artifacts:
            self._show_artifacts()

    # -- display ----------------------------------------------------------------------------

    def _show(self) -> None:
        if self.call.finished is not None and self._clock is not None:
            self._clock.stop()
        self._show_title()
        self._show_artifacts()
        start_job(self, self._show_body, "call")

    async def _show_body(self) -> None:
        observation = self.call.observation
        if observation is not None and self._whole is None:
            if observation.stored_at and self._folder is not None:
                self.view.show_call(await asyncio.to_thread(self._body, "Reading the full result…"))
            self._whole = await asyncio.to_thread(read_stored_result, observation, self._folder)
            self._show_title()
        self.view.show_call(await asyncio.to_thread(self._body))

    def _body(self, waiting: str = "") -> SectionsBody:
        return call_body(
            self.call,
            whole=self.result,
            as_text=self.as_text,
            record=self._record,
            notes=[self._whole.problem] if self._whole is not None and self._whole.problem else (),
            waiting=waiting,
        )

    def update_chrome(self) -> None:
        """Update the title and the keys."""
        self._show_title()
        self._offer_keys()

    def _show_title(self) -> None:
        name = tool_name(self.call.started.name)
        label = clean_line(tool_label(self.call.started.name, self.call.started.input))
        mark, style = (
            (Mark.RUNNING, "$accent") if self.call.finished is None else _MARKS[self.call.finished.status]
        )
        at = self.call.started.at
        facts = [mark.word] if at == UNSTAMPED else [clock(at), mark.word]
        if self.call.finished is None:
            if at != UNSTAMPED:
                facts.append(duration((datetime.now(UTC) - at).total_seconds()))
        elif self.call.finished.duration_ms:
            facts.append(milliseconds(self.call.finished.duration_ms))
        if self._whole is not None and self._whole.size:
            facts.append(size(self._whole.size))
        if (cursor_body := self.view.cursor_body) is not None and cursor_body.state:
            facts.insert(0, clean_line(cursor_body.state, 80))
        facts = [*self.search_facts(), *facts]
        place = " · ".join(
            part for part in (clean_line(name.server), name.short if label != name.short else "") if part
        )
        self.title_line.show(label, place=place, facts=" · ".join(facts), mark=(mark.glyph, style))

    def _show_artifacts(self) -> None:
        self._drawn = replace(self.call)
        observation = self.call.observation
        stored = observation.stored_at if observation is not None else None
        listed = self.query_one(ArtifactList)
        listed.show(files_of_call(self.call.artifacts, stored), listed.gone)
        if listed.files and self._folder is not None:
            start_job(self, self._check_files, "files", self._folder)
        self._offer_keys()

    async def _check_files(self, folder: Path) -> None:
        listed = self.query_one(ArtifactList)
        files = listed.files
        gone = await asyncio.to_thread(
            lambda: frozenset(file.path for file in files if missing_reason(folder, file.path))
        )
        if gone != listed.gone and files == listed.files:
            listed.show(files, gone)

    def _offer_keys(self) -> None:
        listed, in_table = self.query_one(ArtifactList), _opens_pages(self.view.cursor_body)
        in_files = listed.has_focus
        inner = [] if in_files else self.body_keys()
        around = (
            *self.search_keys(),
            ("y", "copy answer" if is_agent(self.call.started) else "copy result", "screen.copy_result"),
        )
        self.key_line.show_keys(
            ("Esc", "close", "screen.leave"),
            in_files and ("Enter", "open the file", "screen.go"),
            in_files and ("Tab", "back to the call", "app.focus_next"),
            not in_files and bool(listed.files) and ("Tab", "artifacts", "app.focus_next"),
            ("m", "rendered" if self.as_text else "raw", "screen.toggle_text"),
            *((*inner, *around) if in_table else (*around, _COPY_ARGUMENTS, *inner)),
            ("?", "keys", "app.keys_here"),
        )

    def on_descendant_focus(self) -> None:
        """Offer the keys of the focused widget."""
        self._offer_keys()

    def go_to_article(self, found: OpenArticle) -> None:
        """Show the article of a row of the result."""
        viewer = partial(ViewerScreen, root=self._folder, read_only=self._read_only)
        start_job(self, open_article, "article", self, found, self._folder, viewer)

    # -- files ------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the chosen file, if it exists."""
        path = self.query_one(ArtifactList).files[event.option_index].path
        start_job(self, self._go_to, "going", path)

    async def _go_to(self, path: str) -> None:
        if self._folder is not None:
            why = await asyncio.to_thread(missing_reason, self._folder, path)
            if why:
                self.warn(why)
                self._show_artifacts()
                return
        self.dismiss(path)

    # -- keys -------------------------------------------------------------------------------------

    def action_go(self) -> None:
        """Open the file under the cursor, as a click on its key does."""
        self.query_one(ArtifactList).action_select()

    def action_toggle_text(self) -> None:
        """Switch between tables, pages and trees, and plain text."""
        self.as_text = not self.as_text
        self._show()

    def action_copy_result(self) -> None:
        """Copy the full result."""
        if self.call.finished is None:
            self.notify("Nothing to copy yet.")
        else:
            start_job(self, self._copy_result, "copy")

    async def _copy_result(self) -> None:
        what = "Answer" if is_agent(self.call.started) else "Result"
        if self._whole is not None and self._whole.size > 4 * MOST_COPIED:
            self.warn(f"{what} not copied, as it is too long: copy it from its file.")
            return
        copy_text(self, await asyncio.to_thread(result_text, self.result), what)

    def action_copy_arguments(self) -> None:
        """Copy the arguments."""
        copy_text(self, arguments_text(self.call.started), "Arguments")


def _opens_pages(body: CursorBody | None) -> bool:
    """Whether the cursor is in a table whose rows open pages."""
    return body is not None and any(key.command == "article" for key in body.keys)
