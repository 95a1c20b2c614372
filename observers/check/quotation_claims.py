"""Checks the quotations of a report: word for word, except for punctuation, spaces, ellipses and brackets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, groupby, islice, pairwise

from ua_tui.core.claims.records import Claim, Passage, TextQuote
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.observers.check.blocks import INVISIBLE, Block, Document, Places
from ua_tui.observers.check.figures.numbers import Style
from ua_tui.observers.check.sources import PassageIndex

_MOST = 1_000
"""Quotations of a report that are checked."""
_FEWEST = 4
"""Words of a quotation that is missed: shorter ones are terms and titles."""
_LONGEST_GAP, _REPLACED = 300, 6
"""Words that an ellipsis may leave out, and that brackets may stand for."""
_FEW = 3
"""Words that are left out to change a sentence, and not to shorten it, if "not" is one of them."""
_ALIKE = 0.6
"""The share of a quotation's words that an altered one has in common with the source."""
_TRIES, _PAIRS = 60, 40
"""Places of a source where each of so many pairs of words of an altered quotation is looked for."""
_SEEN = 0.35
"""The share of the words that the passage has that is shown for a quotation that no source has."""
_MARKS = re.compile(
    r"“([^“”]{2,3000})”|„([^„“”]{2,3000})[“”]|«([^«»]{2,3000})»|»([^«»]{2,3000})«|(?<![\w\"])\"([^\"]{2,3000})\"(?!\w)|(?<!\w)[‘‚]([^‘‚]{12,3000}?)[’‘](?!\w)"
)
_GAP = re.compile(r"\s*[\[(]\s*(?:…|\.\s?\.\s?\.)\s*[\])]\s*|…|\.\s?\.\s?\.\.?")
_INSERTED = re.compile(r"\[[^\[\]]{0,120}\]")
_WORD = re.compile(r"[^\W_]+")
_HIDDEN_HYPHEN = "\u2011"
_Part = tuple[int, list[str]]
"""Words that stand together, after at most so many words that are left out."""


@dataclass
class _Text:
    """The words of a source as they are compared, and where they are in its passages."""

    number: int
    text: str
    starts: Sequence[int]
    passages: Sequence[str]

    @cached_property
    def words(self) -> list[str]:
        return _WORD.findall(self.text.casefold())

    @cached_property
    def joined(self) -> str:
        return f" {' '.join(self.words)} "

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        return [match.span() for match in _WORD.finditer(self.text)]


def check_quotations(
    document: Document, corpus: PassageIndex, places: Places, style: Style
) -> Iterator[tuple[int, Claim]]:
    """Give a claim, and its place in the visible text, for each quotation of the report.

    Raises:
        Stopped: the result is no longer needed.
    """
    texts: list[_Text] = []
    count = 0
    for number, block in enumerate(document.blocks):
        for start, end in _quotations(block):
            check_stopped()
            words = _folded(block.text[start:end])
            if len(words) < 2 or not any(word.isalpha() for word in words):
                continue
            count += 1
            if count > _MOST:
                document.notices.append(f"Only the first {_MOST:,} quotations were checked.")
                return
            texts = texts or _texts(corpus)
            claim = places.claim("quotation", "not found", number, start, end)
            judged = _judged(claim, block.text[start:end], texts, corpus, style.words.negations)
            yield places.place(number, start), judged


def _quotations(block: Block) -> Iterator[tuple[int, int]]:
    """The ranges of the quotations in a block."""
    found = [match.span(match.lastindex or 0) for match in _MARKS.finditer(block.text)]
    found += [each for each in block.quoted if not any(a < each[1] and each[0] < b for a, b in found)]
    if not found and block.kind == "quote":
        found = [(0, len(block.text))]
    return iter(sorted(found))


def _judged(
    claim: Claim, quotation: str, texts: Sequence[_Text], corpus: PassageIndex, negations: frozenset[str]
) -> Claim:
    for parts in _readings(quotation):
        for text in texts:
            if (found := _find(parts, text, negations)) is not None:
                return claim.as_state("found", "The source has these words.", (_passage(text, found),))
    words = _folded(quotation)
    for number, source in enumerate(corpus.sources):
        if words == _folded(source.title):
            title = Passage(source=number, text=source.title)
            return claim.as_state("found", "This is the title of a source.", (title,))
    if len(words) < _FEWEST:
        return claim.as_state("not looked at", "It is too short to check.")
    tried = ((*_nearest(words, text), text) for text in texts)
    nearest = max(tried, key=lambda each: each[0], default=None)
    if nearest is None or nearest[0] < _SEEN:
        return claim
    alike, at, best = nearest
    passage = _passage(best, at)
    if alike < _ALIKE:
        return claim.as_state("not found", "", (passage,))
    note = _difference(words, best.words[at[0] : at[1]])
    return claim.as_state("differs", note, (passage,), instead=passage.quote.exact)


