"""Checks paths below a folder: relative, plain, of bounded length, and not to protected files."""

from __future__ import annotations

from ua_tui.core.errors import PathRefused
from ua_tui.core.storage.names import is_protected
from ua_tui.core.text import clean_line, is_unsafe

TEMPORARY = ".ua-tmp"
"""The suffix of files that are still being written."""

_LONGEST_PATH = 1024
_LONGEST_PART = 200


def split_path(relative: str) -> tuple[str, ...]:
    """Split a path below a root into its components.

    Raises:
        PathRefused: the path is not plainly inside a root, or names something protected; the message
            states the rule.
    """
    if not relative:
        raise refused(relative, "the path is empty", "give a path relative to the folder")
    if "\0" in relative:
        raise refused(relative, "the path holds a NUL character", "remove it")
    if is_unsafe(relative) or "\n" in relative or "\t" in relative:
        raise refused(relative, "the path holds control or invisible characters", "remove them")
    if "\\" in relative:
        raise refused(relative, "the path holds a backslash", "separate folders by /")
    if relative.startswith("/") or (relative[1:2] == ":" and relative[0].isalpha()):
        raise refused(relative, "the path is absolute", "give a path relative to the folder")
    if relative.startswith("~"):
        raise refused(relative, "the path begins with ~", "give a path relative to the folder")
    if len(relative.encode()) > _LONGEST_PATH:
        raise refused(relative, f"the path is longer than {_LONGEST_PATH} bytes", "shorten it")
    parts = tuple(relative.split("/"))
    for part in parts:
        if part == "..":
            raise refused(relative, "the path holds '..'", "stay inside the folder")
        if part in {"", "."}:
            raise refused(relative, "the path holds an empty or '.' component", "remove it")
        if len(part.encode()) > _LONGEST_PART:
            raise refused(relative, f"a name is longer than {_LONGEST_PART} bytes", "shorten it")
        if is_protected(part):
            rule = (
                f"'{clean_line(part, 60)}' is a protected name: hidden, an option, or instructions for agents"
            )
            raise refused(relative, rule, "choose another name, which begins with a letter")
        if part.endswith(TEMPORARY):
            raise refused(relative, f"names ending in {TEMPORARY} are temporary files", "choose another")
    return parts


def refused(relative: str, rule: str, remedy: str) -> PathRefused:
    """Make the error for a refused path: the rule it breaks, and what to do."""
    return PathRefused(f"the path {shown(relative)} is refused: {rule}; {remedy}")


def shown(relative: str) -> str:
    """A path as it is shown in messages."""
    return f"'{clean_line(relative, 120)}'"
