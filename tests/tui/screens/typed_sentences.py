"""Sentences as people type them while a dialog is open: beginnings of every kind, with the pauses between the keys."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST = (
    "a also and again actually always are about both but be can could change do does did don't draft each even every "
    "each e.g. f for find from first if in is it its I I'm just keep know let log make more no not now never new o of "
    "ok on open or only please pause plan quick quit quote r read really remove send save she so some stop sure t the "
    "that this then trust use v very view what when why who we wait w write x y yes yet you your z A Also Do Now Yes "
    "aber alle auch alles bitte beide danke das den der die doch du ein eine er es frag fasse für gib geht ich ist im "
    "ja jetzt kann kein keine nein nicht noch nur oder ok öffne prüfe rede sag sende schick suche so teile trag und "
    "vergleiche vielleicht was wer wie wo zeig zu über ändere awk cat cd def df echo find for git grep if import ls "
    "pip print return rm sed sort self tail try var while yield /mode @file #1 1. 2024 3 10 5x -r --all .env * ? ! ("
).split()
REST = (
    "what is the price of it a an in on to and or for yes no now then again all data das der die und nicht e.g. i.e. "
    "a.txt x = 1 y/n -rf | grep -v foo.py if s: return d (draft) team report numbers 41,000 23 %, please! ok? d a r o"
).split()
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
