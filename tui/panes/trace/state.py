"""What the events told the trace of its rows: which they are, which of them run, and which failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tui.panes.trace.rows import CallNode

__all__ = ["KnownCalls"]


@dataclass(slots=True)
class KnownCalls:
    """Finds rows by what the events call them.

    Attributes:
        by_key: all rows but what is said; a call's key is its `tool_use_id`.
        live: those that have not come to their end, in the order they began.
        failures: the calls that failed, in the order they ended.
        asked: the calls that wait for a permission, by the id of the request.
        words: what was said, by the id of the message.
        count: how many calls there are.
        retrying: whether the model is asked again by now.
    """

    by_key: dict[str, CallNode] = field(default_factory=dict)
    live: dict[str, CallNode] = field(default_factory=dict)
    failures: list[CallNode] = field(default_factory=list)
    asked: dict[str, str] = field(default_factory=dict)
    words: dict[str, CallNode] = field(default_factory=dict)
    count: int = 0
    retrying: bool = False

    def agent_at_work(self, name: str) -> CallNode | None:
        """Return the row of the sub-agent of that name that began last of those that run."""
        rows = (node for node in reversed(self.live.values()) if node.kind == "agent" and node.label == name)
        return next(rows, None)

    def failure_from(self, path: tuple[int, ...], direction: int, *, only_matched: bool) -> CallNode | None:
        """Return the failure below a place of the tree, or above it for a negative direction, around the ends."""
        looked_for = (node for node in self.failures if node.matched or not only_matched)
        failures = sorted(looked_for, key=lambda node: node.path)
        if not failures:
            return None
        if direction > 0:
            return next((node for node in failures if node.path > path), failures[0])
        return next((node for node in reversed(failures) if node.path < path), failures[-1])

    def counterparts(self, others: KnownCalls) -> Iterator[tuple[CallNode, CallNode]]:
        """Yield each row that is known to others, too, with the one they know."""
        for mine, theirs in ((self.by_key, others.by_key), (self.words, others.words)):
            for key, node in mine.items():
                if (other := theirs.get(key)) is not None:
                    yield node, other
