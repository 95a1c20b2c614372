"""The differences of two texts: lines that differ, and the words that differ in them.

Comparing is quadratic in the worst case, so it runs in a worker process with a time limit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.history.versions import Version
from ua_tui.core.storage.compression import inner_name
from ua_tui.tui.viewers.conversion import conversions
from ua_tui.tui.viewers.reader import FileUnviewable, decode, looks_binary, read_piece
from ua_tui.tui.viewers.safe_html import convert_to_markdown

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

LARGEST = 4 << 20
"""Bytes; longer texts are not compared."""
_HTML = frozenset({".html", ".htm", ".xhtml"})


def has_source(version: Version) -> bool:
    """Whether the readable text of a version differs from its source."""
    return PurePath(inner_name(version.name)).suffix.lower() in _HTML


def readable_text(version: Version, *, source: bool = False) -> str:
    """Return the cleaned text of a version. Blocks.

    Raises:
        FileUnviewable: it cannot be read, is not text, or is too long.
        Stopped: the result is no longer needed.
    """
    if version.text is not None:
        data = version.text.encode("utf-8", "replace")
    elif version.path is not None:
        data = read_piece(version.path, LARGEST + 1).data
    else:
        data = b""
    if len(data) > LARGEST:
        raise FileUnviewable(f"Texts larger than {LARGEST >> 20} MiB are not compared.")
    if looks_binary(data):
        raise FileUnviewable("This file is not text, so its versions cannot be compared.")
    text = decode(data)
    if source or not has_source(version):
        return text
    try:
        return convert_to_markdown(text)
    except ConversionFailed as error:
        raise FileUnviewable(
            f"This page is too complex to be read as text ({error}). Press m for its source."
        ) from error


MOST_LINES = 200_000
_SIMILAR = 0.5
# A letter of Chinese, Japanese or Korean is a word of its own.
_WIDE = "぀-ヿ㐀-鿿가-힯"
_WORD = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+|\s+|.", re.DOTALL)

Marks = tuple[tuple[int, int], ...]


class LinePair(NamedTuple):
    """A line of the older text beside its line of the newer one, by their numbers from 0; -1 where there is none.

    `left_marks` and `right_marks` are the ranges of characters that differ in a line that was changed.
    """

    left: int
    right: int
    same: bool = False
    left_marks: Marks = ()
    right_marks: Marks = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts as lines, and the pairs of their lines in the order of both."""

    left: Sequence[str]
    right: Sequence[str]
    pairs: Sequence[LinePair]

    @property
    def changes(self) -> list[int]:
        """The index of the first pair of each change; blank lines do not divide a change."""
        found: list[int] = []
        inside = False
        for index, pair in enumerate(self.pairs):
            if not pair.same:
                if not inside:
                    found.append(index)
                inside = True
            elif self.left[pair.left].strip():
                inside = False
        return found

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many lines were changed, added and removed, without blank ones."""
        changed = added = removed = 0
        for pair in self.pairs:
            if pair.same:
                continue
            if pair.left >= 0 and pair.right >= 0:
                changed += 1
            elif pair.right >= 0:
                added += bool(self.right[pair.right].strip())
            else:
                removed += bool(self.left[pair.left].strip())
        return changed, added, removed


def compare_texts(left: str, right: str) -> Difference:
    """Compare two texts in a worker process.

    Raises:
        ConversionFailed: it takes too long, or the texts have too many lines.
        Stopped: the result is no longer needed.
    """
    lines = (_lines(left), _lines(right))
    sent = conversions().run(f"{__name__}:difference_in_child", list(lines), seconds=10.0)
    return Difference(*lines, msgspec.convert(sent, list[LinePair]))


def difference_in_child(_: TaskContext, texts: list[list[str]]) -> list[LinePair]:
    """Compare the lines of two texts in the worker process."""
    left, right = texts
    if max(len(left), len(right)) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES:,} lines")
    return compare_lines(left, right)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def compare_lines(left: Sequence[str], right: Sequence[str]) -> list[LinePair]:
    """Pair the lines of two texts; it may take any time: use `compare_texts`."""
    pairs: list[LinePair] = []
    i = j = 0
    for at, to, count in SequenceMatcher(None, left, right).get_matching_blocks():
        pairs += _changed(left, right, range(i, at), range(j, to))
        pairs += (LinePair(at + k, to + k, same=True) for k in range(count))
        i, j = at + count, to + count
    return pairs


def _changed(left: Sequence[str], right: Sequence[str], here: range, there: range) -> Iterator[LinePair]:
    """Pair the lines of a part that differs with similar ones; the others were removed or added."""
    i, j = here.start, there.start
    for at, to in [*_similar(left, right, here, there), (here.stop, there.stop)]:
        yield from (LinePair(k, -1) for k in range(i, at))
        yield from (LinePair(-1, k) for k in range(j, to))
        if at < here.stop and to < there.stop:
            yield LinePair(at, to, False, *_word_marks(left[at], right[to]))
        i, j = at + 1, to + 1


def _similar(left: Sequence[str], right: Sequence[str], here: range, there: range) -> list[tuple[int, int]]:
    """The pairs of similar lines, in the order of both texts."""
    if len(here) * len(there) > 10_000:
        return []
    ones = {at: _words(left[at]) for at in here}
    others = {to: _words(right[to]) for to in there}
    alike = {(at, to): _similarity(ones[at], others[to]) for at in here for to in there}
    return _best_pairs({pair: value for pair, value in alike.items() if value >= _SIMILAR})


def _best_pairs(alike: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The pair that is most alike, between those of what is before and behind both of its lines."""
    if not alike:
        return []
    best = max(alike, key=alike.__getitem__)
    before = {each: alike[each] for each in alike if each[0] < best[0] and each[1] < best[1]}
    behind = {each: alike[each] for each in alike if each[0] > best[0] and each[1] > best[1]}
    return [*_best_pairs(before), best, *_best_pairs(behind)]


def _words(line: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(line) if not word.isspace())


def _similarity(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _word_marks(left: str, right: str) -> tuple[Marks, Marks]:
    """The ranges of two lines that differ, in whole words."""
    ones, others = _WORD.findall(left), _WORD.findall(right)
    start = _common(ones, others)
    end = _common(ones[start:][::-1], others[start:][::-1])
    here, there = ones[start : len(ones) - end], others[start : len(others) - end]
    found = SequenceMatcher(None, here, there, autojunk=False)
    blocks = found.get_matching_blocks() if len(here) * len(there) <= 250_000 else []
    # Changes that only white space divides are one.
    kept = [block for block in blocks if not "".join(here[block.a : block.a + block.size]).isspace()]
    offset = len("".join(ones[:start]))
    return (
        _between(here, [(block.a, block.size) for block in kept], offset),
        _between(there, [(block.b, block.size) for block in kept], offset),
    )


def _common(ones: Sequence[str], others: Sequence[str]) -> int:
    """How many words two lines have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ones, others, strict=False)))


def _between(words: Sequence[str], equal: Sequence[tuple[int, int]], offset: int) -> Marks:
    """The ranges of characters between words that are equal; `equal` has the number of the first, and how many."""
    places = list(accumulate(map(len, words), initial=offset))
    starts = [0, *(at + count for at, count in equal)]
    ends = [*(at for at, _ in equal), len(words)]
    return tuple((places[at], places[to]) for at, to in zip(starts, ends, strict=True) if at < to)
