"""Parsing of the command line, which `commands.json` describes, and what several commands do with it.

Nothing slow is imported before the options are parsed, so that `--help` and usage errors are immediate.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from msgspec.structs import replace

from ua_tui.core.json_values import table_of
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.settings.model import Settings


class CommandLine(msgspec.Struct, frozen=True):
    """One command: what it does in a sentence, the function that runs it, its arguments, and more lines of help.

    An argument has what `add_argument` of argparse takes, and besides `setting`, the setting that it sets; `group`, a
    heading of the help; and as `type` one of the readers here, a function of a module of `tui/cli`, or the lowest and
    the highest number. Without `help` it is not shown. What `shared` in the file says holds for
    the arguments of that name of all commands, and `@session` are the options of every session.
    """

    about: str
    function: str = msgspec.field(name="run")
    arguments: dict[str, dict[str, Any]]
    details: list[str] = []

    def run(self, args: argparse.Namespace) -> int:
        """Import the function and call it; returns the exit code."""
        code: int = _function(self.function)(args)
        return code


class _File(msgspec.Struct):
    """The content of `commands.json`."""

    shared: dict[str, dict[str, Any]]
    session: list[str]
    commands: dict[str, CommandLine]


def _function(name: str) -> Callable[..., Any]:
    """The function of a module of `tui/cli`, such as `session.export:run`."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"ua_tui.tui.cli.{module}"), function)
    return found


def _read_commands() -> dict[str | None, CommandLine]:
    file = table_of(__file__, "commands.json", _File)
    commands: dict[str | None, CommandLine] = {}
    for name, command in file.commands.items():
        arguments = {
            each: {**file.shared.get(each, {}), **own}
            for names, own in command.arguments.items()
            for each in (file.session if names == "@session" else (names,))
        }
        commands[None if name == "ua-tui" else name] = replace(command, arguments=arguments)
    return commands


COMMANDS = _read_commands()
"""Every command by its name; None is the full-screen session."""


_CHOICE = re.compile(r"invalid choice: (.+) \(choose from (.+)\)")
"""What argparse writes of a value that is not among the choices."""


class WrongUsage(Exception):
    """Arguments that do not go together; the message says which."""


def wrong_usage(prog: str, message: str) -> str:
    """Say in a line what is wrong with the command line of `prog`, and where to read on."""
    return f"{prog}: {message}; see {prog} --help\n"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("argument "):
            name, _, what = message.removeprefix("argument ").partition(": ")
            if choice := _CHOICE.fullmatch(what):
                what = f"must be one of {choice[2]}, not {choice[1]}".replace("'", "")
            elif what.startswith("expected "):
                what = "needs a value"
            elif what.startswith("ignored explicit"):
                what = "takes no value"
            message = f"{name} {what}"
        self.exit(EXIT_USAGE, wrong_usage(self.prog, message))


class _ShowVersion(argparse.Action):
    """Shows the version, which takes longer to find out than all options take to parse."""

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from ua_tui.core.version import VERSION

        sys.stdout.write(f"ua-tui {VERSION}\n")
        sys.stdout.flush()
        parser.exit()


def add_arguments(
    parser: argparse.ArgumentParser, arguments: Mapping[str, Mapping[str, Any]], *, only_options: bool = False
) -> None:
    """Add the arguments of a command to a parser."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for names, described in arguments.items():
        if only_options and not names.startswith("-"):
            continue
        how = {"help": argparse.SUPPRESS, **described}
        if setting := how.pop("setting", ""):
            how["dest"] = setting
        if "type" in how:
            how["type"] = _reader(how["type"])
        if how.get("action") == "version":
            how.update(action=_ShowVersion, nargs=0)
        title = how.pop("group", "")
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        groups.get(title, parser).add_argument(*names.split(), **how)


def _with_excluded(words: list[str]) -> list[str]:
    """Take a word such as `-china`, which a search excludes, for no option: all options of a search have two dashes."""
    if "--" in words or any(word.startswith("--") for word in words):
        return words
    at = next(
        (at for at, word in enumerate(words) if word[:1] == "-" and word not in ("-h", "-")), len(words)
    )
    return [*words[:at], "--", *words[at:]]


def read_arguments(prog: str, command: CommandLine, given: Sequence[str]) -> argparse.Namespace:
    """Read the arguments of a command, options and others in any order; what follows `--` is not an option.

    The result has an attribute for each argument, `prog`, `given`, and the `settings` that have options.

    Raises:
        SystemExit: they are wrong, or ask for help or the version.
    """
    # Not `parse_intermixed_args`, which takes what follows `--` for options.
    options = _Parser(prog=prog, add_help=False, allow_abbrev=False)
    add_arguments(options, command.arguments, only_options=True)
    whole = _Parser(prog=prog, description=command.about, allow_abbrev=False)
    add_arguments(whole, command.arguments)
    if {"-h", "--help"}.intersection(given):
        whole.formatter_class = argparse.RawDescriptionHelpFormatter
        whole.description = _filled([command.about])
        details = command.details
        if command is COMMANDS[None]:
            listed = (f"  {name:<14}{each.about}" for name, each in COMMANDS.items() if name)
            details = details or ["commands (`ua-tui help COMMAND` shows the options of a command):", *listed]
        whole.epilog = _filled(details)
    args, others = options.parse_known_args(given)
    args.prog, args.given = prog, given
    if "words" in command.arguments:
        others = _with_excluded(others)
    args = whole.parse_args(others, args)
    args.settings = {}
    for name in filter(None, (how.get("setting") for how in command.arguments.values())):
        value = getattr(args, name)
        args.settings[name] = tuple(value) if isinstance(value, list) else value
    return args


def options_beside(given: Sequence[str], arguments: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what was given beside these options."""
    parser = _Parser(prog="ua-tui", add_help=False, allow_abbrev=False)
    add_arguments(parser, arguments, only_options=True)
    return parser.parse_known_args(given)[1]


