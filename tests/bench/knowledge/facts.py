"""Companies, what is written of them, and what a person would type to find it again: `facts.toml`.

The words of the texts and the words of the questions are written apart: a question has another form of a word, a word
that means the same, or one that only the search had that found the page.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.bench.knowledge.prose import invent_word


@dataclass(frozen=True)
class Field:
    """What a session is about: the words of the person who searches, and those of the articles that are found."""

    name: str
    searched: tuple[str, ...]
    written: tuple[str, ...]


@dataclass(frozen=True)
class Attribute:
    """What can be known of a company.

    Attributes:
        texts: sentences with the name of the company and a figure.
        words: words of all of these sentences.
        forms: words of the sentences in another form, regular or not.
        meanings: words that mean the same and are in none of the sentences.
        asked: questions as people type them, for a name in the place of {}.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...]
    forms: tuple[str, ...]
    meanings: tuple[str, ...]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class Company:
    """A company with a name of two words, and the person who leads it."""

    name: str
    head: str

    @property
    def short(self) -> str:
        """The name as people write it when they have named it once."""
        return self.name.split()[0]


@dataclass(frozen=True)
class Fact:
    """A sentence on a company, and the figure in it."""

    company: Company
    attribute: Attribute
    sentence: str
    figure: str


def invent_company(draw: random.Random, field: Field, name: str) -> Company:
    """A company of the field whose name begins with this word."""
    return Company(
        f"{name} {draw.choice(field.written).capitalize()}",
        f"{invent_word(draw, (2, 2)).capitalize()} {invent_word(draw, (2, 3)).capitalize()}",
    )


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FIELDS = msgspec.convert(_DATA["field"], tuple[Field, ...])
ATTRIBUTES = msgspec.convert(_DATA["attribute"], tuple[Attribute, ...])
