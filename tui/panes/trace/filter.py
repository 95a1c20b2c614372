"""Which calls of the trace a person looks for: by tool, by state, by what stands in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui.panes.trace.rows import SLOW, CallNode
from tui.render.format import Mark

__all__ = ["CallFilter", "read_filter"]

_SLOW = "slow"
_WORD = re.compile(r'(?:(tool|state):)?("[^"]*"?|\S+)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """What a call must have, each in small letters: part of its tool's name, of a state, of its text."""

    tools: Sequence[str] = ()
    states: Sequence[str] = ()
    texts: Sequence[str] = ()

    def matches(self, node: CallNode) -> bool:
        """Whether a row is looked for; a query never is, it only stays above what is."""
        if node.record is None:
            return False
        if self.tools:
            name = f"{node.label} {node.record.name}".casefold()
            if not all(tool in name for tool in self.tools):
                return False
        for state in self.states:
            if not _in_state(node, state):
                return False
        return not self.texts or _has_texts(node, self.texts)


def read_filter(typed: str) -> CallFilter | None:
    """Read what was typed: words, all of which count, `tool:` or `state:` before one; None when it is nothing.

    Case does not count; double quotes keep words together.
    """
    found: dict[str, list[str]] = {"tool": [], "state": [], "": []}
    for kind, word in _WORD.findall(typed):
        if text := word.strip('"').casefold():
            found[kind.casefold()].append(text)
    if not any(found.values()):
        return None
    return CallFilter(tuple(found["tool"]), tuple(found["state"]), tuple(found[""]))


def _in_state(node: CallNode, wanted: str) -> bool:
    if wanted in node.mark.word or (node.flag and wanted in node.flag.casefold()):
        return True
    if wanted in _SLOW and node.took is not None and node.took > SLOW:
        return True
    return node.mark is Mark.WAITING and wanted in Mark.RUNNING.word


def _has_texts(node: CallNode, texts: Sequence[str]) -> bool:
    assert node.record is not None
    record = node.record
    parts = (node.label, record.name, node.argument, node.note, node.flag, record.words)
    told = "\n".join(parts).casefold()
    for text in texts:  # noqa: SIM110  # quicker than a generator
        if text not in told:
            return False
    return True
