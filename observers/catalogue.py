"""The observers that come with the application, in the order of the feed."""

from __future__ import annotations

from observers.base import Observer
from observers.compliance import Compliance
from observers.corpus import Corpus
from observers.media import Media
from observers.search.observer import SearchResults
from observers.work_products import WorkProducts
from observers.workbench_activity import WorkbenchActivity

__all__ = ["default_observers"]


def default_observers() -> list[Observer]:
    """Make one of each; an observer keeps nothing of its own between results."""
    return [SearchResults(), WorkbenchActivity(), Corpus(), WorkProducts(), Media(), Compliance()]
