"""How the effort and the fallback model of a session are named."""

from __future__ import annotations

from core.text import clean_line

__all__ = ["effort_of", "fallback_of"]


def effort_of(effort: str | None) -> str:
    """Name how hard the model thinks."""
    return clean_line(effort, 20) if effort else "as the model chooses"


def fallback_of(fallback: str | None) -> str:
    """Name what answers when the model is overloaded."""
    return clean_line(fallback, 100) if fallback else "none"
