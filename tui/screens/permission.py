"""The question before a tool runs: what exactly would run, with what, and the three answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from core.events import PermissionAsked
from tui.screens.arguments import ArgumentsView, argument_lines, inner_tools, reveal
from tui.screens.dialog import Box, Choice, Dialog, Foot, fields

__all__ = ["PermissionAnswer", "PermissionScreen"]


@dataclass(frozen=True)
class PermissionAnswer:
    """What the person said; `scope` is `once` or `session`."""

    allow: bool
    scope: str = "once"


DENY = PermissionAnswer(allow=False)
ONCE = PermissionAnswer(allow=True)
SESSION = PermissionAnswer(allow=True, scope="session")


class PermissionScreen(Dialog[PermissionAnswer | None]):
    """Asks about one tool call; Deny has the focus, Esc denies. None means it was answered elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d,escape", "deny", "Deny", show=False),
        Binding("a", "once", "Allow once", show=False),
        Binding("s", "session", "Allow for this session", show=False),
    ]

    def __init__(
        self, event: PermissionAsked, waiting: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock)
        self.event = event
        self._waiting = waiting

    def compose(self) -> ComposeResult:
        """Name the tool and what it would run, lay out every argument, offer the answers."""
        event = self.event
        server, tool = _split(event.tool_name)
        subjects = [reveal(subject) for subject in event.subjects] or inner_tools(event.input)
        runs = [subject for subject in subjects if subject not in (tool, reveal(event.tool_name))]
        rows = [("Tool", f"{tool} ({server})" if server else tool)]
        if runs:
            rows.append(("Runs", ", ".join(runs)))
        if event.reason:
            rows.append(("Why", reveal(event.reason)))
        with Box(classes="box -asks") as box:
            box.border_title = Content("Permission")
            yield Static(Content(f"Allow {_headline(tool, runs)}?"), classes="heading")
            yield Static(fields(*rows), classes="facts")
            yield ArgumentsView(argument_lines(event.input))
            yield Foot(
                Choice("d", "Deny", "deny"),
                Choice("a", "Allow once", "once"),
                *([] if event.once_only else [Choice("s", "Allow for this session", "session")]),
                hint="↑↓ scroll",
            )

    def on_mount(self) -> None:
        """Put the focus on the answer that does no harm."""
        self.begin_with("#deny")
        self.show_waiting(self._waiting)

    def show_waiting(self, count: int) -> None:
        """Say how many more questions wait behind this one."""
        self._waiting = count
        for box in self.query(".box"):
            box.border_subtitle = Content(f"{count} more waiting" if count else "")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take an answer given with the mouse or with Enter."""
        event.stop()
        self.answer({"once": ONCE, "session": SESSION}.get(event.button.id or "", DENY))

    def action_deny(self) -> None:
        """Say no."""
        self.answer(DENY)

    def action_once(self) -> None:
        """Allow this one call."""
        self.answer(ONCE)

    def action_session(self) -> None:
        """Allow this and the like until the session ends."""
        if not self.event.once_only:
            self.answer(SESSION)


def _split(tool_name: str) -> tuple[str, str]:
    parts = tool_name.split("__", 2)
    if len(parts) == 3 and parts[0] == "mcp":
        return reveal(parts[1]), reveal(parts[2])
    return "", reveal(tool_name)


def _headline(tool: str, runs: list[str]) -> str:
    match runs:
        case []:
            return tool
        case [one]:
            return one
        case [first, *others]:
            return f"{first} and {len(others)} more"
    return tool
