"""Finds the figures of a text."""

from __future__ import annotations

from observers.evidence.figures.figure import Figure

__all__ = ["find_figures"]


def find_figures(text: str, *, unit: str = "") -> list[Figure]:
    """Find the figures of a text, in order; `unit` is that of a table's header for numbers without one."""
    return []
