"""The tool call that a file came from, where events say so."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from ua_tui.core.events.types import (
    Event,
    PermissionAnswered,
    ToolCallStarted,
)
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.view.session import SessionView

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

    def find(self, path: str, folder: str) -> str | None:
        """The id of the call that the file at an absolute path came from; `folder` is that of the session."""
        keys, view = [_key(path)], self._view
        if path.startswith(folder + os.sep):
            keys.insert(0, _key(path[len(folder) + 1 :]))
        files = view.artifacts.values()
        saved = (known for file in files for known in ((file.path, file.tool_use_id), *file.copies))
        stored = ((call.stored_at, call.id) for call in view.calls if call.stored_at)
        calls = {_key(path): call for path, call in (*stored, *saved) if call is not None}
        if (known := next((calls[key] for key in keys if key in calls), None)) is not None:
            return known
        requested = map(view.call, (call for key in keys for call in reversed(self._requested.get(key, ()))))
        return next((call.id for call in requested if call is not None and not call.is_error), None)


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
