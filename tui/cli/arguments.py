"""Parsing of the command line, and the options that several commands share.

Nothing slow is imported before the options are parsed, so that `--help` and usage errors are immediate.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.settings.model import Settings


Adder = Callable[[argparse.ArgumentParser], object]
"""Adds arguments to a parser, or text to its help."""


class CommandLine(NamedTuple):
    """One command: what it does in a sentence, what carries it out, and what adds its arguments."""

    description: str
    run: Callable[[argparse.Namespace], int]
    adders: tuple[Adder, ...]


class WrongUsage(Exception):
    """Arguments that do not go together; the message says which."""


def wrong_usage(prog: str, message: str) -> str:
    """Say in a line what is wrong with the command line of `prog`, and where to read on."""
    return f"{prog}: {message}; see {prog} --help\n"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, wrong_usage(self.prog, message))


class OptionsAlone(_Parser):
    """Knows only the options, and leaves everything else as it is."""

    def add_argument(self, *names: Any, **how: Any) -> argparse.Action:
        """Add an option; anything else is not added."""
        if names[0].startswith("-"):
            return super().add_argument(*names, **how)
        return argparse.Action((), names[0])


def read_arguments(prog: str, command: CommandLine, given: Sequence[str]) -> argparse.Namespace:
    """Read the arguments of a command, options and others in any order; what follows `--` is not an option.

    The result has an attribute for each argument, `prog`, and `given`.

    Raises:
        SystemExit: they are wrong, or ask for help or the version.
    """
    # Not `parse_intermixed_args`, which takes what follows `--` for options.
    options = OptionsAlone(prog=prog, add_help=False, allow_abbrev=False)
    whole = _Parser(prog=prog, description=command.description, allow_abbrev=False)
    for add in command.adders:
        add(options)
        add(whole)
    args, others = options.parse_known_args(given)
    args.prog, args.given = prog, given
    return whole.parse_args(others, args)


def command_first(given: Sequence[str], commands: Mapping[str | None, CommandLine]) -> list[str]:
    """Put the name of a command before the options that were given ahead of it; nothing else is moved.

    Raises:
        SystemExit: those options are wrong, or ask for the version.
    """
    if not given or given[0] in commands or not given[0].startswith("-"):
        return list(given)
    for at, word in enumerate(given):
        if word == "--":
            break
        if word in commands:
            # It may be the value of an option.
            options = OptionsAlone(prog="ua-tui", add_help=False, allow_abbrev=False)
            for add in commands[None].adders:
                add(options)
            _, others = options.parse_known_args(given[: at + 1])
            if others[-1:] == [word] and all(other.startswith("-") for other in others[:-1]):
                return [word, *given[:at], *given[at + 1 :]]
    return list(given)


class _ShowVersion(argparse.Action):
    """Shows the version, which takes longer to find out than all options take to parse."""

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from ua_tui.core.version import VERSION

        sys.stdout.write(f"ua-tui {VERSION}\n")
        sys.stdout.flush()
        parser.exit()


def add_version(parser: argparse.ArgumentParser) -> None:
    """Add the option that shows the version."""
    parser.add_argument(
        "-V", "--version", action=_ShowVersion, nargs=0, help="show program's version number and exit"
    )


def first_query(help_text: str) -> Adder:
    """Return what adds an optional query with this help text."""
    return lambda parser: parser.add_argument("query", nargs="?", help=help_text)


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the past session."""
    parser.add_argument("session", metavar="SESSION", help="its folder, its name, or latest for the newest")


