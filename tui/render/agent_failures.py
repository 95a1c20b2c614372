"""Why an agent's process ended, where known."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIGNAL = re.compile(r"\bended by (SIG[A-Z0-9]+)")
_CODE = re.compile(r"\(exit code (\d+)\)")
# The SDK reports this for every process that ended; it adds nothing to the message.
_UNINFORMATIVE = re.compile(r"^ProcessError: Command failed with exit code -?\d+ \(exit code: -?\d+\)")
_SIGNAL_CAUSES = {
    "SIGKILL": "It was killed by a user, by another program, or by the system for lack of memory.",
    "SIGTERM": "It was asked to end by a user, by another program, or by the system shutting down.",
    "SIGINT": "It was interrupted from a keyboard or by another program.",
    "SIGHUP": "Its terminal was closed.",
}
_CRASHES = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP"})


def informative_causes(causes: Sequence[str]) -> tuple[str, ...]:
    """Return the causes that say more than that a process ended."""
    return tuple(dict.fromkeys(cause for cause in causes if not _UNINFORMATIVE.match(cause)))


def known_causes(message: str, causes: Sequence[str]) -> tuple[str, ...]:
    """Return why an agent failed, where known: how its process ended, then the other causes."""
    return (*([cause] if (cause := _describe_end(message)) else []), *informative_causes(causes))


def _describe_end(message: str) -> str:
    if (found := _SIGNAL.search(message)) is not None:
        if found[1] in _CRASHES:
            return "It crashed because of a fault in the agent's program or in the system."
        return _SIGNAL_CAUSES.get(found[1], f"The system ended it with the signal {found[1]}.")
    if (found := _CODE.search(message)) is not None and "it said:" not in message:
        return f"It ended with exit code {found[1]} and gave no reason."
    return ""
