"""Reads a text as words that are equal for a reader, with their places in it.

Case, quotation marks, spaces, dashes, hyphens at line ends, ligatures, invisible characters, look-alike letters, and
the marks of Markdown make no difference; digits and letters do.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

SOFT_HYPHEN = "\u00ad"
INVISIBLE = (
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
)
"""Characters that a reader does not see, as a range of a regular expression."""

# Scripts that are written without spaces: each character is a word.
_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Apostrophes that count as letters.
_APOSTROPHES = "\u02b9\u02bb\u02bc\u02bd\u02be\u02c8\u055a\u07f4\u07f5\ua78c"
_SUPERSCRIPT = "\u00b2\u00b3\u00b9\u2070-\u2079"
# Accents that stand apart from their letter, and the vowel signs of Indian scripts.
_MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
_SIGNS = "%‰$€£¥₹"
# What a source's text has beside its words: footnote numbers, the addresses of links, tags, and entities.
_SKIPPED = (
    r"(?:\\?\[){1,2}\^?[0-9]{1,3}(?:\\?\]){1,2}(?:\([^()\s]{0,2000}\))?"
    r"|\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,2000})?(?:\s\"[^\"\n]{0,300}\")?\)"
    r"|<sup>[^<]{0,20}</sup>|</?[a-zA-Z][^<>\n]{0,300}>"
    r"|&(?:[a-z]{2,8}|\#x?[0-9a-fA-F]{1,6});"
)
_LETTER = rf"[^\W\d_{_APOSTROPHES}{_SUPERSCRIPT}{_SINGLE}]"
_TOKEN = re.compile(
    rf"{_SKIPPED}|(?:{_LETTER}|[{_MARKS}{SOFT_HYPHEN}{INVISIBLE}]){{1,200}}"
    rf"|\d{{1,60}}(?:[.,]\d{{1,60}}){{0,9}}|[{_SINGLE}{_SIGNS}]|(?<!{_LETTER}{{3}})(?<={_LETTER})[{_SUPERSCRIPT}]"
)
# In a text of ASCII without anything to skip, only these matter.
_PLAIN_TOKEN = re.compile(r"[A-Za-z]{1,200}|[0-9]{1,60}(?:[.,][0-9]{1,60}){0,9}|[%$]")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_HIDDEN = re.compile(f"[{SOFT_HYPHEN}{INVISIBLE}]")
_PIECE = 64 << 10
_IS_SINGLE = re.compile(f"[{_SINGLE}]")

_LOOK_ALIKES = dict(
    zip(
        map(
            ord,
            "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412"
            "\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u03bf\u03bd\u03c1"
            "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0131\u0261",
        ),
        "aeopcyxijshdqwABEKMHOPCTYXIJSovpABEZHIKMNOPTYXig",
        strict=True,
    )
)
"""Letters of other scripts that look like Latin ones."""


class Folded:
    """The words of a text without anything between them, and where they are.

    Attributes:
        text: the text itself.
        words: the folded words in order.
        compact: the folded words, one after the other.
    """

    __slots__ = ("_pattern", "_places", "_spans", "compact", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        is_plain = text.isascii() and not any(sign in text for sign in "<&[")
        self._pattern = _PLAIN_TOKEN if is_plain else _TOKEN
        self.words: list[str] = []
        for start, end in self._pieces():
            self.words += filter(None, map(_fold_word, self._pattern.findall(text, start, end)))
        self.compact = "".join(self.words)
        self._places: array[int] | None = None
        self._spans: tuple[array[int], array[int]] | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def places(self) -> array[int]:
        """Where each word begins in `compact`, and at last the length of it."""
        if self._places is None:
            self._places = array("L", accumulate(map(len, self.words), initial=0))
        return self._places

    @property
    def starts(self) -> array[int]:
        """Where each word begins in the text."""
        return self._located()[0]

    @property
    def ends(self) -> array[int]:
        """Where each word ends in the text."""
        return self._located()[1]

    def _located(self) -> tuple[array[int], array[int]]:
        """Find the words again with their places, which only texts with a quotation need."""
        if self._spans is None:
            starts, ends = array("L"), array("L")
            for start, end in self._pieces():
                found = self._pattern.finditer(self.text, start, end)
                spans = [match.span() for match in found if _fold_word(match[0])]
                starts.extend([first for first, _ in spans])
                ends.extend([last for _, last in spans])
            self._spans = starts, ends
        return self._spans

    def at(self, place: int) -> int | None:
        """The number of the word that begins at a place of `compact`; None if none does."""
        number = bisect_left(self.places, place)
        return number if self.places[number] == place else None

    def word_at(self, place: int) -> int:
        """The number of the word that has a place of `compact`."""
        return bisect_right(self.places, place) - 1

    def letters(self, first: int, after: int) -> str:
        """The folded words from one to before another one."""
        return self.compact[self.places[first] : self.places[after]]

    def written(self, first: int, after: int) -> str:
        """The text from a word to before another one, as it is written."""
        return self.text[self.starts[first] : self.ends[after - 1]] if first < after else ""

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of the text, as a single search through a large one would block all other threads."""
        start, length = 0, len(self.text)
        while start < length:
            end = start + _PIECE
            if end < length:
                end = (
                    max(self.text.rfind("\n", start + 1, end), self.text.rfind(" ", end - 1_000, end), start)
                    + 1
                )
                end = end if end > start + 1 else start + _PIECE
            yield start, min(end, length)
            start = end


def fold(text: str) -> Folded:
    """Read a text as words."""
    return Folded(text)


def count_words(folded: Folded) -> int:
    """How many words a reader counts; two characters of a script without spaces are one."""
    single = sum(1 for _ in _IS_SINGLE.finditer(folded.compact))
    return len(folded) - single + single // 2


def has_look_alikes(text: str) -> bool:
    """Whether a text of Latin letters has letters of other scripts among them that look the same."""
    if text.isascii():
        return False
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(1 for letter in letters if _is_latin(letter))
    foreign = [letter for letter in letters if not _is_latin(letter)]
    return (
        bool(foreign) and latin > len(foreign) and any(_is_mixed(word) for word in re.findall(r"\w+", text))
    )


def _is_mixed(word: str) -> bool:
    return latin_form(word) != word


@lru_cache(maxsize=1 << 15)
def _fold_word(word: str) -> str:
    """Fold a word; what is no word becomes empty."""
    if word[0] in "[]\\<&":
        return ""
    if word.isascii() and word.isalpha():
        return word.lower()
    if word[0].isdigit():
        word = unicodedata.normalize("NFKC", word)
        return (
            _THOUSANDS.sub(_without_separators, word)
            if _THOUSANDS.fullmatch(word)
            else word.replace(",", ".")
        )
    if word == "%":
        return "percent"
    word = _HIDDEN.sub("", word)
    return unicodedata.normalize("NFKC", latin_form(word)).casefold() if word else ""


def _without_separators(found: re.Match[str]) -> str:
    return found[0].replace(".", "").replace(",", "")


def latin_form(word: str) -> str:
    """The word in Latin letters if it mixes them with letters that look alike."""
    if not any(_is_latin(letter) for letter in word):
        return word
    return word.translate(_LOOK_ALIKES)


def _is_latin(letter: str) -> bool:
    return (
        (letter < "\u0250" and letter.isalpha())
        or "\u1e00" <= letter < "\u1f00"
        or "\ufb00" <= letter < "\ufb07"
    )
