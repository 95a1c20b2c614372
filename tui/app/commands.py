"""Every slash command, which the command palette offers, too: `commands.json` lists those without conditions.

`run` is what a command calls: a function of `controllers/`, as `module:name`, which gets the application, or something
of the application itself, with `by` if that is given. `key` is the id of the binding that does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.events.describe import MODE_RULES
from ua_tui.core.json_values import table_of
from ua_tui.tui.app.controllers.navigation import run_in_pane
from ua_tui.tui.app.controllers.session_settings import choose_mode
from ua_tui.tui.panes.spec import pane_specs, tab_specs
from ua_tui.tui.widgets.command import Argument, Command

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp


class _Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    title: str
    run: str
    about: str = ""
    key: str = ""
    aliases: tuple[str, ...] = ()
    by: int | None = None

    def command(self, app: UaTuiApp, argument: Argument | None) -> Command:
        keys = app.keys.shown(self.key) if self.key else ""
        shown = f"{self.about} ({keys})" if self.about and keys else self.about or keys
        module, _, function = self.run.rpartition(":")
        run: Callable[..., Any] = attrgetter(function)(
            import_module(f"ua_tui.tui.app.controllers.{module}") if module else app
        )
        given = [app] if module else [self.by] if self.by is not None else []
        return Command(self.name, self.title, shown, partial(run, *given), self.aliases, argument=argument)


_LISTED = table_of(__file__, "commands.json", dict[str, tuple[_Listed, ...]])


def commands_of(app: UaTuiApp) -> tuple[Command, ...]:
    """Return every command, in the order of the lists: those that are used most first, those of the layout last.

    A pane declares those that run in it.
    """
    arguments = {
        "find": Argument("words", None, app.open_find),
        "mode": Argument("permission mode", lambda: MODE_RULES, partial(choose_mode, app)),
    }
    session, agent, screen, layout = (
        [each.command(app, arguments.get(each.name)) for each in listed] for listed in _LISTED.values()
    )
    return (*session, *_queries(app), *agent, *_pane_commands(app), *screen, *_tabs(app), *layout)


def _pane_commands(app: UaTuiApp) -> Iterator[Command]:
    """The commands of the panes."""
    for spec in pane_specs():
        for command in spec.commands:
            shown = f"{app.keys.shown(command.key)} in the {spec.name}"
            run = partial(run_in_pane, app, spec.name, command.action)
            yield Command(command.name, command.title, shown, run)


def _tabs(app: UaTuiApp) -> Iterator[Command]:
    """The commands that show a pane."""
    for spec in tab_specs():
        key = f"show.{spec.name}"
        shown = app.keys.shown(key) if app.keys.of(key) else f"Alt+{spec.number}"
        yield Command(spec.name, f"Show {spec.title}", shown, partial(app.frame.show, spec.name))


def _queries(app: UaTuiApp) -> Iterator[Command]:
    """The commands that are sent as queries; a custom one cannot have the name of another command."""
    controls = app.controls
    if controls is None:
        return
    if "compact" in controls.commands:
        yield _query(
            app, "compact", "Summarise the conversation", "Frees context; you can say what to keep", ""
        )
    if "clear" in controls.commands:
        yield _query(app, "clear", "Clear the agent's context", "It forgets the conversation; files stay", "")
    for each in controls.custom_commands:
        about = " · ".join(filter(None, (each.hint, "yours" if each.source == "user" else "of this folder")))
        yield _query(app, each.name, each.description, about, each.hint)


def _query(app: UaTuiApp, name: str, title: str, about: str, arguments: str) -> Command:
    def write() -> None:
        app.frame.show("prompt")
        app.frame.prompt.put(f"/{name} ")

    return Command(name, title, about, write, arguments=arguments)
