"""Conditions of permission rules: what an argument of a call, such as a shell command, must be."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ua_tui.core.agent.permissions.actions import TOOLS
from ua_tui.core.agent.permissions.addresses import places_in, starts_with_address
from ua_tui.core.agent.permissions.arguments import (
    CODE_ARGUMENTS,
    Arguments,
    addresses_in,
    every_address_in,
    fold,
    host_of,
    hosts_mentioned_in,
    is_plain,
    leaves,
    leaves_at,
    leaves_named,
    names_destination,
    paths_of,
    runs_code,
)
from ua_tui.core.json_values import JsonMapping, table_of
from ua_tui.core.storage.regular_file import read_regular
from ua_tui.core.text import without_surrogates

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_PATTERN = str.maketrans("*?[{~", "_____")
_CAN_BECOME_OPTION = re.compile(r"[-*?\[]|[^{]*\{.*(?:,|\.\.)")
_JOINED = re.compile(r"-(?P<letters>[A-Za-z]*)[\d.,]*[bcwkMG]?")
# With formats such as `%G?` git starts the program that checks signatures.
_CHECKS_SIGNATURE = re.compile(r"%.?G|signature")
# What a shell may expand to a home folder or to `..`.
_LEADS_AWAY = re.compile(r"^~|(?:^|/)\.[*?\[]")
_LINE = re.compile(
    r"[ \t\r]*(?:\[(?P<section>[\w-]+)(?: \"[^\"\\]*\")?\][ \t\r]*|(?P<name>[\w-]+)[ \t\r]*(?:=.*)?|[#;].*)?",
    re.ASCII,
)
# Git reads a configuration elsewhere, or starts a program after it has looked at files.
_OF_REPOSITORY = ("commondir", "hooks/post-index-change")
# How a repository within the repository is written in its index. Git starts itself in it, and obeys its settings.
_SUBMODULE = b"\0\0\xe0\0"


def may_pass(command: str, folder: Path, *, is_open: bool) -> bool:
    """Whether a rule that names a plain command may allow it in `folder`; `is_open` if the rule has a `*`."""
    # What is quoted is no pattern for the shell.
    words = shlex.split(_QUOTED.sub(lambda found: found[0].translate(_PATTERN), command))
    program = PurePosixPath(words[0]).name.lower()
    if program in _data()["programs"]:
        return all(_is_harmless(word, _data()["programs"][program]) for word in words[1:])
    if program != "git":
        starts = program in _data()["starters"] or not set("*?[{=").isdisjoint(words[0])
        return not (is_open and starts)
    for known in _data()["git"]:
        for name in known["commands"]:
            end = 1 + len(name.split())
            if words[1:end] == name.split():
                return all(_is_harmless(word, known) for word in words[end:]) and _reads_only(
                    words[end:], folder
                )
    return False


def can_become_option(word: str) -> bool:
    """Whether a word is an option, or a pattern that a shell may replace by one: by the name of a file."""
    return _CAN_BECOME_OPTION.match(word) is not None


def _is_harmless(word: str, options: JsonMapping) -> bool:
    if not word.startswith("-"):
        return bool(options.get("names", True)) and not can_become_option(word)
    joined = _JOINED.fullmatch(word)
    return set("*?[{").isdisjoint(word) and (
        word.partition("=")[0] in options["options"]
        or (joined is not None and set(joined["letters"]) <= set(options["letters"]))
    )


def _reads_only(words: Sequence[str], folder: Path) -> bool:
    """Whether git starts no program with these words, and they name no file outside of the repository."""
    folder = folder.resolve()
    above = (folder, *folder.parents)
    try:
        # Git takes the nearest folder that has a usable repository.
        found = [each for each in above if (each / ".git").exists()]
        return (
            found != []
            and not any((each / "objects").exists() and (each / "refs").exists() for each in above)
            and not any(_CHECKS_SIGNATURE.search(word) or _LEADS_AWAY.search(word) for word in words)
            and all((folder / word).resolve().is_relative_to(found[0]) for word in words if word[:1] != "-")
            and all(_starts_nothing(each / ".git") for each in found)
        )
    except (OSError, ValueError):
        return False


def _starts_nothing(repository: Path) -> bool:
    """Whether git starts no program by the files of a repository: all its settings are known to be harmless."""
    if any((repository / name).exists() for name in _OF_REPOSITORY):
        return False
    section = ""
    for line in read_regular(repository / "config", follow=True).decode("latin-1").split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            return False
        section = found["section"] or section
        name = f"{section}.{found['name']}".lower()
        if found["name"] and not any(fnmatchcase(name, each) for each in _data()["repository"]["harmless"]):
            return False
    indexes = [*repository.glob("index"), *repository.glob("sharedindex.*")]
    return not any(_SUBMODULE in read_regular(index, follow=True) for index in indexes)


@cache
def _data() -> Any:
    return table_of(__file__, "shell.toml")


# Plain words; in quotation marks, too, what the shell takes as it is. Shells differ about blanks other than the space.
_PLAIN = re.compile(r"""(?:[^\s;&|<>()$`\\'"]| |'[^']*'|"[^"$`\\]*")+""")
_BREAKS = re.compile(r"[\s;&|<>(){}$`=]+")
# What a shell may expand to `..`, or to several words.
_CLIMBS = re.compile(r"\.\.|\{|(?:^|/)\.[*?\[]")


