"""The filter of the trace: by tool, by state, by text; the rows are found in steps while the old ones are shown."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from ua_tui.core.view.records import Call
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.rows import SLOW
from ua_tui.tui.render.format import Mark
from ua_tui.tui.virtual_list.source import EntryList
from ua_tui.tui.virtual_list.typed_query import TypedQuery
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.tui.panes.trace.tree_rows import TreeRows
    from ua_tui.tui.virtual_list.virtual_list import VirtualList

STEP = 1_000
STEPS_AT_ONCE = 4
_SLOW = "slow"
_WORD = re.compile(r'(?:(tool|state):)?("[^"]*"?|\S+)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """What a call must have, each in small letters: part of its tool's name, of a state, of its text."""

    tools: Sequence[str] = ()
    states: Sequence[str] = ()
    texts: Sequence[str] = ()

    def matches(self, node: CallNode) -> bool:
        """Whether a row matches; a query never does, it only stays above calls that do."""
        if not isinstance(node.record, Call):
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
    """Read what was typed: words that must all match, `tool:` or `state:` before one; None when it is blank.

    Case does not matter; double quotes keep words together.
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
    assert isinstance(node.record, Call)
    name = node.record.name
    parts = (node.label, name, node.argument, node.note, node.error, node.flag, node.arguments)
    searched = "\n".join(parts).casefold()
    for text in texts:  # noqa: SIM110  # quicker than a generator
        if text not in searched:
            return False
    return True


class FilterJob:
    """Finds hits and rows for a filter, or all rows without one; it changes no row of the tree by itself.

    `rows` is complete once `advance` returned False. A hundred thousand rows take some tenths of a second: that
    is why the work is done in steps.

    Args:
        roots: the queries.
        wanted: the filter; None lets all rows through.
        unfolded: rows that are open only because of the filter before.
        estimate: guesses the height of a row.
    """

    def __init__(
        self,
        roots: Sequence[CallNode],
        wanted: CallFilter | None,
        unfolded: Sequence[CallNode],
        estimate: Callable[[CallNode], int],
    ) -> None:
        self.wanted = wanted
        self.matched = 0
        self.opened: list[CallNode] = []
        self.rows: EntryList[CallNode] = EntryList()
        self.later: list[CallNode] = []
        """Rows that came or changed after the job began: they are matched once it is done."""
        self.unfolded = len(unfolded)
        self._unfolded = set(unfolded)
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
        """Store on the rows themselves what was found."""
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
        yield from self._collect()

    def _walk(self) -> Iterator[bool]:
        """List all rows, each after the one it is under."""
        waiting, walked = self._roots[::-1], self._walked
        while waiting:
            node = waiting.pop()
            walked.append(node)
            if node.children:
                waiting.extend(node.children)
            if not len(walked) % (4 * STEP):
                yield True

    def _match(self, wanted: CallFilter) -> Iterator[bool]:
        """Match all rows from the last to the first, so that those below a row are counted before it."""
        hits, opened, unfolded = self._hits, self.opened, self._unfolded
        for number, node in enumerate(reversed(self._walked), 1):
            below = hits.get(node, 0)
            if below and (not node.open or node in unfolded):
                # A match must not stay hidden in a fold.
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

    def _collect(self) -> Iterator[bool]:
        """Put the visible rows in their order."""
        everything, hits = self.wanted is None, self._hits
        opened, unfolded = set(self.opened), self._unfolded
        rows, estimate = self.rows, self._estimate
        waiting = [node for node in reversed(self._roots) if everything or node in hits]
        while waiting:
            node = waiting.pop()
            rows.append(node, estimate(node))
            if node.children and (node in opened or (node.open and node not in unfolded)):
                below = node.children if everything else [child for child in node.children if child in hits]
                waiting.extend(reversed(below))
            if not len(rows.items) % (2 * STEP):
                yield True


class TraceFilter:
    """The filter that a person types: it decides which rows of the tree are in the list.

    Args:
        rows: the tree and its folds.
        view: the list.
        changed: is called when what is typed or the number of matches changed.
    """

    def __init__(self, rows: TreeRows, view: VirtualList[CallNode], changed: Callable[[], None]) -> None:
        self.query = TypedQuery(changed=self._seek, accepted=changed, cleared=self._clear)
        self.wanted: CallFilter | None = None
        self._rows = rows
        self._view = view
        self._changed = changed
        self._matched = 0
        self._unfolded: list[CallNode] = []
        self._job: FilterJob | None = None
        self._before: tuple[Hashable | None, bool] = (None, True)

    @property
    def on(self) -> bool:
        """Whether rows are filtered."""
        return self.wanted is not None

    @property
    def busy(self) -> bool:
        """Whether rows are still being searched for what was typed last."""
        return self._job is not None

    @property
    def active(self) -> bool:
        """Whether a filter is on or being typed."""
        return self.query.typing or self.on

    @property
    def matched(self) -> int | None:
        """How many rows match; None without a filter."""
        return self._matched if self.on else None

    @property
    def title(self) -> list[tuple[str, str]]:
        """What is typed, for the border."""
        return [(f"  f {self.query.shown}", "$accent")] if self.active else []

    def begin(self) -> None:
        """Begin to type a filter."""
        self.query.typing = True
        self._changed()

    def end_typing(self) -> None:
        """Keep the filter as it is typed."""
        self.query.typing = False
        self._changed()

    def show_only(self, typed: str) -> None:
        """Show only what matches, with the rows it is under, at once; a blank text shows all."""
        self.query.text = typed
        self._seek(typed, at_once=True)

    def filter_later(self, node: CallNode) -> None:
        """Have a row that came or changed matched when the job that runs is done."""
        if self._job is not None:
            self._job.later.append(node)

    def restart(self) -> None:
        """Start the job that runs again, as what it found is no longer true."""
        if self._job is not None:
            self._start(self._job.wanted)

    def match(self, node: CallNode) -> None:
        """Match a row again, and add or remove the rows for which that makes a difference."""
        assert self.wanted is not None
        change = int(self.wanted.matches(node)) - int(node.matched)
        if not change:
            return
        self._matched += change
        node.matched = change > 0
        if change > 0:
            self._add(node)
        else:
            self._remove(node)
        self._changed()

    def _add(self, node: CallNode) -> None:
        highest: CallNode | None = None
        for above in node.lineage:
            if not above.hits:
                highest = above
                if above is not node and not above.open:
                    above.open = True
                    self._unfolded.append(above)
            above.hits += 1
        if highest is not None and highest.visible:
            self._rows.insert(highest)

    def _remove(self, node: CallNode) -> None:
        # The highest row that goes takes all rows under it along.
        highest = node
        while highest.parent is not None and highest.parent.hits == 1:
            highest = highest.parent
        if highest.hits == 1 and (index := self._view.index_of(highest.key)) is not None:
            self._view.splice(index, len(self._rows.visible_from(highest)), ())
        for above in node.lineage:
            above.hits -= 1

    def adopt(self, longer: TraceFilter) -> None:
        """Continue with the rows of a longer trace, which has the same filter."""
        self._job = None
        self.wanted, self._matched, self._unfolded = longer.wanted, longer._matched, longer._unfolded

    def unfold_in(self, longer: TraceFilter, mine: CallNode, theirs: CallNode) -> bool:
        """Note that a row of a longer trace is open only because of the filter, where it is so here."""
        if mine not in self._unfolded:
            return False
        longer._unfolded.append(theirs)
        return True

    def _clear(self, was_typing: bool) -> None:
        self.query.edit("")

    def _seek(self, typed: str, *, at_once: bool = False) -> None:
        wanted = read_filter(typed)
        if at_once and self._job is not None:
            self._start(wanted, at_once=True)
        elif wanted != (self.wanted if self._job is None else self._job.wanted):
            self._start(wanted, at_once=at_once)
        self._changed()

    def _start(self, wanted: CallFilter | None, *, at_once: bool = False) -> None:
        """Find the rows to show: the first of a long trace now, the rest in steps between keys and paints."""
        width, estimate = self._view.entry_width, self._view.source.estimate
        job = FilterJob(self._rows.roots, wanted, self._unfolded, lambda node: estimate(node, width))
        self._job = job
        for _ in count() if at_once or not self._view.is_attached else range(STEPS_AT_ONCE):
            if not job.advance():
                self._finish(job)
                return
        start_job(self._view, self._continue, "filter")

    async def _continue(self) -> None:
        while (job := self._job) is not None:
            if not job.advance():
                self._finish(job)
                return
            await asyncio.sleep(0)

    def _finish(self, job: FilterJob) -> None:
        """Show what was found."""
        if job.unfolded != len(self._unfolded):
            # The previous filter unfolded more rows for what came meanwhile.
            self._start(job.wanted, at_once=True)
            return
        self._job = None
        view = self._view
        cursor = view.cursor.key if view.cursor is not None else None
        if self.wanted is None:
            self._before = (view.bookmark.cursor, view.following)
        wanted = self.wanted = job.wanted
        for node in self._unfolded:
            node.open = False
        for node in job.opened:
            node.open = True
        self._unfolded = job.opened
        self._matched = job.matched
        if wanted is not None:
            job.set_hits()
        view.replace_all(job.rows)
        # In reading order: a row goes below the last one of the row before it, which must be there by then.
        for node in sorted(set(job.later), key=lambda node: node.path):
            if wanted is not None:
                self.match(node)
            elif node.visible and view.index_of(node.key) is None:
                self._rows.insert(node)
        self._changed()
        self._place_cursor(cursor)
        view.update_rows()

    def _place_cursor(self, cursor: Hashable | None) -> None:
        view = self._view
        if self.wanted is None:
            before, following = self._before
            if following or before is None or view.index_of(before) is None:
                view.action_cursor_end()
            else:
                view.show_entry(before)
            return
        view.stop_following()
        index = view.index_of(cursor) if cursor is not None else None
        if index is not None and view.entries[index].matched:
            view.show_entry(cursor)
        else:
            view.show_entry(next((row.key for row in view.entries if row.matched), None))

    def go_to_match(self, step: int) -> None:
        """Go to the next match, or to the previous one, around the ends."""
        if not self.on or not self._matched:
            return
        entries, here = self._view.entries, self._view.cursor_index
        for distance in range(1, len(entries) + 1):
            node = entries[(here + step * distance) % len(entries)]
            if node.matched:
                self._view.show_entry(node.key)
                self._view.update_rows()
                return
