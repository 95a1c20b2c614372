"""Writes a citation of a document, for the clipboard and for other documents."""

from __future__ import annotations

from datetime import datetime

from core.knowledge.records import Hit
from core.text import clean_line

__all__ = ["citation"]


def citation(hit: Hit) -> str:
    """Return title, site, address, date and session of a document on one line.

    The date is that of publication, as the source states it; without one it is the day on which it was found or made.
    """
    day = f"{datetime.fromtimestamp(hit.made_at).astimezone():%Y-%m-%d}"
    verb = "found" if hit.url else "made"
    dates = f"{clean_line(hit.date, 40)}, {verb} {day}" if hit.date else f"{verb} {day}"
    author = clean_line(hit.author, 100)
    parts = [
        f"{author}: {_title(hit)}" if author else _title(hit),
        clean_line(hit.url, 2_000),
        dates,
        f"session {clean_line(hit.session_title or hit.session, 120)}",
    ]
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _title(hit: Hit) -> str:
    return clean_line(hit.title, 300) or clean_line(hit.path, 300) or "Untitled"
