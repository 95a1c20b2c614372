"""Typing in the search screen of the real application over one hundred thousand passages: from key to echo."""

from __future__ import annotations

import random
from pathlib import Path

from core.knowledge.database import open_reader
from core.storage.workspace import WORKSPACES
from tests.bench.driven import Driven, Taken, probes, reported
from tests.bench.knowledge.corpus import CHUNKS
from tests.bench.table import Row, median, quantile
from tests.e2e.running import environment, program

__all__ = ["typing_row"]

SEED = 3
SECONDS = 120.0
BOUND = 30.0
WORDS = 8
BETWEEN_KEYS = 0.09
"""Longer than the time after which a search begins, so that each key comes while one runs."""
FIND, CLEAR, BACKSPACE = "\x1b[19~", "\x15", "\x7f"


def typing_row(base: Path, database: Path) -> Row:
    """Type words of the texts, and after each letter one that is nowhere on the screen, which is timed and removed."""
    db = open_reader(database)
    # Without their folders the program would remove the sessions from the file.
    for (folder,) in db.execute("SELECT folder FROM session"):
        (base / WORKSPACES / folder).mkdir(exist_ok=True)
    draw = random.Random(SEED)
    texts = [
        db.execute("SELECT text FROM chunk WHERE id = ?", (draw.randint(1, CHUNKS),)).fetchone()[0]
        for _ in range(WORDS)
    ]
    db.close()
    words = [
        draw.choice([word.strip(".").lower() for word in text.split() if len(word) > 4]) for text in texts
    ]
    environ = environment(base, COLORTERM="truecolor")
    letters = probes()
    keys: list[Taken] = []
    with Driven([program(), "--demo"], cwd=base, env=environ) as driven:
        driven.until("ready", SECONDS)
        driven.rest(SECONDS)
        driven.send(FIND)
        # Its rows are sites of the texts: keys are timed over real hits.
        driven.until("site-", SECONDS)
        driven.rest(SECONDS)
        for place, word in enumerate(words):
            for letter in word:
                driven.send(letter)
                driven.watch(BETWEEN_KEYS)
                driven.forget()
                probe = next(letters)
                began = driven.send(probe)
                keys.append(driven.taken(began, driven.until(probe, SECONDS)))
                driven.watch(BETWEEN_KEYS)
                driven.send(BACKSPACE)
                driven.watch(BETWEEN_KEYS)
            # Every other word is added to the one before it.
            driven.send(" " if place % 2 == 0 else CLEAR)
    took = [key.took for key in keys]
    how = f"{len(keys)} keys over {CHUNKS:,} chunks, each while a search runs; p95 {quantile(took, 0.95):.0f} ms"
    return Row(
        "knowledge: typing in /find, key to echo",
        median(took),
        "ms",
        BOUND,
        f"{how}, longest {reported([max(keys)])}",
    )
