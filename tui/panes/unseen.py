"""The files nobody looked at yet, counted for every folder above them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator

__all__ = ["Unseen"]


class Unseen:
    """A set of paths that knows at once whether any lies beneath a folder."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._beneath: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def add(self, path: str) -> None:
        """Note a path as not looked at."""
        if path not in self._paths:
            self._paths.add(path)
            self._beneath.update(_above(path))

    def discard(self, path: str) -> bool:
        """Forget a path; tells whether it was noted."""
        if path not in self._paths:
            return False
        self._paths.remove(path)
        for folder in _above(path):
            self._beneath[folder] -= 1
            if not self._beneath[folder]:
                del self._beneath[folder]
        return True

    def beneath(self, folder: str) -> int:
        """How many of the paths lie beneath a folder."""
        return self._beneath.get(folder, 0)

    def keep(self, folder: str, there: Callable[[str, bool], bool]) -> None:
        """Forget what is gone: `there` tells of a name in `folder` whether it is, as a folder or as a file."""
        if not self.beneath(folder):
            return
        prefix = folder + os.sep
        for path in [path for path in self._paths if path.startswith(prefix)]:
            name, _, deeper = path[len(prefix) :].partition(os.sep)
            if not there(name, bool(deeper)):
                self.discard(path)


def _above(path: str) -> Iterator[str]:
    above = os.path.dirname(path)
    while above and above != path:
        yield above
        path, above = above, os.path.dirname(above)
