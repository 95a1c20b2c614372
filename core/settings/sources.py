"""Values of settings as they are written, each with its exact place, and the files that have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import value_in

Place = Literal["option", "environment", ".env", "file"]


_IN_WORDS: Mapping[Place, tuple[str, str]] = {
    "option": ("{0.name}", "command line"),
    "environment": ("The environment variable {0.name}", "environment, {0.name}"),
    ".env": ("The variable {0.name} in {0.file}", "{0.path}, {0.name}"),
    "file": ("{0.name} in {0.file}", "{0.path}"),
}
"""Each kind of place as the beginning of a sentence, and as in a list."""


class SourcedValue(msgspec.Struct, frozen=True):
    """An unchecked value: the kind of place where it was found, and its name there.

    `in_folder` is whether it comes from a file of the current folder. `path` and `text` are those of the file.
    """

    value: Any
    place: Place
    name: str
    path: Path | None = None
    text: str = ""
    in_folder: bool = False

    @property
    def line(self) -> int | None:
        """Its line in the file, from 1; None outside of files, and if the line is unknown."""
        if self.place == "file":
            return _toml_line(self.text, self.name)
        if self.place == ".env":
            lines = [line for name, _, line, _ in bindings(self.text) if name == self.name]
            return lines[-1] if lines else None
        return None

    @property
    def file(self) -> str:
        """The file, with the line if that is known."""
        line = self.line
        return f"line {line} of {self.path}" if line else str(self.path)

    @property
    def origin(self) -> str:
        """Its place, as the beginning of a sentence."""
        return _IN_WORDS[self.place][0].format(self)

    @property
    def listed(self) -> str:
        """Its place, as in a list of settings."""
        return _IN_WORDS[self.place][1].format(self)


Layer = dict[str, SourcedValue]

_LARGEST = 256 << 10
_MOST_READ = 4 << 20


def is_empty(value: Any) -> bool:
    """Whether a value means the default: a blank text. An empty list does not."""
    return isinstance(value, str) and not value.strip()


def without_secrets(value: str) -> str:
    """A value for display: an address without its password."""
    # Only messages need this.
    from ua_tui.core.redaction.arguments import masked_text

    return masked_text(value).shown


def winner(layers: Sequence[Layer], name: str) -> SourcedValue | None:
    """The value in the first layer that has a setting."""
    return next((layer[name] for layer in layers if name in layer), None)


def read_toml_text(path: Path) -> str | None:
    """Read a TOML file of settings, with the line breaks that it has; None if there is none.

    Raises:
        SettingsError: it cannot be read, or is too large.
    """
    if path.is_dir():
        raise SettingsError(f"{path} is a folder, and settings are read from a file of that name: rename it.")
    return read_text(path)


def load_toml(content: str, path: Path) -> dict[str, Any]:
    """Decode the content of a TOML file.

    Raises:
        SettingsError: it is not valid TOML; the error names `path`.
    """
    # Not needed if there is no file.
    import tomllib

    try:
        return tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        advice = "; put text in quotes" if "Invalid value" in str(error) else ""
        raise SettingsError(f"{path} is not valid TOML: {error}{advice}.") from error


def flat(table: Mapping[str, Any], settings: Sequence[str] = ()) -> Iterable[tuple[str, Any]]:
    """The keys of a table and of the tables in it, such as `pane.maximise`, but for those that are settings."""
    for name, value in table.items():
        if name not in settings and isinstance(value, Mapping):
            yield from ((f"{name}.{each}", inner) for each, inner in value.items())
        else:
            yield name, value


def read_text(path: Path) -> str | None:
    """Read a file of settings; None if there is none.

    Raises:
        SettingsError: it cannot be read, or is too large.
    """
    # A .env can be a folder (a virtual environment) or a pipe (a password manager): neither is read.
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise SettingsError(
                f"{path} is larger than {_LARGEST >> 10} KiB: it is not a settings file, so move it."
            )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text: save it as UTF-8.") from error


def with_plain_breaks(content: str | None) -> str | None:
    """A text with plain line breaks."""
    return None if content is None else content.replace("\r\n", "\n").replace("\r", "\n")


def bindings(content: str) -> Iterable[tuple[str | None, str, int, str]]:
    """The name (None where a line cannot be read), value, line and text of each binding of a `.env`."""
    from dotenv.parser import parse_stream

    for binding in parse_stream(StringIO(content)):
        if binding.error or binding.key is not None:
            name = None if binding.error else binding.key
            yield name, binding.value or "", binding.original.line, binding.original.string


def _toml_line(content: str, name: str) -> int | None:
    """The line on which a setting of a valid file begins: the first line with which the setting appears."""
    import tomllib

    keys = name.split(".")
    begins = re.compile(rf"""(?:^|[\s."'])["']?{re.escape(keys[-1])}["']?\s*[=.\]]""")
    lines = content.splitlines()
    # A file made to be slow gets no line number.
    left = _MOST_READ
    for first in (at for at, line in enumerate(lines) if begins.search(line)):
        for last in range(first, len(lines)):
            tried = "\n".join(lines[: last + 1])
            if (left := left - len(tried)) < 0:
                return None
            try:
                found = tomllib.loads(tried)
            except tomllib.TOMLDecodeError:
                continue
            if value_in(found, *keys) is not None:
                return first + 1
            break
    return None


def ended(sentence: str) -> str:
    """Add a full stop to a sentence, unless it ends with a question mark."""
    return sentence if sentence.endswith("?") else f"{sentence}."


def hint(name: str, known: Iterable[str]) -> str:
    """Ask whether another name was meant that is like it; empty if none is."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


class KeyChoice(NamedTuple):
    """The keys that a file sets for an action; `in_folder` is whether it is a file of the current folder.

    `keys` is the value in the file, of any type, as no error in this table may keep the program from starting.
    """

    action: str
    keys: Any
    origin: str
    in_folder: bool = False


def key_choices(table: Any, origin: str, in_folder: bool) -> tuple[KeyChoice, ...]:
    """Return the keys that a file sets; a value other than a table becomes a choice without an action."""
    if not isinstance(table, Mapping):
        return (KeyChoice("", table, origin, in_folder),)
    return tuple(KeyChoice(action, keys, origin, in_folder) for action, keys in flat(table))
