"""Why an agent's process ended, as far as that is known, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["known_causes", "telling"]

_SIGNAL = re.compile(r"\bended by (SIG[A-Z0-9]+)")
_CODE = re.compile(r"\(exit code (\d+)\)")
# What the SDK says of every process that ended: a code that the message has, and a place where nothing stands.
_SAYS_NOTHING = re.compile(r"^ProcessError: Command failed with exit code -?\d+ \(exit code: -?\d+\)")
_OF_SIGNALS = {
    "SIGKILL": "It was killed at once: by a person, by another program, or by the system for want of memory.",
    "SIGTERM": "It was told to end: by a person, by another program, or as the system goes down.",
    "SIGINT": "It was interrupted from a keyboard or by another program.",
    "SIGHUP": "The terminal it belonged to went away.",
}
_CRASHES = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP"})


def telling(causes: Sequence[str]) -> tuple[str, ...]:
    """Return those causes that say more than that a process ended."""
    return tuple(dict.fromkeys(cause for cause in causes if not _SAYS_NOTHING.match(cause)))


def known_causes(message: str, causes: Sequence[str]) -> tuple[str, ...]:
    """Return what is known of why an agent failed: its end in words, then whatever else led to it."""
    return (*([words] if (words := _in_words(message)) else []), *telling(causes))


def _in_words(message: str) -> str:
    if (found := _SIGNAL.search(message)) is not None:
        if found[1] in _CRASHES:
            return "It crashed: the fault is in the agent's own program, or in what it runs on."
        return _OF_SIGNALS.get(found[1], f"The system ended it with the signal {found[1]}.")
    if (found := _CODE.search(message)) is not None and "it said:" not in message:
        return f"It ended by itself with code {found[1]}, and wrote no reason."
    return ""
