"""The places where keys are active, as the help shows them, and which keys are active at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

__all__ = ["HANDLED", "PLACES", "Place", "Row", "together"]

HANDLED: Mapping[str, str] = {
    "prompt.send": "enter",
    "prompt.new_line": "ctrl+j,shift+enter,alt+enter,ctrl+enter",
    "prompt.steer": "ctrl+s",
    "prompt.queue": "alt+up",
    "prompt.edit": "ctrl+g",
}
"""The standard keys that the prompt handles itself; all others are bindings."""


@dataclass(frozen=True)
class Row:
    """A line of the help: the names of actions, or a label for fixed keys, and what they do."""

    names: str
    what: str
    fixed: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The names, one by one."""
        return tuple(self.names.split())


@dataclass(frozen=True)
class Place:
    """Where keys are active: title and lines of the help, classes, and the places whose keys are active, too."""

    title: str
    rows: tuple[Row, ...]
    classes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Actions that are active there although another place lists them."""


_TREE = "move.fold move.unfold"
PLACES: Mapping[str, Place] = {
    "anywhere": Place(
        "Anywhere",
        (
            Row("next_pane previous_pane", "next, previous pane"),
            Row("show.conversation show.trace show.observers show.workspace", "show a pane"),
            Row("stop", "stop the agent; else toggle prompt and pane"),
            Row("commands", "every command by name"),
            Row("restart", "restart the agent after it failed"),
            Row("copy", "copy the selection; twice: quit"),
            Row("quit", "quit"),
            Row("app.suspend", "suspend (fg resumes)"),
            Row("help.all", "every key"),
        ),
    ),
    "prompt": Place(
        "In the prompt",
        (
            Row("prompt.send", "send or queue; when empty, send queued queries"),
            Row("prompt.new_line", "new line"),
            Row("", "older and newer prompts, at the edges", "↑ ↓"),
            Row("", "take back the last queued query", "↑ when empty"),
            Row("prompt.steer", "send to the running query now"),
            Row("prompt.queue", "queue: move, delete, take back"),
            Row("", "name a file; Tab takes, Esc closes", "@"),
            Row("", "run a command", "/ at the start"),
            Row("prompt.edit", "continue in $VISUAL or $EDITOR"),
            Row("prompt.undo", "undo"),
        ),
        ("Prompt",),
        ("anywhere",),
        (
            "pane.maximise",
            "pane.narrower",
            "pane.wider",
            "pane.lower",
            "pane.higher",
            "pane.standard",
            "help.here",
        ),
    ),
    "pane": Place(
        "In a pane",
        (
            Row("show.conversation show.trace show.observers show.workspace", "show a pane"),
            Row("pane.maximise", "maximise the pane, and back"),
            Row("pane.narrower pane.wider", "narrower, wider; or drag the border"),
            Row("pane.lower pane.higher", "lower, higher; or drag the border"),
            Row("pane.standard", "standard sizes of all panes"),
            Row("help.here", "keys for this pane"),
        ),
        ("Frame",),
    ),
    "moving": Place(
        "Moving in a pane or a file",
        (
            Row("move.up move.down move.page_up move.page_down", "move"),
            Row("move.first move.last", "first, last (last follows new output)"),
            Row("move.open", "open"),
        ),
    ),
    "conversation": Place(
        "In the conversation",
        (
            Row("message.copy", "copy the message as Markdown"),
            Row("message.follow", "open its first link; a click opens any"),
            Row("find.search find.next find.previous", "search, next, previous"),
            Row("", "clear search", "Esc"),
            Row("move.open", "fold and unfold thinking, sub-agents"),
        ),
        ("ConversationPane",),
        ("moving", "pane", "anywhere"),
    ),
    "trace": Place(
        "In the trace",
        (
            Row(_TREE, "fold and unfold"),
            Row("trace.next_failure trace.previous_failure", "next, previous failure"),
            Row("find.search trace.filter", "filter: words, tool:news, state:failed"),
            Row("find.next find.previous", "next, previous match"),
            Row("", "clear filter", "Esc"),
            Row("move.open", "full call"),
        ),
        ("TracePane",),
        ("moving", "pane", "anywhere"),
    ),
    "call": Place(
        "In a tool call",
        (
            Row(f"{_TREE} file.toggle", "fold and unfold"),
            Row("file.unfold_all file.fold_all", "unfold all, fold all"),
            Row("call.text", "as a tree or as text"),
            Row("find.search find.next find.previous", "search, next, previous"),
            Row("call.copy_result call.copy_arguments", "copy the result, the arguments"),
            Row("file.copy_value file.copy_place", "copy the value, its path"),
            Row("call.page", "read it in $PAGER"),
            Row("", "its files; go to one in the workspace", "Tab, Enter"),
            Row("screen.leave screen.close", "back"),
        ),
        ("ToolCallScreen",),
        ("moving", "screen"),
    ),
    "observers": Place(
        "In the observers",
        (
            Row("observers.numbers", "observer statistics"),
            Row("call.origin", "the tool call of the run"),
            Row("move.open", "go to the file; why it failed"),
        ),
        ("ObserversPane",),
        ("moving", "pane", "anywhere"),
    ),
    "workspace": Place(
        "In the workspace",
        (
            Row(
                "workspace.next_place workspace.previous_place", "this session, saved reports, other sessions"
            ),
            Row(_TREE, "fold and unfold"),
            Row("workspace.sort", "sort by name, time, size"),
            Row("find.search", "filter by a part of a name or *.json"),
            Row("find.next find.previous", "next, previous match"),
            Row("workspace.leave_filter", "clear filter"),
            Row("workspace.hidden", "hidden files"),
            Row("call.origin", "the call that made the file"),
            Row("file.copy_path file.copy_text", "copy the path, the text"),
            Row("file.edit", "edit in $EDITOR"),
            Row("file.open_outside", "open externally (HTML without scripts)"),
            Row("file.delete", "delete (asks first)"),
        ),
        ("WorkspacePane",),
        ("moving", "pane", "anywhere"),
    ),
    "preview": Place(
        "In the preview",
        (
            Row("file.raw", "rendered or raw"),
            Row("file.copy_path file.copy_text", "copy the path, the text"),
            Row("file.edit", "edit in $EDITOR"),
            Row("file.open_outside", "open externally (HTML without scripts)"),
            Row("file.delete", "delete (asks first)"),
        ),
        ("PreviewPane",),
        ("moving", "pane", "anywhere"),
        ("file.page_up", "file.page_down", "file.links", "move.fold", "move.unfold"),
    ),
    "file": Place(
        "In a file",
        (
            Row("file.raw", "rendered or raw"),
            Row("file.page_down file.page_up", "a page down, up"),
            Row("file.reload", "read the file again"),
            Row("find.search find.next find.previous", "search, next, previous"),
            Row("file.links", "choose a link (asks first)"),
            Row("file.open_outside", "open externally (HTML without scripts)"),
            Row("file.edit", "edit in $VISUAL or $EDITOR"),
            Row("file.copy_path file.copy_text", "copy the path, copy the text"),
            Row("file.delete", "delete (asks first)"),
            Row(f"{_TREE} file.toggle", "in a tree: fold and unfold"),
            Row("file.unfold_all file.fold_all", "in a tree: unfold all, fold all"),
            Row("file.copy_value file.copy_place", "copy the value or cell, its path"),
            Row(f"{_TREE} table.sort table.turn", "in a table: column, sort, reverse"),
            Row("table.filter", "in a table: only rows with a text"),
            Row("move.open results.article results.answer", "of a result: link, article; the answer"),
            Row("screen.leave screen.close", "back"),
        ),
        ("ViewerScreen",),
        ("moving", "screen"),
    ),
    "screen": Place(
        "On other screens",
        (Row("help.here help.all", "keys of the screen; every key"),),
        ("Modal",),
    ),
    "blacklist": Place(
        "In the blacklist",
        (
            Row("blacklist.clear", "clear the site"),
            Row("blacklist.clear_all", "clear all"),
            Row("screen.back", "back"),
        ),
        ("BlacklistScreen",),
        ("screen",),
    ),
    "sessions": Place(
        "In the sessions",
        (
            Row("move.open", "read the session"),
            Row("sessions.resume", "resume it"),
            Row("find.search", "search titles, queries, answers"),
            Row("sessions.sort", "change the order"),
            Row("sessions.rename", "give it a title"),
            Row("sessions.delete", "delete it (asks first)"),
            Row("screen.leave screen.close", "back"),
        ),
        ("SessionsScreen",),
        ("moving", "screen"),
    ),
    "connections": Place(
        "In the connections",
        (
            Row("connections.reconnect", "connect the server again"),
            Row("connections.switch", "disable or enable its tools"),
            Row("connections.test", "test everything"),
            Row("screen.back", "back"),
        ),
        ("ConnectionsScreen",),
        ("moving", "screen"),
    ),
    "agents": Place(
        "In the sub-agents",
        (
            Row("agents.read", "read the files again"),
            Row("screen.back", "back"),
        ),
        ("AgentsScreen",),
        ("moving", "screen"),
    ),
    "queue": Place(
        "In the queue",
        (
            Row("queue.earlier queue.later", "move the query"),
            Row("queue.delete", "delete it"),
            Row("", "take it back", "Enter"),
            Row("screen.back", "back"),
        ),
        ("QueueScreen",),
        ("screen",),
    ),
    "links": Place(
        "Among links",
        (Row("", "open it (asks first)", "Enter"), Row("screen.back", "back")),
        ("LinksScreen",),
        ("screen",),
    ),
    "link": Place(
        "When a link is opened",
        (Row("link.open link.copy", "open, copy"), Row("screen.back", "back")),
        ("LinkScreen",),
        ("screen",),
    ),
    "permission": Place(
        "When a tool needs permission",
        (
            Row("permission.deny permission.back", "deny"),
            Row("permission.reason", "deny with a reason for the model"),
            Row("permission.once", "allow once"),
            Row("permission.session", "allow for this session, by a pattern"),
        ),
        ("PermissionScreen",),
        ("screen",),
    ),
    "auth": Place(
        "When an account needs to be connected",
        (
            Row("link.open link.copy", "open the link, copy it"),
            Row("auth.done", "done"),
            Row("auth.cancel", "cancel"),
        ),
        ("AuthScreen",),
        ("screen",),
    ),
    "quit": Place(
        "When you quit while work runs",
        (
            Row("quit.stay", "stay"),
            Row("quit.wait", "quit when done"),
            Row("quit.stop", "stop it and quit"),
        ),
        ("QuitScreen",),
        ("screen",),
    ),
    "error": Place(
        "When the agent failed",
        (Row("error.restart", "restart"), Row("error.close", "close"), Row("error.quit", "quit")),
        ("ErrorScreen",),
        ("screen",),
    ),
    "fresh": Place(
        "When a conversation cannot be resumed",
        (Row("fresh.begin", "start a new one"), Row("fresh.quit", "quit")),
        ("FreshScreen",),
        ("screen",),
    ),
    "budget": Place(
        "At the spending limit",
        (Row("budget.raise", "raise the limit"), Row("budget.leave", "close")),
        ("BudgetScreen",),
        ("screen",),
    ),
    "status": Place("In the session status", (Row("status.close", "back"),), ("StatusScreen",), ("screen",)),
    "delete": Place(
        "Before something is deleted",
        (Row("delete.confirm", "delete"), Row("delete.keep", "keep")),
        ("DeleteScreen",),
        ("screen",),
    ),
}
"""The places in the order of the help."""


def together() -> Mapping[str, frozenset[str]]:
    """Return the names of the actions that are active at the same time, by place."""
    own = {
        name: {*chain.from_iterable(row.ids for row in place.rows), *place.more}
        for name, place in PLACES.items()
    }
    return {
        name: frozenset(own[name].union(*(own[other] for other in place.also)))
        for name, place in PLACES.items()
    }
