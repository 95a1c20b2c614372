"""Sentences of made-up sources and reports in four languages: what a source says, a report says in other words.

A name in braces is a value; of a report's sentences, each is a place where a fault can be seeded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True)
class Fact:
    """A fact as its source has it and as reports have it."""

    source: Sequence[str]
    report: Sequence[str]


@dataclass(frozen=True)
class Texts:
    """All sentences of a language; `distractors` have figures of the same kinds that are about other things."""

    facts: Mapping[str, Fact]
    distractors: Sequence[str]
    quotations: Sequence[str]
    said: Sequence[str]
    headings: Sequence[str]
    table: tuple[str, str, str, str]
    listed: str
    sources: str


TEXTS = msgspec.json.decode(Path(__file__).with_name("fault_texts.json").read_bytes(), type=dict[str, Texts])
LANGUAGES = tuple(TEXTS)
