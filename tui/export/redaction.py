"""Makes everything that leaves the machine in an export safe: no secrets, no local paths, no hidden characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from ua_tui.core.claims.files import ReportFormat
from ua_tui.core.claims.ledger import Answer
from ua_tui.core.claims.opinion import Verdict
from ua_tui.core.claims.records import Kind, SourceKind, State
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean
from ua_tui.tui.export.records import SenderKind, SessionState

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

# Words of the format itself, whatever a person has for a password.
_OWN = frozenset(
    word
    for words in (Kind, State, Answer, Verdict, SourceKind, ReportFormat, SenderKind, SessionState)
    for word in get_args(words)
)

_PIECE = 64 << 10
# The folders of people, wherever they are named: a path in a result may be of another machine.
_HOMES = r"(?:/home|/Users)/[^/\s\"'<>\\|:;,)\]}]{1,64}|[A-Za-z]:\\{1,2}Users\\{1,2}[^/\s\"'<>\\|:;,)\]}]{1,64}|/root"
# An escape of JSON, such as that of a line break, may precede a path.
_BEFORE = r"(?:(?<![\w.~%-])|(?<=\\[nrt]))"
_AFTER = r"(?![\w-])"


class Redaction:
    """Removes secrets, local paths and hidden characters from texts and records.

    Args:
        redactor: masks the secrets.
        folders: absolute paths and what they are replaced by; the longest match wins.
    """

    def __init__(self, redactor: Redactor, folders: Iterable[tuple[str, str]] = ()) -> None:
        self.redactor = redactor
        named = {path.rstrip("/"): name for path, name in folders if path.count("/") and len(path) > 3}
        self._names = dict(sorted(named.items(), key=lambda pair: -len(pair[0])))
        known = "".join(f"{re.escape(path)}|" for path in self._names)
        self._paths = re.compile(f"{_BEFORE}(?:{known}{_HOMES}){_AFTER}(?P<rest>/?)")

    def without_secrets(self, text: str) -> str:
        """Mask secrets and replace local paths; hidden characters stay."""
        return self._without_paths(self.redactor.redact(text))

    def text(self, text: str) -> str:
        """Return a text as it may be in the export."""
        return clean(self.without_secrets(text))

    def record(self, record: _Struct) -> _Struct:
        """Copy a record with all of its texts as they may be in the export."""
        plain = msgspec.to_builtins(record, builtin_types=(datetime,))
        safe: dict[str, str] = {}
        _mapped(plain, lambda text: safe.setdefault(text, text))
        texts = list(safe.keys() - _OWN)
        # One search through all texts instead of one for each.
        masked = self.redactor.redact_value(texts)
        safe |= {text: clean(self._without_paths(new)) for text, new in zip(texts, masked, strict=True)}
        return msgspec.convert(_mapped(plain, safe.__getitem__), type(record))

    def _without_paths(self, text: str) -> str:
        if "/" not in text and "\\" not in text:
            return text
        # A single search through a large text would block all other threads. No path has a line break.
        return "".join(self._paths.sub(self._named, piece) for piece in _pieces(text))

    def _named(self, match: re.Match[str]) -> str:
        path = match[0].removesuffix("/") if match["rest"] else match[0]
        name = self._names.get(path, "~")
        return f"{name}{match['rest']}" if name else ("" if match["rest"] else ".")


def session_folders(folder: Path, recorded: Iterable[str]) -> list[tuple[str, str]]:
    """The local paths of a session and their names: its folder disappears, others are a word.

    `recorded` are the paths that its journal has of its folder.
    """
    pairs = [(str(Path.home()), "~"), (str(folder.parent.parent), "…"), (str(Path.cwd()), "…")]
    for path in (str(folder), *recorded):
        pairs.append((path, ""))
        pairs.append((str(Path(path).parent.parent), "…"))
    return [(spelled, name) for path, name in pairs for spelled in {path, _resolved(path)}]


def _resolved(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, RuntimeError, ValueError):
        return path


def _pieces(text: str) -> Iterable[str]:
    at = 0
    while at < len(text):
        end = text.rfind("\n", at, at + _PIECE) + 1 if len(text) > at + _PIECE else len(text)
        end = end if end > at else at + _PIECE
        yield text[at:end]
        at = end


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of a value in which each text is changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return value
