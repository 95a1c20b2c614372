"""Commands: what a person runs from the palette, or by its name after a slash in the prompt."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Command", "command_problem", "commands_for", "typed_command"]

_WORD = re.compile(r"/([^\W\d_][\w:-]*)(\s.*)?")
_SEND_ANYWAY = "Put a space before it to send it to the agent."
_MOST_SUGGESTED = 3


@dataclass(frozen=True)
class Command:
    """An action with a name: `/name` or one of its aliases in the prompt, `title` and `help` in the palette."""

    name: str
    title: str
    help: str
    run: Callable[[], object]
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)


def commands_for(typed: str, commands: Iterable[Command]) -> list[Command]:
    """Return the commands that match `typed`, which has no slash: those with a word that starts with it.

    Matches at the start of a name come before matches in a title.
    """
    wanted = typed.casefold()
    found = [
        (not command.name.startswith(wanted), place, command)
        for place, command in enumerate(commands)
        if any(
            word.startswith(wanted)
            for word in (*command.names, *command.name.split("-"), *command.title.casefold().split())
        )
    ]
    return [command for _, _, command in sorted(found, key=lambda each: each[:2])]


def typed_command(text: str, commands: Sequence[Command]) -> Command | None:
    """Return the command whose name, after a slash, is the whole text; None if there is none."""
    if not text.startswith("/"):
        return None
    wanted = text[1:].strip().casefold()
    return next((command for command in commands if wanted in command.names), None)


def command_problem(text: str, commands: Sequence[Command], agent_commands: Collection[str]) -> str:
    """Describe what is wrong with a text that looks like a command but is not one; empty when it can be sent.

    `agent_commands` are the names of the agent's own commands, some with a namespace before a colon. A path is not a
    command, nor is a name that exists in the root directory.
    """
    found = _WORD.fullmatch(text)
    if found is None:
        return ""
    word, more = found[1].casefold(), found[2]
    # Ours wins over a command of the agent with the same name.
    ours = {name for command in commands for name in command.names}
    theirs = {
        part for name in agent_commands for part in (name.casefold(), name.casefold().rpartition(":")[2])
    }
    if more is not None:
        return f"/{word} takes no arguments. {_SEND_ANYWAY}" if word in ours else ""
    if word in theirs or os.path.lexists(f"/{found[1]}"):
        return ""
    if not commands:
        return "Commands are not ready yet: press Enter again."
    near = difflib.get_close_matches(word, sorted(ours | theirs), _MOST_SUGGESTED)
    shown = ", ".join(f"/{name}" for name in near)
    hint = f" Did you mean {shown}?" if near else " Type / to list the commands."
    return f"Unknown command /{word}.{hint} {_SEND_ANYWAY}"
