"""What the words around a number say: what it counts, per what, whether it is more or less, and how exact it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ua_tui.observers.check.figures.figure import Bound
from ua_tui.observers.check.figures.vocabulary import Vocabulary, form_of, root, singular, stem, units

_WORDS = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*|[^\w\s]|\d[\d.,]*")
CLAUSE = re.compile(
    r"[;:()|—!?]|[.,](?!\d)|\s[–-]\s"
    r"|\b(?:and|but|while|whereas|und|aber|während|et|mais|tandis|y|pero|mientras)\b(?! (?:per|par|por|pro|je)\b)"
)
_SENTENCE = re.compile(r"[.!?](?:\s|\Z)")
_BEFORE, _BEHIND, _ADJECTIVE, _ADJECTIVE_BEHIND = 80, 60, 12, 6
"""Characters of a clause before and behind a number that are looked at, and words there for "annual"."""
_ASIDE = re.compile(r"\([^()]{0,24}(?:1[89]|20)\d\d: ?\S{0,3}\Z")
"""A year and a colon before a value in brackets, which is a former one."""
_PER = ("per", "pro", "je", "par", "por", "/")
_NO_PRICES = ("", "%", "pp")
"""Units behind which "a" and an unknown noun are no rate: "98 percent a stack keeps"."""


@dataclass(frozen=True)
class Context:
    """The words around a number, which is `text[start:end]`, in its clause and its sentence."""

    text: str
    words: Vocabulary
    start: int
    end: int

    @cached_property
    def before(self) -> list[str]:
        """The words of the clause before the number, the nearest first."""
        clause = CLAUSE.split(self.text[max(0, self.start - _BEFORE) : self.start])[-1]
        return _WORDS.findall(clause.casefold())[::-1]

    @cached_property
    def behind(self) -> str:
        """The clause behind it."""
        return CLAUSE.split(self.text[self.end : self.end + _BEHIND], 1)[0]

    @cached_property
    def following(self) -> list[str]:
        """The words of the clause behind it."""
        return _WORDS.findall(self.behind.casefold())

    @property
    def bound(self) -> Bound:
        """Whether the words before it say that it is no exact value."""
        match = self.words.bounds.search(self.text[max(0, self.start - 24) : self.start])
        if match is None:
            return ""
        return "about" if match["about"] else "over" if match["over"] else "under"

    @property
    def noun(self) -> str:
        """What it counts, in the singular: the first plural, in German the first word in capitals; "" without one."""
        known, tail = self.words, self.text[self.end : self.end + _BEHIND]
        is_begun = False
        for word in _WORDS.findall(tail)[:7] if tail and tail[0] in " \u00a0\u202f-" else ():
            lowered = word.casefold()
            if lowered in known.before_nouns and not is_begun:
                continue
            if not word[0].isalpha() or lowered in known.common:
                break
            is_begun = True
            is_plural = lowered in known.irregular or singular(word) != lowered or lowered.endswith("x")
            is_noun = word[0].isupper() if known.language == "de" else is_plural
            is_noun &= stem(word) not in known.adjectives and form_of(known.direction, lowered) is None
            # A "43-country study" counts countries.
            if is_noun or tail[0] == "-":
                return singular(word)
        return ""

    @property
    def is_negated(self) -> bool:
        """Whether the words of the sentence around it say that something is not so."""
        before = _SENTENCE.split(self.text[max(0, self.start - _BEFORE) : self.start])[-1]
        behind = _SENTENCE.split(self.text[self.end : self.end + _BEHIND], 1)[0]
        return not self.words.negations.isdisjoint(_WORDS.findall(f"{before} {behind}".casefold()))

    def rate(self, unit: str) -> str:
        """What a number is per, "|" between several: "a week" or "/kg" behind it, or an adjective such as "annual"."""
        known, tail = self.words, self.behind
        found: list[str] = []
        for match in known.rates.finditer(tail):
            number, word = match[1].strip(), match[2]
            between = tail[: match.start()].split()
            is_per = match[0].casefold().startswith(_PER)
            following = (_WORDS.findall(tail[match.end() :]) or [" "])[0].casefold()
            forms = (f"{word.casefold()} {following}", word, word.casefold())
            rate = next((known.rate_units[form] for form in forms if form in known.rate_units), None)
            if match[0][0] == "/":
                rate = units().rates.get(word, rate)
            is_compared = following in known.compared or following[0].isdigit()
            if is_compared or form_of(known.direction, word.casefold()) or (number and not is_per):
                continue
            if rate is None and not is_per and unit in _NO_PRICES:
                continue
            if found or (len(between) <= 3 and (rate or not (between or word.casefold() in known.common))):
                found.append(f"{number} {rate or stem(word)}".strip())
        if found:
            return "|".join(found)
        near = self.following[:_ADJECTIVE_BEHIND] + self.before[:_ADJECTIVE]
        return next(filter(None, (form_of(known.rate_words, word) for word in near)), "")

    @property
    def direction(self) -> tuple[int, bool, bool]:
        """Whether the words around a number say more (1) or less (-1), whether a neighbour does, and of a level."""
        known, levels, bound = self.words.direction, self.words.levels, self.bound
        for word, following in zip(self.following[:3], [*self.following[1:], ""], strict=False):
            is_of = root(word) in self.words.calculation["of"]
            if not word[0].isalpha() or (word in self.words.past and not is_of):
                break
            if (sign := form_of(known, word)) is not None and not self._is_degree(word, following):
                return sign, True, word in levels
        for distance, word in enumerate(self.before):
            # "More than 40" and "make up 40 percent" say nothing of a direction.
            is_bound = bound and distance < 2 and word in self.words.bounding
            if is_bound or not self.words.phrasal.isdisjoint(self.before[distance + 1 : distance + 2]):
                continue
            following = self.before[distance - 1] if distance else ""
            if (sign := form_of(known, word)) is not None and not self._is_degree(word, following):
                return sign, distance <= 2, word in levels
        return 0, False, False

    def _is_degree(self, word: str, following: str) -> bool:
        """Whether a word is that of a comparative: "plus court" is less."""
        return word in self.words.degrees and following.isalpha() and following not in self.words.common

    def role(self, reach: int = 2) -> int:
        """-1 for a former and 1 for a present value, by the last words before it: "from", "to", "(2031: 402)"; else 0.

        "Sales of 12 million" are in German no former ones, but in "from 12 to 14 million" the first ones are.
        """
        if _ASIDE.search(self.text[max(0, self.start - 40) : self.start]):
            return -1
        known = self.words
        goes_on = not known.present.isdisjoint(self.following[:3])
        before = self.before[:reach]
        for word, earlier in zip(before, [*self.before[1 : reach + 1], ""], strict=False):
            if word in known.months or word.capitalize() in known.months:
                # "From May it will be 54 minutes" has no former value.
                break
            # In Spanish "frente a 40" is a former value.
            if any(
                each in known.past and (goes_on or root(each) not in known.calculation["of"])
                for each in (word, earlier)
            ):
                return -1
            if word in known.present:
                return 1
            if word not in known.common and reach == 2:
                break
        return 0
