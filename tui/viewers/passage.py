"""Finds a passage of a document in the rows in which a viewer shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.tui.viewers.document import Rows, row_text

_WORD = re.compile(r"\w+")
_RUNS = (8, 5, 3, 2, 1)
"""How many words must follow each other in the rows, too: as many as possible."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage to go to.

    Attributes:
        text: a part of the document's text, perhaps without its markup.
        at: where the first word that matters begins in it, in characters.
        word: the word to highlight; may be empty.
        row: the number of the record in a table, from 1; 0 for a text.
    """

    text: str
    at: int = 0
    word: str = ""
    row: int = 0


def find_passage(rows: Rows, passage: Passage, stop: Stop = NEVER) -> int | None:
    """Return the row in which the first word that matters is; None if the passage is not there.

    Markup and line breaks do not matter: words are compared. Runs in a thread.

    Raises:
        Stopped: the flag was set.
    """
    wanted = [(word[0].casefold(), word.start()) for word in _WORD.finditer(passage.text)][:80]
    if not wanted:
        return None
    names = [word for word, _ in wanted]
    first = next((number for number, (_, start) in enumerate(wanted) if start >= passage.at), 0)
    words, places = _words_of(rows, stop)
    # Words around the first one that matters, nearest first.
    starts = sorted(range(len(names)), key=lambda number: abs(number - first))
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        if not position & 0xFFFF:
            stop.check()
        positions.setdefault(word, []).append(position)
    for length in _RUNS:
        for start in starts:
            run = names[start : start + length]
            found = _find_run(words, positions, run) if len(run) == min(length, len(names)) else None
            if found is not None:
                at = min(max(0, found + first - start), len(places) - 1)
                return places[at] if words[at] == names[first] else places[found]
    return None


def _words_of(rows: Rows, stop: Stop) -> tuple[Sequence[str], Sequence[int]]:
    """The words of all rows, and the row of each."""
    words: list[str] = []
    places: list[int] = []
    for y in range(len(rows)):
        if not y % 512:
            stop.check()
        found = _WORD.findall(row_text(rows.row(y)).casefold())
        words += found
        places += [y] * len(found)
    return words, places


def _find_run(words: Sequence[str], positions: dict[str, list[int]], run: Sequence[str]) -> int | None:
    """Where words follow each other; None if they do nowhere."""
    for position in positions.get(run[0], ()):
        if list(words[position : position + len(run)]) == list(run):
            return position
    return None
