"""Conditions of permission rules: what an argument of a call must be."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ua_tui.core.agent.permissions.actions import TOOLS
from ua_tui.core.agent.permissions.addresses import places_in, starts_with_address
from ua_tui.core.agent.permissions.arguments import (
    CODE_ARGUMENTS,
    addresses_in,
    addresses_mentioned_in,
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
from ua_tui.core.agent.permissions.shell import (
    command_words,
    is_anywhere_in,
    may_pass,
    words_match,
    words_of_pattern,
)

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

    def matches_all(self, arguments: Mapping[str, Any], folder: Path) -> bool:
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

    def matches_any(self, arguments: Mapping[str, Any] | None, folder: Path) -> bool:
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
                addresses = [*addresses_in(arguments), *addresses_mentioned_in(arguments)]
                found = [path for address in addresses for path in paths_of(address, decoded=True)]
                return any(map(self._is_like, [*found, *self._texts(arguments)]))
            case _:
                return any(map(self._is_like, self._texts(arguments)))

    def _values(self, arguments: Mapping[str, Any]) -> list[Any]:
        addresses = [*addresses_in(arguments), *addresses_mentioned_in(arguments)]
        if self.kind == "host":
            return [] if runs_code(arguments) else addresses
        if self.kind == "search":
            return _searched(arguments)
        found = leaves_at(arguments, self.name)
        if found is None:
            return []
        if self.kind == "file" and self.name == "path":
            return found or ["."]
        if self.kind == "path" and not found:
            paths = [paths_of(address) for address in addresses]
            return [path[0] for path in paths] if all(paths) else []
        return found

    def _texts(self, arguments: Mapping[str, Any]) -> list[str]:
        values = leaves_named(arguments, self.name)
        if self.kind == "search":
            values += _searched(arguments)
        elif self.kind == "file" and self.name == "path":
            values = values or ["."]
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]

    def _is(self, text: str) -> bool:
        gap = ".*" if self.kind in {"host", "path"} else _NOT_IN_ONE
        case = str.lower if self.kind == "host" else str
        return any(
            _fits(_expression([(wild, case(part)) for wild, part in choice], gap), text)
            for choice in self.choices
        )

    def _is_like(self, text: str) -> bool:
        patterns = [
            _expression([(wild, fold(part)) for wild, part in choice], ".*") for choice in self.choices
        ]
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
                if any(_fits(f"(?i){pattern}", each) for each in found) or (
                    self.name == "path" and any(_is_below(head, each) for each in found)
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
            tail = _expression([(False, rest), *choice[1:]] if first else choice, "", files=True)
            yield written, _escaped(written.rstrip("/") + "/") + tail


def leaves_destination_open(
    conditions: Iterable[Condition], arguments: Mapping[str, Any], folder: Path
) -> bool:
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
    choices = tuple(_choices(pattern))
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
                'Write the conditions as argument=pattern, separated by commas; "…" holds a comma.'
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


def _choices(pattern: str) -> Iterator[tuple[_Token, ...]]:
    for each in re.findall(r"(?:[^\\|]|\\.|\\$)+|(?<=\|)(?=\||$)|^(?=\|)", pattern, re.DOTALL):
        yield _tokens_of(each.strip())


def _expression(tokens: Iterable[_Token], gap: str, *, files: bool = False) -> str:
    parts = []
    for wild, text in tokens:
        if not wild:
            parts.append(_escaped(text))
        elif files:
            parts.append("[^/]*" if text == "*" else ".*")
        else:
            parts.append(gap)
    return "".join(parts)


def _escaped(text: str) -> str:
    return re.escape(_without_surrogates(text))


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _fits(expression: str, text: str) -> bool:
    return _compiled(expression).fullmatch(_without_surrogates(text)) is not None


@lru_cache(maxsize=500)
def _compiled(expression: str) -> Any:
    # Linear in the length of the text, which the model chooses.
    import re2  # type: ignore[import-untyped]

    return re2.compile(f"(?s){expression}")


def _is_below(path: str, folder: str) -> bool:
    return (path.casefold().rstrip("/") + "/").startswith(folder.casefold().rstrip("/") + "/")


def _searched(arguments: Mapping[str, Any]) -> list[Any]:
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
