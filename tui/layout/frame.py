"""The panes and the prompt on one screen: side by side, one above the other, in tabs, or one alone.

Which panes there are, and in which column, is said by their `PaneSpec`s. At present:

Frame
├── #talk       PaneTabs · ConversationPane · Prompt
├── #machinery  PaneTabs · TracePane · ObserversPane
└── #files      PaneTabs · WorkspacePane · PreviewPane
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import REPORT_CHECK, ArtifactSaved, Event
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.layout.splitters import Splitters
from ua_tui.tui.layout.store import LayoutStore
from ua_tui.tui.panes.feed import Handler
from ua_tui.tui.panes.spec import PaneSpec, add_panes, column_specs, pane_specs, side_specs, tab_specs
from ua_tui.tui.theme.stylesheet import CachedStylesheet
from ua_tui.tui.widgets.modal import unscrolled_size
from ua_tui.tui.widgets.placeholder import Placeholder
from ua_tui.tui.widgets.tab_line import TabLine, tab_line
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.plugins import PluginProblem
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.panes.conversation.pane import ConversationPane
    from ua_tui.tui.panes.observers.pane import ObserversPane
    from ua_tui.tui.panes.prompt.pane import Prompt
    from ua_tui.tui.panes.requests import CompareFile, OpenFile, ShowCall
    from ua_tui.tui.panes.trace.pane import TracePane
    from ua_tui.tui.panes.workspace.pane import WorkspacePane
    from ua_tui.tui.panes.workspace.preview import PreviewPane
    from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
    from ua_tui.tui.viewers.view.document_view import DocumentView
    from ua_tui.tui.viewers.view.links import LinkClicked

SHAPES = ("narrow", "medium", "stacked", "wide")
MEDIUM_COLUMNS, WIDE_COLUMNS = 100, 140
STACKED_LINES = 34
"""The lines of a terminal from which three panes fit above each other beside the conversation."""
LEAST_FRAMED = 10
"""The lines of a terminal below which panes and prompt have no border: there is hardly room for what is in them."""
CELLS_A_STEP = 4
LINES_A_STEP = 2
NOTE_SECONDS = 3.0
_CHOSEN = "bold underline $accent"


class ShownSource(Protocol):
    """Where the shown session comes from: the text of the empty prompt, whether one can type into it, and sees it."""

    placeholder: str
    has_prompt: bool
    shows_prompt: bool


class PaneColumn(Vertical):
    """Panes one above the other, which fill the column: it is resized without needless layouts."""

    # The column itself is never visible between its panes: one blank line is enough.
    BLANK: ClassVar[bool] = True

    virtual_size = unscrolled_size()


class Frame(Horizontal):
    """Arranges the panes by the size of the screen, shows and maximises them, and does what one asks of another.

    From 140 columns all are side by side. From 100 columns and 34 lines the others are one above the other beside
    the conversation, without the preview; with fewer lines there is one of them beside it. Below 100 columns, or
    when one is maximised, there is one pane with tabs above it. The classes `-wide`, `-stacked`, `-medium`, `-narrow`
    and `-zoom` say which.

    Args:
        size: of the screen, in cells.
        source: the session that is shown.
        layout: stores the sizes of the panes, and the one at the side; None stores them nowhere.
    """

    BINDINGS = bindings("Frame")

    virtual_size = unscrolled_size()

    class LaidOut(Message):
        """The panes were laid out: others may be in sight than before."""

    def __init__(self, size: Size, source: ShownSource, layout: LayoutStore | None = None) -> None:
        # A class that is there from the start costs nothing; one set later has every widget styled again.
        super().__init__(id="frame", classes=f"-{shape_of(size)}")
        self.active = "conversation"
        self.maximised = False
        self._folder: Path | None = None
        self._newest = ""
        """The path of the newest artifact, relative to the folder of the session."""
        self._is_newer = False
        self._open_call: ToolCallScreen | None = None
        self._source = source
        self.splits = Splitters(self, layout)
        self.side: str = self.splits.side
        self._marked = False
        self.controls: Widget | None = None
        """What has the focus where the prompt would have it, if there is no prompt."""

    def compose(self) -> ComposeResult:
        """Put down an empty box in place of each pane and of the prompt; those of plug-ins are added later."""
        add_panes(())
        for column, specs in column_specs().items():
            with PaneColumn(id=column):
                yield PaneTabs(self.show)
                for spec in specs:
                    placeholder = self.placeholder if spec.name == "prompt" else ""
                    yield Placeholder(spec.name, spec.title, text=placeholder)

    @property
    def placeholder(self) -> str:
        """The text of the empty prompt."""
        return self._source.placeholder

    async def fill(self) -> None:
        """Put the panes and the prompt in their places; they are imported only now, behind the first frame."""
        with self.app.batch_update():
            for spec in pane_specs():
                pane = spec.load()(id=spec.name)
                pane.disabled = spec.name == "prompt" and not self._source.has_prompt
                slot = self.query_one(f"#{pane.id}", Placeholder)
                column = slot.parent
                assert isinstance(column, PaneColumn)
                place = column.children.index(slot)
                await slot.remove()
                await column.mount(pane, before=place if place < len(column.children) else None)
            self.prompt.placeholder = Content(self.placeholder)
            self.prompt.suggestions = self._conversation.suggestions
            if self.screen.focused is None:
                self.show("prompt")
        self.lay_out()

    async def add(self, specs: Sequence[PaneSpec]) -> list[PluginProblem]:
        """Add the panes of plug-ins, the last ones of their columns; returns why some cannot be added."""
        from ua_tui.core.plugins import PluginProblem

        added: list[PaneSpec] = []
        problems: list[PluginProblem] = []
        for spec in specs:
            taken = [*pane_specs(), *added]
            try:
                if any(spec.name == each.name or (spec.number or -1) == each.number for each in taken):
                    raise ValueError("its name or its number is used by another pane; choose another one")
                pane = spec.load()(id=spec.name)
                column = self.query_one(f"#{spec.column}", PaneColumn)
            except Exception as error:
                problems.append(PluginProblem("ua_tui.panes", spec.name, str(error)))
                continue
            pane.display, pane.border_title = False, Content(spec.title)
            pane.add_class("plugged")
            await column.mount(pane)
            added.append(spec)
        add_panes(added)
        self.lay_out()
        # What was drawn before they were styled is drawn again.
        for spec in added:
            self.query_one(f"#{spec.name}").notify_style_update()
        return problems

    @property
    def is_filled(self) -> bool:
        """Whether the panes and the prompt are in their places: not before the first frame, nor at the very end."""
        return bool(self.query("#prompt").exclude("Placeholder"))

    @property
    def prompt(self) -> Prompt:
        """Where the person types, once it is there."""
        pane: Prompt = self._pane("prompt")
        return pane

    @property
    def panes(self) -> Iterator[Handler]:
        """The panes that show the session, once they are there."""
        for spec in pane_specs():
            pane = self.query_one(f"#{spec.name}")
            if isinstance(pane, Handler):
                yield pane

    @property
    def mode(self) -> str:
        """How the panes are laid out: `wide`, `stacked`, `medium` or `single`."""
        shape = shape_of(self.app.size)
        return "single" if self.maximised or shape == "narrow" else shape

    @property
    def is_zoomed(self) -> bool:
        """Whether a pane has the whole screen though there is room for several."""
        return self.maximised and self.app.size.width >= MEDIUM_COLUMNS

    def on_mount(self) -> None:
        """Lay out before the first frame, so that it is drawn once."""
        self.lay_out()

    def lay_out(self) -> None:
        """Show what the mode and the active pane call for, hide the rest."""
        mode = self.mode
        chosen = self.active if mode == "single" else self.side
        had_preview = self.shows("preview")
        shown = self._shown(mode, chosen)
        tabs = tab_specs() if mode == "single" else side_specs()
        first = tab_specs()[0].column
        for column, specs in column_specs().items():
            self.query_one(f"#{column}").display = any(spec.name in shown for spec in specs if spec.number)
            for spec in specs:
                self.query_one(f"#{spec.name}").display = spec.name in shown
            row = self.query_one(f"#{column} PaneTabs", PaneTabs)
            row.display = mode == "single" or (mode == "medium" and column != first)
            row.show(tabs, chosen)
        self._mark_maximised()
        self.splits.apply()
        current = shape_of(self.app.size)
        before, shapes = self.classes, {f"-{shape}": shape == current for shape in SHAPES}
        is_low = self.app.size.height < LEAST_FRAMED
        self.update_classes({"-zoom": self.maximised, "-low": is_low, **shapes}, update=False)
        if self.classes != before:
            self._restyle()
        if self.shows("preview") and not had_preview and not self.query(Placeholder):
            self._preview(self._workspace.selected)
        focused = self._of(self.screen.focused)
        if focused is not None and focused != self.active == _tab_of(focused) and not self.shows(focused):
            self.show(self.active)
        self.post_message(self.LaidOut())

    def _restyle(self) -> None:
        stylesheet = self.app.stylesheet
        assert isinstance(stylesheet, CachedStylesheet)
        stylesheet.update_layout(self.walk_children(with_self=True))

    def _shown(self, mode: str, chosen: str) -> set[str]:
        """The names of the panes to show."""
        choice = {"single": tab_specs(), "medium": side_specs()}.get(mode, ())
        hidden = {spec.name for spec in choice if spec.name != chosen}
        hidden |= set() if self._source.shows_prompt else {"prompt"}
        for spec in pane_specs():
            has_room = mode == "wide" or self.app.size.height >= spec.least_lines
            has_place = not (spec.shown_with and mode == "stacked")
            if spec.shown_with in hidden or not (has_room and has_place):
                hidden.add(spec.name)
        return {spec.name for spec in pane_specs()} - hidden

    def show(self, name: str) -> None:
        """Show the pane `name` (or the prompt), and focus it; instead of a disabled prompt what is in its place."""
        if name == "prompt" and self.controls is not None:
            self.screen.set_focus(self.controls)
            return
        if name == "prompt" and not self._source.has_prompt:
            name = "conversation"
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
        cycle = [spec.name for spec in pane_specs()]
        place = cycle.index(here)
        for offset in range(1, len(cycle)):
            name = cycle[(place + by * offset) % len(cycle)]
            if name == "prompt" and self.controls is not None:
                self.show(name)
                return
            is_tab = name in {spec.name for spec in tab_specs()}
            if not is_tab and not self.query_one(f"#{name}").display:
                continue
            if _focusable(self.query_one(f"#{name}")) is not None:
                self.show(name)
                return

    def action_maximise(self) -> None:
        """Give the focused pane the whole screen, or share it again; where it has that anyway, say so."""
        is_alone = self.app.size.width < MEDIUM_COLUMNS
        if is_alone:
            message = f"Only one pane fits: several need a terminal of {MEDIUM_COLUMNS} columns."
            self.notify(message, timeout=NOTE_SECONDS)
        self.maximised = not self.maximised and not is_alone
        self.lay_out()

    def action_widen(self, steps: int) -> None:
        """Make the pane one is in wider, or narrower."""
        self._resize(cells=steps * CELLS_A_STEP)

    def action_heighten(self, steps: int) -> None:
        """Make the pane one is in higher, or lower."""
        self._resize(lines=steps * LINES_A_STEP)

    def action_reset_sizes(self) -> None:
        """Give every pane its standard size."""
        self.splits.reset()

    def _resize(self, **by: int) -> None:
        if not self.splits.resize(self._of(self.screen.focused) or self.active, **by):
            self.notify("This pane has no border to move.", timeout=NOTE_SECONDS)

    async def on_unmount(self) -> None:
        """Store the sizes that were changed a moment ago."""
        await self.splits.store()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Remember which pane the person is in."""
        if (name := self._of(event.widget)) is not None:
            self._activate(name)

    # -- what one pane requests of another ---------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """The folder of the session; None before it is known."""
        return self._folder

    @folder.setter
    def folder(self, folder: Path) -> None:
        self._folder = self._conversation.files.folder = folder

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
        saved = [each.path for each in view.artifacts.values() if each.kind != REPORT_CHECK]
        self._newest = saved[-1] if saved else ""
        preview = self._pane_preview
        chosen = (preview.path if preview.has_focus else None) or self._workspace.selected
        # Whoever reads a file stays at its place while others change.
        if chosen is None or not preview.has_read(chosen):
            self._preview(chosen)

    def _open(self, tool_use_id: str) -> None:
        from ua_tui.tui.screens.tool_call.screen import ToolCallScreen

        calls = self._trace.calls
        try:
            call = calls.load(tool_use_id)
        except UniversalAgentError as error:
            self.notify(error.advice.sentence, severity="warning")
            return
        if call is None:
            return
        self._open_call = ToolCallScreen(
            call,
            folder=self.folder,
            record=calls.record(tool_use_id),
            read_only=self._workspace.is_only_read,
        )
        self.app.push_screen(self._open_call, self._after_call)

    def _after_call(self, artifact: str | None) -> None:
        self._open_call = None
        if artifact is not None and self.folder is not None:
            self._select(self.folder / artifact)

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
        if not self.shows("preview"):
            return
        preview = self._pane_preview
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
        start_job(self, open_article, "article", self, event.found, session, viewer)

    def on_show_call(self, event: ShowCall) -> None:
        """Show a call whole: of the trace, or that a file came from; the trace's cursor is on it, too."""
        if self._trace.reveal(event.tool_use_id):
            self._open(event.tool_use_id)
        else:
            self.notify(event.missing)

    @property
    def _conversation(self) -> ConversationPane:
        pane: ConversationPane = self._pane("conversation")
        return pane

    @property
    def _workspace(self) -> WorkspacePane:
        pane: WorkspacePane = self._pane("workspace")
        return pane

    @property
    def _trace(self) -> TracePane:
        pane: TracePane = self._pane("trace")
        return pane

    @property
    def _pane_preview(self) -> PreviewPane:
        pane: PreviewPane = self._pane("preview")
        return pane

    def _pane(self, name: str) -> Any:
        """A pane, whose class is not imported for the first frame; not before the panes are there."""
        pane = self.query_one(f"#{name}")
        if isinstance(pane, Placeholder):
            raise NoMatches(f"{name} is not there yet")
        return pane

    def follow_conversation(self) -> None:
        """Go to the end of the conversation, and follow it: the person has sent something."""
        if self.is_filled:
            self._conversation.action_cursor_end()

    def open_newest_report(self) -> None:
        """Show the newest report, or else what was finished last; say so if there is nothing yet."""
        result = self._conversation.dialogue.results.newest() if self.is_filled else None
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
        from ua_tui.tui.screens.files.link import choose_link

        event.stop()
        choose_link(self.app, event.links, event.choose)

    def on_workspace_pane_deletion_requested(self, event: WorkspacePane.DeletionRequested) -> None:
        """Ask before a file is deleted."""
        from ua_tui.tui.screens.session.confirm import DeleteScreen

        event.stop()
        self.app.push_screen(DeleteScreen(event.name, event.facts), event.answer)

    def _view(self, path: Path, line: int = 0) -> None:
        from ua_tui.tui.screens.files.viewer import ViewerScreen

        read_only = self._workspace.is_only_read
        self.app.push_screen(ViewerScreen(path, self.folder, read_only=read_only, line=line))

    # -- inside -----------------------------------------------------------------------------------

    def _mark_maximised(self) -> None:
        """Show in the border of the maximised pane how to restore it."""
        words = f"maximised · {keys_of(self.app).shown('pane.maximise')} back" if self.is_zoomed else ""
        if not words and not self._marked:
            # What a pane itself shows there stays.
            return
        self._marked = bool(words)
        for spec in tab_specs():
            pane = self.query_one(f"#{spec.name}")
            if spec.name == "workspace" and not isinstance(pane, Placeholder):
                self._workspace.show_note(words)
            else:
                pane.border_subtitle = Content(words)

    def _activate(self, name: str) -> None:
        active = _tab_of(name)
        side = active if active != "conversation" else self.side
        if (active, side) != (self.active, self.side):
            self.active, self.side = active, side
            if self.mode == "medium":
                self.splits.choose(side)
            self.lay_out()

    def _of(self, widget: Widget | None) -> str | None:
        if widget is None:
            return None
        names = {spec.name for spec in pane_specs()}
        return next((node.id for node in widget.ancestors_with_self if node.id in names), None)


