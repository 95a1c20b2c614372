"""Finds a passage of a document in the rows in which a viewer shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from ua_tui.core.claims.places import find_quotes
from ua_tui.core.claims.records import TextQuote
from ua_tui.tui.viewers.document import Rows, row_text

_WORD = re.compile(r"\w+")
_MOST_WORDS = 80


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


def find_passage(rows: Rows, passage: Passage) -> int | None:
    """Return the row in which the first word that matters is; None if the passage is not there.

    Markup and line breaks do not matter: words are compared. If the rows do not have the word, the one nearest to it
    counts. Runs in a thread.

    Raises:
        Stopped: the result is no longer needed.
    """
    text, at = passage.text, passage.at
    words = list(islice(_WORD.finditer(text), _MOST_WORDS))
    words.sort(key=lambda word: (abs(word.start() - at), word.start() < at))
    quotes = [TextQuote(word[0], text[: word.start()], text[word.end() :]) for word in words]
    lines = (row_text(rows.row(y)) for y in range(len(rows)))
    return next((places[0].row for places in find_quotes(lines, quotes) if places), None)
