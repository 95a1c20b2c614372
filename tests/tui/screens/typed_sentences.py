"""Sentences as people type them while a dialog is open: beginnings of every kind, with the pauses between the keys."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

_WORDS = json.loads(Path(__file__).with_name("sentences.json").read_text(encoding="utf-8"))
FIRST, REST = (" ".join(_WORDS[name]).split() for name in ("first", "rest"))
RHYTHMS = {"fast": (60, 110), "even": (110, 200), "slow": (200, 400), "slowest": (390, 400)}
"""The least and the most milliseconds between two keys; in bursts the first is for words, the second before a word."""


def typed_sentences(count: int = 200, seed: int = 33) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Give sentences, each with the seconds before each of its keys after the first; every word begins one."""
    chance = random.Random(seed)
    for number in range(count):
        first = FIRST[number % len(FIRST)] if number < len(FIRST) else chance.choice(FIRST)
        text = " ".join([first, *chance.choices(REST, k=chance.randint(2, 5))])
        rhythm = chance.choice([*RHYTHMS, "bursts"])
        waits = []
        for letter in text[:-1]:
            least, most = RHYTHMS.get(rhythm) or ((300, 400) if letter == " " else (60, 110))
            waits.append(chance.randint(least, most) / 1000)
        yield text, tuple(waits)
