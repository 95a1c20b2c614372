"""The tool call that a file came from, where events or a journal say so."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import (
    Event,
    PermissionAnswered,
    ToolCallStarted,
)
from ua_tui.core.records.journal_reader import read_call, read_events
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.view.calls import FullCall
from ua_tui.core.view.session import SessionView

LARGEST_JOURNAL = 256 << 20
"""Bytes; a journal that is longer is not searched for the origin of one file."""

_CRAWLS = "crawl_parallel"
_PATHS = ("path", "file_path", "output_path")


class Origins:
    """The calls that files of one session came from.

    A file is known by its path relative to the session's folder, or, for a copy among the saved reports, by its
    absolute path, compressed or not. What an observer saved has precedence over what a call was only asked to
    write.
    """

    def __init__(self) -> None:
        self._view = SessionView()
        self._requested: dict[str, list[str]] = {}

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note which files a call is asked to write."""
        self._view = view
        match event:
            case ToolCallStarted():
                self._note_written(event.tool_use_id, event.name, event.input)
            case PermissionAnswered(tool_use_id=str(call), input=dict(changed)):
                self._note_written(call, event.tool_name, changed)
            case _:
                pass

    def _note_written(self, call: str, name: str, arguments: Mapping[str, Any]) -> None:
        for path in _written_by(name, arguments):
            self._requested.setdefault(_key(path), []).append(call)

    def find(self, path: str, folder: str | None) -> str | None:
        """The id of the call that the file at an absolute path came from; `folder` is that of the session."""
        keys, view = [_key(path)], self._view
        if folder is not None and path.startswith(folder + os.sep):
            keys.insert(0, _key(path[len(folder) + 1 :]))
        files = view.artifacts.values()
        saved = (known for file in files for known in ((file.path, file.tool_use_id), *file.copies))
        stored = ((call.stored_at, call.id) for call in view.calls if call.stored_at)
        calls = {_key(path): call for path, call in (*stored, *saved) if call is not None}
        if (known := next((calls[key] for key in keys if key in calls), None)) is not None:
            return known
        requested = map(view.call, (call for key in keys for call in reversed(self._requested.get(key, ()))))
        return next((call.id for call in requested if call is not None and not call.is_error), None)


def read_origin(session: Path, path: Path) -> FullCall | None:
    """Find in the journal of a session the call that a file of it came from. Runs in a thread.

    Raises:
        JournalError: there is no journal that can be read, or it is too long.
    """
    journal = session / JOURNAL
    try:
        found = os.lstat(journal)
    except OSError as error:
        raise JournalError(f"The journal of this session cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(found.st_mode):
        raise JournalError("The journal of this session is not a regular file.")
    if found.st_size > LARGEST_JOURNAL:
        raise JournalError("The journal of this session is too long to be searched.")
    origins = Origins()
    view = SessionView()
    for event in read_events(session):
        view.add(event)
        origins.handle_event(event, view)
    origin = origins.find(str(path), str(session))
    return read_call(session, origin) if origin is not None else None


def _key(path: str) -> str:
    return inner_name(posixpath.normpath(path))


def _written_by(name: str, arguments: Mapping[str, Any]) -> Iterable[str]:
    if name.endswith(_CRAWLS) and isinstance(urls := arguments.get("urls"), list):
        from ua_tui.core.toolkit.articles import article_path

        for url in urls:
            if isinstance(url, str):
                try:
                    yield article_path(url)
                except ValueError:
                    continue
    elif "write" in name.lower() or "save" in name.lower():
        for key in _PATHS:
            if isinstance(path := arguments.get(key), str) and path:
                yield path
