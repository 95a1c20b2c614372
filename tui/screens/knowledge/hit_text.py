"""What a person reads about a hit, on the screen or in a shell: its title, day, passage, and what else is known."""

from __future__ import annotations

from collections.abc import Iterator

from ua_tui.core.events.units import quantity
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.knowledge.search.passages import on_one_line, plain_passage
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.render.format import moment

_KIND_NAMES = {"search_row": "search", "workbench": "sandbox"}
DAY_CELLS = 10
_LONGEST = 600
_BETWEEN = " .:–-"
_BEFORE = 16
"""Characters of a line before the first word that matches."""
_HEADING = 40
"""The most characters of a passage before the title of its document that are left out with the title."""


def kind_name(kind: str) -> str:
    """Return the word for a kind of documents, as short as a column needs it."""
    return _KIND_NAMES.get(kind, kind)


def title_of(hit: Hit) -> str:
    """Return the title of a hit on one line, or the next best name."""
    return clean_line(hit.title or hit.url or hit.path.rpartition("/")[2] or "(no title)", 300)


def pieces_of(hit: Hit) -> list[tuple[str, bool]]:
    """Return the parts of the passage on one line, and whether each matches; without the title that it begins with."""
    passage, marks = on_one_line(*plain_passage(hit.passage[:_LONGEST], hit.marks))
    place = passage.find(title_of(hit))
    rest = passage[place + len(title_of(hit)) :].lstrip(_BETWEEN)
    # A title with which the passage begins is left out, unless it is a part of a sentence.
    if not 0 <= place <= _HEADING or rest[:1].islower():
        rest = passage.lstrip(_BETWEEN)
    at = len(passage) - len(rest)
    # A passage from the middle of a text may begin within a sentence.
    pieces = [("…", False)] if hit.start and rest[:1].islower() else []
    for first, last in (*marks, (len(passage), len(passage))):
        start, end = max(first, at), max(last, at)
        pieces += [(clean(passage[at:start]), False), (clean(passage[start:end]), True)]
        at = end
    return [(text, is_match) for text, is_match in pieces if text]


def line_of(hit: Hit) -> str:
    """Return the passage for a line, from a little before the first word that matches."""
    line, place = "", None
    for text, is_match in pieces_of(hit):
        place = len(line) if is_match and place is None else place
        line += text
    start = line.rfind(" ", 0, max(0, (place or 0) - _BEFORE)) + 1
    return f"…{line[start:]}" if start else line


def notes_of(hit: Hit) -> Iterator[str]:
    """Give what else is known of a hit: whether it is of the demo, and of documents with its text or address."""
    if hit.demo:
        yield "demo"
    for other in filter(None, (hit.newer, hit.older)):
        yield clean_line(other, 120)
    # Copies of a page have its address, too.
    if hit.copies > hit.more:
        yield f"same text, {quantity(hit.copies + 1, 'source')}"
    if hit.more:
        yield f"+{hit.more:,} more from this page"


def day_of(hit: Hit) -> str:
    """Return the date of publication, or else the day on which the text was found."""
    if hit.date:
        # A source may state the time, too, or a date in words.
        return clean_line(hit.date[:DAY_CELLS] if hit.date[4:5] == "-" else hit.date, 40)
    return moment(hit.made_at)[:DAY_CELLS]


def citation(hit: Hit) -> str:
    """Return author, title, address, dates and session of a document on one line, for the clipboard.

    The dates are the day of publication, if the source states it, and that on which it was found or made.
    """
    # A source may state the time, too.
    published = clean_line(hit.date, 40).partition("T")[0]
    made = f"{'found' if hit.url else 'made'} {moment(hit.made_at)[:DAY_CELLS]}"
    title = ": ".join(filter(None, (clean_line(hit.author, 100), title_of(hit))))
    dates = ", ".join(filter(None, (published, made)))
    session = f"Session {clean_line(hit.session_title or hit.session, 120)}"
    parts = (title, clean_line(hit.url, 2_000), dates, session)
    return ". ".join(part.rstrip(".") for part in parts if part) + "."