def shape_of(size: Size) -> str:
    """Return the shape of the layout for a screen of this size, one of `SHAPES`."""
    if size.width < MEDIUM_COLUMNS:
        return "narrow"
    if size.width >= WIDE_COLUMNS:
        return "wide"
    return "stacked" if size.height >= STACKED_LINES else "medium"


def _tab_of(name: str) -> str:
    """The pane with a tab that is active when the pane `name` has the focus: itself, or the first of its column."""
    specs = {spec.name: spec for spec in pane_specs()}
    if specs[name].number is not None:
        return name
    return specs[name].shown_with or next(
        spec.name for spec in tab_specs() if spec.column == specs[name].column
    )


def _focusable(pane: Widget) -> Widget | None:
    if pane.disabled:
        return None
    if pane.can_focus:
        return pane
    return next((child for child in pane.query("*").results(Widget) if child.can_focus), None)


class PaneTabs(TabLine):
    """One line of names, the active one marked by weight and underline; a click chooses.

    No name is cut: where there is no room for all, the others than the active one are there as their numbers.
    """

    virtual_size = unscrolled_size()

    def __init__(self, choose: Callable[[str], None]) -> None:
        super().__init__(choose)
        self._panes: tuple[PaneSpec, ...] = ()
        self._active = ""

    def show(self, panes: tuple[PaneSpec, ...], active: str) -> None:
        """Offer `panes`, each with the number that is its key; mark `active`."""
        if (panes, active) != (self._panes, self._active):
            self._panes, self._active = panes, active
            self.refresh()

    def render(self) -> Content:
        """Draw the names in the widest form that fits."""
        every, one = {pane.name for pane in self._panes}, {self._active}
        line = Content("")
        for named, edge, gap in (
            (every, " ", 2),
            (every, "", 2),
            (every, "", 1),
            (one, "", 2),
            (one, "", 1),
            (set[str](), "", 1),
        ):
            line = tab_line([(pane.name, self._tab(pane, named, edge)) for pane in self._panes], gap)
            if line.cell_length <= self.content_size.width:
                break
        return line

    def _tab(self, pane: PaneSpec, named: set[str], edge: str) -> Content:
        """A tab with the title of the pane, if that is `named`, between two edges."""
        title = pane.title if pane.name in named else ""
        if pane.name != self._active:
            return Content.styled(f"{edge}{pane.number}{' ' if title else ''}{title}{edge}", "$text-muted")
        if not title:
            return Content.styled(str(pane.number), _CHOSEN)
        return Content.assemble((f"{edge}{pane.number} ", "$accent"), (title, _CHOSEN), edge)