def _readings(quotation: str) -> Iterator[list[_Part]]:
    """The parts of a quotation between ellipses, with the words in brackets and without them."""
    pieces = _GAP.split(quotation)
    yield [
        (_LONGEST_GAP, words)
        for piece in pieces
        if (words := _folded(piece.replace("[", "").replace("]", "")))
    ]
    if "[" in quotation:
        yield [
            (_LONGEST_GAP if number == 0 else _REPLACED, words)
            for piece in pieces
            for number, part in enumerate(_INSERTED.split(piece))
            if (words := _folded(part))
        ]


def _find(parts: Sequence[_Part], text: _Text, negations: frozenset[str]) -> tuple[int, int] | None:
    """The words of a source that have all parts in order; None if it has not, or if a single "not" is left out."""
    first = -1
    for _ in range(_TRIES):
        first = at = text.joined.find(f" {' '.join(parts[0][1])} ", first + 1) if parts else -1
        if first < 0:
            return None
        at += len(" ".join(parts[0][1])) + 1
        for gap, part in parts[1:]:
            wanted = f" {' '.join(part)} "
            place = text.joined.find(wanted, at)
            left_out = text.joined[at:place].split() if 0 <= place < at + 20 * gap else None
            if left_out is None or len(left_out) > gap:
                break
            if len(left_out) <= _FEW and not negations.isdisjoint(left_out):
                break
            at = place + len(wanted) - 1
        else:
            start = text.joined.count(" ", 0, first + 1) - 1
            return start, text.joined.count(" ", 0, at)
    return None


def _nearest(words: Sequence[str], text: _Text) -> tuple[float, tuple[int, int]]:
    """The words of a source that are most like a quotation, and how many of its words they share."""
    pairs = list(enumerate(pairwise(words)))
    starts = Counter(
        max(text.joined.count(" ", 0, place.start() + 1) - 1 - at, 0)
        for at, (one, other) in pairs[:: max(len(pairs) // _PAIRS, 1)]
        for place in islice(re.finditer(f" {one} {other} ", text.joined), _TRIES)
    )
    best, where = 0.0, (0, 0)
    for start, _ in starts.most_common(4):
        first, last = max(start - 4, 0), start + len(words) + 6
        matcher = SequenceMatcher(None, text.words[first:last], words, autojunk=False)
        # The last one is empty.
        *blocks, _ = matcher.get_matching_blocks()
        share = sum(each.size for each in blocks) / len(words)
        if share > best:
            low, high = blocks[0], blocks[-1]
            begin = max(first + low.a - low.b, 0)
            end = first + high.a + high.size + (len(words) - high.b - high.size)
            best, where = share, (begin, min(end, len(text.words)))
    return best, where


def _difference(words: Sequence[str], there: Sequence[str]) -> str:
    """Say what the first difference is."""
    for name, a, b, c, d in SequenceMatcher(None, there, words, autojunk=False).get_opcodes():
        has, says = " ".join(there[a:b]), " ".join(words[c:d])
        if name == "replace":
            return f"The source has “{has}” where the report has “{says}”."
        if name == "delete":
            return f"The report leaves out “{has}”."
        if name == "insert":
            return f"The report adds “{says}”."
    return "The words are in another order in the source."


def _texts(corpus: PassageIndex) -> list[_Text]:
    found = []
    for number, group in groupby(corpus.passages, lambda passage: passage.source):
        passages = [each.text for each in group]
        parts = [_folding(each) for each in passages]
        starts = list(accumulate((len(part) + 1 for part in parts), initial=0))
        found.append(_Text(number, " ".join(parts), starts, passages))
    return found


def _passage(text: _Text, words: tuple[int, int]) -> Passage:
    first = text.spans[words[0]][0]
    last = text.spans[min(words[1], len(text.spans)) - 1][1]
    at = bisect_right(text.starts, first) - 1
    quote = TextQuote.of(text.text, first, last)
    return Passage(source=text.number, text=text.passages[at], quote=quote)


def _folding(text: str) -> str:
    return text.translate(INVISIBLE).replace(_HIDDEN_HYPHEN, "-").replace("ﬁ", "fi").replace("ﬂ", "fl")


def _folded(text: str) -> list[str]:
    return _WORD.findall(_folding(text).casefold())
