"""Why an agent's process ended, where known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ua_tui.core.errors import advice_code, advise

_SIGNAL = re.compile(r"\bended by (SIG[A-Z0-9]+)")
_CODE = re.compile(r"\(exit code (\d+)\)")
# The SDK reports this for every process that ended; it adds nothing to the message.
_UNINFORMATIVE = re.compile(r"^ProcessError: Command failed with exit code -?\d+ \(exit code: -?\d+\)")


def informative_causes(causes: Sequence[str]) -> tuple[str, ...]:
    """Return the causes that say more than that a process ended."""
    return tuple(dict.fromkeys(cause for cause in causes if not _UNINFORMATIVE.match(cause)))


def known_causes(message: str, causes: Sequence[str]) -> tuple[str, ...]:
    """Return why an agent failed, where known: how its process ended, then the other causes."""
    return (*([cause] if (cause := _describe_end(message)) else []), *informative_causes(causes))


def _describe_end(message: str) -> str:
    if (found := _SIGNAL.search(message)) is not None:
        return advise(advice_code("process", found[1]), signal=found[1]).sentence
    if (found := _CODE.search(message)) is not None and "it said:" not in message:
        return advise("process.exit_code", exit_code=found[1]).sentence
    return ""
