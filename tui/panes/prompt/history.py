"""What was typed into the prompt, kept on disk for each project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.storage.files import Root


LIMIT = 1000
ENTRY_LIMIT = 64 * 1024


class HistoryEntry(msgspec.Struct, frozen=True):
    """One line of the file."""

    text: str


def history_file_name(project: Path) -> str:
    """Name the history file of the folder `project`; different folders have different files."""
    import hashlib

    from ua_tui.core.storage.paths import safe_name

    digest = hashlib.sha256(str(project).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{safe_name(project.name or 'root', 40)}-{digest}.jsonl"


def history_of(settings: Settings, state: Path | None = None) -> PromptHistory:
    """Open the history of the folder that `settings` work in, beneath the user's state folder or `state`."""
    import os

    from platformdirs import user_state_path

    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.settings.model import secrets

    redactor = Redactor(secrets(settings, os.environ))
    return open_history(
        state or user_state_path("ua-tui"), settings.workspace_base.resolve(), redactor.redact
    )


def open_history(state: Path, project: Path, redact: Callable[[str], str]) -> PromptHistory:
    """Open the history of `project` beneath the folder `state`; without a usable disk it lives in memory."""
    from ua_tui.core.storage.files import Root

    try:
        history = PromptHistory(Root(state / "history", create=True), history_file_name(project), redact)
        history.load()
    except (WorkspaceError, OSError) as error:
        log.warning("the prompt history cannot be stored: %s", error)
        return PromptHistory(None, "", redact)
    return history


class PromptHistory:
    """The entries, oldest first, and a place among them for Up and Down.

    The file has one JSON object a line and is only ever appended to in one write, so that two windows can
    share it and a crash costs at most the line being written; `load` drops what cannot be read. Secrets are
    masked before they are written. `root` None keeps everything in memory.
    """

    def __init__(self, root: Root | None, name: str, redact: Callable[[str], str]) -> None:
        self._root = root
        self._name = name
        self._redact = redact
        self._entries: list[str] = []
        self._place: int | None = None
        self._draft = ""

    @property
    def entries(self) -> tuple[str, ...]:
        """What was typed, oldest first."""
        return tuple(self._entries)

    def load(self) -> None:
        """Read the file, put it in order when it was torn or has grown past twice the limit."""
        if self._root is None or not self._root.exists(self._name):
            return
        data = self._root.read(self._name)
        entries: list[str] = []
        bad = 0
        for line in data.splitlines():
            try:
                text = msgspec.json.decode(line, type=HistoryEntry).text
            except (msgspec.DecodeError, UnicodeDecodeError):
                bad += 1
                continue
            if text and (not entries or entries[-1] != text):
                entries.append(text)
        torn = bool(data) and not data.endswith(b"\n")
        self._entries = entries[-LIMIT:] + self._entries
        if bad or torn or len(entries) > 2 * LIMIT:
            self._root.write(self._name, b"".join(_line(text) for text in entries[-LIMIT:]))

    def add(self, text: str) -> None:
        """Remember `text`, in memory and on disk; repeating the last entry adds nothing."""
        self.rewind()
        if not text.strip() or (self._entries and self._entries[-1] == text):
            return
        self._entries.append(text)
        del self._entries[:-LIMIT]
        masked = self._redact(text)
        if self._root is None or len(masked) > ENTRY_LIMIT:
            return
        try:
            self._root.append_lines(self._name, [_line(masked)])
        except (WorkspaceError, OSError) as error:
            log.warning("the prompt history can no longer be stored: %s", error)
            self._root = None

    def older(self, draft: str) -> str | None:
        """Step back; `draft` is the text of the prompt, which comes back at the end. None at the oldest."""
        place = len(self._entries) if self._place is None else self._place
        if place == 0:
            return None
        if self._place is None:
            self._draft = draft
        self._place = place - 1
        return self._entries[self._place]

    def newer(self) -> str | None:
        """Step forward, at last to the draft; None when not among the entries."""
        if self._place is None:
            return None
        if self._place + 1 < len(self._entries):
            self._place += 1
            return self._entries[self._place]
        self._place = None
        return self._draft

    def rewind(self) -> None:
        """Leave the entries, as after typing."""
        self._place = None
        self._draft = ""


def _line(text: str) -> bytes:
    # A lone surrogate cannot be encoded; JSON lines must always be readable again.
    return msgspec.json.encode(HistoryEntry(text.encode("utf-8", "replace").decode("utf-8"))) + b"\n"
