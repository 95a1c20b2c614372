"""What a filter leaves of the trace, found in steps beside the rows that are shown meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from tui.panes.trace.filter import CallFilter
from tui.panes.trace.rows import CallNode
from tui.virtual_list.heights import Heights

__all__ = ["Sifting"]

STEP = 1_000


class Sifting:
    """Finds hits and rows for a filter, or all rows without one; it changes no row of the tree by itself.

    `rows`, their `index` by key and their `heights` are whole once `advance` gave False. A hundred thousand rows
    take some tenths of a second: that is why nobody waits for them at once.

    Args:
        roots: the queries.
        wanted: what is looked for; None lets all through.
        folding: rows that are open only because of the filter before.
        estimate: guesses the height of a row.
    """

    def __init__(
        self,
        roots: Sequence[CallNode],
        wanted: CallFilter | None,
        folding: Sequence[CallNode],
        estimate: Callable[[CallNode], int],
    ) -> None:
        self.wanted = wanted
        self.matched = 0
        self.opened: list[CallNode] = []
        self.rows: list[CallNode] = []
        self.index: dict[Hashable, int] = {}
        self.heights = Heights()
        self.later: list[CallNode] = []
        """Rows that came or changed after it began: they have to be weighed once it is done."""
        self.folding = len(folding)
        self._folding = set(folding)
        self._roots = list(roots)
        self._estimate = estimate
        self._walked: list[CallNode] = []
        self._matches: set[CallNode] = set()
        self._hits: dict[CallNode, int] = {}
        self._steps = self._run()

    def advance(self) -> bool:
        """Do a few milliseconds of the work; False when all is done."""
        return next(self._steps, False)

    def set_hits(self) -> None:
        """Write down what was found on the rows themselves."""
        for node in self.later:
            node.matched, node.hits = False, 0
        hits, matches = self._hits, self._matches
        for node in self._walked:
            node.hits = hits.get(node, 0)
            node.matched = node in matches

    def _run(self) -> Iterator[bool]:
        if self.wanted is not None:
            yield from self._walk()
            yield from self._match(self.wanted)
        yield from self._lay()

    def _walk(self) -> Iterator[bool]:
        """Note all rows, each after what it stands under."""
        waiting, walked = self._roots[::-1], self._walked
        while waiting:
            node = waiting.pop()
            walked.append(node)
            if node.children:
                waiting.extend(node.children)
            if not len(walked) % (4 * STEP):
                yield True

    def _match(self, wanted: CallFilter) -> Iterator[bool]:
        """Match all rows from the last to the first, so that what is below one was counted before it."""
        hits, opened, folding = self._hits, self.opened, self._folding
        for number, node in enumerate(reversed(self._walked), 1):
            below = hits.get(node, 0)
            if below and (not node.open or node in folding):
                # What is looked for must not stay folded away.
                opened.append(node)
            if wanted.matches(node):
                self._matches.add(node)
                below += 1
            if below:
                hits[node] = below
                if node.parent is not None:
                    hits[node.parent] = hits.get(node.parent, 0) + below
            if not number % STEP:
                yield True
        self.matched = len(self._matches)

    def _lay(self) -> Iterator[bool]:
        """Put the rows that are to be seen in their order."""
        everything, hits = self.wanted is None, self._hits
        opened, folding = set(self.opened), self._folding
        rows, index, heights = self.rows, self.index, self.heights
        waiting = [node for node in reversed(self._roots) if everything or node in hits]
        while waiting:
            node = waiting.pop()
            index[node.key] = len(rows)
            rows.append(node)
            heights.append(self._estimate(node))
            if node.children and (node in opened or (node.open and node not in folding)):
                below = node.children if everything else [child for child in node.children if child in hits]
                waiting.extend(reversed(below))
            if not len(rows) % (2 * STEP):
                yield True
