"""The mount of the remote sandbox whose files can be moved; apart from what moves them, which is slow to load."""

from __future__ import annotations

__all__ = ["PREFIX", "SESSION_FILE", "TooLarge"]

PREFIX = "/mnt/files"
"""Where the sandbox has it."""

SESSION_FILE = "TOOLKIT_COMPOSIO_SESSION"
"""The variable of the environment that names the private file with how one signs in."""


class TooLarge(Exception):
    """A file is larger than it may be; `size` in bytes, as far as it was told."""

    def __init__(self, size: int | None) -> None:
        super().__init__()
        self.size = size
