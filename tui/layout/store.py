"""The layout that the user made, stored between sessions in a small file of the state folder."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import Damaged, JsonStore
from ua_tui.tui.layout.proportions import Proportions
from ua_tui.tui.panes.spec import side_specs

LAYOUT_FILE = "layout.json"
_FORMAT = 1

log = logging.getLogger(__name__)


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The user's layout: the sizes of the panes, and which of them is at the side."""

    format: int = _FORMAT
    sizes: Proportions = Proportions()
    side: str = "trace"
    linked: bool = False
    """Of earlier versions."""


class LayoutStore:
    """Reads and writes the layout of the panes.

    A file that is broken, or of another program or version, is left as it is until a size is changed; `problem`
    describes it.

    Args:
        state: the folder for the file; the user's state folder by default.
    """

    def __init__(self, state: Path | None = None) -> None:
        self.problem = ""
        self._store = JsonStore((state or state_folder()) / LAYOUT_FILE, Layout)

    def read(self) -> Layout:
        """Return the stored layout; the standard one if there is none, or none that can be read."""
        self.problem = ""
        try:
            stored = self._store.read()
            if stored.format != _FORMAT:
                raise WorkspaceError(f"it is of format {stored.format}, and this program knows {_FORMAT}")
            if stored.side not in {spec.name for spec in side_specs()}:
                raise WorkspaceError(f"it names no pane {stored.side!r}")
        except WorkspaceError as error:
            self.problem = (
                f"The sizes of the panes in {self._store.path} cannot be used: "
                f"{error.why if isinstance(error, Damaged) else error}. "
                "The standard sizes are shown, and changing a size rewrites the file."
            )
            return Layout()
        return stored

    def write(self, layout: Layout) -> str:
        """Store `layout`; returns an error message, or an empty text. Blocks until it is on the disk."""
        try:
            self._store.replace(layout)
        except WorkspaceError as error:
            log.warning("the sizes of the panes cannot be saved: %s", error)
            return f"The sizes of the panes cannot be saved: {error}."
        return ""
