"""Results as text files that the agent can read in parts and search, where they are too large to be given to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ua_tui.core.agent.bounds import PIECE
from ua_tui.core.storage.names import safe_name
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import without_surrogates

_FOLDER = "tool_results"
# The agent's search leaves out longer lines, and its reader cannot begin in the middle of one.
_WIDTH = 400
_PREVIEW = 2_000


class ReadableText(msgspec.Struct, frozen=True):
    """A text file in the workspace: its path, its size in characters and lines, and its beginning."""

    path: str
    characters: int
    lines: int
    preview: str


def name_of(key: str) -> str:
    """The path of the text file of a result, whose `key` is the id of its call or the name of another file."""
    return f"{_FOLDER}/{safe_name(key, 100)}.txt"


def write_readable_text(workspace: Workspace, key: str, texts: Sequence[str]) -> ReadableText:
    """Write the texts of a result to one file, with secrets masked; JSON is indented, and long lines are broken.

    Takes time in proportion to the texts.

    Raises:
        WorkspaceError: it cannot be written.
    """
    lines = _Counted(line for text in texts for line in _lines(workspace.redactor.redact(text)))
    written = workspace.root.write_chunks(name_of(key), _joined(lines))
    return ReadableText(written.path, lines.characters, lines.count, "\n".join(lines.first)[:_PREVIEW])


class _Counted:
    """Iterates over lines, counts them, and keeps the first ones."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.count = self.characters = 0
        self.first: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            if self.characters < _PREVIEW:
                self.first.append(line)
            self.count += 1
            self.characters += len(line) + 1
            yield line


def _lines(text: str) -> Iterator[str]:
    for line in _indented(text).split("\n"):
        start = 0
        while len(line) - start > _WIDTH:
            end = line.rfind(" ", start + 1, start + _WIDTH) + 1 or start + _WIDTH
            yield line[start:end]
            start = end
        yield line[start:]


def _indented(text: str) -> str:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        # Decoded first: what is no JSON would otherwise be changed.
        msgspec.json.decode(text, type=msgspec.Raw)
        return msgspec.json.format(text, indent=1)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text


def _joined(lines: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= PIECE:
            yield without_surrogates("\n".join([*waiting, ""])).encode()
            waiting, size = [], 0
    yield without_surrogates("\n".join(waiting)).encode()
