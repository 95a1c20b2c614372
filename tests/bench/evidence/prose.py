"""Made-up articles in four languages, with words that are never written by a person about a real thing."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import msgspec


@dataclass(frozen=True)
class Language:
    """The parts of sentences; any of each part goes with any of the others."""

    who: Sequence[str]
    did: Sequence[str]
    what: Sequence[str]
    when: Sequence[str]
    said: str
    """What a report writes before a quotation."""
    spare: Sequence[str]
    """Words that change a sentence."""


LANGUAGES: Mapping[str, Language] = msgspec.json.decode(
    Path(__file__).with_name("prose.json").read_bytes(), type=dict[str, Language]
)


def sentences(language: Language, count: int, draw: random.Random) -> list[str]:
    """Different sentences, in any order."""
    every = list(product(language.who, language.did, language.what, language.when))
    return [" ".join(parts) + "." for parts in draw.sample(every, count)]
