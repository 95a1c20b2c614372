"""The four panes and the prompt on one screen: side by side, in tabs, or one alone.

Frame
├── #talk       PaneTabs · ConversationPane · Prompt
├── #machinery  PaneTabs · TracePane · ObserversPane
└── #files      PaneTabs · WorkspacePane · PreviewPane
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from core.errors import UniversalAgentError
from core.events import Event
from tui.panes.prompt import Prompt
from tui.panes.tabs import PaneTabs

if TYPE_CHECKING:
    from tui.panes.observers import ObserversPane
    from tui.panes.preview import PreviewPane
    from tui.panes.trace import TracePane
    from tui.panes.workspace import WorkspacePane
    from tui.screens.tool_call import ToolCallScreen
    from tui.viewers.view import DocumentView

__all__ = ["BREAKPOINTS", "PANES", "Frame", "Pane"]

BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (140, "-wide")]
LEAST_FRAMED = 10
"""The lines of a terminal below which panes and prompt have no border: there is hardly room for what is in them."""
PANES = (
    (1, "conversation", "Conversation"),
    (2, "trace", "Trace"),
    (3, "observers", "Observers"),
    (4, "workspace", "Workspace"),
)
SIDE = PANES[1:]
CYCLE = ("conversation", "prompt", "trace", "observers", "workspace", "preview")
ROOM_FOR_PREVIEW = 30


@runtime_checkable
class Pane(Protocol):
    """A pane that shows events."""

    def apply(self, events: Sequence[Event]) -> None:
        """Take up a batch of events, in order."""
        ...


class Slot(Widget):
    """The empty box that stands where a pane will be, so that the first frame has its shape."""

    def __init__(self, title: str, id: str) -> None:
        super().__init__(id=id)
        self.border_title = title

    def render(self) -> str:
        """Show nothing yet."""
        return ""


class Frame(Horizontal):
    """Arranges the panes by the width of the screen and shows, focuses and maximises them.

    From 140 columns all are side by side; from 100 the conversation stands beside one of the others;
    below, or when one is maximised, there is one pane with tabs above it. The classes `-wide`, `-medium`,
    `-narrow` and `-zoom` say which.
    """

    def __init__(self, width: int) -> None:
        # A class that is there from the start costs nothing; one set later has every widget styled again.
        super().__init__(id="frame", classes=_breakpoint(width))
        self.active = "conversation"
        self.side = "trace"
        self.maximised = False
        self.folder: Path | None = None
        self._open_call: ToolCallScreen | None = None

    def compose(self) -> ComposeResult:
        """Put down the prompt and, in place of each pane, its empty box."""
        with Vertical(id="talk"):
            yield PaneTabs()
            yield Slot("Conversation", id="conversation")
            yield Prompt(id="prompt")
        with Vertical(id="machinery"):
            yield PaneTabs()
            yield Slot("Trace", id="trace")
            yield Slot("Observers", id="observers")
        with Vertical(id="files"):
            yield PaneTabs()
            yield Slot("Workspace", id="workspace")
            yield Slot("Preview", id="preview")

    def make_panes(self) -> Sequence[Widget]:
        """Make the panes; they are imported only here, behind the first frame."""
        from tui.panes.conversation import ConversationPane
        from tui.panes.observers import ObserversPane
        from tui.panes.preview import PreviewPane
        from tui.panes.trace import TracePane
        from tui.panes.workspace import WorkspacePane

        return (
            ConversationPane(id="conversation"),
            TracePane(id="trace"),
            ObserversPane(id="observers"),
            WorkspacePane(id="workspace"),
            PreviewPane(id="preview"),
        )

    async def fill(self) -> None:
        """Put the panes in their places."""
        with self.app.batch_update():
            for pane in self.make_panes():
                slot = self.query_one(f"#{pane.id}", Slot)
                column = slot.parent
                assert isinstance(column, Vertical)
                place = column.children.index(slot)
                await slot.remove()
                await column.mount(pane, before=place if place < len(column.children) else None)
        self.lay_out()

    @property
    def prompt(self) -> Prompt:
        """Where the person types."""
        return self.query_one("#prompt", Prompt)

    @property
    def panes(self) -> Iterator[Pane]:
        """The panes that show events, once they are there."""
        for name in ("conversation", "trace", "observers", "workspace", "preview"):
            pane = self.query_one(f"#{name}")
            if isinstance(pane, Pane):
                yield pane

    @property
    def mode(self) -> str:
        """How the panes are laid out: `wide`, `medium` or `single`."""
        width = self.app.size.width
        if self.maximised or width < BREAKPOINTS[1][0]:
            return "single"
        return "medium" if width < BREAKPOINTS[2][0] else "wide"

    def on_mount(self) -> None:
        """Lay out before the first frame, so that it is drawn once."""
        self.lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new size."""
        self.lay_out()

    def lay_out(self) -> None:
        """Show what the mode and the active pane call for, hide the rest."""
        mode = self.mode
        chosen = self.active if mode == "single" else self.side
        shown = {"conversation", "trace", "observers", "workspace", "preview", "prompt"}
        if mode == "medium":
            shown -= {name for _, name, _ in SIDE if name != chosen}
        elif mode == "single":
            shown -= {name for _, name, _ in PANES if name != chosen}
        if "workspace" not in shown or (mode != "wide" and self.app.size.height < ROOM_FOR_PREVIEW):
            shown.discard("preview")
        had_preview = self.shows("preview")
        for column, names in (
            ("talk", ("conversation",)),
            ("machinery", ("trace", "observers")),
            ("files", ("workspace", "preview")),
        ):
            self.query_one(f"#{column}").display = any(name in shown for name in names)
            for name in names:
                self.query_one(f"#{name}").display = name in shown
            tabs = self.query_one(f"#{column} PaneTabs", PaneTabs)
            tabs.display = mode == "single" or (mode == "medium" and column != "talk")
            tabs.show(PANES if mode == "single" else SIDE, chosen)
        current = _breakpoint(self.app.size.width)
        # All at once: each change of classes has every widget styled again.
        widths = {name: name == current for _, name in BREAKPOINTS}
        self.update_classes({"-zoom": self.maximised, "-low": self.app.size.height < LEAST_FRAMED, **widths})
        if self.shows("preview") and not had_preview and not isinstance(self.query_one("#workspace"), Slot):
            self._workspace.announce()

    def show(self, name: str) -> None:
        """Bring the pane `name` (or the prompt) to sight and focus it."""
        self._activate(name)
        target = _focusable(self.query_one(f"#{name}"))
        if target is not None:
            self.screen.set_focus(target)

    def shows(self, name: str) -> bool:
        """Whether the pane `name` is in sight."""
        pane = self.query_one(f"#{name}")
        return all(node.display for node in pane.ancestors_with_self if isinstance(node, Widget))

    def step(self, by: int) -> None:
        """Move the focus to the next or the previous pane, hidden ones included."""
        here = self._of(self.screen.focused) or "prompt"
        place = CYCLE.index(here)
        for offset in range(1, len(CYCLE)):
            name = CYCLE[(place + by * offset) % len(CYCLE)]
            if name == "preview" and not self.query_one("#preview").display:
                continue
            if _focusable(self.query_one(f"#{name}")) is not None:
                self.show(name)
                return

    def toggle_maximised(self) -> None:
        """Give the focused pane the whole screen, or share it again."""
        self.maximised = not self.maximised
        self.lay_out()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Remember which pane the person is in."""
        if (name := self._of(event.widget)) is not None:
            self._activate(name)

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        """Show the pane whose tab was clicked."""
        event.stop()
        self.show(event.pane)

    # -- what the panes ask for -------------------------------------------------------------------

    def apply(self, events: Sequence[Event]) -> None:
        """Tell the tool call that is shown whole what happens meanwhile."""
        if self._open_call is not None:
            self._open_call.take(events)

    def on_trace_pane_opened(self, event: TracePane.Opened) -> None:
        """Show a tool call whole."""
        self._open(event.tool_use_id)

    def _open(self, tool_use_id: str) -> None:
        from tui.panes.trace import TracePane
        from tui.screens.tool_call import ToolCallScreen

        record = self.query_one("#trace", TracePane).record(tool_use_id)
        if record is None:
            return
        try:
            call = record.whole()
        except UniversalAgentError as error:
            self.notify(str(error), markup=False, severity="warning")
            return
        self._open_call = ToolCallScreen(
            call.started, call.finished, call.artifacts, folder=self.folder, progress=call.progress
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

    def on_workspace_pane_opened(self, event: WorkspacePane.Opened) -> None:
        """Show a file whole."""
        self._view(event.path)

    def on_workspace_pane_highlighted(self, event: WorkspacePane.Highlighted) -> None:
        """Show the beginning of the file under the cursor, if there is room for it."""
        from tui.panes.preview import PreviewPane

        if not self.shows("preview"):
            return
        preview = self.query_one("#preview", PreviewPane)
        if event.path is None:
            preview.clear()
        else:
            preview.show_path(event.path)
            self._workspace.previewed(event.path)

    def on_preview_pane_deed_asked(self, event: PreviewPane.DeedAsked) -> None:
        """Do with the file of the preview what the workspace does with it."""
        self._workspace.do(event.path, event.deed)

    def on_file_deeds_call_asked(self, event: WorkspacePane.CallAsked) -> None:
        """Show the call that a file came from; the trace's cursor is on it, too."""
        self._show_call(event.tool_use_id, "The call that made this file is not in the trace.")

    def on_observers_pane_call_asked(self, event: ObserversPane.CallAsked) -> None:
        """Show the call that an observer looked at; the trace's cursor is on it, too."""
        self._show_call(event.tool_use_id, "The call that this observer looked at is not in the trace.")

    def _show_call(self, tool_use_id: str, missing: str) -> None:
        from tui.panes.trace import TracePane

        if self.query_one("#trace", TracePane).reveal(tool_use_id):
            self._open(tool_use_id)
        else:
            self.notify(missing, markup=False)

    def on_file_deeds_past_call_asked(self, event: WorkspacePane.PastCallAsked) -> None:
        """Show the call that a file of another session came from."""
        from tui.screens.tool_call import ToolCallScreen

        call = event.call
        self.app.push_screen(
            ToolCallScreen(call.started, call.finished, call.artifacts, folder=event.folder),
            partial(self._after_call, event.folder),
        )

    @property
    def _workspace(self) -> WorkspacePane:
        from tui.panes.workspace import WorkspacePane

        return self.query_one("#workspace", WorkspacePane)

    def on_document_view_link_clicked(self, event: DocumentView.LinkClicked) -> None:
        """Ask before a link of the preview leaves for the browser."""
        from tui.following import follow_link

        event.stop()
        follow_link(self, event.url)

    def _view(self, path: Path) -> None:
        from tui.screens.viewer import ViewerScreen

        self.app.push_screen(ViewerScreen(path, self.folder))

    # -- inside -----------------------------------------------------------------------------------

    def _activate(self, name: str) -> None:
        active = {"prompt": "conversation", "preview": "workspace"}.get(name, name)
        side = active if active != "conversation" else self.side
        if (active, side) != (self.active, self.side):
            self.active, self.side = active, side
            self.lay_out()

    def _of(self, widget: Widget | None) -> str | None:
        if widget is None:
            return None
        return next((node.id for node in widget.ancestors_with_self if node.id in CYCLE), None)


def _breakpoint(width: int) -> str:
    return [name for least, name in BREAKPOINTS if width >= least][-1]


def _focusable(pane: Widget) -> Widget | None:
    if pane.disabled:
        return None
    if pane.can_focus:
        return pane
    return next((child for child in pane.query("*").results(Widget) if child.can_focus), None)
