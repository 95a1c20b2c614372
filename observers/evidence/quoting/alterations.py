"""Finds the passage of a text that a quotation was changed from, and says how they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.text import clean_line
from ua_tui.observers.evidence.quoting.folding import Folded
from ua_tui.observers.evidence.quoting.matching import Part, Span

Place = tuple[int, int]
"""A word of a text and the word of a quotation that is the same."""

_SIMILAR = 0.75
"""The least part of the words of a quotation and its passage that both have; a changed word of four is still found."""
_FEWEST = 3
"""Words that both have at least."""
_LONGEST = 400
"""Words that are compared at once."""
_MOST_PLACES = 4_000
_MOST_PARTS = 50
_MOST_RUNS = 4
_MOST_STARTS = 3
_SHIFT = 6
"""Words by which a passage may be longer or shorter than the quotation before a word that both have."""
_MOST_NAMED = 3
_LONGEST_NAMED = 80

_FEW = 6
"""Words between two passages up to which words were left out, and beyond which two passages were joined."""
_ENDS_SPEECH = re.compile('[.,!?;:…—–-]*["”“»«’」』][\\s,.;:—–-]*')
_STARTS_SPEECH = re.compile('[.,;:]?[\\s—–-]+["“„«»‘‚「『]')
_MOST_INTERRUPTING, _MOST_INSERTED = 15, 8


@dataclass(slots=True)
class Alteration:
    """A passage similar to a quotation.

    `span` is the passage, `marks` are the words in it that differ (or the two passages that were joined), `notes` say
    how. `ratio` is the part of the words that both have. Without notes, only what does not count differs.
    """

    ratio: float
    span: Span
    marks: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def shared_pairs(
    parts: Sequence[Part], texts: Mapping[int, Folded], stop: Stop = NEVER
) -> list[dict[int, list[Place]]]:
    """Find where two successive words of each part stand in each text, by the number of the text."""
    wanted: dict[tuple[str, str], list[Place]] = {}
    for number, part in enumerate(parts):
        words = part.folded.words[:_LONGEST]
        for at, pair in enumerate(pairwise(words)):
            wanted.setdefault(pair, []).append((number, at))
    found: list[dict[int, list[Place]]] = [{} for _ in parts]
    for text_number, text in texts.items():
        stop.check()
        words = text.words
        for at, pair in [(at, pair) for at, pair in enumerate(pairwise(words)) if pair in wanted]:
            for number, inside in wanted[pair][:_MOST_PARTS]:
                places = found[number].setdefault(text_number, [])
                if len(places) < _MOST_PLACES:
                    places.append((at, inside))
    return found


def closest(part: Part, text: Folded, places: Sequence[Place]) -> Alteration | None:
    """Find the passage that is most similar to a part; `places` are from `shared_pairs`."""
    words = part.folded.words[:_LONGEST]
    joined = _joined(part, words, text)
    if joined is not None:
        return joined
    found = [_aligned(part, words, text, first) for first in _likely_starts(places)]
    return max(filter(None, found), key=lambda each: each.ratio, default=None)


def _aligned(part: Part, words: list[str], text: Folded, first: int) -> Alteration | None:
    """Compare a part with the passage that may begin at a word of the text."""
    begin = max(first - _SHIFT, 0)
    window = [
        text.letters(at, at + 1)
        for at in range(begin, min(first + len(words) + len(words) // 8 + _SHIFT, len(text)))
    ]
    blocks = _blocks(window, words)
    if not blocks:
        return None
    matched = sum(size for _, _, size in blocks)
    low, high = blocks[0][0], blocks[-1][0] + blocks[-1][2]
    if matched >= _FEWEST and matched < len(words) and sorted(window[low:high]) == sorted(words):
        span = (begin + low, begin + high)
        return Alteration(matched / len(words), span, notes=["the words are in another order in the source"])
    # What differs at the ends of a quotation has its counterpart beside the passage.
    low = max(low - blocks[0][1], 0)
    high = min(high + len(words) - blocks[-1][1] - blocks[-1][2], len(window))
    ratio = 2 * matched / (len(words) + high - low)
    if matched < _FEWEST or ratio < _SIMILAR:
        return None
    alteration = Alteration(ratio, (begin + low, begin + high))
    joints = [(low, 0, 0), *blocks, (high, len(words), 0)]
    for (at, inside, size), (next_at, next_inside, _) in pairwise(joints):
        theirs = (begin + at + size, begin + next_at)
        ours = (inside + size, next_inside)
        if theirs[0] < theirs[1] or ours[0] < ours[1]:
            _compare(alteration, part, ours, text, theirs)
    return alteration


def _likely_starts(places: Sequence[Place]) -> list[int]:
    """Where a quotation would begin in a text by most of the words that both have."""
    counts = Counter(at - inside for at, inside in places)
    near = {start: sum(counts[start + shift] for shift in range(-_SHIFT, _SHIFT + 1)) for start in counts}
    best: list[int] = []
    for start in sorted(near, key=lambda each: (-near[each], -counts[each], each)):
        if all(abs(start - other) > _SHIFT for other in best):
            best.append(start)
            if len(best) == _MOST_STARTS:
                break
    return best


def _blocks(window: list[str], words: list[str]) -> list[tuple[int, int, int]]:
    """The runs of words that both have, without single words far from the others."""
    blocks = [
        tuple(each)
        for each in SequenceMatcher(None, window, words, autojunk=False).get_matching_blocks()[:-1]
    ]
    while (
        len(blocks) > 1
        and blocks[0][2] == 1
        and blocks[1][0] - blocks[0][0] > 3 + blocks[1][1] - blocks[0][1]
    ):
        del blocks[0]
    while (
        len(blocks) > 1
        and blocks[-1][2] == 1
        and (
            blocks[-1][0] - blocks[-2][0] - blocks[-2][2] > 3 + blocks[-1][1] - blocks[-2][1] - blocks[-2][2]
        )
    ):
        del blocks[-1]
    return [(at, inside, size) for at, inside, size in blocks]


def _compare(alteration: Alteration, part: Part, ours: Span, text: Folded, theirs: Span) -> None:
    """Note the difference between words of a quotation and those of the source in their place."""
    has, had = text.written(*theirs), part.folded.written(*ours)
    if not had and _is_no_part(text, theirs):
        return
    if part.folded.letters(*ours) == text.letters(*theirs):
        return
    if theirs[0] < theirs[1]:
        alteration.marks.append(theirs)
    if not had:
        alteration.notes.append(f"the report leaves out “{_short(has)}”")
    elif not has:
        alteration.notes.append(f"the report adds “{_short(had)}”")
    else:
        alteration.notes.append(f"the source has “{_short(has)}” where the report has “{_short(had)}”")


def describe(notes: Sequence[str]) -> str:
    """Join what differs to a sentence."""
    more = [f"and {len(notes) - _MOST_NAMED} more"] if len(notes) > _MOST_NAMED else []
    named = "; ".join([*notes[:_MOST_NAMED], *more])
    return f"{named[:1].upper()}{named[1:]}."


def _joined(part: Part, words: Sequence[str], text: Folded) -> Alteration | None:
    """The passages of a text of which a quotation consists, if there are few and they are complete."""
    runs: list[Span] = []
    inside = 0
    while inside < len(words):
        if len(runs) == _MOST_RUNS:
            return None
        run = _longest_run(words, inside, text, runs[-1][1] if runs else 0)
        if run is None:
            return None
        span, count = run
        runs.append(span)
        inside += count
    if len(runs) < 2:
        return None
    alteration = Alteration(0.0, (min(first for first, _ in runs), max(last for _, last in runs)))
    for before, after in pairwise(runs):
        between = after[0] - before[1]
        if 0 < between <= _MOST_INTERRUPTING and _is_no_part(text, (before[1], after[0])):
            continue
        if 0 < between <= _FEW:
            _compare(alteration, part, (0, 0), text, (before[1], after[0]))
        else:
            alteration.marks += [span for span in (before, after) if span not in alteration.marks]
            order = "in another order" if between < 0 else f"{between} words apart"
            alteration.notes.append(f"the report joins two passages that are {order} in the source")
    alteration.ratio = 2 * len(words) / (2 * len(words) + len(alteration.marks))
    return alteration


def _longest_run(words: Sequence[str], inside: int, text: Folded, after: int) -> tuple[Span, int] | None:
    """The longest run of words from one on that the text has, of at least two words, and how many it has."""
    low, high = 1, len(words) - inside
    while low < high:
        middle = (low + high + 1) // 2
        if "".join(words[inside : inside + middle]) in text.compact:
            low = middle
        else:
            high = middle - 1
    for count in (low, low - 1):
        if count < 2:
            return None
        wanted = "".join(words[inside : inside + count])
        begin = text.places[after]
        for start in (begin, 0):
            at = text.compact.find(wanted, start)
            while at >= 0:
                first, end = text.at(at), text.at(at + len(wanted))
                if first is not None and end is not None:
                    return (first, end), count
                at = text.compact.find(wanted, at + 1)
    return None


def _is_no_part(text: Folded, span: Span) -> bool:
    """Whether words of a source are none of the text that a quotation of it would have.

    They are the number of a footnote, what the source itself says between two parts of speech ("We will," he said,
    "never stop"), or a line between two paragraphs, such as a caption.
    """
    first, after = span
    start, end = text.starts[first], text.ends[after - 1]
    count = after - first
    between = text.text[start:end]
    if count == 1 and between.isdigit() and len(between) <= 3 and _is_note_sign(text.text[start - 1 : start]):
        return True
    before = text.text[text.ends[first - 1] : start] if first else ""
    behind = text.text[end : text.starts[after]] if after < len(text) else ""
    if count <= _MOST_INTERRUPTING and _ENDS_SPEECH.fullmatch(before) and _STARTS_SPEECH.fullmatch(behind):
        return True
    is_line = "\n" in before and "\n" in behind and not re.search(r"[.!?。]", behind.split("\n", 1)[0])
    return count <= _MOST_INSERTED and is_line


def _is_note_sign(before: str) -> bool:
    """Whether a number after this character is that of a footnote."""
    return before.islower() or (bool(before) and before in ".,;:!?)”\"’'»")


def _short(words: str) -> str:
    return clean_line(words, _LONGEST_NAMED)