def add_sessions_folder(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the past sessions."""
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder that holds AGENT_RUN_WORKSPACES (default: here)"
    )


def add_address(parser: argparse.ArgumentParser, option: str, about: str) -> None:
    """Add the option that names the database of a team, `--to` or `--from`; its value is `args.address`."""
    parser.add_argument(
        option,
        dest="address",
        metavar="ADDRESS",
        help=f"{about}, such as postgresql://user@host/database; the password is in ~/.pgpass or PGPASSWORD"
        " (default: the setting team)",
    )


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return what reads the value of an option that is a number from `lowest` to `highest`."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and lowest <= int(text[:9]) <= highest:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest} to {highest}")

    return read


def amount(unit: str) -> Callable[[str], float]:
    """Return what reads the value of an option that is a number of seconds or dollars above 0."""

    def read(text: str) -> float:
        from ua_tui.core.settings.parsers import number

        try:
            return float(number(above=0)(text))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of {unit} above 0") from None

    return read


class SettingOption(NamedTuple):
    """An option that sets a setting: its names, the setting, the name of its value, and its help.

    Without a value it sets `value`; `read` makes the value of a text.
    """

    names: str
    setting: str
    metavar: str
    help: str
    read: Callable[[str], Any] = str
    repeatable: bool = False
    value: bool = True

    @property
    def dest(self) -> str:
        """The attribute that `argparse` sets."""
        return self.names.split()[0].removeprefix("--").replace("-", "_") if self.value else self.setting

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        names = self.names.split()
        how: dict[str, Any] = {"dest": self.dest, "help": self.help}
        if not self.metavar:
            parser.add_argument(*names, **how, action="store_const", const=self.value)
        else:
            action = "append" if self.repeatable else "store"
            parser.add_argument(*names, **how, action=action, type=self.read, metavar=self.metavar)

    def given(self, args: argparse.Namespace) -> Any:
        """Return what was given; None if nothing was."""
        value = getattr(args, self.dest, None)
        return tuple(value) if isinstance(value, list) else value


def _folder(text: str) -> Path | None:
    return Path(text) if text else None


_THEME = SettingOption(
    "--theme",
    "theme",
    "NAME",
    "the colour theme for this run: dark, light, ansi (the terminal's 16 colours) or a Textual theme",
)
_NO_PLUGINS = SettingOption(
    "--no-plugins", "plugins", "", "ignore the observers of other installed packages", value=False
)
_HERE = "the folder for AGENT_RUN_WORKSPACES and SAVED_REPORTS (default: here)"
_ALLOW = "run calls that match a rule without asking (repeatable)"
_TOOLS = "offer Bash, Write, Edit or WebFetch (repeatable)"
_EFFORT = "how much the model thinks: low, medium, high, xhigh or max"
_SKIP = "run every tool without asking"
SESSION_OPTIONS = (
    SettingOption("--demo", "demo", "", "a scripted session: no network, no key"),
    SettingOption("--demo-pace", "demo_pace", "N", "how slowly the demo streams (0: at once)", float),
    SettingOption("--workspace", "workspace_base", "DIR", _HERE, _folder),
    SettingOption("--model", "model", "MODEL", "the model that answers"),
    SettingOption("--effort", "effort", "LEVEL", _EFFORT),
    SettingOption("--base-url", "base_url", "URL", "a server that speaks the Anthropic Messages API"),
    SettingOption("--allow", "allow", "PATTERN", _ALLOW, repeatable=True),
    SettingOption("--tool --extra-tools", "extra_tools", "NAME", _TOOLS, repeatable=True),
    SettingOption("--permission-mode", "permission_mode", "MODE", "default, acceptEdits or plan"),
    SettingOption("--max-turns", "max_turns", "N", "the limit of model turns per query"),
    SettingOption("--max-cost --max-cost-usd", "max_cost_usd", "USD", "the spending limit of a session"),
    _NO_PLUGINS,
    SettingOption("--dangerously-skip-permissions", "dangerously_skip_permissions", "", _SKIP),
)
"""The settings that every session has an option for."""
SETTING_OPTIONS = (*SESSION_OPTIONS, _THEME)

add_theme: Adder = _THEME.add_to
add_no_plugins: Adder = _NO_PLUGINS.add_to


def add_session_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every session; `settings_of` reads them."""
    for option in SESSION_OPTIONS:
        option.add_to(parser)
    parser.add_argument(
        "--trust-folder",
        action="store_true",
        help="use the files of this folder, such as .env and ua-tui.toml, for this run",
    )


def add_plain(parser: argparse.ArgumentParser) -> None:
    """Add the option for no full screen."""
    parser.add_argument(
        "--plain",
        action="store_true",
        help="line by line without a full screen, for screen readers and logs",
    )


def add_fresh(parser: argparse.ArgumentParser) -> None:
    """Add the option to resume without the earlier conversation."""
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="resume with a new conversation, for example when the earlier one is gone",
    )


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings of a session with the given options.

    Raises:
        SettingsError: an option is invalid, or refused for root.
    """
    from ua_tui.core.settings.loading import load_settings
    from ua_tui.core.settings.model import refuse_skip_as_root

    if args.dangerously_skip_permissions:
        refuse_skip_as_root("--dangerously-skip-permissions")
    return load_settings(
        {option.setting: option.given(args) for option in SETTING_OPTIONS},
        trust="trusted" if args.trust_folder else None,
    )


def named_settings(args: argparse.Namespace) -> list[str]:
    """The settings named for this run, which have precedence over those chosen in a resumed session."""
    options = {"model": args.model, "effort": args.effort, "max_cost_usd": args.max_cost}
    # An empty option means the default, and counts as set by the user, too.
    return [name for name, given in options.items() if given is not None]


def workspace_settings(args: argparse.Namespace) -> Settings:
    """Return the settings of a command that only has `--workspace` and perhaps `--theme`.

    Raises:
        SettingsError: a setting is wrong.
    """
    from ua_tui.core.settings.loading import load_settings

    base = Path(args.workspace) if args.workspace else None
    return load_settings({"workspace_base": base, "theme": getattr(args, "theme", None)})


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
            "no database of a team is named: give its address, or set `team` (`ua-tui config set team ADDRESS`)"
        )
    return Address.parse(text)


def optional_address(given: str | None, settings: Settings) -> Address | None:
    """The same; None if neither is there."""
    return team_address(given, settings) if given is not None or settings.team else None


def redactor_of(settings: Settings) -> Redactor:
    """Return what masks the secrets of the settings and of the environment."""
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.settings.secrets import secrets

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
        raise SettingsError(f"cannot read {shown}: {error}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read {shown}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > largest:
        raise SettingsError(f"{shown} is too large: at most {largest >> 20} MB are read")
    return data
