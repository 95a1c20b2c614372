"""The files a tool call left: a line for each, and a way to each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from core.events.types import ArtifactSaved
from core.events.units import size
from core.text import clean_line
from tui.render.format import middle_cut, tail_cut
from tui.widgets.choice_list import ChoiceList

__all__ = ["ArtifactList", "CallFile", "files_of_call", "missing_reason"]

_KIND_CELLS = 16
_GAP = 2
_GONE = "no longer there"
_LEAST_NOTE = 12


@dataclass(frozen=True, slots=True)
class CallFile:
    """A file: its kind, its path in the session as events have it, its size in bytes if known, and a remark.

    All of it is untrusted.
    """

    kind: str
    path: str
    size: int | None = None
    note: str = ""


class ArtifactList(ChoiceList):
    """Lists files in columns; going up from the first one leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "cursor_up", show=False),
        Binding("j", "cursor_down", show=False),
    ]

    class Chosen(Message):
        """A file is to be gone to."""

        def __init__(self, path: str) -> None:
            self.path = path
            super().__init__()

    class Left(Message):
        """The person went up from the first file."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self.leaves: tuple[CallFile, ...] = ()
        self.gone: frozenset[str] = frozenset()
        self._drawn_for = 0

    def on_mount(self) -> None:
        """Wait for files out of sight."""
        self.display = bool(self.leaves)

    def show(self, leaves: Sequence[CallFile], gone: Collection[str] = ()) -> None:
        """List these files; `gone` are paths of those that are no longer there."""
        self.leaves, self.gone = tuple(leaves), frozenset(gone)
        self.display = bool(self.leaves)
        count = len(self.leaves)
        self.border_title = Content(f"Artifacts · {count:,}" if count > 1 else "Artifacts")
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the columns to the width."""
        if self._room != self._drawn_for:
            self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the file chosen."""
        event.stop()
        self.post_message(self.Chosen(self.leaves[event.option_index].path))

    def action_cursor_up(self) -> None:
        """Go up, and out at the first one."""
        if self.highlighted:
            super().action_cursor_up()
        else:
            self.post_message(self.Left())

    def action_cursor_down(self) -> None:
        """Go down, as far as there is something."""
        if self.highlighted is None or self.highlighted < len(self.leaves) - 1:
            super().action_cursor_down()

    @property
    def _room(self) -> int:
        return self.scrollable_content_region.width

    def _draw(self) -> None:
        self._drawn_for = self._room
        lit = self.highlighted or 0
        width = self._room or 200
        kinds = max((cell_len(clean_line(leaf.kind, _KIND_CELLS)) for leaf in self.leaves), default=0)
        self.clear_options()
        self.add_options([Option(self._line(leaf, width, kinds)) for leaf in self.leaves])
        self.highlighted = min(lit, len(self.leaves) - 1) if self.leaves else None

    def _line(self, leaf: CallFile, width: int, kinds: int) -> Content:
        kind = clean_line(leaf.kind, _KIND_CELLS)
        told = "" if leaf.size is None else size(leaf.size)
        path, note = clean_line(leaf.path, 1000), clean_line(leaf.note, 400)
        gone = leaf.path in self.gone
        if gone:
            note = _GONE
        style = "$text-muted" if gone else ""
        room = max(1, width - kinds - _GAP - 6)
        path = middle_cut(path, max(room // 2, room - cell_len(_GONE) - _GAP) if gone else room)
        left_over = room - cell_len(path) - _GAP
        note = tail_cut(note, left_over) if left_over >= min(cell_len(note), _LEAST_NOTE) else ""
        left = f"{kind}{' ' * (kinds - cell_len(kind) + _GAP)}"
        middle = f"{path}{' ' * _GAP if note else ''}"
        gap = " " * max(1, width - cell_len(left) - cell_len(middle) - cell_len(note) - cell_len(told))
        return Content.assemble(
            (left, "$text-muted"), (middle, style), (note, "$text-muted"), gap, (told, "$text-muted")
        )


def files_of_call(artifacts: Sequence[ArtifactSaved], stored: str | None) -> list[CallFile]:
    """What is listed for a call: its artifacts, then the file its whole result is `stored` in, if it is."""
    leaves = [
        CallFile(
            artifact.kind,
            artifact.path,
            artifact.size,
            f"copied to {artifact.copied_to}" if artifact.copied_to else "",
        )
        for artifact in artifacts
    ]
    if stored and all(leaf.path != stored for leaf in leaves):
        leaves.append(CallFile("result", stored, note="the whole result"))
    return leaves


def missing_reason(folder: Path, path: str) -> str:
    """Why a file of the session in `folder` cannot be gone to, in a sentence; empty when it is there. Blocks."""
    from core.errors import UniversalAgentError
    from core.storage.workspace import Workspace

    told = clean_line(path, 200)
    try:
        workspace = Workspace(folder, folder)
        if workspace.exists(workspace.artifact_path(path)):
            return ""
    except UniversalAgentError as error:
        return f"{told} cannot be gone to: {clean_line(str(error), 400)}"
    return f"{told} is no longer there: it was deleted or moved after the call."
