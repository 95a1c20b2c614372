"""Checks the names of a report: people, companies, places and products that no source has.

Only names that are missing from all sources become claims, one for each name, and `LOOK` is the worst that is said of
them: a report may well name what everybody knows. German reports are left out, as German capitalises all nouns.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim, Verdict
from ua_tui.observers.evidence.quoting.folding import fold
from ua_tui.observers.evidence.quoting.language import language_of
from ua_tui.observers.evidence.report import Report, Sentence
from ua_tui.observers.evidence.sources import Sources, SourceText

_MOST = 200
"""Names that are given."""
_LONGEST = 5_000
"""Characters of a sentence that are read."""
_LONGEST_SENTENCE = 1_000
_KINDS = ("paragraph", "item", "quote")
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w’'.-]*\w"
_NAME = re.compile(
    rf"(?<![\w@#/.-]){_CAPITAL}(?:(?:[ -]| (?:of|de|del|di|van|von|der|la|le|al|bin|&) ){_CAPITAL}){{0,7}}"
)
# After these, a capital letter begins a sentence or a title and says nothing.
_BEGINS = re.compile(r"(?:^|[.!?:;•|>“”„\"«‘(\[–—]\s*|\s[-*]\s+|\d[.)]\s+)$")
_ORDINARY = """
january february march april may june july august september october november december monday tuesday wednesday
thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec the this that these those it they
he she we you i a an and or but in on at by for from with as if when while where what which who how why there here
however although because since after before during despite according both each most many some all no not figure
table chart section appendix chapter note source sources mr mrs ms dr prof president minister chief executive
across see among within outside near like unlike via next total date
officer ceo cfo cto coo vp ai api apis gpu gpus cpu cpus url urls pdf html http https faq gdp usa us uk eu un usd
eur gbp tv id ids ok am pm ad bc phd north south east west northern southern eastern western internet
janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre le la les un une des il elle
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre el los las una
"""
"""Words with a capital letter that are no names, or that everybody knows; without accents."""
_FEWEST_LETTERS = 3
_MOST_CAPITALS = 0.6
"""The part of words with a capital letter beyond which a sentence is a title."""
_LONGEST_ACRONYM = 6
_LONGEST_TEXT = 200_000
_CAPITALS = re.compile(
    r"\b[A-Z]\w++(?:(?:[ -]| (?:of|the|for|and|on|de|des|du|la|para) ){1,2}[A-Z]\w++){1,9}"
)
_ENDING, _LEAST_START = 3, 4
"""Letters at the end of a word that may differ: "German" and "Germany"."""


@dataclass(frozen=True)
class _Name:
    """A name in a sentence, as a range of its block's text."""

    sentence: Sentence
    start: int
    end: int
    words: tuple[str, ...]


def check_names(report: Report, sources: Sources, stop: Stop = NEVER) -> Iterator[Claim]:
    """Give a claim for each name of the report that is in none of its sources.

    Raises:
        Stopped: the flag was set.
    """
    texts = [text for text in sources.texts if text.text.strip()]
    blocks = [block.text for block in report.blocks[:200] if block.kind in _KINDS]
    if not sources.has_text or language_of(" ".join(blocks)) == "German":
        return
    known: _Known | None = None
    excluded = {*_words(report.title), *_ORDINARY.split()}
    seen: set[tuple[str, ...]] = set()
    given = 0
    for sentence in report.sentences:
        stop.check()
        for name in _names(sentence, excluded):
            if name.words in seen:
                continue
            seen.add(name.words)
            known = known or _Known(texts, stop)
            if not known.has(name.words):
                given += 1
                yield _claim(name)
                if given == _MOST:
                    return


class _Known:
    """The words of all sources."""

    def __init__(self, texts: Sequence[SourceText], stop: Stop) -> None:
        self._texts = texts
        words: set[str] = set()
        for text in texts:
            stop.check()
            words.update(text.folded.words)
            words.update(_words(f"{text.record.title} {text.record.url}"))
        self._words = sorted({_without_accents(word) for word in words})

    def has(self, words: Sequence[str]) -> bool:
        """Whether the sources have each of the words of a name, or the long form of an acronym."""
        return all(self._has(word) for word in words) or (len(words) == 1 and self._has_long_form(words[0]))

    def _has(self, word: str) -> bool:
        start = word[: max(len(word) - _ENDING, _LEAST_START)]
        at = bisect_left(self._words, start)
        return at < len(self._words) and self._words[at].startswith(start)

    def _has_long_form(self, word: str) -> bool:
        """Whether a source has words with capitals that begin with the letters of an acronym."""
        return len(word) <= _LONGEST_ACRONYM and word in self._initials

    @cached_property
    def _initials(self) -> frozenset[str]:
        runs = (run for text in self._texts for run in _CAPITALS.findall(text.text[:_LONGEST_TEXT]))
        initials = ["".join(word[0] for word in re.findall(r"[A-Z]\w+", run)).lower() for run in runs]
        return frozenset(
            run[start:end]
            for run in initials
            for start in range(len(run))
            for end in range(start + 2, min(start + _LONGEST_ACRONYM, len(run)) + 1)
        )


def _names(sentence: Sentence, excluded: set[str]) -> Iterator[_Name]:
    """The names of a sentence, without those in links, in titles and in capital letters."""
    block = sentence.block
    if block.kind not in _KINDS or block.is_hidden or block.is_bibliography:
        return
    end = min(sentence.end, sentence.start + _LONGEST)
    text = block.text[sentence.start : end]
    words = re.findall(r"[^\W\d_]{2,}", text)
    if sum(word[0].isupper() for word in words) > _MOST_CAPITALS * len(words):
        return
    for found in _NAME.finditer(text):
        start, stop = sentence.start + found.start(), sentence.start + found.end()
        if any(True for _ in block.links_in(start, stop)):
            continue
        parts = found[0].split()
        begins = _BEGINS.search(text[max(found.start() - 6, 0) : found.start()]) is not None
        if begins and (len(parts) == 1 or text[found.end() : found.end() + 1] == ":"):
            continue
        first = _words(parts[0])[:1]
        # "Revenue of Kestrel" is no name at the beginning of a sentence, and "Bank of Norway" is found as "Norway".
        if begins and ((first and first[0] in excluded) or parts[1][0].islower()):
            rest = 1 if parts[1][0].isupper() else 2
            start += found[0].index(parts[rest], len(parts[0]))
            parts = parts[rest:]
        name = tuple(word for word in _words(" ".join(parts)) if _counts(word, excluded))
        if name:
            yield _Name(sentence, start, stop, name)


def _counts(word: str, excluded: set[str]) -> bool:
    return len(word) >= _FEWEST_LETTERS and word.isalpha() and word not in excluded


def _words(text: str) -> list[str]:
    return [_without_accents(word) for word in fold(text).words]


@lru_cache(maxsize=1 << 15)
def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(each for each in unicodedata.normalize("NFD", word) if not unicodedata.combining(each))


def _claim(name: _Name) -> Claim:
    sentence, block = name.sentence, name.sentence.block
    begin = max(sentence.start, name.start - _LONGEST_SENTENCE // 2)
    start, end = block.source_range(name.start, name.end)
    return Claim(
        kind="name",
        verdict=Verdict.LOOK,
        text=block.text[name.start : name.end],
        start=start,
        end=end,
        sentence=block.text[begin : min(sentence.end, begin + _LONGEST_SENTENCE)],
        at=name.start - begin,
        section=block.section,
        url=sentence.cites[0] if sentence.cites else "",
        note="No source of the session has this name.",
    )
