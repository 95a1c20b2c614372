"""The files of the workspace that nobody has seen yet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator


class Unseen:
    """A set of files that nobody has seen yet, which counts those beneath each folder."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._beneath: Counter[str] = Counter()
        self._chains: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def add(self, path: str) -> None:
        """Add a path."""
        if path not in self._paths:
            self._paths.add(path)
            for folder in self._above(path):
                self._beneath[folder] += 1

    def add_all(self, folder: str, names: Iterable[str]) -> None:
        """Add files of one folder."""
        prefix = folder + os.sep
        came = {prefix + name for name in names} - self._paths
        self._paths |= came
        for above in self._above(prefix) if came else ():
            self._beneath[above] += len(came)

    def discard(self, path: str) -> bool:
        """Remove a path; returns whether it was in the set."""
        if path not in self._paths:
            return False
        self._paths.remove(path)
        for folder in self._above(path):
            self._beneath[folder] -= 1
        return True

    def clear(self) -> None:
        """Remove all paths."""
        self._paths.clear()
        self._beneath.clear()
        self._chains.clear()

    def beneath(self, folder: str) -> int:
        """How many of the paths lie beneath a folder."""
        return self._beneath.get(folder, 0)

    def keep(self, folder: str, there: Callable[[str, bool], bool]) -> None:
        """Remove what is gone: `there` says whether a name in `folder` exists, as a folder or as a file."""
        if not self.beneath(folder):
            return
        prefix = folder + os.sep
        for path in [path for path in self._paths if path.startswith(prefix)]:
            name, _, deeper = path[len(prefix) :].partition(os.sep)
            if not there(name, bool(deeper)):
                self.discard(path)

    def _above(self, path: str) -> tuple[str, ...]:
        # Files come by the thousand into few folders: the way up is walked once for each folder.
        folder = path.rpartition(os.sep)[0]
        chain = self._chains.get(folder)
        if chain is None:
            parts = folder.split(os.sep)
            chain = tuple(os.sep.join(parts[:count]) for count in range(len(parts), 1, -1))
            self._chains[folder] = chain
        return chain
