"""Asks for confirmation before something is deleted."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, Box, Choice, Dialog, Foot


class DeleteScreen(Dialog[bool]):
    """Asks whether to delete; keeping has the focus.

    Args:
        name: what is deleted, already cleaned.
        facts: details, such as its size.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("Before something is deleted")
    FIRST = "keep"
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("delete.confirm", "d", "answer(True)", "delete"),
        key_binding("delete.keep", "n,escape,q", "answer(False)", "keep"),
    ]

    def __init__(self, name: str, facts: str) -> None:
        super().__init__(requested=True, quiet=QUIET_SECONDS)
        self._name_shown = name
        self._facts = facts

    def compose(self) -> ComposeResult:
        """Show what would be deleted."""
        with Box("Delete", "-asks"):
            yield Static(Content(self._name_shown), classes="heading")
            yield Static(Content(f"{self._facts} This cannot be undone."), classes="advice")
            yield Foot(
                Choice("n", "Keep", "keep", "answer(False)"), Choice("d", "Delete", "delete", "answer(True)")
            )
