"""The layout that the user made, stored between sessions in a small file of the state folder."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.tui.layout.proportions import Proportions
from ua_tui.tui.panes.spec import side_specs

LAYOUT_FILE = "layout.json"
_FORMAT = 1
_MOST_BYTES = 16 * 1024

log = logging.getLogger(__name__)


class Layout(msgspec.Struct, frozen=True):
    """The user's layout: the sizes of the panes, which of them is at the side, and whether cursors are linked."""

    sizes: Proportions = Proportions()
    side: str = "trace"
    linked: bool = False


class _Stored(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: int
    sizes: Proportions
    side: str = "trace"
    linked: bool = False


class LayoutStore:
    """Reads and writes the layout of the panes.

    A file that is broken, or of another program or version, is left as it is until a size is changed; `problem`
    describes it.

    Args:
        state: the folder for the file; the user's state folder by default.
    """

    def __init__(self, state: Path | None = None) -> None:
        self._state = state
        self.problem = ""

    @property
    def folder(self) -> Path:
        """Where the file is."""
        if self._state is None:
            from platformdirs import user_state_path

            self._state = user_state_path("ua-tui")
        return self._state

    def read(self) -> Layout:
        """Return the stored layout; the standard one if there is none, or none that can be read."""
        path = self.folder / LAYOUT_FILE
        self.problem = ""
        try:
            # Read without the writer's safeguards, which are imported behind the first frame.
            if not path.is_file():
                return Layout()
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise ValueError("it is too large")
            stored = msgspec.json.decode(data, type=_Stored)
            if stored.format != _FORMAT:
                raise ValueError(f"it is of format {stored.format}, and this program knows {_FORMAT}")
            if stored.side not in {spec.name for spec in side_specs()}:
                raise ValueError(f"it names no pane {stored.side!r}")
        except OSError as error:
            why = error.strerror or type(error).__name__
        except (msgspec.DecodeError, ValueError) as error:
            why = str(error)
        else:
            return Layout(stored.sizes, stored.side, stored.linked)
        self.problem = (
            f"The sizes of the panes in {path} cannot be used: {why}. The standard sizes are shown, "
            "and changing a size rewrites the file."
        )
        return Layout()

    def write(self, layout: Layout) -> str:
        """Store `layout`; returns an error message, or an empty text. Blocks until it is on the disk."""
        from ua_tui.core.storage.files import Root

        try:
            root = Root(self.folder, create=True)
            stored = _Stored(_FORMAT, layout.sizes, layout.side, layout.linked)
            root.write(LAYOUT_FILE, msgspec.json.encode(stored) + b"\n")
        except (UniversalAgentError, OSError) as error:
            log.warning("the sizes of the panes cannot be saved: %s", error)
            return f"The sizes of the panes cannot be saved: {error}."
        return ""
