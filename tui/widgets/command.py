"""Commands: what a person runs from the palette, or by its name after a slash in the prompt."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from ua_tui.core.session.session import Session
from ua_tui.core.text import clean_line

_OF_AGENT = (
    ("compact", "summarises the conversation, to free context; you can say what to keep"),
    ("clear", "the agent forgets the conversation; files stay"),
)


def problem_of_query(session: Session, query: str) -> str:
    """What is wrong with the only query of a session, if it looks like a command but is not one; else empty."""
    if not session.commands or session.references.prompt_call(query) is not None:
        return ""
    return command_problem(
        query, sent_commands(session), session.commands, listed_by="`ua-tui agents` lists those of your own"
    )


def sent_commands(session: Session) -> list[Command]:
    """The commands that are sent as queries."""
    return [
        *(
            Command(name, title, "", list, arguments="")
            for name, title in _OF_AGENT
            if name in session.commands
        ),
        *(
            Command(each.name, clean_line(each.description, 300), "", list, arguments=each.hint)
            for each in session.custom_commands
        ),
    ]


_WORD = re.compile(r"/([^\W\d_][\w:-]*)(\s.*)?", re.DOTALL)
_MOST_SUGGESTED = 3


class Argument(msgspec.Struct, frozen=True):
    """What may follow the name of a command: one of the `choices`, each of which has a meaning.

    Without choices it may be any text. `kind` is what they are, in a noun phrase; `run` is called with the one that was
    written.
    """

    kind: str
    choices: Callable[[], Mapping[str, str]] | None
    run: Callable[[str], object]

    def find(self, written: str) -> str | None:
        """Return the choice that was written, in letters of any case; None if there is none."""
        if self.choices is None:
            return written.strip()
        wanted = written.strip().casefold()
        return next((name for name in self.choices() if name.casefold() == wanted), None)


class Command(msgspec.Struct, frozen=True):
    """An action with a name: `/name` or one of its aliases in the prompt, `title` and `help` in the palette.

    An `argument` may follow the name. With `arguments` the prompt sends `/name` and what follows it as a query, and
    `run` writes the name into the prompt; they say what may follow, and are empty if that is nothing in particular.
    """

    name: str
    title: str
    help: str
    run: Callable[[], object]
    aliases: Sequence[str] = ()
    arguments: str | None = None
    argument: Argument | None = None

    @property
    def is_query(self) -> bool:
        """Whether it is sent as a query."""
        return self.arguments is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    def with_argument(self, name: str) -> Command:
        """Return the command that runs with one of the choices of its argument."""
        assert self.argument is not None
        return replace(self, run=partial(self.argument.run, name))


def commands_for(typed: str, commands: Iterable[Command]) -> list[Command]:
    """Return the commands that match `typed`, which has no slash: those with a word that starts with it.

    The exact name comes first, then an exact alias, then matches at the start of a name, then those in a title.
    """
    wanted = typed.casefold()
    found = [
        command
        for command in commands
        if any(
            word.startswith(wanted)
            for word in (*command.names, *re.split("[-:]", command.name), *command.title.casefold().split())
        )
    ]
    return sorted(
        found,
        key=lambda each: (each.name != wanted, wanted not in each.names, not each.name.startswith(wanted)),
    )


def typed_command(text: str, commands: Sequence[Command]) -> Command | None:
    """Return the command whose name, after a slash, is the whole text, or is followed by its argument.

    None if there is none, or it is a query.
    """
    name, *rest = text[1:].split(maxsplit=1) or [""]
    command = next((each for each in commands if name.casefold() in each.names), None)
    if not text.startswith("/") or command is None or command.is_query:
        return None
    if not rest:
        return command
    choice = command.argument.find(rest[0]) if command.argument is not None else None
    return command.with_argument(choice) if choice is not None else None


def command_problem(
    text: str,
    commands: Sequence[Command],
    agent_commands: Collection[str],
    *,
    listed_by: str = "type / to list the commands",
    sent_by: str = "put a space before it to send it as text",
) -> str:
    """Describe what is wrong with a text that looks like a command but is not one; empty when it can be sent.

    `agent_commands` are the names of the agent's own commands, some with a namespace before a colon. A path is not a
    command, nor is a name that exists in the root directory. Only `commands`, which `/` lists, are suggested.
    `listed_by` says how commands are listed, and `sent_by` what sends the text all the same.
    """
    found = _WORD.fullmatch(text)
    if found is None:
        return ""
    word, more = found[1].casefold(), found[2]
    # Ours wins over a command of the agent with the same name.
    command = next((each for each in commands if word in each.names), None)
    if command is None:
        problem = _name_problem(found[1], commands, agent_commands, listed_by)
    elif command.is_query or more is None:
        problem = ""
    else:
        problem = _argument_problem(command, more)
    return f"{problem}: {sent_by}." if problem else ""


def _name_problem(
    written: str, commands: Iterable[Command], agent_commands: Iterable[str], listed_by: str
) -> str:
    """Say that no command has this name, unless it is one of the agent or begins a path."""
    word = written.casefold()
    theirs = {
        part for name in agent_commands for part in (name.casefold(), name.casefold().rpartition(":")[2])
    }
    if word in theirs or os.path.lexists(f"/{written}"):
        return ""
    # What only the agent knows is not listed, and may do nothing here.
    known = sorted({name for command in commands for name in command.names})
    # A command in a folder, also by its own name: `fix` of `git:fix`.
    inside = [name for name in known if name.endswith(f":{word}")]
    names = {name.rpartition(":")[2]: name for name in known} | {name: name for name in known}
    near = inside or [names[each] for each in difflib.get_close_matches(word, names, _MOST_SUGGESTED)]
    shown = ", ".join(f"/{name}" for name in dict.fromkeys(near[:_MOST_SUGGESTED]))
    return f"there is no command /{word} ({f'did you mean {shown}?' if near else listed_by})"


def _argument_problem(command: Command, more: str) -> str:
    """Describe why a text cannot follow the name of a command."""
    if command.argument is None or command.argument.choices is None:
        return f"/{command.name} takes no arguments"
    names = ", ".join(command.argument.choices())
    return f"“{clean_line(more, 40)}” is not a {command.argument.kind} (use {names})"
