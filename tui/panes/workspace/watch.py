"""Hints that something changed beneath a folder, as long as anybody asks; the truth is what a scan finds."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FolderWatch", "Hints"]

_DEBOUNCE_MS = 200
_STEP_MS = 50
_POLL_MS = 1_000
_WAIT_SECONDS = 2.0
_RUST_TIMEOUT_MS = 2_000
_MOST_FOUND = 20_000


@dataclass(frozen=True, slots=True)
class Hints:
    """The folders in which something happened, or to which, and the names that appeared in each.

    `everywhere` is said once, when a watch has begun: what happened before, in whichever folder, was not told.
    """

    folders: frozenset[str] = frozenset()
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)
    everywhere: bool = False


def _import_watchfiles() -> Any:
    # What it would import by itself on the event loop, at the first wait, is brought in here as well.
    importlib.import_module("anyio._backends._asyncio")
    return importlib.import_module("watchfiles")


class FolderWatch:
    """Watches one folder, which may come into being, or come back, while it is being watched.

    `on_polling` is called when the system's limits allow no notifications and the folder is polled instead. Of
    what lies further down only a watch that is `deep` gives hints.
    """

    def __init__(self, path: str, on_polling: Callable[[], None], *, deep: bool = True) -> None:
        self.path = path
        self._deep = deep
        self._on_polling = on_polling
        self._stop = asyncio.Event()
        self._look = asyncio.Event()

    def stop(self) -> None:
        """End the watch; `hints` ends within 50 ms."""
        self._stop.set()
        self._look.set()

    def look(self) -> None:
        """Look at once whether a missing folder is there by now."""
        self._look.set()

    async def hints(self) -> AsyncIterator[Hints]:
        """Give hints until stopped; the folder itself is hinted at when it appears."""
        polling = False
        while not self._stop.is_set():
            if not await asyncio.to_thread(os.path.isdir, self.path):
                await self._wait()
                continue
            yield Hints(frozenset({self.path}))
            try:
                async for hints in self._watch(polling):
                    yield hints
                    if self.path in hints.folders and not await asyncio.to_thread(os.path.isdir, self.path):
                        break
            except OSError:
                if polling:
                    await self._wait()
                elif await asyncio.to_thread(os.path.isdir, self.path):
                    polling = True
                    self._on_polling()
            except Exception as error:
                # The watcher's own error type is not an OSError; any other is not for this place.
                if type(error).__name__ != "WatchfilesRustInternalError":
                    raise
                if polling:
                    await self._wait()
                else:
                    polling = True
                    self._on_polling()

    async def _watch(self, polling: bool) -> AsyncIterator[Hints]:
        watchfiles = await asyncio.to_thread(_import_watchfiles)
        stopped = watchfiles.awatch(
            self.path,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=self._stop,
            rust_timeout=_RUST_TIMEOUT_MS,
            force_polling=polling or None,
            poll_delay_ms=_POLL_MS,
            recursive=self._deep,
            ignore_permission_denied=True,
            yield_on_timeout=True,
        )
        begun = False
        async for changes in stopped:
            if not begun:
                begun = True
                yield Hints(everywhere=True)
            if changes:
                yield await asyncio.to_thread(_hints, changes, watchfiles.Change.added)

    async def _wait(self) -> None:
        self._look.clear()
        if self._stop.is_set():
            return
        try:
            await asyncio.wait_for(self._look.wait(), _WAIT_SECONDS)
        except TimeoutError:
            return


def _hints(changes: set[tuple[Any, str]], addition: Any) -> Hints:
    folders: set[str] = set()
    added: dict[str, list[str]] = defaultdict(list)
    came: set[str] = set()
    for change, path in changes:
        folder, _, name = path.rpartition(os.sep)
        folders |= {folder, path}
        if change is addition:
            added[folder].append(name)
            came.add(path)
    # What is put into a new folder before it is watched gives no event of its own.
    for path in came:
        if path.rpartition(os.sep)[0] not in came and _is_folder(path):
            for folder, names in _beneath(path):
                added[folder] += names
    return Hints(frozenset(folders), added)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _beneath(path: str) -> Iterator[tuple[str, list[str]]]:
    """Walk a folder that came, with at most so many files in all; links are not followed."""
    left = _MOST_FOUND
    for folder, _, names in os.walk(path):
        yield folder, names[:left]
        left -= len(names)
        if left <= 0:
            return
