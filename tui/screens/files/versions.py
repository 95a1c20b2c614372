"""The versions of a text, to choose the one that it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ua_tui.core.events.units import size
from ua_tui.core.history.versions import Version
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot

_NAME = 44
_SIZE = 6
_TIME = 15


class VersionsScreen(Dialog[Version | None]):
    """Lists the versions of a text, then other files of its kind; closes with the chosen one, or with None.

    Args:
        name: the name of the text, already cleaned.
        versions: what it can be compared with.
        others: other files of its folder.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("Among versions", fixed=(("Enter", "compare with it"),))
    BINDINGS: ClassVar[list[BindingType]] = [key_binding("screen.back", "escape,q", "close", "back")]

    def __init__(self, name: str, versions: Sequence[Version], others: Sequence[Version]) -> None:
        super().__init__(requested=True)
        self._name_shown = name
        self._listed = (*versions, *others)
        self._own = len(versions)

    def compose(self) -> ComposeResult:
        """Create the list and its keys."""
        now = datetime.now().astimezone()
        rows = [Option(_row(version, now)) for version in self._listed]
        with Box(f"Compare {self._name_shown} with"):
            yield LetterKeyList(*rows, id="versions-found")
            close = keys_of(self.app).shown("screen.back")
            yield Foot(hint=f"Enter compare   {close} close")

    def on_mount(self) -> None:
        """Start on the newest one."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the chosen version."""
        event.stop()
        self.dismiss(self._listed[event.option_index])


def shown_time(at: datetime, now: datetime) -> str:
    """Write a time as `14:02:07`, on another day as `21 Nov 14:02`, in another year as `21 Nov 2025`."""
    at = at.astimezone()
    if at.date() == now.date():
        return f"{at:%H:%M:%S}"
    return f"{at.day} {at:%b %H:%M}" if at.year == now.year else f"{at.day} {at:%b %Y}"


def describe_version(version: Version) -> str:
    """Say what a version is: a saved copy, another file, or of another session."""
    of_session = f" of {clean_line(version.session, 60)}" if version.session else ""
    return f"{version.what}{of_session}"


def _row(version: Version, now: datetime) -> Content:
    return Content.assemble(
        f"{shown_time(version.at, now):<{_TIME}}",
        (f"{size(version.size):>{_SIZE}}  ", "$text-muted"),
        describe_version(version),
        (f"  {middle_cut(clean_line(version.name, 200), _NAME)}", "$text-muted"),
    )