def command_first(given: Sequence[str]) -> list[str]:
    """Put the name of a command before the options that were given ahead of it; nothing else is moved.

    Raises:
        SystemExit: those options are wrong, or ask for the version.
    """
    if not given or given[0] in COMMANDS or not given[0].startswith("-"):
        return list(given)
    for at, word in enumerate(given):
        if word == "--":
            break
        if word in COMMANDS:
            # It may be the value of an option.
            others = options_beside(given[: at + 1], COMMANDS[None].arguments)
            if others[-1:] == [word] and all(other.startswith("-") for other in others[:-1]):
                return [word, *given[:at], *given[at + 1 :]]
    return list(given)


def _filled(lines: Sequence[str]) -> str:
    """Wrap paragraphs as argparse wraps the rest, and what follows a command in a column of its own; keep examples."""
    import shutil
    from textwrap import fill

    width = max(shutil.get_terminal_size().columns - 2, 40)
    filled = []
    for line in lines:
        command = re.match(r"  \S+(?: \S+)* {2,}", line)
        is_example = line.startswith(" ") and command is None
        indent = " " * command.end() if command else ""
        filled.append(
            line if is_example else fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
        )
    return "\n".join(filled)


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return what reads the value of an option that is a number from `lowest` to `highest`."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and lowest <= int(text[:9]) <= highest:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a number from {lowest} to {highest}, not {text!r}")

    return read


def amount(unit: str) -> Callable[[str], float]:
    """Return what reads the value of an option that is a number of seconds or dollars above 0."""

    def read(text: str) -> float:
        from ua_tui.core.settings.parsers import number

        try:
            return float(number(above=0)(text))
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number of {unit} above 0, not {text!r}") from None

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "path": Path,
    "folder": lambda text: Path(text) if text else None,
    "seconds": amount("seconds"),
    "dollars": amount("dollars"),
}


def _reader(name: str) -> Callable[[str], Any]:
    """Return what reads the value of an argument whose `type` has this name."""
    lowest, is_range, highest = name.partition(" to ")
    if is_range:
        return whole_number(int(lowest), int(highest))
    # Its module is imported when there is something to read.
    return _READERS.get(name) or (lambda text: _function(name)(text))  # noqa: PLW0108


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings with the options that were given.

    Raises:
        SettingsError: an option is invalid, or refused for root.
    """
    from ua_tui.core.settings.loading import load_settings
    from ua_tui.core.settings.model import refuse_skip_as_root
    from ua_tui.core.settings.places import Places

    if args.settings.get("dangerously_skip_permissions"):
        refuse_skip_as_root("--dangerously-skip-permissions")
    return load_settings(
        args.settings, Places(trust="trusted" if getattr(args, "trust_folder", False) else None)
    )


def named_settings(args: argparse.Namespace) -> list[str]:
    """The settings named for this run, which have precedence over those chosen in a resumed session."""
    # An empty option means the default, and counts as set by the user, too.
    return [name for name in ("model", "effort", "max_cost_usd") if args.settings[name] is not None]


def team_address(given: str | None, settings: Settings) -> Address:
    """The address of a team's database that was given, else the one of the setting `team`.

    Raises:
        SettingsError: neither is there, or it has a password, or it is no address.
    """
    from ua_tui.core.errors import SettingsError
    from ua_tui.core.postgres.address import Address

    # An empty address is a mistake, such as a variable that is not set: it does not mean another database.
    text = settings.team if given is None else given
    if text is None:
        raise SettingsError(
            "no team database is set: name one with --to, or run `ua-tui config set team ADDRESS`"
        )
    return Address.parse(text)


def optional_address(given: str | None, settings: Settings) -> Address | None:
    """The same; None if neither is there."""
    return team_address(given, settings) if given is not None or settings.team else None


def redactor_of(settings: Settings) -> Redactor:
    """Return what masks the secrets of the settings and of the environment."""
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.settings.model import secrets

    return Redactor(secrets(settings, os.environ))


def read_given_file(path: str, largest: int) -> bytes:
    """Read a file that a person named, also a compressed one; a folder or a pipe is refused without waiting.

    Raises:
        SettingsError: it cannot be read, or has more than `largest` bytes.
    """
    from ua_tui.core.errors import SettingsError, WorkspaceError
    from ua_tui.core.storage.compression import SUFFIXES, Unpacked
    from ua_tui.core.storage.regular_file import open_regular
    from ua_tui.core.text import clean_line

    shown = clean_line(path, 300)
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            suffix = next((each for each in SUFFIXES if path.lower().endswith(each)), "")
            data = (Unpacked(file, suffix, largest) if suffix else file).read(largest + 1)
    except WorkspaceError as error:
        raise SettingsError(f"{shown} cannot be read: {error}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > largest:
        raise SettingsError(f"{shown} is too large: at most {largest >> 20} MB are read")
    return data
