"""Parses the value of a setting: a text, as in an environment variable, or a TOML value.

Each parser returns the typed value, or raises `ValueError` with what is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import table_of
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.sources import hint
from ua_tui.core.text import clean_line

FORM = "prices such as my-model=0.5/1.5 (US dollars per million tokens: input/output/cache read/cache write)"
_TOKENS = 1e6


class ModelPrice(msgspec.Struct, frozen=True):
    """The price of one token of each kind, in US dollars."""

    input: float
    output: float
    cache_read: float
    cache_write: float


def read_price(text: str) -> tuple[str, ModelPrice]:
    """Read the name of a model and its price; cached tokens cost as much as other input if nothing is said of them.

    Raises:
        ValueError: with what is allowed.
    """
    name, _, amounts = text.rpartition("=")
    try:
        each = [float(amount) / _TOKENS for amount in amounts.split("/")]
    except ValueError:
        raise ValueError(FORM) from None
    usable = all(math.isfinite(amount) and amount >= 0 for amount in each)
    if not name.strip() or not usable or not 2 <= len(each) <= 4:
        raise ValueError(FORM)
    read = each[2] if len(each) > 2 else each[0]
    write = each[3] if len(each) > 3 else each[0]
    return name.strip(), ModelPrice(each[0], each[1], read, write)


def read_prices(texts: Iterable[str]) -> Mapping[str, ModelPrice]:
    """Read the prices of a checked setting, by the names of the models."""
    return dict(read_price(text) for text in texts)


def unpriced_error(model: str) -> SettingsError:
    """The error for a spending limit that cannot be kept, as the price of a model is unknown."""
    name = clean_line(model, 100)
    return SettingsError(
        f"a spending limit needs the price of {name}, which is unknown: set it with the setting prices, "
        "or remove the limit"
    )


OWN_THEMES = {"dark": "ua-dark", "light": "ua-light", "ansi": "ua-ansi"}
"""Our own themes, by the names of the setting, with their names in Textual."""

OF_TEXTUAL: tuple[str, ...] = tuple(table_of(__file__, "theme_names.json"))
"""The themes of Textual."""


Parse = Callable[[Any], Any]

_KNOWLEDGE = "on, off, the path of a file, such as ./knowledge.db, or postgresql://user@host/database"
_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
_MODES = ("plan", "default", "acceptEdits", "bypassPermissions")
_OUTER_COMMA = re.compile(r",(?![^()]*\))")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~\w-]+\s*:[\t\x20-\x7e\x80-\xff]*", re.ASCII)
_POSTGRES = re.compile(r"\s*postgres(?:ql)?:", re.IGNORECASE)
_PATH_MARK = re.compile(r"[/\\.]")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


def text(value: Any) -> str:
    """Read one line of text."""
    if not isinstance(value, str) or "\0" in value or "\n" in value:
        raise ValueError("one line of text")
    return value.strip()


def path(value: Any) -> Path:
    """Read a path; the caller resolves `~` and relative paths."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("a path")
    return Path(value)


def knowledge(value: Any) -> Path | Address | Literal["on", "off"]:
    """Read whether there is a knowledge base, or where it is."""
    if isinstance(value, Address):
        return value
    if isinstance(value, str) and _POSTGRES.match(value):
        return database(value)
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in _WORDS):
        return "on" if flag(value) else "off"
    # A word alone is "on" or "off" with a mistake.
    if isinstance(value, str) and not _PATH_MARK.search(value):
        raise ValueError(_KNOWLEDGE)
    try:
        return path(value)
    except ValueError:
        raise ValueError(_KNOWLEDGE) from None


def database(value: Any) -> Address:
    """Read the address of a PostgreSQL database, which has no password."""
    try:
        return value if isinstance(value, Address) else Address.parse(text(value))
    except SettingsError as error:
        # What is written after "must be" here is a sentence of its own.
        raise ValueError(
            f"an address without a password, such as postgresql://user@host/database ({error})"
        ) from None


def url(value: Any) -> str:
    """Read an http or https address."""
    allowed = "an address such as https://host or http://127.0.0.1:8080"
    try:
        address = text(value)
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(allowed) from None
    if not usable or " " in address:
        raise ValueError(allowed)
    return address.rstrip("/")


def team(value: Any) -> str:
    """Read the address of a team's database."""
    try:
        return database(value).url
    except ValueError:
        # No reason is given: a part of the address might be in it.
        raise ValueError(
            "an address such as postgresql://user@host/database, without a password, "
            "which belongs in ~/.pgpass or PGPASSWORD"
        ) from None


