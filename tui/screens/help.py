"""The keys, on one screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.screens.closing import Closing
from tui.screens.dialog import NARROW, Box, Foot

__all__ = ["KEYS", "HelpScreen"]

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Anywhere",
        (
            ("Tab, Shift+Tab", "next, previous pane"),
            ("F2 … F5", "show a pane; Alt+1 … Alt+4 where sent"),
            ("Esc", "stop the agent; else prompt and back"),
            ("Ctrl+P", "every command by name"),
            ("Ctrl+R", "restart the agent after it failed"),
            ("Ctrl+C", "copy what is selected; twice: quit"),
            ("Ctrl+Q", "quit"),
            ("F1", "this page"),
        ),
    ),
    (
        "In the prompt",
        (
            ("Enter", "send; while the agent works, queue"),
            ("Ctrl+J", "new line; Shift+Enter where it is sent"),
            ("↑ ↓", "older and newer prompts, at the edges"),
            ("↑ when empty", "take back what was queued last"),
            ("Enter when empty", "send on what was held after a stop"),
            ("Ctrl+S", "say it into the running query"),
            ("Alt+↑", "the queue: move, delete, take back"),
            ("@", "name a file; Tab takes, Esc closes"),
            ("/ at the start", "run a command"),
            ("Ctrl+G", "write on in $VISUAL or $EDITOR"),
        ),
    ),
    (
        "In a pane",
        (
            ("1 … 4", "Conversation, Trace, Observers, Workspace"),
            ("z", "give the pane the whole screen, and back"),
            ("↑ ↓ PgUp PgDn", "move; also j k"),
            ("Home, End", "first and last; End follows; also g G"),
            ("Enter", "open"),
            ("?", "this page"),
        ),
    ),
    (
        "In the conversation",
        (
            ("↑ ↓", "previous, next message"),
            ("y", "copy the message as it was written"),
            ("o", "follow its first link; a click follows any"),
            ("/, n, N", "search, next, previous; Esc ends"),
            ("Enter", "fold and unfold thinking, sub-agents"),
        ),
    ),
    (
        "In the trace",
        (
            ("← →", "fold and unfold; also h l"),
            ("e, E", "next, previous failure"),
            ("f, /", "filter: words, tool:news, state:failed"),
            ("n, N", "next, previous match; Esc ends"),
            ("Enter", "the whole call"),
        ),
    ),
    (
        "In a tool call",
        (
            ("← → Space", "fold and unfold"),
            ("E, F", "unfold all, fold all"),
            ("m", "as a tree or as text"),
            ("/, n, N", "search, next, previous"),
            ("y, a", "copy the result, the arguments"),
            ("c, p", "copy the value, its path"),
            ("P", "read it in $PAGER"),
            ("Tab, Enter", "its files; go to one in the workspace"),
            ("Esc, q", "back"),
        ),
    ),
    (
        "In the observers",
        (
            ("m", "more numbers of each observer"),
            ("p", "the call that was looked at"),
            ("Enter", "go to the file; why it failed"),
        ),
    ),
    (
        "In the workspace",
        (
            ("t, T", "this session, saved reports, other sessions"),
            ("← →", "fold and unfold"),
            ("s", "sort by name, time, size"),
            ("/", "filter by a part of a name or *.json; Esc ends"),
            ("n, N", "next, previous match"),
            (".", "hidden files"),
            ("p", "the call that made the file"),
            ("y, Y", "copy the path, the text"),
            ("e", "edit in $EDITOR"),
            ("o", "open outside: HTML harmless in the browser"),
            ("d", "delete, after asking"),
        ),
    ),
    (
        "In a file",
        (
            ("m", "rendered or raw"),
            ("Space, b", "a page down, up; also Ctrl+F Ctrl+B"),
            ("r", "read the file again"),
            ("/, n, N", "search, next, previous"),
            ("L", "choose a link; it opens after asking"),
            ("o", "open outside: HTML harmless in the browser"),
            ("e", "edit in $VISUAL or $EDITOR"),
            ("y, Y", "copy the path, copy the text"),
            ("d", "delete after asking"),
            ("← → Space", "in a tree: fold and unfold"),
            ("E, F", "in a tree: unfold all, fold all"),
            ("c, p", "copy the value or cell, its path"),
            ("← →, s, S", "in a table: column, sort, turn around"),
            ("f", "in a table: only rows with a text"),
            ("Enter, a, A", "of a result: link, article; the answer"),
            ("Esc, q", "back"),
        ),
    ),
    ("In the blacklist (Ctrl+P)", (("c, Del", "clear the site"), ("a", "clear all"), ("Esc, q", "back"))),
    (
        "In the sessions (Ctrl+P)",
        (
            ("Enter", "read the session"),
            ("r", "go on with it"),
            ("/", "search titles, queries, answers"),
            ("s", "sort by something else"),
            ("n", "give it a title"),
            ("d, Del", "delete it, after asking"),
            ("Esc, q", "back"),
        ),
    ),
    (
        "When a tool asks",
        (
            ("d, Esc", "deny"),
            ("r", "deny, and tell the model why"),
            ("a", "allow once"),
            ("s", "allow for this session, by a pattern"),
        ),
    ),
)


class HelpScreen(Closing[None]):
    """Every key, grouped by where it works; any of its closing keys goes back."""

    HORIZONTAL_BREAKPOINTS = NARROW
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "close", "Close", show=False),
        Binding("up", "scroll_box(-1)", show=False),
        Binding("down", "scroll_box(1)", show=False),
        Binding("pageup", "scroll_box(-10)", show=False),
        Binding("pagedown", "scroll_box(10)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Set the keys out in two columns."""
        width = max(len(key) for _, rows in KEYS for key, _ in rows)
        parts: list[tuple[str, str]] = []
        for title, rows in KEYS:
            parts.append((f"{title}\n", "bold"))
            for key, what in rows:
                parts += [(f"  {key:<{width}}  ", "$accent"), (f"{what}\n", "")]
            parts.append(("\n", ""))
        with Box(classes="box") as box:
            box.border_title = Content("Keys")
            yield Static(Content.assemble(*parts[:-1]), classes="facts")
            yield Foot(hint="↑↓ scroll   Esc close")

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_scroll_box(self, rows: int) -> None:
        """Scroll what has no room."""
        self.query_one(Box).scroll_relative(y=rows, animate=False)
