"""Writes a citation of a document, for the clipboard and for other documents."""

from __future__ import annotations

from datetime import datetime

from ua_tui.core.knowledge.records import Hit
from ua_tui.core.text import clean_line


def citation(hit: Hit) -> str:
    """Return author, title, address, dates and session of a document on one line.

    The dates are the day of publication, if the source states it, and that on which it was found or made.
    """
    day = f"{datetime.fromtimestamp(hit.made_at).astimezone():%Y-%m-%d}"
    verb = "found" if hit.url else "made"
    # A source may state the time, too.
    published = clean_line(hit.date, 40).partition("T")[0]
    dates = f"{published}, {verb} {day}" if published else f"{verb} {day}"
    author = clean_line(hit.author, 100)
    parts = [
        f"{author}: {_title(hit)}" if author else _title(hit),
        clean_line(hit.url, 2_000),
        dates,
        f"Session {clean_line(hit.session_title or hit.session, 120)}",
    ]
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _title(hit: Hit) -> str:
    return clean_line(hit.title, 300) or clean_line(hit.path, 300) or "Untitled"
