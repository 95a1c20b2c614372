"""The four panes and the prompt on one screen: side by side, in tabs, or one alone.

Frame
├── #talk       PaneTabs · ConversationPane · Prompt
├── #machinery  PaneTabs · TracePane · ObserversPane
└── #files      PaneTabs · WorkspacePane · PreviewPane
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from core.events.types import Event
from tui.keys.keymap import keys_of
from tui.layout.column import Column
from tui.layout.pane_requests import PaneRequests
from tui.layout.splitters import Splits
from tui.layout.store import KeptLayout
from tui.layout.tabs import PaneTabs
from tui.widgets.placeholder import ASK, Placeholder

if TYPE_CHECKING:
    from tui.panes.prompt.pane import Prompt

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
CELLS_A_STEP = 4
LINES_A_STEP = 2
TOLD_SECONDS = 3.0


@runtime_checkable
class Pane(Protocol):
    """A pane that shows events."""

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order."""
        ...


class Frame(PaneRequests):
    """Arranges the panes by the width of the screen and shows, focuses and maximises them.

    From 140 columns all are side by side; from 100 the conversation stands beside one of the others;
    below, or when one is maximised, there is one pane with tabs above it. The classes `-wide`, `-medium`,
    `-narrow` and `-zoom` say which.

    Args:
        width: of the screen, in cells.
        kept: where the sizes of the panes, and the one at the side, are kept; None forgets them.
    """

    WORDS: ClassVar[str] = ASK
    """What stands in the prompt until it is there."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "maximise", "Maximise the pane", id="pane.maximise", show=False),
        Binding("greater_than_sign", "widen(1)", "Wider", id="pane.wider", show=False),
        Binding("less_than_sign", "widen(-1)", "Narrower", id="pane.narrower", show=False),
        Binding("plus,equals_sign", "heighten(1)", "Higher", id="pane.higher", show=False),
        Binding("minus", "heighten(-1)", "Lower", id="pane.lower", show=False),
        Binding("0", "reset_sizes", "Standard sizes", id="pane.standard", show=False),
    ]

    def __init__(self, width: int, kept: KeptLayout | None = None) -> None:
        # A class that is there from the start costs nothing; one set later has every widget styled again.
        super().__init__(id="frame", classes=_breakpoint(width))
        self.active = "conversation"
        self.maximised = False
        self.splits = Splits(self, kept)
        self.side: str = self.splits.side
        self._told_at = float("-inf")

    def compose(self) -> ComposeResult:
        """Put down an empty box in place of each pane and of the prompt."""
        with Column(id="talk"):
            yield PaneTabs()
            yield Placeholder("conversation", "Conversation")
            yield Placeholder("prompt", text=self.WORDS)
        with Column(id="machinery"):
            yield PaneTabs()
            yield Placeholder("trace", "Trace")
            yield Placeholder("observers", "Observers")
        with Column(id="files"):
            yield PaneTabs()
            yield Placeholder("workspace", "Workspace")
            yield Placeholder("preview", "Preview")

    def make_panes(self) -> Sequence[Widget]:
        """Make the panes and the prompt; they are imported only here, behind the first frame."""
        from tui.panes.conversation.pane import ConversationPane
        from tui.panes.observers.pane import ObserversPane
        from tui.panes.prompt.pane import Prompt
        from tui.panes.trace.pane import TracePane
        from tui.panes.workspace.pane import WorkspacePane
        from tui.panes.workspace.preview import PreviewPane

        return (
            ConversationPane(id="conversation"),
            Prompt(id="prompt"),
            TracePane(id="trace"),
            ObserversPane(id="observers"),
            WorkspacePane(id="workspace"),
            PreviewPane(id="preview"),
        )

    async def fill(self) -> None:
        """Put the panes and the prompt in their places."""
        with self.app.batch_update():
            for pane in self.make_panes():
                slot = self.query_one(f"#{pane.id}", Placeholder)
                column = slot.parent
                assert isinstance(column, Column)
                place = column.children.index(slot)
                await slot.remove()
                await column.mount(pane, before=place if place < len(column.children) else None)
            if self.screen.focused is None and self.app.AUTO_FOCUS:
                self.screen.set_focus(self.prompt)
        self.lay_out()

    @property
    def prompt(self) -> Prompt:
        """Where the person types, once it is there."""
        from tui.panes.prompt.pane import Prompt

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

    @property
    def is_zoomed(self) -> bool:
        """Whether a pane has the whole screen though there is room for several."""
        return self.maximised and self.app.size.width >= BREAKPOINTS[1][0]

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
        self._mark_maximised()
        self.splits.apply()
        current = _breakpoint(self.app.size.width)
        # All at once: each change of classes has every widget styled again.
        widths = {name: name == current for _, name in BREAKPOINTS}
        self.update_classes({"-zoom": self.maximised, "-low": self.app.size.height < LEAST_FRAMED, **widths})
        if (
            self.shows("preview")
            and not had_preview
            and not isinstance(self.query_one("#workspace"), Placeholder)
        ):
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

    def action_maximise(self) -> None:
        """Give the focused pane the whole screen, or share it again; where it has that anyway, say so."""
        is_alone = self.app.size.width < BREAKPOINTS[1][0]
        if is_alone and monotonic() - self._told_at > TOLD_SECONDS:
            self._told_at = monotonic()
            told = (
                f"A pane has the whole screen already: it takes {BREAKPOINTS[1][0]} columns to show several."
            )
            self.notify(told, timeout=TOLD_SECONDS, markup=False)
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
        moved = self.splits.resize(self._of(self.screen.focused) or self.active, **by)
        if not moved and monotonic() - self._told_at > TOLD_SECONDS:
            self._told_at = monotonic()
            self.notify("There is no border of this pane to move.", timeout=TOLD_SECONDS, markup=False)

    async def on_unmount(self) -> None:
        """Keep the sizes that were changed a moment ago."""
        await self.splits.keep()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Remember which pane the person is in."""
        if (name := self._of(event.widget)) is not None:
            self._activate(name)

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        """Show the pane whose tab was clicked."""
        event.stop()
        self.show(event.pane)

    # -- inside -----------------------------------------------------------------------------------

    def _mark_maximised(self) -> None:
        """Say in the border of a pane that was given the whole screen how it is shared again."""
        words = f"maximised · {keys_of(self.app).shown('pane.maximise')} back" if self.is_zoomed else ""
        for _, name, _ in PANES:
            pane = self.query_one(f"#{name}")
            if name == "workspace" and not isinstance(pane, Placeholder):
                self._workspace.stand(words)
            else:
                pane.border_subtitle = Content(words)

    def _activate(self, name: str) -> None:
        active = {"prompt": "conversation", "preview": "workspace"}.get(name, name)
        side = active if active != "conversation" else self.side
        if (active, side) != (self.active, self.side):
            self.active, self.side = active, side
            if self.mode == "medium":
                self.splits.choose(side)
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
