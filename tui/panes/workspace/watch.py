"""Hints that something changed beneath a folder; only a scan finds out what. Also the set of files not seen yet."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from ua_tui.core.tasks import pause
from ua_tui.core.text import clean_line

_WATCH_LIMIT = "watch limit"
_ADVICE = "The system {}, so file changes are checked once a second. A higher limit helps: {}"


def _import_watchfiles() -> Any:
    # What it would import by itself on the event loop, at the first wait, is brought in here as well.
    importlib.import_module("anyio._backends._asyncio")
    return importlib.import_module("watchfiles")


class FolderWatch:
    """Watches one folder, which may come into being, or come back, while it is being watched.

    `on_polling` is called when the system's limits allow no notifications and the folder is polled instead; it gets a
    sentence that says so and what to do. Only a `deep` watch gives hints of what is further down.
    """

    def __init__(self, path: str, on_polling: Callable[[str], None], *, deep: bool = True) -> None:
        self.path = path
        self._deep = deep
        self._on_polling = on_polling
        self._stop = asyncio.Event()
        self._check = asyncio.Event()

    def stop(self) -> None:
        """End the watch; `hints` ends within 100 ms."""
        self._stop.set()
        self._check.set()

    def check(self) -> None:
        """Check at once whether a missing folder exists by now."""
        self._check.set()

    async def hints(self) -> AsyncIterator[frozenset[str]]:
        """Give the folders that changed, or in which something did, until stopped; this one when it appears.

        It gives none once, when the watch has begun: changes before that were not reported, in whichever folder.
        """
        polling = False
        while not self._stop.is_set():
            if not await asyncio.to_thread(os.path.isdir, self.path):
                await self._wait()
                continue
            yield frozenset({self.path})
            try:
                async for folders in self._watch(polling):
                    yield folders
                    if self.path in folders and not await asyncio.to_thread(os.path.isdir, self.path):
                        break
            except Exception as error:
                # The watcher's own error type is not an OSError, and not imported here.
                if not isinstance(error, OSError) and type(error).__name__ != "WatchfilesRustInternalError":
                    raise
                if polling:
                    await self._wait()
                elif await asyncio.to_thread(os.path.isdir, self.path):
                    polling = True
                    self._on_polling(await asyncio.to_thread(_polling_advice, error))

    async def _watch(self, polling: bool) -> AsyncIterator[frozenset[str]]:
        watchfiles = await asyncio.to_thread(_import_watchfiles)
        stopped = watchfiles.awatch(
            self.path,
            watch_filter=None,
            debounce=200,
            step=100,
            stop_event=self._stop,
            rust_timeout=2_000,
            force_polling=polling or None,
            poll_delay_ms=1_000,
            recursive=self._deep,
            ignore_permission_denied=True,
            yield_on_timeout=True,
        )
        begun = False
        async for changes in stopped:
            if not begun:
                begun = True
                yield frozenset()
                if not polling:
                    await asyncio.to_thread(_check_limit, self.path)
            if changes:
                paths = [path for _, path in changes]
                yield frozenset((*paths, *map(os.path.dirname, paths)))
                came = [path for change, path in changes if change is watchfiles.Change.added]
                new_folder = await asyncio.to_thread(_first_folder, came)
                if new_folder is not None and not polling:
                    await asyncio.to_thread(_check_limit, new_folder)

    async def _wait(self) -> None:
        self._check.clear()
        if self._stop.is_set():
            return
        await pause(2.0, self._check)


def _first_folder(paths: Iterable[str]) -> str | None:
    """The first of these paths that is a folder; no link to one."""
    return next((path for path in paths if os.path.isdir(path) and not os.path.islink(path)), None)


def _check_limit(path: str) -> None:
    """Check that one more folder could be watched: the watcher skips folders beyond the limit silently.

    Raises:
        OSError: the limit of watches is reached.
    """
    notify = importlib.import_module("watchfiles._rust_notify").RustNotify
    debug, force_polling, poll_delay_ms, recursive, ignore_errors = False, False, 0, False, False
    try:
        notify([path], debug, force_polling, poll_delay_ms, recursive, ignore_errors).close()
    except Exception as error:
        if isinstance(error, OSError) and _WATCH_LIMIT in str(error):
            raise


def _polling_advice(error: Exception) -> str:
    """Describe why there are no notifications of changes, and what to do about it."""
    reason = str(error)
    if _WATCH_LIMIT in reason:
        return _ADVICE.format(
            "allows no more watched folders", "sudo sysctl fs.inotify.max_user_watches=524288"
        )
    if "os error 24" in reason:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return _ADVICE.format("allows this program no more open files", "ulimit -n 4096")
        return _ADVICE.format("allows no more watchers", "sudo sysctl fs.inotify.max_user_instances=512")
    return f"File changes are not reported ({clean_line(reason, 200)}), so they are checked once a second."


class Unseen:
    """A set of files that nobody has seen yet, which counts those beneath each folder."""

    def __init__(self) -> None:
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        """The names of the files in each folder."""

    def __len__(self) -> int:
        return sum(map(len, self._names.values()))

    def __iter__(self) -> Iterator[str]:
        return (folder + os.sep + name for folder, names in self._names.items() for name in names)

    def __contains__(self, path: str) -> bool:
        folder, _, name = path.rpartition(os.sep)
        return name in self._names.get(folder, ())

    def add(self, folder: str, names: Iterable[str]) -> None:
        """Add files of one folder."""
        self._names[folder].update(names)

    def discard(self, path: str) -> bool:
        """Remove a path; returns whether it was in the set."""
        was_there = path in self
        folder, _, name = path.rpartition(os.sep)
        self._names[folder].discard(name)
        return was_there

    def clear(self) -> None:
        """Remove all paths."""
        self._names.clear()

    def beneath(self, folder: str) -> int:
        """How many of the paths lie beneath a folder."""
        prefix = folder + os.sep
        return sum(len(names) for each, names in self._names.items() if (each + os.sep).startswith(prefix))

    def keep(self, folder: str, there: Callable[[str, bool], bool]) -> None:
        """Remove what is gone: `there` says whether a name in `folder` exists, as a folder or as a file."""
        if not self.beneath(folder):
            return
        prefix = folder + os.sep
        self._names[folder] = {name for name in self._names[folder] if there(name, False)}
        for each in [each for each in self._names if each.startswith(prefix)]:
            if not there(each[len(prefix) :].partition(os.sep)[0], True):
                del self._names[each]
