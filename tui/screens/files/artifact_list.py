"""The files that a tool call created."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from textual import events
from textual.content import Content

from ua_tui.core.events.types import ArtifactSaved
from ua_tui.core.events.units import size
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.widgets.choice_list import LetterKeyList

_KIND_CELLS = 16
_GAP = 2
_MISSING = "no longer exists"


@dataclass(frozen=True, slots=True)
class CallFile:
    """A file: its kind, its path as in the events, its size in bytes if known, and a note; all untrusted."""

    kind: str
    path: str
    size: int | None = None
    note: str = ""


class ArtifactList(LetterKeyList):
    """Lists files in columns; Up on the first file calls `leave`."""

    def __init__(self, leave: Callable[[], object], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._leave = leave
        self.files: tuple[CallFile, ...] = ()
        self.gone: frozenset[str] = frozenset()
        self._drawn_for = 0

    def show(self, files: Sequence[CallFile], gone: Collection[str] = ()) -> None:
        """Show these files; `gone` are the paths of those that no longer exist."""
        self.files, self.gone = tuple(files), frozenset(gone)
        self.display = bool(self.files)
        count = len(self.files)
        self.border_title = Content(f"Artifacts · {count:,}" if count > 1 else "Artifacts")
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the columns to the width."""
        if self._room != self._drawn_for:
            self._draw()

    def action_cursor_up(self) -> None:
        """Move up; from the first file, leave the list."""
        if self.highlighted:
            super().action_cursor_up()
        else:
            self._leave()

    def action_cursor_down(self) -> None:
        """Move down, but not past the last file."""
        if self.highlighted is None or self.highlighted < len(self.files) - 1:
            super().action_cursor_down()

    @property
    def _room(self) -> int:
        return self.scrollable_content_region.width

    def _draw(self) -> None:
        self._drawn_for = self._room
        width = self._room or 200
        kinds = max((cell_len(clean_line(file.kind, _KIND_CELLS)) for file in self.files), default=0)
        self.show_rows(self._line(file, width, kinds) for file in self.files)

    def _line(self, file: CallFile, width: int, kinds: int) -> Content:
        kind = clean_line(file.kind, _KIND_CELLS)
        length = "" if file.size is None else size(file.size)
        path, note = clean_line(file.path, 1000), clean_line(file.note, 400)
        gone = file.path in self.gone
        if gone:
            note = _MISSING
        style = "$text-muted" if gone else ""
        room = max(1, width - kinds - _GAP - 6)
        path = middle_cut(path, max(room // 2, room - cell_len(_MISSING) - _GAP) if gone else room)
        left_over = room - cell_len(path) - _GAP
        note = tail_cut(note, left_over) if left_over >= min(cell_len(note), 12) else ""
        left = f"{kind}{' ' * (kinds - cell_len(kind) + _GAP)}"
        middle = f"{path}{' ' * _GAP if note else ''}"
        gap = " " * max(1, width - cell_len(left) - cell_len(middle) - cell_len(note) - cell_len(length))
        return Content.assemble(
            (left, "$text-muted"), (middle, style), (note, "$text-muted"), gap, (length, "$text-muted")
        )


def files_of_call(artifacts: Sequence[ArtifactSaved], stored: str | None) -> list[CallFile]:
    """Return the files of a call: its artifacts, then the file of its full result, if it is `stored` in one."""
    files = [
        CallFile(
            artifact.kind,
            artifact.path,
            artifact.size,
            f"copied to {artifact.copied_to}" if artifact.copied_to else "",
        )
        for artifact in artifacts
    ]
    if stored and all(file.path != stored for file in files):
        files.append(CallFile("result", stored, note="the full result"))
    return files


def missing_reason(folder: Path, path: str) -> str:
    """Return why a file of the session in `folder` cannot be shown, as a sentence; empty if it can. Blocks."""
    from ua_tui.core.errors import UniversalAgentError
    from ua_tui.core.storage.workspace import Workspace

    name = clean_line(path, 200)
    try:
        workspace = Workspace(folder, folder)
        if workspace.exists(workspace.artifact_path(path)):
            return ""
    except UniversalAgentError as error:
        return f"{name} cannot be opened: {clean_line(str(error), 400)}"
    return f"{name} no longer exists. It was deleted or moved after the call."