def flag(value: Any) -> bool:
    """Read a yes or no."""
    try:
        return _WORDS[str(value).strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def of_type(kind: Any) -> Parse:
    """The parser for the values of a type: for a word of several, yes or no, a path, one line or a list of texts."""
    if type(None) in get_args(kind):
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return choice(*get_args(kind))
    known: Mapping[Any, Parse] = {bool: flag, Path: path, str: text}
    return known.get(kind, patterns)


def number(*, above: float | None = None, least: float | None = None, whole: bool = False) -> Parse:
    """Read a finite number, greater than `above` or at least `least`."""
    kind = "a whole number" if whole else "a number"
    allowed = f"{kind} above {above:g}" if above is not None else f"{kind} of at least {least:g}"

    def parse(value: Any) -> Any:
        if whole and isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int if whole else (str, int, float)):
            raise ValueError(allowed)
        try:
            found = float(value)
        except (ValueError, OverflowError):
            raise ValueError(allowed) from None
        low = (above is not None and found <= above) or (least is not None and found < least)
        if low or not math.isfinite(found):
            raise ValueError(allowed)
        return value if whole else found

    return parse


def choice(*allowed: str, words: bool = False) -> Parse:
    """Read one of the allowed words, in upper or lower case; with `words`, true means the last, false the first."""

    def parse(value: Any) -> str:
        if words and str(value).strip().lower() in _WORDS:
            return allowed[-1] if flag(value) else allowed[0]
        wanted = value.strip().lower() if isinstance(value, str) else None
        for word in allowed:
            if word.lower() == wanted:
                return word
        raise ValueError("one of " + ", ".join(allowed))

    return parse


def patterns(value: Any) -> tuple[str, ...]:
    """Read a list of texts, or one text separated at commas; commas in parentheses do not count."""
    items = _OUTER_COMMA.split(value) if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise ValueError("a list of strings, or strings separated by commas")
    return tuple(item.strip() for item in items if item.strip())


def prices(value: Any) -> tuple[str, ...]:
    """Read the prices of models, one text for each: `MODEL=INPUT/OUTPUT`."""
    texts = patterns(value)
    for each in texts:
        read_price(each)
    return texts


def headers(value: Any) -> str:
    """Read headers of requests, one `Name: value` a line."""
    allowed = "headers such as X-Team: research, one per line"
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(allowed)
    lines = [line.strip() for line in value.splitlines() if line.strip()]
    if not all(_HEADER.fullmatch(line) for line in lines):
        raise ValueError(allowed)
    return "\n".join(lines)


def slugs(value: Any) -> tuple[str, ...]:
    """Read names such as gmail or google_calendar, each once and in lower case; the word none means no name."""
    return _names(value, "names such as gmail, separated by commas, or none")


def skills(value: Any) -> tuple[str, ...]:
    """Read names of skills, each once; the word all means every skill, none means no skill."""
    return _names(
        value, "names of skills separated by commas, all, or none", alone=frozenset({"all", "none"})
    )


def theme(value: Any) -> str:
    """Read the name of a theme, one of ours or of Textual's."""
    wanted = value.strip().lower() if isinstance(value, str) else ""
    if wanted in OWN_THEMES or wanted in OF_TEXTUAL or wanted in OWN_THEMES.values():
        return wanted
    others = hint(wanted, [*OWN_THEMES, *OF_TEXTUAL])
    raise ValueError(f"{', '.join(OWN_THEMES)} or one of Textual's, such as nord{others}")


def subset(*allowed: str) -> Parse:
    """Read any of the allowed words, each once."""
    one = choice(*allowed)

    def parse(value: Any) -> tuple[str, ...]:
        try:
            return tuple(dict.fromkeys(one(item) for item in patterns(value)))
        except ValueError:
            raise ValueError("any of " + ", ".join(allowed)) from None

    return parse


def smaller(one: Any, other: Any) -> Any:
    """Return the smaller of two limits; None is no limit."""
    return min((each for each in (one, other) if each is not None), default=None)


def more_careful(one: str, other: str) -> str:
    """Return that permission mode of two that lets less run without asking."""
    return min(one, other, key=_MODES.index)


def _names(value: Any, allowed: str, alone: frozenset[str] = frozenset()) -> tuple[str, ...]:
    try:
        names = tuple(dict.fromkeys(item.lower() for item in patterns(value)))
    except ValueError:
        raise ValueError(allowed) from None
    if names == ("none",):
        return ()
    if len(names) > 1 and not alone.isdisjoint(names):
        raise ValueError(f"{allowed}; all and none must stand alone")
    if not all(map(_SLUG.fullmatch, names)):
        raise ValueError(allowed)
    return names
