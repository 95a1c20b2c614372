"""What a session has read: the texts with which a report is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from core.evidence.records import Source, Verdict
from observers.evidence.figures.figure import Figure
from observers.evidence.figures.find import find_figures
from observers.evidence.quoting.folding import Folded

__all__ = ["SourceText", "Sources"]


@dataclass
class SourceText:
    """One source with its text; what is derived from the text is computed once, when it is needed.

    `number` is its index among the sources of the check.
    """

    number: int
    record: Source
    text: str

    @cached_property
    def figures(self) -> Sequence[Figure]:
        """The figures in the text, in order."""
        return find_figures(self.text)

    @cached_property
    def folded(self) -> Folded:
        """The words of the text as a reader reads them."""
        return Folded(self.text)


@dataclass
class Sources:
    """The sources of a report."""

    texts: Sequence[SourceText] = ()
    notices: Sequence[str] = field(default_factory=tuple)

    def cited(self, url: str) -> Sequence[SourceText]:
        """The texts at an address: the page, else rows of searches with it; empty if none is known."""
        raise NotImplementedError

    def verdict(self, url: str) -> tuple[Verdict, SourceText | None, str]:
        """What is known of an address, the source that knows it, and a note such as the age of an earlier one."""
        raise NotImplementedError