# One command is compared with every rule.
@lru_cache(8)
def command_words(command: str) -> tuple[str, ...] | None:
    """The words of a command; None if it is more than one plain command, or runs or redirects something within it."""
    if not is_plain(command) or _PLAIN.fullmatch(command) is None:
        return None
    return tuple(shlex.split(command)) or None


@lru_cache(4_096)
def words_of_pattern(pattern: str) -> tuple[str, ...]:
    """The words of a pattern; `git diff:*` is written as `git diff *`.

    Raises:
        ValueError: it is not a single command.
    """
    text = f"{pattern[:-2]} *" if pattern.endswith(":*") else pattern
    words = command_words(text)
    if words is None:
        raise ValueError("a rule can match only one plain command, without ; & | < > ( ) $ ` and \\")
    return words


def words_match(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a command match those of a pattern.

    `*` at the end stands for any further words. `*` within a word stands for no way up, and at its beginning for no
    option.
    """
    if pattern[-1] == "*":
        pattern, words = pattern[:-1], words[: len(pattern) - 1]
    return len(words) == len(pattern) and all(
        _word_matches(wanted, word)
        and not ("*" in wanted and _CLIMBS.search(word))
        and not (wanted.startswith("*") and can_become_option(word))
        for wanted, word in zip(pattern, words, strict=True)
    )


def is_anywhere_in(pattern: Sequence[str], command: str) -> bool:
    """Whether the words of a pattern stand in a command, in any of its parts, however they are quoted."""
    wanted = [fold(word) for word in (pattern[:-1] if pattern[-1] == "*" else pattern)]
    unquoted = re.sub(r"\\\n|[\\'\"]", "", fold(command))
    words = [word for word in _BREAKS.split(unquoted) if word]
    return any(
        all(
            _word_matches(pattern, word) or _word_matches(pattern, word.rsplit("/", 1)[-1])
            for pattern, word in zip(wanted, words[at : at + len(wanted)], strict=True)
        )
        for at in range(len(words) - len(wanted) + 1)
    )


def _word_matches(pattern: str, word: str) -> bool:
    return fnmatchcase(word, pattern.replace("[", "[[]").replace("?", "[?]"))


Kind = Literal["text", "host", "path", "file", "search", "command"]

_FILE_TOOLS: Mapping[str, Kind] = TOOLS["kinds"]
_COMMANDS = frozenset({"command", "cmd"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_GIVEN = re.compile(
    r'\s*(?P<name>[^=,"]*?)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^,"]*))\s*(?:,|$)'
)
_PIECES = re.compile(r"[\s,;<>()\[\]{}\"'|]+")
_NOT_IN_ONE = r"[^\s,;<>()\[\]{}\"'|@]*"
_WILD_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.*-]*://[^/?#]*\*")
_Token = tuple[bool, str]


@dataclass(frozen=True)
class Condition:
    """What the argument `name` must be: one of several patterns, in which `*` stands for anything.

    Attributes:
        kind: how values are compared: as text, as the host or path of addresses, as a file, as where a search for
            files looks, or as a shell command.
        pattern: as it was written.
    """

    name: str
    pattern: str
    kind: Kind
    choices: tuple[tuple[_Token, ...], ...] = field(repr=False, compare=False)

    @property
    def is_destination(self) -> bool:
        """Whether the condition says where something goes, and is not content with everything."""
        exact = all(not wild for choice in self.choices for wild, _ in choice)
        named = (
            self.kind not in {"text", "path"} or names_destination(self.name) or self.name in CODE_ARGUMENTS
        ) or (exact and all(places_in(text) for choice in self.choices for _, text in choice))
        return named and (exact or bool(self.literal))

    @property
    def literal(self) -> str:
        """The characters that the pattern prescribes; what a wide pattern has few of."""
        return min(
            ("".join(text for wild, text in choice if not wild) for choice in self.choices),
            key=lambda text: sum(map(str.isalnum, text)),
        ).strip("/~.@: ")

    def matches_all(self, arguments: Arguments, folder: Path) -> bool:
        """Whether there are values, all of them are understood, and each matches."""
        values = self._values(arguments)
        return bool(values) and all(self.allows(value, folder) for value in values)

    def allows(self, value: Any, folder: Path) -> bool:
        """Whether one value matches without doubt."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return isinstance(value, bool) and self._is(str(value).lower())
        text = str(value)
        if not is_plain(text):
            return self.kind == "text" and self.pattern == "*"
        match self.kind:
            case "host":
                host = host_of(text)
                return host is not None and self._is(host)
            case "file" | "search":
                return self._is_file(text, folder)
            case "command":
                words = command_words(text)
                return (
                    words is not None
                    and words_match(words_of_pattern(self.pattern), words)
                    and may_pass(text, folder, is_open="*" in self.pattern)
                )
            case _:
                return self.pattern == "*" or self._is(text)

    def matches_any(self, arguments: Arguments | None, folder: Path) -> bool:
        """Whether any value matches, or cannot be understood."""
        if arguments is None:
            return True
        match self.kind:
            case "host":
                return any(self._is_like_host(address) for address in addresses_in(arguments)) or any(
                    map(self._is_like, hosts_mentioned_in(arguments))
                )
            case "file" | "search":
                return any(self._is_like_file(text, folder) for text in self._texts(arguments))
            case "command":
                words = words_of_pattern(self.pattern)
                return any(is_anywhere_in(words, text) for text in self._texts(arguments))
            case "path":
                addresses = every_address_in(arguments)
                found = [path for address in addresses for path in paths_of(address, decoded=True)]
                return any(map(self._is_like, [*found, *self._texts(arguments)]))
            case _:
                return any(map(self._is_like, self._texts(arguments)))

    def _values(self, arguments: Arguments) -> list[Any]:
        if self.kind == "host":
            return [] if runs_code(arguments) else every_address_in(arguments)
        if self.kind == "search":
            return _searched(arguments)
        found = leaves_at(arguments, self.name)
        if found is None:
            return []
        if self.kind == "file" and self.name == "path":
            return found or ["."]
        if self.kind == "path" and not found:
            paths = list(map(paths_of, every_address_in(arguments)))
            return [path[0] for path in paths] if all(paths) else []
        return found

    def _texts(self, arguments: Arguments) -> list[str]:
        values = leaves_named(arguments, self.name)
        if self.kind == "search":
            values += _searched(arguments)
        elif self.kind == "file" and self.name == "path":
            values = values or ["."]
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]

    def _is(self, text: str) -> bool:
        gap = ".*" if self.kind in {"host", "path"} else _NOT_IN_ONE
        case = str.lower if self.kind == "host" else str
        return any(_fits(_expression(choice, gap, gap, case), text) for choice in self.choices)

    def _is_like(self, text: str) -> bool:
        patterns = [_expression(choice, ".*", ".*", fold) for choice in self.choices]
        folded = fold(text)
        texts = {folded, *_PIECES.split(folded)} - {""}
        return any(_fits(pattern, each) for pattern in patterns for each in texts)

    def _is_like_host(self, address: str) -> bool:
        host = host_of(address)
        if host is not None:
            return self._is_like(host)
        hosts = [host_of(each) for each in address.replace(",", " ").replace(";", " ").split()]
        return not hosts or any(each is None or self._is_like(each) for each in hosts)

    def _is_file(self, text: str, folder: Path) -> bool:
        if text != text.strip() or "\0" in text:
            return False
        try:
            path = str((folder / Path(text).expanduser()).resolve())
        except (OSError, ValueError, RuntimeError):
            return False
        return any(_fits(pattern, path) for _, pattern in self._file_patterns(folder, resolved=True))

    def _is_like_file(self, text: str, folder: Path) -> bool:
        try:
            path = folder / Path(text.strip()).expanduser()
            found = {os.path.normpath(path), str(path.resolve())}
        except (OSError, ValueError, RuntimeError):
            return True
        for resolved in (False, True):
            for head, pattern in self._file_patterns(folder, resolved=resolved):
                # A search in a folder reads what is below it.
                below = head.casefold().rstrip("/") + "/"
                if any(_fits(f"(?i){pattern}", each) for each in found) or (
                    self.name == "path"
                    and any(below.startswith(each.casefold().rstrip("/") + "/") for each in found)
                ):
                    return True
        return False

    def _file_patterns(self, folder: Path, *, resolved: bool) -> Iterator[tuple[str, str]]:
        """The literal folder at the head of each pattern, and the expression for the whole."""
        for choice in self.choices:
            first = choice[0][1] if choice and not choice[0][0] else ""
            only = len(choice) == 1
            head, rest = (first, "") if only else (posixpath.dirname(first), posixpath.basename(first))
            if not head and first.startswith("/"):
                head = "/"
            path = folder / Path(head).expanduser()
            written = str(path.resolve()) if resolved else os.path.normpath(path)
            if only:
                yield written, _escaped(written)
                continue
            tail = _expression([(False, rest), *choice[1:]] if first else choice, "[^/]*", ".*")
            yield written, _escaped(written.rstrip("/") + "/") + tail


