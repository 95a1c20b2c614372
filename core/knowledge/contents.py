"""What is in a knowledge base, as numbers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Content:
    """What is in the knowledge base; size, time and what was forgotten only of that of a team."""

    version: int = 0
    journal_mode: str = ""
    documents: dict[str, int] = field(default_factory=dict)
    sessions: int = 0
    passages: int = 0
    sources: int = 0
    embeddable: int = 0
    vectors: int = 0
    places: dict[str, int] = field(default_factory=dict)
    size: int = 0
    updated: float | None = None
    forgotten: int = 0
