"""Finds values in the arguments of a tool call by name, the addresses among them, and where the call sends data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from ua_tui.core.agent.bounds import DEEPEST
from ua_tui.core.json_values import JsonMapping, JsonObject, table_of
from ua_tui.core.net.addresses import ascii_host
from ua_tui.core.text import words_of

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,40}:[/\\]{2}[^\s<>\"']*")
_AUTHORITY = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\]")
_CODED = re.compile(r"%(?:2e|2f|5c)", re.IGNORECASE)
WORDS = {name: frozenset(words.split()) for name, words in table_of(__file__, "words.toml").items()}
"""Lists of words; the file describes each."""
ADDRESS_WORDS = WORDS["address"]
DESTINATION_WORDS = ADDRESS_WORDS | WORDS["destination"]
Arguments = JsonMapping
"""The arguments of a tool call, by their names."""
ToolInput = JsonObject
"""The arguments of a tool call, as the agent's SDK takes them."""
CODE_ARGUMENTS = WORDS["code"]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that is neither an object nor a list, with the names that lead to it; None is no value."""
    if len(path) > DEEPEST:
        yield path, "..."
        return
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from leaves(inner, (*path, str(key)))
        case list() | tuple():
            for inner in value:
                # The element of a list has the name of the list.
                yield from leaves(inner, path if path else ("",))
        case None:
            return
        case _:
            yield path, value


def leaves_at(arguments: Arguments, name: str) -> list[Any] | None:
    """The values of the argument `name`, whose dots lead into objects; None if an object is among them."""
    wanted = tuple(name.split("."))
    found: list[Any] = []
    for path, value in leaves(arguments):
        if path == wanted:
            found.append(value)
        elif path[: len(wanted)] == wanted:
            return None
    return found


def leaves_named(arguments: Arguments, name: str) -> list[Any]:
    """Every value whose name ends with `name`, at any depth and in any case, and everything inside of it."""
    wanted = [fold(each) for each in name.split(".")]
    found: list[Any] = []
    for path, value in leaves(arguments):
        folded = [fold(each) for each in path]
        if any(folded[at : at + len(wanted)] == wanted for at in range(len(folded))):
            found.append(value)
    return found


def fold(text: str) -> str:
    """Text without differences of case, of Unicode forms and of invisible characters."""
    if text.isascii():
        return text.lower()
    visible = (c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in {"Cf", "Mn"})
    return unicodedata.normalize("NFKC", "".join(visible).casefold())


def is_plain(text: str) -> bool:
    """Whether a text has only characters that a person can see, and blanks."""
    return text.isprintable() or not any(
        unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for c in text
    )


def is_plain_option(path: tuple[str, ...], value: Any) -> bool:
    """Whether an argument is a switch, a small number or one of a few words, with which nothing can be told."""
    if len(path) > 1:
        # The server may accept any name there.
        return False
    if isinstance(value, str):
        return not value or value in WORDS["options"]
    return value is None or (isinstance(value, int | float) and abs(value) < 1_000_000)


def names_destination(name: str) -> bool:
    """Whether an argument says where something goes: to whom, or to which address."""
    return not DESTINATION_WORDS.isdisjoint(words_of(name.rsplit(".", maxsplit=1)[-1]))


def runs_code(arguments: Arguments) -> bool:
    """Whether an argument is a command or code, which can go anywhere, whatever addresses it names."""
    return any(fold(name) in CODE_ARGUMENTS for path, _ in leaves(arguments) for name in path)


def addresses_in(arguments: Arguments) -> list[str]:
    """The addresses that a call would use: the values of arguments such as `url`, `links` and `host`."""
    return [
        value for path, value in leaves(arguments) if _is_address(path) and isinstance(value, str) and value
    ]


def addresses_mentioned_in(arguments: Arguments) -> list[str]:
    """The addresses inside of all other texts of a call, as in the body of a message."""
    return [
        address
        for path, value in leaves(arguments)
        if isinstance(value, str) and not _is_address(path)
        for address in _ADDRESS.findall(value)
    ]


def every_address_in(arguments: Arguments) -> list[str]:
    """The addresses that a call would use or mentions."""
    return [*addresses_in(arguments), *addresses_mentioned_in(arguments)]


def hosts_mentioned_in(arguments: Arguments) -> list[str]:
    """The hosts of mentioned addresses of any kind, as far as they can be read."""
    found = []
    for address in addresses_mentioned_in(arguments):
        authority = re.split(r"[/?#\\]", address.split(":", 1)[1].lstrip("/\\"), maxsplit=1)[0]
        found.append(host_of(address) or re.sub(r":\d*$", "", authority.rsplit("@", 1)[-1]).lower())
    return found


def _is_address(path: tuple[str, ...]) -> bool:
    return not ADDRESS_WORDS.isdisjoint(words_of(path[-1]))


def host_of(address: str) -> str | None:
    """The host of a web address with or without its scheme, in lower case; None if it could be read differently."""
    split = _split(address)
    if split is None:
        return None
    try:
        host = (split.hostname or "").rstrip(".")
        _ = split.port
    except ValueError:
        return None
    encoded = ascii_host(host)
    if encoded is None:
        return None
    return encoded if _AUTHORITY.fullmatch(f"[{encoded}]" if ":" in encoded else encoded) else None


def _split(address: str) -> SplitResult | None:
    if not is_plain(address) or "\\" in address or any(map(str.isspace, address)):
        return None
    try:
        split = urlsplit(address if "://" in address else f"https://{address}")
    except ValueError:
        return None
    if split.scheme.lower() not in {"http", "https"} or "@" in split.netloc or "%" in split.netloc:
        return None
    return split


def paths_of(address: str, *, decoded: bool = False) -> list[str]:
    """What follows the host in an address, with `decoded` also without codes such as `%2e`; empty if unclear."""
    split = _split(address)
    if split is None:
        return []
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    if decoded:
        return [path, unquote(path)]
    return [] if _CODED.search(path) or ".." in split.path.split("/") else [path]
