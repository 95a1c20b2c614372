"""What can be done by name: the commands of the palette, which the prompt takes after a slash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.frame import PANES

if TYPE_CHECKING:
    from tui.app import UaTuiApp

__all__ = ["Command", "commands_for", "commands_of", "typed_command"]


@dataclass(frozen=True)
class Command:
    """Something to do: `/name` in the prompt, `title` and `help` in the palette."""

    name: str
    title: str
    help: str
    run: Callable[[], object]


def commands_of(app: UaTuiApp) -> tuple[Command, ...]:
    """Every command there is, in the order they are offered."""
    return (
        *(
            Command(name, f"Show {title}", f"F{number + 1}", _showing(app, name))
            for number, name, title in PANES
        ),
        Command("maximise", "Maximise the pane", "z in a pane", app.frame.action_maximise),
        Command("restart", "Restart the agent", "Ctrl+R", app.action_restart),
        Command("setup", "Setup", "How the model is reached: key, login, server", app.setup.open),
        Command("queue", "Queue", "What waits; Alt+↑ in the prompt", app.queries.open),
        Command("sessions", "Sessions", "Read one, go on with one, find one", app.above.sessions),
        Command("connections", "Connections", "Servers, keys, targets; tests them", app.above.connections),
        Command("blacklist", "Blacklist of the web reader", "Sites passed over", app.above.blacklist),
        Command("save-copied", "Save what was copied", "To a file of the session", app.action_save_copied),
        Command("status", "Status in words", "What the line at the bottom says", app.status.open),
        Command("budget", "Budget", "What the session may cost", app.spending.open),
        Command("theme", "Change the theme", "Colours of the screen", app.action_change_theme),
        Command("keys", "Keys", "F1", app.action_help),
        Command("quit", "Quit", "Ctrl+Q", lambda: app.call_later(app.action_quit)),
    )


def commands_for(typed: str, commands: Iterable[Command]) -> list[Command]:
    """The commands that `typed`, without its slash, may stand for: those with a word that begins with it.

    What begins a name comes before what begins a word of a title.
    """
    wanted = typed.casefold()
    found = [
        (not command.name.startswith(wanted), place, command)
        for place, command in enumerate(commands)
        if any(
            word.startswith(wanted)
            for word in (command.name, *command.name.split("-"), *command.title.casefold().split())
        )
    ]
    return [command for _, _, command in sorted(found, key=lambda each: each[:2])]


def typed_command(text: str, commands: Sequence[Command]) -> Command | None:
    """The command that a whole text is the name of, after a slash; None when it is anything else."""
    if not text.startswith("/"):
        return None
    return next((command for command in commands if command.name == text[1:].strip().casefold()), None)


def _showing(app: UaTuiApp, name: str) -> Callable[[], None]:
    return lambda: app.frame.show(name)
