"""Every slash command, which the command palette offers, too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.events.describe import MODE_RULES
from ua_tui.tui.app.controllers import navigation
from ua_tui.tui.app.controllers.rewind import open_rewind
from ua_tui.tui.app.controllers.session_settings import choose_mode, open_models, open_modes
from ua_tui.tui.app.controllers.setup import open_setup
from ua_tui.tui.panes.spec import pane_specs, tab_specs
from ua_tui.tui.widgets.command import Argument, Command
from ua_tui.tui.widgets.placeholder import Placeholder

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp


def commands_of(app: UaTuiApp) -> tuple[Command, ...]:
    """Return every command, in the order of the lists: those that are used most first, those of the layout last.

    A pane declares those that run in it.
    """
    keys = app.keys.shown
    frame = app.frame
    return (
        Command("report", "Open the newest report", keys("report.open"), app.action_open_report),
        *_screens(app),
        Command(
            "export", "Export this session", "Its newest report, as a page, PDF, …", partial(_export, app)
        ),
        Command("replay", "Replay this session", keys("session.replay"), app.action_replay),
        *_queries(app),
        Command("stop", "Stop the agent", keys("stop"), app.action_stop),
        Command("restart", "Restart the agent", keys("restart"), app.action_restart),
        Command(
            "editor", "Edit the prompt in an editor", keys("prompt.edit"), frame.prompt.action_edit_outside
        ),
        *_pane_commands(app),
        Command("save-copied", "Save the copied text", "To a file in the session", app.copying.save),
        Command(
            "trace-link", "Copy trace ID", "Or its link in Logfire", partial(navigation.open_trace_link, app)
        ),
        Command("theme", "Change the theme", "Colours of the screen", app.action_change_theme),
        Command("keys", "Keys", keys("help.all"), app.action_help),
        Command("keys-here", "Keys for this pane", keys("help.here"), app.action_keys_here),
        Command("quit", "Quit", keys("quit"), lambda: app.call_later(app.action_quit)),
        *(
            Command(
                spec.name,
                f"Show {spec.title}",
                keys(name) if app.keys.of(name := f"show.{spec.name}") else f"Alt+{spec.number}",
                partial(frame.show, spec.name),
            )
            for spec in tab_specs()
        ),
        Command("maximise", "Maximise the pane", keys("pane.maximise"), frame.action_maximise),
        Command("wider", "Wider pane", keys("pane.wider"), partial(frame.action_widen, 1)),
        Command("narrower", "Narrower pane", keys("pane.narrower"), partial(frame.action_widen, -1)),
        Command("higher", "Taller pane", keys("pane.higher"), partial(frame.action_heighten, 1)),
        Command("lower", "Shorter pane", keys("pane.lower"), partial(frame.action_heighten, -1)),
        Command("sizes", "Reset the sizes of all panes", keys("pane.standard"), frame.action_reset_sizes),
    )


def _export(app: UaTuiApp) -> None:
    """Export the session that is shown."""
    from ua_tui.tui.screens.files.export import export_session

    if (session := app.session) is None:
        app.notify("There is no session to export yet.")
    else:
        export_session(app, session.workspace.path)


def _screens(app: UaTuiApp) -> Iterator[Command]:
    """The commands that open a screen, each of which is imported only then."""
    keys = app.keys.shown

    def with_key(about: str, name: str) -> str:
        return f"{about} ({keys(name)})"

    about = with_key("Articles, results, reports", "find.all")
    words = Argument("words", None, app.open_find)
    yield Command("find", "Search all sessions", about, app.open_find, argument=words)
    yield Command(
        "sessions", "Sessions", "Read, resume, search, delete", partial(navigation.open_sessions, app)
    )
    yield Command("model", "Model", "Choose the model, effort and fallback", partial(open_models, app))
    about = with_key("Which tool calls ask first", "session.mode")
    mode = Argument("permission mode", lambda: MODE_RULES, partial(choose_mode, app))
    yield Command("mode", "Permission mode", about, partial(open_modes, app), argument=mode)
    yield Command("budget", "Budget", "Spending limit of the session", app.budget.open)
    yield Command("queue", "Queue", with_key("Queued queries", "prompt.queue"), app.queries.open)
    about = with_key("The conversation, and optionally files", "session.rewind")
    yield Command("rewind", "Rewind to a query", about, partial(open_rewind, app))
    yield Command("context", "Context", "What fills it", partial(navigation.open_context, app))
    about = "Servers, keys, targets, tests"
    yield Command(
        "connections", "Connections", about, partial(navigation.open_connections, app), ("servers", "mcp")
    )
    yield Command(
        "permissions", "Permission rules", "Rules and decisions", partial(navigation.open_permissions, app)
    )
    yield Command(
        "agents", "Sub-agents and skills", "Their sources and problems", partial(navigation.open_agents, app)
    )
    yield Command(
        "fleet", "Fleet", "All sessions here and of the team, live", partial(navigation.open_fleet, app)
    )
    yield Command("status", "Session status", "Details of this session", app.status.open)
    yield Command("setup", "Setup", "Set up the model: key, login, server", partial(open_setup, app))
    yield Command(
        "blacklist", "Web reader blacklist", "Sites skipped", partial(navigation.open_blacklist, app)
    )


def _pane_commands(app: UaTuiApp) -> Iterator[Command]:
    """The commands of the panes, and one that works in each."""
    for spec in pane_specs():
        for command in spec.commands:
            shown = f"{app.keys.shown(command.key)} in the {spec.name}"
            run = partial(_run_in_pane, app, spec.name, command.action)
            yield Command(command.name, command.title, shown, run)
    yield Command("follow", "Follow new output", app.keys.shown("move.last"), partial(_follow, app))


def _queries(app: UaTuiApp) -> Iterator[Command]:
    """The commands that are sent as queries; a custom one cannot have the name of another command."""
    controls = app.controls
    if controls is None:
        return
    if "compact" in controls.commands:
        yield _query(
            app, "compact", "Summarise the conversation", "Frees context; you can add what to keep", ""
        )
    if "clear" in controls.commands:
        yield _query(app, "clear", "Clear the agent's context", "It forgets the conversation; files stay", "")
    for each in controls.custom_commands:
        about = " · ".join(filter(None, (each.hint, "yours" if each.source == "user" else "of this folder")))
        yield _query(app, each.name, each.description, about, each.hint)


def _query(app: UaTuiApp, name: str, title: str, about: str, arguments: str) -> Command:
    return Command(name, title, about, partial(_write, app, name), arguments=arguments)


def _write(app: UaTuiApp, name: str) -> None:
    app.frame.show("prompt")
    app.frame.prompt.put(f"/{name} ")


def _run_in_pane(app: UaTuiApp, pane: str, action: str) -> None:
    app.frame.show(pane)
    widget = app.frame.query_one(f"#{pane}")
    if widget.is_attached and not isinstance(widget, Placeholder):
        # Later, because the pane has the focus only then.
        app.call_later(widget.run_action, action)


def _follow(app: UaTuiApp) -> None:
    """Go to the end of the active pane; from the prompt, of the conversation."""
    pane = app.frame.active
    if pane == "workspace":
        app.notify("The workspace has no output to follow.")
    else:
        _run_in_pane(app, pane, "cursor_end")