def leaves_destination_open(conditions: Iterable[Condition], arguments: Arguments, folder: Path) -> bool:
    """Whether a call also goes where no condition says, as with a second recipient in `cc`.

    Only if a condition names a destination at all: a rule without one is about every destination.
    """
    named = [each for each in conditions if each.is_destination and each.kind in {"text", "host", "path"}]
    if not named:
        return False
    covered = {each.name for each in conditions}
    for path, value in leaves(arguments):
        if isinstance(value, bool) or value == "":
            continue
        named_so = any(names_destination(name) or name in CODE_ARGUMENTS for name in path)
        if not named_so and not (isinstance(value, str) and starts_with_address(value)):
            continue
        if ".".join(path) not in covered and not any(each.allows(value, folder) for each in named):
            return True
    return False


def condition(tool: str, name: str, pattern: str) -> Condition:
    """A condition of a rule about `tool`.

    Raises:
        ValueError: it cannot be used; the message is a sentence for the person who wrote it.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"Name the argument: {tool}(argument=pattern).")
    if not pattern:
        raise ValueError(f"Write a pattern for {name}; * stands for anything.")
    if _WILD_HOST.match(pattern):
        raise ValueError(
            "Write host=*.example.org for the pages of a site: * cannot stand for a part of a host here."
        )
    kind: Kind = "text"
    if name in _COMMANDS:
        words_of_pattern(pattern)
        return Condition(name, pattern, "command", (_tokens_of(pattern),))
    if name == "file_path" or (name == "path" and tool in _FILE_TOOLS):
        kind = _FILE_TOOLS.get(tool, "file")
        return Condition(name, pattern, kind, (_tokens_of(pattern),))
    if name in {"host", "path"}:
        kind = "host" if name == "host" else "path"
    found = re.findall(r"(?:[^\\|]|\\.|\\$)+|(?<=\|)(?=\||$)|^(?=\|)", pattern, re.DOTALL)
    choices = tuple(_tokens_of(each.strip()) for each in found)
    if not all(choices):
        raise ValueError(f"An alternative of {name} is empty.")
    return Condition(name, pattern, kind, choices)


def conditions_in(text: str) -> list[tuple[str, str]]:
    """The conditions between the parentheses of a rule: `name=pattern`, separated by commas.

    Raises:
        ValueError: they are not written like this.
    """
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text) or not found:
        match = _GIVEN.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(
                'Write the conditions as argument=pattern, separated by commas; put a value with a comma in "…".'
            )
        quoted = match["quoted"]
        found.append((match["name"], match["bare"].strip() if quoted is None else quoted.replace('\\"', '"')))
        at = match.end()
    return found


def escape(value: str, *, quoted: bool = True) -> str:
    """A pattern that matches only this value; `quoted` for a condition if its characters need that."""
    pattern = value.translate({ord(each): f"\\{each}" for each in "\\*|"})
    if quoted and ("," in pattern or '"' in pattern or pattern != pattern.strip()):
        return '"' + pattern.replace('"', '\\"') + '"'
    return pattern


def _tokens_of(pattern: str) -> tuple[_Token, ...]:
    """The parts of a pattern: literal texts, and the wild cards `*` and `**`."""
    tokens: list[_Token] = []
    for found in re.finditer(r"\\(?P<escaped>[\\*|])|(?P<wild>\*+)|(?P<plain>.)", pattern, re.DOTALL):
        if found["wild"]:
            tokens.append((True, found["wild"]))
            continue
        text = found["escaped"] or found["plain"]
        if tokens and not tokens[-1][0]:
            tokens[-1] = (False, tokens[-1][1] + text)
        else:
            tokens.append((False, text))
    return tuple(tokens)


def _expression(tokens: Iterable[_Token], one: str, more: str, change: Callable[[str], str] = str) -> str:
    """The expression for a pattern: `one` for each `*` in it, `more` for each `**`, and its texts after a `change`."""
    gaps = {"*": one}
    return "".join(gaps.get(text, more) if wild else _escaped(change(text)) for wild, text in tokens)


def _escaped(text: str) -> str:
    return re.escape(without_surrogates(text))


def _fits(expression: str, text: str) -> bool:
    return _compiled(expression).fullmatch(without_surrogates(text)) is not None


@lru_cache(maxsize=500)
def _compiled(expression: str) -> Any:
    # Linear in the length of the text, which the model chooses.
    import re2  # type: ignore[import-untyped]

    return re2.compile(f"(?s){expression}")


def _searched(arguments: Arguments) -> list[Any]:
    """Where a search for files looks: in `path` and, if its pattern is absolute, in the folder at its head."""
    given, pattern = arguments.get("path"), arguments.get("pattern")
    found = [given] if given not in (None, "") else []
    if isinstance(pattern, str) and pattern.startswith(("/", "~")):
        head, *wild = re.split(r"[*?\[{]", pattern, maxsplit=1)
        found.append((posixpath.dirname(head) if wild else pattern) or "/")
    if isinstance(pattern, str) and ".." in pattern:
        # No folder that a rule can name.
        found.append("/")
    return found or ["."]
