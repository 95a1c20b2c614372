"""The files that a tool call created."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from ua_tui.core.events.types import ArtifactSaved
from ua_tui.core.events.units import size
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.widgets.choice_list import LetterKeyList

_KIND_CELLS = 16
_GAP = 2
_SIZE_CELLS = 6
_MISSING = "  no longer exists"


@dataclass(frozen=True, slots=True)
class CallFile:
    """A file: its kind, its path as in the events, its size in bytes if known, and a note; all untrusted."""

    kind: str
    path: str
    size: int | None = None
    note: str = ""


class ArtifactList(LetterKeyList):
    """Lists files in columns: their kinds, paths, notes and sizes."""

    files: tuple[CallFile, ...] = ()
    gone: frozenset[str] = frozenset()

    def show(self, files: Sequence[CallFile], gone: Collection[str] = ()) -> None:
        """Show these files; `gone` are the paths of those that no longer exist."""
        self.files, self.gone = tuple(files), frozenset(gone)
        self.display = bool(self.files)
        count = len(self.files)
        self.border_title = Content(f"Artifacts · {count:,}" if count > 1 else "Artifacts")
        self._draw()

    def on_resize(self) -> None:
        """Fit the columns to the width."""
        self._draw()

    def _draw(self) -> None:
        kinds = [clean_line(file.kind, _KIND_CELLS) for file in self.files]
        widest = max(map(cell_len, kinds), default=0)
        room = max(1, (self.scrollable_content_region.width or 200) - widest - _GAP - _SIZE_CELLS)
        self.show_rows(
            Content.styled(set_cell_size(kind, widest + _GAP), "$text-muted") + self._line(file, room)
            for kind, file in zip(kinds, self.files, strict=True)
        )

    def _line(self, file: CallFile, room: int) -> Content:
        is_gone = file.path in self.gone
        path = middle_cut(clean_line(file.path, 1000), room - (cell_len(_MISSING) if is_gone else 0))
        note = _MISSING if is_gone else f"{' ' * _GAP}{clean_line(file.note, 400)}"
        left = room - cell_len(path)
        length = "" if file.size is None else size(file.size)
        return Content.assemble(
            (path, "$text-muted" if is_gone else ""),
            (f"{set_cell_size(tail_cut(note, left), left)}{length:>{_SIZE_CELLS}}", "$text-muted"),
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
