"""The commands of the application, which the palette offers and the prompt runs after a slash."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tui.layout.frame import PANES
from tui.ports import ScreenHost
from tui.widgets.command import Command, declared_commands
from tui.widgets.placeholder import Placeholder

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp

__all__ = ["commands_of"]


def commands_of(app: UaTuiApp) -> tuple[Command, ...]:
    """Every command there is, in the order they are offered."""
    keys = app.keys.shown
    frame = app.frame
    return (
        *(
            Command(name, f"Show {title}", keys(f"show.{name}"), partial(_show, app, name))
            for _, name, title in PANES
        ),
        Command("stop", "Stop the agent", keys("stop"), partial(_stop, app)),
        Command("restart", "Restart the agent", keys("restart"), app.action_restart),
        *_of_screens(app),
        Command("trace-link", "Link to the session's trace", "In Logfire; else its id", app.above.trace),
        *_in_panes(app),
        Command("editor", "Write on in the editor", keys("prompt.edit"), frame.prompt.action_edit_outside),
        Command("maximise", "Maximise the pane", keys("pane.maximise"), frame.action_maximise),
        Command("wider", "Make the pane wider", keys("pane.wider"), partial(frame.action_widen, 1)),
        Command("narrower", "Make the pane narrower", keys("pane.narrower"), partial(frame.action_widen, -1)),
        Command("higher", "Make the pane higher", keys("pane.higher"), partial(frame.action_heighten, 1)),
        Command("lower", "Make the pane lower", keys("pane.lower"), partial(frame.action_heighten, -1)),
        Command("sizes", "Standard sizes of all panes", keys("pane.standard"), frame.action_reset_sizes),
        Command("save-copied", "Save what was copied", "To a file of the session", app.action_save_copied),
        Command("theme", "Change the theme", "Colours of the screen", app.action_change_theme),
        Command("keys", "Keys", keys("help.all"), app.action_help),
        Command("keys-here", "Keys of where you are", keys("help.here"), app.action_keys_here),
        Command("quit", "Quit", keys("quit"), lambda: app.call_later(app.action_quit)),
    )


def _of_screens(app: UaTuiApp) -> Iterator[Command]:
    """The commands that screens declare; a screen is imported when its command runs."""
    for each in declared_commands("tui.screens"):
        shown = f"{each.help} ({app.keys.shown(each.key)})" if each.key else each.help
        yield Command(each.name, each.title, shown, partial(_open_screen, app, each.module), each.aliases)


def _open_screen(app: ScreenHost, module: str) -> None:
    import_module(module).open_screen(app)


def _in_panes(app: UaTuiApp) -> Iterator[Command]:
    """What is done in a pane, which is shown for it."""
    for name, title, key, pane, action in (
        ("search", "Search the conversation", "find.search", "conversation", "find"),
        ("filter", "Filter the trace", "trace.filter", "trace", "filter"),
        ("failure", "Next failure in the trace", "trace.next_failure", "trace", "failure(1)"),
        ("numbers", "Numbers of the observers", "observers.numbers", "observers", "toggle_table"),
        ("find-file", "Filter the workspace by name", "find.search", "workspace", "filter"),
        ("hidden", "Show hidden files", "workspace.hidden", "workspace", "toggle_hidden"),
    ):
        shown = f"{app.keys.shown(key)} in the {pane}"
        yield Command(name, title, shown, partial(_in_pane, app, pane, action))
    yield Command("follow", "Follow what is new", app.keys.shown("move.last"), partial(_follow, app))


def _show(app: UaTuiApp, pane: str) -> None:
    app.frame.show(pane)


def _in_pane(app: UaTuiApp, pane: str, action: str) -> None:
    app.frame.show(pane)
    widget = app.frame.query_one(f"#{pane}")
    if widget.is_attached and not isinstance(widget, Placeholder):
        # Later, as the pane has the focus only then.
        app.call_later(widget.run_action, action)


def _follow(app: UaTuiApp) -> None:
    """Go to the end of the pane one was in, and of the conversation from the prompt."""
    pane = app.frame.active
    if pane == "workspace":
        app.notify("The workspace has no end to follow.", markup=False)
    else:
        _in_pane(app, pane, "cursor_end")


def _stop(app: UaTuiApp) -> None:
    if app.session is None or app.state != "running":
        app.notify("The agent is not at work: nothing to stop.", markup=False)
    else:
        app.action_escape()
