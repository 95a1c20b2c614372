"""Permissions for the rest of a session, as patterns on the tools of one server.

A pattern never allows a tool that acts outside the workspace or can do anything: such a tool asks each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = [
    "SessionPattern",
    "exact_pattern",
    "first_word",
    "pattern_problem",
    "split_patterns",
]

MOST_PATTERNS = 50
LONGEST_PATTERN = 200
_WILD = re.compile(r"[*?\[]")
_FIRST_WORD = re.compile(r"[^_\-.]+[_\-.]?")


@dataclass(frozen=True)
class SessionPattern:
    """A shell-style pattern for names of tools without their server; `server` is empty for the built-in ones."""

    server: str
    pattern: str

    def covers(self, server: str, subject: str) -> bool:
        """Whether the pattern matches this tool of this server."""
        return server == self.server and fnmatchcase(subject, self.pattern)


def exact_pattern(subject: str) -> str:
    """The pattern that matches only this tool, with the wildcards in its name escaped."""
    return _WILD.sub(lambda found: f"[{found[0]}]", subject)


def first_word(subject: str) -> str:
    """What a pattern for this tool must begin with, such as `GMAIL_`; empty if there is nothing suitable."""
    found = _FIRST_WORD.match(subject)
    return found[0] if found else ""


def split_patterns(text: str) -> tuple[str, ...]:
    """The patterns that a person wrote in one line, separated by spaces or commas."""
    return tuple(dict.fromkeys(each for each in re.split(r"[\s,]+", text) if each))


def pattern_problem(patterns: Iterable[str], subjects: Iterable[str]) -> str | None:
    """Why these patterns cannot be allowed for a call of `subjects`; None if they can.

    Every tool of the call must match, and a pattern must begin with the complete first word of one of them: a bare `*`
    would allow tools that nobody has considered.
    """
    written, asked = list(patterns), list(subjects)
    if not written:
        return "Write a pattern, such as the name of the tool."
    if len(written) > MOST_PATTERNS or any(len(each) > LONGEST_PATTERN for each in written):
        return f"At most {MOST_PATTERNS} patterns of {LONGEST_PATTERN} characters."
    heads = {head for subject in asked if (head := first_word(subject))}
    for pattern in written:
        if not any(_WILD.split(pattern, maxsplit=1)[0].startswith(head) for head in heads):
            return f"{pattern} is too wide: begin it with {' or '.join(sorted(heads)) or 'the name'}."
    for subject in asked:
        if not any(fnmatchcase(subject, pattern) for pattern in written):
            return f"It does not cover {subject}, which this call runs."
    return None
