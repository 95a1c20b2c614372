"""What the panes request of the frame: to show a full call, a file, or the origin of a file."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.containers import Horizontal

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import REPORT_CHECK, ArtifactSaved, Event

if TYPE_CHECKING:
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.panes.conversation.pane import ConversationPane
    from ua_tui.tui.panes.observers.pane import ObserversPane
    from ua_tui.tui.panes.requests import CompareFile, OpenFile, ShowCall
    from ua_tui.tui.panes.trace.pane import TracePane
    from ua_tui.tui.panes.workspace.pane import WorkspacePane
    from ua_tui.tui.panes.workspace.preview import PreviewPane
    from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
    from ua_tui.tui.viewers.view.document_view import DocumentView
    from ua_tui.tui.viewers.view.links import LinkClicked


class PaneRequests(Horizontal):
    """Does what one pane requests of another, and opens screens for it; `folder` is that of the session."""

    _folder: Path | None = None
    _newest = ""
    """The path of the newest artifact, relative to the folder of the session."""
    _is_newer = False
    _open_call: ToolCallScreen | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of the session; None before it is known."""
        return self._folder

    @folder.setter
    def folder(self, folder: Path) -> None:
        self._folder = self._conversation.folder = folder

    @property
    @abstractmethod
    def mode(self) -> str:
        """How the panes are laid out: `wide`, `stacked`, `medium` or `single`."""

    @abstractmethod
    def show(self, name: str) -> None:
        """Bring the pane `name` to sight and focus it."""

    @abstractmethod
    def shows(self, name: str) -> bool:
        """Whether the pane `name` is in sight."""

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note the newest artifact, and what happens to the tool call that is open."""
        if isinstance(event, ArtifactSaved) and event.kind != REPORT_CHECK:
            self._newest, self._is_newer = event.path, True
        if self._open_call is not None:
            self._open_call.handle_event(event)

    def show_view(self, view: SessionView) -> None:
        """Preview the newest artifact until a file is selected, and update the tool call that is open."""
        if self._is_newer and not (self._workspace.has_cursor or self.query_one("#preview").has_focus):
            self._preview(None)
        self._is_newer = False
        if self._open_call is not None:
            self._open_call.show_record(view.call(self._open_call.call.started.tool_use_id))

    def show_files_of(self, view: SessionView) -> None:
        """Preview the file that is read, or is selected, as it is at another moment, or else the newest artifact."""
        from ua_tui.tui.panes.workspace.preview import PreviewPane

        saved = [each.path for each in view.artifacts.values() if each.kind != REPORT_CHECK]
        self._newest = saved[-1] if saved else ""
        preview = self.query_one("#preview", PreviewPane)
        chosen = (preview.path if preview.has_focus else None) or self._workspace.selected
        # Whoever reads a file stays at its place while others change.
        if chosen is None or not preview.has_read(chosen):
            self._preview(chosen)

    def on_trace_pane_opened(self, event: TracePane.Opened) -> None:
        """Show a tool call whole."""
        self._open(event.tool_use_id)

    def _open(self, tool_use_id: str) -> None:
        from ua_tui.tui.panes.trace.pane import TracePane
        from ua_tui.tui.screens.tool_call.screen import ToolCallScreen

        calls = self.query_one("#trace", TracePane).calls
        try:
            call = calls.load(tool_use_id)
        except UniversalAgentError as error:
            self.notify(str(error), severity="warning")
            return
        if call is None:
            return
        self._open_call = ToolCallScreen(
            call,
            folder=self.folder,
            record=calls.record(tool_use_id),
            read_only=self._workspace.is_only_read,
        )
        self.app.push_screen(self._open_call, partial(self._after_call, self.folder))

    def _after_call(self, folder: Path | None, artifact: str | None) -> None:
        self._open_call = None
        if artifact is not None and folder is not None:
            self._select(folder / artifact)

    def _select(self, path: Path) -> None:
        """Go to a file in the workspace."""
        self._workspace.reveal(path)
        self.show("workspace")

    def on_observers_pane_opened(self, event: ObserversPane.Opened) -> None:
        """Go to the artifact in the workspace."""
        if self.folder is not None:
            self._select(self.folder / event.path)

    def on_workspace_pane_highlighted(self, event: WorkspacePane.Highlighted) -> None:
        """Show the beginning of the file under the cursor, if there is room for it."""
        self._preview(event.path)

    def _preview(self, selected: Path | None) -> None:
        """Show the beginning of the selected file, of the newest artifact if none is, or what the pane is for."""
        from ua_tui.tui.panes.workspace.preview import PreviewPane

        if not self.shows("preview"):
            return
        preview = self.query_one("#preview", PreviewPane)
        if selected is not None:
            preview.show_path(selected)
            self._workspace.previewed(selected)
        elif self._newest and self.folder is not None:
            preview.show_path(self.folder / self._newest)
        else:
            preview.clear()

    def on_preview_pane_action_requested(self, event: PreviewPane.ActionRequested) -> None:
        """Do with the file of the preview what the workspace does with it."""
        self._workspace.run_file_action(event.path, event.action)

    def on_preview_pane_article_requested(self, event: PreviewPane.ArticleRequested) -> None:
        """Open the article of a row of the preview."""
        from ua_tui.tui.screens.files.article import open_article
        from ua_tui.tui.screens.files.viewer import ViewerScreen
        from ua_tui.tui.viewers.articles.page import session_of

        session = session_of(event.path, self.folder)
        viewer = partial(ViewerScreen, root=session, read_only=self._workspace.is_only_read)
        open_article(self, event.found, session, viewer)

    def on_show_call(self, event: ShowCall) -> None:
        """Show a call that a file came from, or that an observer looked at; the trace's cursor is on it, too."""
        from ua_tui.tui.panes.trace.pane import TracePane

        if self.query_one("#trace", TracePane).reveal(event.tool_use_id):
            self._open(event.tool_use_id)
        else:
            self.notify(event.missing)

    def on_workspace_pane_past_call_requested(self, event: WorkspacePane.PastCallRequested) -> None:
        """Show the call that a file of another session came from."""
        from ua_tui.tui.screens.tool_call.screen import ToolCallScreen

        self.app.push_screen(
            ToolCallScreen(event.call, folder=event.folder, read_only=True),
            partial(self._after_call, event.folder),
        )

    @property
    def _conversation(self) -> ConversationPane:
        from ua_tui.tui.panes.conversation.pane import ConversationPane

        return self.query_one("#conversation", ConversationPane)

    @property
    def _workspace(self) -> WorkspacePane:
        from ua_tui.tui.panes.workspace.pane import WorkspacePane

        return self.query_one("#workspace", WorkspacePane)

    def follow_conversation(self) -> None:
        """Go to the end of the conversation, and follow it: the person has sent something."""
        from ua_tui.tui.panes.conversation.pane import ConversationPane

        conversation = self.query_one("#conversation")
        if isinstance(conversation, ConversationPane):
            conversation.action_cursor_end()

    def open_newest_report(self) -> None:
        """Show the newest report, or else what was finished last; say so if there is nothing yet."""
        from ua_tui.tui.panes.conversation.pane import ConversationPane

        pane = self.query_one("#conversation")
        result = pane.dialogue.results.newest() if isinstance(pane, ConversationPane) else None
        if result is None or self.folder is None:
            self.notify("This session has no report yet.")
        else:
            self._view(self.folder / result.path)

    def on_open_file(self, event: OpenFile) -> None:
        """Show a file that the conversation names, or that is opened in the workspace."""
        event.stop()
        if self.folder is not None:
            self._view(self.folder / event.path, event.line)

    def on_compare_file(self, event: CompareFile) -> None:
        """Compare a file that the conversation names, or that the workspace has, with another version of it."""
        from ua_tui.tui.screens.files.compare import CompareScreen

        event.stop()
        if self.folder is not None:
            self.app.push_screen(CompareScreen(self.folder / event.path))

    def on_link_clicked(self, event: LinkClicked) -> None:
        """Ask before a link of the conversation or of the preview is opened."""
        from ua_tui.tui.screens.files.link import follow_link

        event.stop()
        follow_link(self, event.url)

    def on_document_view_links_found(self, event: DocumentView.LinksFound) -> None:
        """Let the person choose one of the links of the preview."""
        from ua_tui.tui.screens.files.links import LinksScreen

        event.stop()
        self.app.push_screen(LinksScreen(event.links, event.first), event.choose)

    def on_workspace_pane_deletion_requested(self, event: WorkspacePane.DeletionRequested) -> None:
        """Ask before a file is deleted."""
        from ua_tui.tui.screens.session.confirm import DeleteScreen

        event.stop()
        self.app.push_screen(DeleteScreen(event.name, event.facts), event.answer)

    def _view(self, path: Path, line: int = 0) -> None:
        from ua_tui.tui.screens.files.viewer import ViewerScreen

        read_only = self._workspace.is_only_read
        self.app.push_screen(ViewerScreen(path, self.folder, read_only=read_only, line=line))
